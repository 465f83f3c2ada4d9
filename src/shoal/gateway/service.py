"""The HTTP door of the gateway: who asks, how much, how often; and the answers in the form that is asked for."""

from __future__ import annotations

import gc
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from math import ceil
from threading import Thread
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from shoal import __version__
from shoal.errors import Fault, LedgerError, Refused, ShoalError, Unavailable
from shoal.gateway import replies
from shoal.gateway.answer_service import AnswerService
from shoal.gateway.config import Client, GatewayConfig
from shoal.gateway.formats import MEDIA, Format, Reply, chosen, written
from shoal.gateway.keys import Keyring
from shoal.gateway.limits import Busy, Rates, TooLong, Workers
from shoal.gateway.logs import Log
from shoal.gateway.mediator import Gateway
from shoal.gateway.metrics import Metrics
from shoal.gateway.replies import problems
from shoal.gateway.request_guard import RequestGuard, Visit

_Found = TypeVar("_Found")
_STATUSES: dict[type[ShoalError], int] = {Refused: 403, Unavailable: 503, LedgerError: 503}
_CHECKERS = 2
"""Keys that are checked at once: each check takes memory and tens of milliseconds."""
_router = APIRouter()
_KEYS = {
    "Bearer": {"type": "http", "scheme": "bearer", "description": "A client's key."},
    "Header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same in another header."},
}
"""The two ways to send a key, as the OpenAPI document tells them."""
_NEEDS_KEY: dict[str, Any] = {"security": [{name: []} for name in _KEYS]}
_ALWAYS = (401, 408, 413, 422, 429, 500, 503)
"""What whoever needs a key may be told."""


class HttpProblem(Exception):
    """There is no answer: a status, and why."""

    def __init__(self, status: int, error: str, *faults: Fault, request: str | None = None, wait: float = 0) -> None:
        self.status = status
        told = {"error": error, "faults": [fault.to_dict() for fault in faults]}
        self.content: dict[str, Any] = {**told, "request": request} if request else told
        self.headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        if wait:
            self.headers["Retry-After"] = str(ceil(wait))


class Service:
    """Everything that requests share."""

    def __init__(self, gateway: Gateway, log: Log) -> None:
        said = gateway.config.server
        self.desk, self.log, self.metrics = AnswerService(gateway), log, Metrics()
        self.clients: Mapping[str, Client] = gateway.config.clients
        self.keys, self.rates, self.attempts = Keyring(self.clients), Rates(), Rates()
        self.workers = Workers(said.workers, said.waiting, said.seconds)
        self.checkers = Workers(_CHECKERS, said.waiting, said.seconds)
        self.looker = Workers(1, said.waiting, said.seconds)
        """Looks after the owners' health: anybody may ask for that, and must not take a worker from clients."""
        self._tries = said.attempts
        gateway.failed = log.failed

    async def recognized(self, key: str, peer: str) -> str:
        """Return whose key it is; unknown, wrong and expired keys are told alike."""
        name = None
        if key:
            name = self.keys.known(key) or await self.work(lambda: self._checked(key, peer), self.checkers)
        if name is None:
            self.metrics.count("shoal_keys_refused_total")
            raise HttpProblem(401, "Unauthorized", Fault("no key, or none that is good", where="key"))
        return name

    def _checked(self, key: str, peer: str) -> str | None:
        """Check a key that was not seen before; an address that tries many wrong ones has to wait."""
        name = self.keys.known(key)  # it may have been checked while this waited
        if name is not None:
            return name
        wait = self.attempts.take(peer, self._tries)
        if wait:
            raise HttpProblem(429, "TooOften", Fault("too many keys that are not good", where="key"), wait=wait)
        name = self.keys.check(key)
        if name is not None:
            self.attempts.give_back(peer, self._tries)
        return name

    async def work(
        self, work: Callable[[], _Found], workers: Workers | None = None, number: str | None = None
    ) -> _Found:
        """Do some work in a thread, and tell in words what goes wrong."""
        try:
            return await (workers or self.workers).run(work)
        except Busy:
            raise HttpProblem(503, "Busy", Fault("too many requests are waiting"), request=number, wait=1) from None
        except TooLong:
            hint = "ask again under the same number" if number else ""
            raise HttpProblem(504, "TooLong", Fault("it takes too long", hint=hint), request=number, wait=1) from None
        except ShoalError as error:
            status = next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 500)
            if status == 500:
                self.log.failed(error)
            raise HttpProblem(status, type(error).__name__, *error.faults, request=number) from None


class Caller:
    """Who asks, and what the service knows."""

    def __init__(self, service: Service, name: str, visit: Visit) -> None:
        self.service, self.name, self.visit = service, name, visit
        self.client = service.clients[name]

    def must_be(self, *roles: str) -> None:
        """Refuse whoever has none of these roles."""
        if not set(roles) & set(self.client.roles):
            raise HttpProblem(403, "Refused", Fault("this key has another role", where="key", hint=" or ".join(roles)))


