"""The owner's page: who got what, what is left of each client's allowance, the chain verified, keys revoked.

It is written by the service and needs no script. An owner gives its key to a form; a cookie that no other page can send
stands for it from then on.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from shoal.gateway.http_schemas import HttpProblem
from shoal.gateway.service import Service
from shoal.gateway.sessions import SECONDS, OwnerSession
from shoal.reporting.html import fill_template

owner_pages = APIRouter(include_in_schema=False)
_COOKIE = "shoal-owner"
_PATH = "/owner"
_TEMPLATE = "owner.html.j2"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
_HEADERS = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"}


async def _read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form."""
    return {name: values[0] for name, values in parse_qs((await request.body()).decode("utf-8", "replace")).items()}


async def _find_session(request: Request) -> OwnerSession | None:
    """Return the session of a browser, as long as its key is good."""
    service: Service = request.app.state.service
    session = service.sessions.find(request.cookies.get(_COOKIE, ""))
    if session is None:
        return None
    try:
        name = await service.authenticate(session.key, _address(request))
    except HttpProblem:
        return None
    request.scope["trace"].client = name
    return session


SessionOf = Annotated[OwnerSession | None, Depends(_find_session)]
FormOf = Annotated[dict[str, str], Depends(_read_form)]


@owner_pages.get("/owner")
async def show_page(request: Request, session: SessionOf) -> Response:
    """Show the page, or the form for the key."""
    if session is None:
        return _fill_login()
    return await _fill_overview(request, session)


@owner_pages.post("/owner/login")
async def log_in(request: Request, form: FormOf) -> Response:
    """Take an owner's key."""
    service: Service = request.app.state.service
    key = form.get("key", "").strip()
    try:
        name = await service.authenticate(key, _address(request))
    except HttpProblem as problem:
        return _fill_login("This key is not good." if problem.status == 401 else "Try again later.", problem.status)
    request.scope["trace"].client = name
    if "owner" not in service.clients[name].roles or name not in service.owners:
        return _fill_login("This key is not that of an owner.", 403)
    response = RedirectResponse(_PATH, 303)
    secure = request.url.scheme == "https"
    cookie = service.sessions.begin(name, key)
    response.set_cookie(_COOKIE, cookie, max_age=SECONDS, path=_PATH, secure=secure, httponly=True, samesite="strict")
    return response


@owner_pages.post("/owner/logout")
async def log_out(request: Request) -> Response:
    """Forget the session."""
    request.app.state.service.sessions.end(request.cookies.get(_COOKIE, ""))
    response = RedirectResponse(_PATH, 303)
    response.delete_cookie(_COOKIE, path=_PATH)
    return response


@owner_pages.post("/owner/verify")
async def verify_ledger(request: Request, session: SessionOf, form: FormOf) -> Response:
    """Show whether the chain of the ledger is whole."""
    if session is None or not session.allows(form.get("token", "")):
        return _fill_login()
    checked = await request.app.state.service.call("verify_ledger", client=session.owner)
    return await _fill_overview(request, session, checked=checked)


@owner_pages.post("/owner/revoke")
async def revoke_key(request: Request, session: SessionOf, form: FormOf) -> Response:
    """Revoke the key of a client; ask first."""
    if session is None or not session.allows(form.get("token", "")):
        return _fill_login()
    service: Service = request.app.state.service
    client = form.get("client", "")
    if client not in service.list_revocable():
        return await _fill_overview(request, session, said="There is no key of that client to revoke.", status=404)
    if form.get("sure") != "yes":
        return await _fill_overview(request, session, asked=client)
    await service.revoke(client, by=session.owner)
    return await _fill_overview(request, session, said=f"The key of {client} is revoked: it is good for nothing now.")


async def _fill_overview(
    request: Request,
    session: OwnerSession,
    *,
    checked: dict[str, Any] | None = None,
    asked: str = "",
    said: str = "",
    status: int = 200,
) -> Response:
    service: Service = request.app.state.service
    await service.count_request(session.owner)
    overview = await service.call("read_overview", session.owner, client=session.owner)
    keys = [{"client": name, **service.describe_key(name)} for name in service.list_clients()]
    shown = {**overview, "owner": session.owner, "token": session.token, "keys": keys}
    return _respond({**shown, "page": "overview", "checked": checked, "asked": asked, "said": said}, status)


def _fill_login(said: str = "", status: int = 200) -> Response:
    return _respond({"page": "login", "said": said}, status)


def _respond(shown: dict[str, Any], status: int) -> Response:
    return HTMLResponse(fill_template(_TEMPLATE, shown), status, headers=_HEADERS)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
