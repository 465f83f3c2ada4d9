"""create_studio(): the pages as an ASGI application."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from shoal.errors import ShoalError
from shoal.registry import FAMILIES, describe_family
from shoal.studio.guard import Doorkeeper, StudioGuard
from shoal.studio.pages import fill_fragment, tell_faults
from shoal.studio.steps import columns, data, explore, hierarchies, policy, promises, release, risk
from shoal.studio.studio import LOG, Studio

_HERE = Path(__file__).parent


def create_studio(studio: Studio, keeper: Doorkeeper) -> FastAPI:
    """Return the pages of a project, behind the guard."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        studio.jobs.warm()
        Thread(target=_import_catalog, daemon=True).start()
        yield
        studio.close()

    app = FastAPI(title="shoal studio", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.studio, app.state.keeper = studio, keeper
    for step in (policy, data, columns, hierarchies, promises, explore, risk, release):
        app.include_router(step.routes)
    app.mount("/static", StaticFiles(directory=_HERE / "static"))
    app.add_exception_handler(ShoalError, _tell_problem)
    app.add_exception_handler(HTTPException, _tell_status)
    app.add_middleware(StudioGuard, keeper=keeper, on_error=log_error)
    return app


def _import_catalog() -> None:
    """Import every entry, so that no click waits for it."""
    for family in FAMILIES:
        describe_family(family)


async def _tell_problem(request: Request, error: Exception) -> Response:
    """Say what somebody did that cannot be done: in the page that is open, or on one of its own."""
    assert isinstance(error, ShoalError)
    page = fill_fragment("problem", problem=tell_faults(error), alone="x-fragment" not in request.headers)
    return HTMLResponse(page.body, 422)


async def _tell_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and request.method == "GET" and request.url.path == "/":
        return RedirectResponse("/data", 303)
    fault = {"what": "There is nothing here", "where": "", "got": "", "hint": "", "kind": ""}
    problem = {"title": "Not found", "faults": [fault]}
    return HTMLResponse(fill_fragment("problem", problem=problem, alone=True).body, error.status_code)


def log_error(error: BaseException) -> None:
    """Log that something broke: its kind and where, not its text, which may hold data."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    LOG.error("%s at %s", type(error).__name__, where)
