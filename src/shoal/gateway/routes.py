"""The endpoints of the gateway's HTTP service."""

from __future__ import annotations

import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from shoal.errors import Fault
from shoal.gateway import http_schemas as schemas
from shoal.gateway.answer_service import WrittenAnswer
from shoal.gateway.formats import MEDIA, Format, choose_format
from shoal.gateway.http_schemas import HttpProblem, describe_problems
from shoal.gateway.metrics import CONTENT_TYPE
from shoal.gateway.service import Caller, Service, identify_caller
from shoal.gateway.unread import AnswerResponse

keyed = APIRouter(responses=describe_problems(401, 408, 413, 422, 429, 500, 503))
"""What needs a client's key."""
open_to_all = APIRouter(responses=describe_problems(408, 413, 500))
CallerOf = Annotated[Caller, Depends(identify_caller)]
Number = Annotated[schemas.Number, Path(description="The number of a request.")]


@keyed.post(
    "/query",
    name="query",
    summary="Ask in SQL",
    response_model=None,
    responses={
        200: {"model": schemas.AnsweredJson, "content": schemas.MEDIA_SCHEMAS, "description": "The answer."},
        **describe_problems(403, 406, 504),
    },
)
async def answer_query(request: Request, body: schemas.QueryJson, caller: CallerOf) -> Response:
    """Answer a request: as it is, anonymized first, or not at all, as the owners' policies say.

    JSON holds the records and the explanation. Arrow and Parquet hold the explanation in the schema's metadata under
    ``shoal``; CSV holds the records only. ``GET /releases/{number}/explanation`` gives it for any.
    """
    caller.require_role("client")
    number = body.request or secrets.token_hex(16)
    caller.trace.request = number
    format = _choose_format(request, body.format)

    caller.require_room()
    again = body.request is not None
    try:
        answer: WrittenAnswer = await caller.call(
            "write_answer", caller.name, body.sql, body.owner_column, number, again, format
        )
    except HttpProblem as problem:
        if problem.status == 403:
            caller.trace.action = "refuse"
            caller.service.metrics.count_decision("refuse")
        raise
    _record_decisions(caller, answer)
    return _respond(caller, answer.content, format, number)


@keyed.get(
    "/releases/{number}",
    name="release",
    summary="Fetch an answer again",
    response_model=None,
    responses={
        200: {
            "model": schemas.AnsweredJson | schemas.ExplanationJson,
            "content": schemas.MEDIA_SCHEMAS,
            "description": "The answer as it was; for auditors its explanation.",
        },
        **describe_problems(403, 404, 406, 504),
    },
)
async def fetch_release(
    request: Request,
    number: Number,
    caller: CallerOf,
    format: Annotated[Format | None, Query(description="How it is written; else the Accept header says.")] = None,
) -> Response:
    """Give a client its own earlier answer, as it was, if what is kept is what the ledger says."""
    caller.require_role("client", "auditor")
    caller.trace.request = number
    if "client" not in caller.client.roles:
        return JSONResponse(await _explain(caller, number))
    caller.require_room()
    form = _choose_format(request, format)
    content = await caller.call("write_release", caller.name, number, form)
    if content is None:
        raise _not_found()
    return _respond(caller, content, form, number)


@keyed.get(
    "/releases/{number}/explanation",
    name="explanation",
    summary="Fetch why an answer was what it was",
    response_model=schemas.ExplanationJson,
    responses=describe_problems(403, 404, 504),
)
async def fetch_explanation(number: Number, caller: CallerOf) -> JSONResponse:
    """Give the explanation of an answer: to the client who got it, and to auditors."""
    caller.require_role("client", "auditor")
    caller.trace.request = number
    return JSONResponse(await _explain(caller, number))


async def _explain(caller: Caller, number: str) -> dict[str, Any]:
    is_auditor = "auditor" in caller.client.roles
    asked = ("explain_entry", number) if is_auditor else ("explain", caller.name, number)
    explanation: dict[str, Any] | None = await caller.call(*asked)
    if explanation is None:
        raise _not_found()
    return explanation


@keyed.get(
    "/tables",
    name="tables",
    summary="What can be asked for",
    response_model=schemas.TablesJson,
    responses=describe_problems(504),
)
async def list_tables(caller: CallerOf) -> JSONResponse:
    """Tell the tables that can be asked for now, their columns and owners, and the joins that are declared."""
    return JSONResponse(await caller.call("list_tables"))


@keyed.get(
    "/ledger",
    name="ledger",
    summary="Who got what",
    response_model=schemas.EntriesJson,
    responses=describe_problems(403, 504),
)
async def read_ledger(
    caller: CallerOf,
    after: Annotated[int, Query(ge=0, le=2**53, description="Only entries after this number.")] = 0,
    most: Annotated[int, Query(ge=1, le=10_000, description="How many.")] = 1_000,
) -> JSONResponse:
    """Tell auditors who got what, and whether the chain is whole; owners are told of their own tables.

    An owner is the client of the owner's name with the role ``owner``.
    """
    caller.require_role("auditor", "owner")
    owner = None if "auditor" in caller.client.roles else caller.name
    return JSONResponse(await caller.call("read_ledger", after, most, owner))


@open_to_all.get(
    "/health",
    name="health",
    summary="Can it answer",
    response_model=schemas.HealthJson,
    responses=describe_problems(503, 504),
)
async def check_health(request: Request) -> JSONResponse:
    """Tell whether the ledger can be written and the owners can be reached; no data is read for it."""
    service: Service = request.app.state.service
    return JSONResponse(await service.call("check_health"))


@open_to_all.get(
    "/metrics",
    name="metrics",
    summary="Counts and times",
    response_class=PlainTextResponse,
)
async def read_metrics(request: Request) -> PlainTextResponse:
    """Tell counts and times as Prometheus reads them."""
    service: Service = request.app.state.service
    return PlainTextResponse(service.metrics.to_text(), media_type=CONTENT_TYPE)


def _choose_format(request: Request, named: Format | None) -> Format:
    format = named or choose_format(request.headers.get("accept", ""))
    if format is None:
        raise HttpProblem(406, "NotAcceptable", Fault("no such format", where="accept", hint=", ".join(MEDIA.values())))
    return format


def _not_found() -> HttpProblem:
    return HttpProblem(404, "Unknown", Fault("there is no such answer", where="number"))


def _respond(caller: Caller, body: bytes, format: Format, number: str) -> Response:
    link = f'</releases/{number}/explanation>; rel="describedby"'
    headers = {"Shoal-Request": number, "Link": link}
    return AnswerResponse(body, caller.name, caller.service.unread, media_type=MEDIA[format], headers=headers)


def _record_decisions(caller: Caller, answer: WrittenAnswer) -> None:
    caller.trace.tables, caller.trace.columns = answer.tables, answer.columns
    caller.trace.action = "+".join(sorted(set(answer.actions)))
    for action in answer.actions:
        caller.service.metrics.count_decision(action)