async def _caller(request: Request) -> Caller:
    service: Service = request.app.state.service
    name = await service.recognized(_key(request.headers), request.client.host if request.client else "")
    visit: Visit = request.scope["visit"]
    visit.client = name
    wait = service.rates.take(name, service.clients[name].rate)
    if wait:
        raise HttpProblem(429, "TooOften", Fault("too many requests", where="rate"), wait=wait)
    return Caller(service, name, visit)


def _key(headers: Headers) -> str:
    """Return the key that came with a request; HTTP hands its bytes over as if they were Latin."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    key = bearer.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    return key.encode("latin-1", "replace").decode("utf-8", "replace")


Calling = Annotated[Caller, Depends(_caller)]
Id = Annotated[replies.Number, Path(description="The number of a request.")]


@_router.post(
    "/query",
    openapi_extra=_NEEDS_KEY,
    summary="Ask in SQL",
    response_model=None,
    responses={
        200: {"model": replies.Answered, "content": replies.FORMS, "description": "The answer."},
        **problems(*_ALWAYS, 403, 406, 504),
    },
)
async def query(request: Request, asked: replies.Query, caller: Calling) -> Response:
    """Answer a request: as it is, anonymized first, or not at all, as the owners' policies say.

    JSON holds the records and the explanation. Arrow and Parquet hold the explanation in the schema's metadata under
    ``shoal``; CSV holds the records only. ``GET /releases/{number}/explanation`` gives it for any.
    """
    caller.must_be("client")
    number = asked.request or secrets.token_hex(16)
    caller.visit.request = number
    format = _format(request, asked.format)
    desk = caller.service.desk

    def answer() -> tuple[Reply, bytes]:
        reply = desk.answer(
            caller.name,
            asked.sql,
            owner_column=asked.owner_column,
            number=number,
            again=asked.request is not None,
        )
        return reply, written(reply, format)

    try:
        reply, body = await caller.service.work(answer, number=number)
    except HttpProblem as trouble:
        if trouble.status == 403:
            caller.visit.action = "refuse"
            caller.service.metrics.count("shoal_decisions_total", action="refuse")
        raise
    _noted(caller, reply)
    return _sent(body, format, number)


@_router.get(
    "/releases/{number}",
    openapi_extra=_NEEDS_KEY,
    summary="Fetch an answer again",
    response_model=None,
    responses={
        200: {
            "model": replies.Answered | replies.Explanation,
            "content": replies.FORMS,
            "description": "The answer as it was; for auditors its explanation.",
        },
        **problems(*_ALWAYS, 403, 404, 406, 504),
    },
)
async def release(
    request: Request,
    number: Id,
    caller: Calling,
    format: Annotated[Format | None, Query(description="How it is written; else the Accept header says.")] = None,
) -> Response:
    """Give a client its own earlier answer, as it was, if what is kept is what the ledger says."""
    caller.must_be("client", "auditor")
    caller.visit.request = number
    if "client" not in caller.client.roles:
        return JSONResponse(await _explained(caller, number))
    form, desk = _format(request, format), caller.service.desk

    def fetch() -> bytes | None:
        reply = desk.release(caller.name, number)
        return None if reply is None else written(reply, form)

    body = await caller.service.work(fetch)
    if body is None:
        raise _unknown()
    return _sent(body, form, number)


@_router.get(
    "/releases/{number}/explanation",
    openapi_extra=_NEEDS_KEY,
    summary="Fetch why an answer was what it was",
    response_model=replies.Explanation,
    responses=problems(*_ALWAYS, 403, 404, 504),
)
async def explanation(number: Id, caller: Calling) -> JSONResponse:
    """Give the explanation of an answer: to the client who got it, and to auditors."""
    caller.must_be("client", "auditor")
    caller.visit.request = number
    return JSONResponse(await _explained(caller, number))


async def _explained(caller: Caller, number: str) -> dict[str, Any]:
    desk = caller.service.desk
    if "auditor" in caller.client.roles:
        found = await caller.service.work(lambda: desk.entered(number))
    else:
        found = await caller.service.work(lambda: desk.explanation(caller.name, number))
    if found is None:
        raise _unknown()
    return found


@_router.get(
    "/tables",
    openapi_extra=_NEEDS_KEY,
    summary="What can be asked for",
    response_model=replies.Tables,
    responses=problems(*_ALWAYS, 504),
)
async def tables(caller: Calling) -> JSONResponse:
    """Tell the tables that can be asked for now, their columns and owners, and the joins that are declared."""
    return JSONResponse(await caller.service.work(caller.service.desk.offered))


@_router.get(
    "/ledger",
    openapi_extra=_NEEDS_KEY,
    summary="Who got what",
    response_model=replies.Entries,
    responses=problems(*_ALWAYS, 403, 504),
)
async def ledger(
    caller: Calling,
    after: Annotated[int, Query(ge=0, le=2**53, description="Only entries after this number.")] = 0,
    most: Annotated[int, Query(ge=1, le=10_000, description="How many.")] = 1_000,
) -> JSONResponse:
    """Tell auditors who got what, and whether the chain is whole; owners are told of their own tables.

    An owner is the client of the owner's name with the role ``owner``.
    """
    caller.must_be("auditor", "owner")
    owner = None if "auditor" in caller.client.roles else caller.name
    told = partial(caller.service.desk.ledger, after=after, most=most, owner=owner)
    return JSONResponse(await caller.service.work(told))


@_router.get(
    "/health", summary="Can it answer", response_model=replies.Health, responses=problems(408, 413, 500, 503, 504)
)
async def health(request: Request) -> JSONResponse:
    """Tell whether the ledger can be read and the owners can be reached; no data is read for it."""
    service: Service = request.app.state.service
    return JSONResponse(await service.work(service.desk.health, service.looker))


@_router.get(
    "/metrics", summary="Counts and times", response_class=PlainTextResponse, responses=problems(408, 413, 500)
)
async def metrics(request: Request) -> PlainTextResponse:
    """Tell counts and times as Prometheus reads them."""
    service: Service = request.app.state.service
    return PlainTextResponse(service.metrics.text({"shoal_requests_open": service.workers.begun}))


def _format(request: Request, asked: Format | None) -> Format:
    format = asked or chosen(request.headers.get("accept", ""))
    if format is None:
        raise HttpProblem(406, "NotAcceptable", Fault("no such format", where="accept", hint=", ".join(MEDIA.values())))
    return format


def _unknown() -> HttpProblem:
    return HttpProblem(404, "Unknown", Fault("there is no such answer", where="number"))


def _sent(body: bytes, format: Format, number: str) -> Response:
    link = f'</releases/{number}/explanation>; rel="describedby"'
    return Response(body, media_type=MEDIA[format], headers={"Shoal-Request": number, "Link": link})


def _noted(caller: Caller, reply: Reply) -> None:
    """Note what the log and the metrics tell of an answer."""
    decisions = reply.explanation["decisions"]
    caller.visit.tables = sorted({decided["table"] for decided in decisions})
    caller.visit.columns = sorted({name for decided in decisions for name in decided["weights"]})
    caller.visit.action = "+".join(sorted({decided["action"] for decided in decisions}))
    for decided in decisions:
        caller.service.metrics.count("shoal_decisions_total", action=decided["action"])


async def _told(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HttpProblem)
    return JSONResponse(error.content, error.status, error.headers)


async def _no_request(_: Request, error: Exception) -> JSONResponse:
    """Tell what is wrong with a request without repeating it."""
    assert isinstance(error, RequestValidationError)
    faults = [Fault(str(one["msg"]).lower(), where=_place(one["loc"])) for one in error.errors()]
    return JSONResponse(HttpProblem(422, "Invalid", *faults).content, 422)


def _place(loc: tuple[Any, ...]) -> str:
    """Return where in a request something is wrong; keys that we do not know are the client's text."""
    known = {*replies.Query.model_fields, "number", "format", "after", "most"}
    return ".".join(str(part) for part in loc[1:] if part in known) or str(loc[0])


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    status = 422 if error.status_code == 400 else error.status_code  # a body that cannot even be read
    words = {404: "there is nothing at this address", 405: "this method is not answered here"}
    trouble = HttpProblem(status, "Invalid", Fault(words.get(status, "this is not a request"), where="request"))
    return JSONResponse(trouble.content, status, error.headers)


