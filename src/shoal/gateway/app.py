"""create_app(): the gateway's HTTP service as an ASGI application."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from shoal import __version__
from shoal.errors import Fault
from shoal.gateway.config import GatewayConfig
from shoal.gateway.http_schemas import HttpProblem, QueryJson
from shoal.gateway.logs import Log
from shoal.gateway.mediator import Gateway
from shoal.gateway.owner_routes import owner_pages
from shoal.gateway.request_guard import RequestGuard
from shoal.gateway.routes import keyed, open_to_all
from shoal.gateway.service import Service
from shoal.gateway.workers import ThreadWorkers, Workers


async def _respond_problem(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HttpProblem)
    return error.respond()


async def _respond_invalid(_: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a request without repeating it."""
    assert isinstance(error, RequestValidationError)
    faults = [Fault(_lower_first(str(item["msg"])), where=_locate(item["loc"])) for item in error.errors()]
    return HttpProblem(422, "Invalid", *faults).respond()


def _lower_first(text: str) -> str:
    """Return a sentence as a part of one; a pattern in it stays as it is."""
    return text[:1].lower() + text[1:]


def _locate(loc: tuple[Any, ...]) -> str:
    """Return where in a request something is wrong; keys that we do not know are the client's text."""
    known = {*QueryJson.model_fields, "number", "format", "after", "most"}
    return ".".join(str(part) for part in loc[1:] if part in known) or str(loc[0])


async def _respond_http_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    status = 422 if error.status_code == 400 else error.status_code  # a body that cannot even be read
    words = {404: "there is nothing at this address", 405: "this method is not answered here"}
    fault = Fault(words.get(status, "this is not a request"), where="request")
    return HttpProblem(status, "Invalid", fault).respond(**(error.headers or {}))


def create_app(
    config: GatewayConfig, *, gateway: Gateway | None = None, workers: Workers | None = None, log: Log | None = None
) -> FastAPI:
    """Return the service as an ASGI application.

    Parameters
    ----------
    gateway
        The gateway, where there is one already; it answers in threads of this process.
    workers
        Who answers otherwise.
    log
        Where lines go; to the standard output by default.
    """
    log = log or Log()
    if workers is None:
        gateway = gateway or Gateway(config)
        gateway.on_error = log.write_error
        workers = ThreadWorkers(gateway)
    service = Service(config, workers, log)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.workers.start()
        yield
        await service.close()
        gc.unfreeze()  # else libraries would complain about what is left

    app = FastAPI(
        title="shoal gateway",
        summary="Clients ask in SQL, owners decide by policy.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # they would fetch scripts from elsewhere
        redoc_url=None,
        routes=[*keyed.routes, *open_to_all.routes, *owner_pages.routes],
    )
    app.state.service = service
    app.add_exception_handler(HttpProblem, _respond_problem)
    app.add_exception_handler(RequestValidationError, _respond_invalid)
    app.add_exception_handler(HTTPException, _respond_http_error)
    limits = config.server
    app.add_middleware(
        RequestGuard, max_bytes=limits.body, seconds=limits.seconds, log=service.log, metrics=service.metrics
    )
    return app
