"""StudioGuard: who may ask the studio anything: the browser that was given the token, and no page of anybody else."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_ALWAYS = {
    "content-security-policy": CONTENT_POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
_OPEN = ("/login", "/static/studio.css")
"""What is shown before anybody is known."""
_PATIENCE = 1.0
"""Seconds after a wrong password in which no other is looked at."""


@dataclass
class Doorkeeper:
    """What opens the studio: the token in the address that it prints, or a password."""

    hosts: frozenset[str]
    """Names and ports that the studio is reached at, as a browser writes them."""
    secure: bool = False
    """Whether it speaks HTTPS."""
    password: str = ""
    """Where it is reached from elsewhere; then the token opens nothing."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    name: str = "shoal-studio"
    clock: Callable[[], float] = time.monotonic
    _failed: float = -_PATIENCE

    def opens(self, token: str) -> bool:
        """Return whether a token is the one that was printed."""
        return not self.password and compare_digest(token.encode(), self.token.encode())

    def knows(self, cookie: str) -> bool:
        """Return whether a browser was let in."""
        return compare_digest(cookie.encode(), self.cookie.encode())

    def takes(self, password: str) -> bool:
        """Return whether a password is right; after a wrong one none is looked at for a moment."""
        if not self.password or self.clock() - self._failed < _PATIENCE:
            return False
        right = compare_digest(password.encode(), self.password.encode())
        self._failed = self._failed if right else self.clock()
        return right

    def let_in(self, response: Response) -> Response:
        """Return an answer that lets its browser in from now on."""
        response.set_cookie(self.name, self.cookie, httponly=True, samesite="strict", secure=self.secure, path="/")
        return response


class StudioGuard:
    """Looks at every request before the pages do."""

    def __init__(self, app: ASGIApp, *, keeper: Doorkeeper, on_error: Callable[[BaseException], None]) -> None:
        self._app, self._keeper, self._on_error = app, keeper, on_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # there are no WebSockets here
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": _add_headers(message.get("headers", ()))}
            await send(message)

        answer = self._refuse(scope)
        try:
            await (answer or self._app)(scope, receive, send_guarded)
        except Exception as error:
            self._on_error(error)
            if not started:
                await _tell(500, "Something went wrong inside.")(scope, receive, send_guarded)

    def _refuse(self, scope: Scope) -> Response | None:
        headers, keeper = Headers(scope=scope), self._keeper
        if headers.get("host", "") not in keeper.hosts:
            return _tell(403, "The studio is not reached by this name.")
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return _tell(403, "Another page asks; only the studio's own pages may.")
        if scope["method"] not in ("GET", "HEAD") and not self._is_own(headers):
            return _tell(403, "Only the studio's own pages may change anything.")
        if keeper.knows(_read_cookie(headers, keeper.name)) or scope["path"] in _OPEN:
            return None
        return self._welcome(scope)

    def _is_own(self, headers: Headers) -> bool:
        """Whether a change is asked for by a page of the studio: the browser says from where."""
        origin = headers.get("origin")
        if origin is None:
            return headers.get("sec-fetch-site") == "same-origin"
        return origin == f"{'https' if self._keeper.secure else 'http'}://{headers['host']}"

    def _welcome(self, scope: Scope) -> Response:
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["method"] == "GET" and token and self._keeper.opens(token):
            return self._keeper.let_in(RedirectResponse(scope["path"], 303))
        if self._keeper.password:
            return RedirectResponse("/login", 303) if scope["path"] == "/" else _tell(403, "Log in first.")
        return _tell(403, "Open the address that the studio printed when it began: it holds a token.")


def _add_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers with those that every answer has; a report comes with a stricter policy of its own."""
    given = list(headers)
    known = {name for name, _ in given}
    return [*given, *((n.encode(), v.encode()) for n, v in _ALWAYS.items() if n.encode() not in known)]


def _read_cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _tell(status: int, text: str) -> HTMLResponse:
    page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>shoal studio</title><p>{text}</p></html>'
    return HTMLResponse(page, status)