def _document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the two ways to send a key."""
    told = FastAPI.openapi(app)
    told["components"]["securitySchemes"] = _KEYS
    return told


def _prepared(gateway: Gateway) -> None:
    """Get ready, and let the collector of garbage leave alone what is there to stay."""
    gateway.prepare()
    gc.collect()
    gc.freeze()


def make(config: GatewayConfig, *, gateway: Gateway | None = None, log: Log | None = None) -> FastAPI:
    """Return the service as an ASGI application.

    Parameters
    ----------
    gateway
        The gateway, where there is one already.
    log
        Where lines go; to the standard output by default.
    """
    service = Service(gateway or Gateway(config), log or Log())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        Thread(target=_prepared, args=[service.desk.gateway], name="shoal-prepare", daemon=True).start()
        yield
        service.workers.close()
        service.checkers.close()
        service.looker.close()
        gc.unfreeze()  # else libraries would complain about what is left

    app = FastAPI(
        title="shoal gateway",
        summary="Clients ask in SQL, owners decide by policy.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # they would fetch scripts from elsewhere
        redoc_url=None,
        routes=list(_router.routes),
    )
    app.state.service = service
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    for kind, handler in {HttpProblem: _told, RequestValidationError: _no_request, HTTPException: _http}.items():
        app.add_exception_handler(kind, handler)
    said = config.server
    app.add_middleware(RequestGuard, body=said.body, seconds=said.seconds, log=service.log, metrics=service.metrics)
    return app
