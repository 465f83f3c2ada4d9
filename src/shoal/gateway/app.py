"""create_app(): the gateway's HTTP service as an ASGI application."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Event, Thread
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from shoal import __version__
from shoal.errors import Fault
from shoal.gateway import http_schemas
from shoal.gateway.config import GatewayConfig
from shoal.gateway.logs import Log
from shoal.gateway.mediator import Gateway
from shoal.gateway.request_guard import RequestGuard
from shoal.gateway.routes import KEY_SCHEMES, router
from shoal.gateway.service import HttpProblem, Service


async def _respond_problem(_: Request, error: Exception) -> JSONResponse:
    """Respond with a problem."""
    assert isinstance(error, HttpProblem)
    return JSONResponse(error.content, error.status, error.headers)


async def _respond_invalid(_: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a request without repeating it."""
    assert isinstance(error, RequestValidationError)
    faults = [Fault(str(item["msg"]).lower(), where=_locate(item["loc"])) for item in error.errors()]
    return JSONResponse(HttpProblem(422, "Invalid", *faults).content, 422)


def _locate(loc: tuple[Any, ...]) -> str:
    """Return where in a request something is wrong; keys that we do not know are the client's text."""
    known = {*http_schemas.Query.model_fields, "number", "format", "after", "most"}
    return ".".join(str(part) for part in loc[1:] if part in known) or str(loc[0])


async def _respond_http_error(_: Request, error: Exception) -> JSONResponse:
    """Respond to what is no request of ours."""
    assert isinstance(error, HTTPException)
    status = 422 if error.status_code == 400 else error.status_code  # a body that cannot even be read
    words = {404: "there is nothing at this address", 405: "this method is not answered here"}
    problem = HttpProblem(status, "Invalid", Fault(words.get(status, "this is not a request"), where="request"))
    return JSONResponse(problem.content, status, error.headers)


def _describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the two ways to send a key."""
    document = FastAPI.openapi(app)
    document["components"]["securitySchemes"] = KEY_SCHEMES
    return document


def _prepare(gateway: Gateway, ended: Event) -> None:
    """Get ready, and let the collector of garbage leave alone what is there to stay."""
    gateway.prepare()
    if not ended.is_set():
        gc.collect()
        gc.freeze()


def create_app(config: GatewayConfig, *, gateway: Gateway | None = None, log: Log | None = None) -> FastAPI:
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
        ended = Event()
        Thread(target=_prepare, args=[service.answers.gateway, ended], name="shoal-prepare", daemon=True).start()
        yield
        ended.set()
        await service.close()
        gc.unfreeze()  # else libraries would complain about what is left

    app = FastAPI(
        title="shoal gateway",
        summary="Clients ask in SQL, owners decide by policy.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # they would fetch scripts from elsewhere
        redoc_url=None,
        routes=list(router.routes),
    )
    app.state.service = service
    app.openapi = lambda: _describe(app)  # type: ignore[method-assign]
    app.add_exception_handler(HttpProblem, _respond_problem)
    app.add_exception_handler(RequestValidationError, _respond_invalid)
    app.add_exception_handler(HTTPException, _respond_http_error)
    limits = config.server
    app.add_middleware(
        RequestGuard, max_bytes=limits.body, seconds=limits.seconds, log=service.log, metrics=service.metrics
    )
    return app
