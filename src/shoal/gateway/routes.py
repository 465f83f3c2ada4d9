"""The endpoints of the gateway's HTTP service."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from shoal.errors import Fault
from shoal.gateway import http_schemas as schemas
from shoal.gateway.formats import MEDIA, Format, Reply, choose_format, write_reply
from shoal.gateway.http_schemas import describe_problems
from shoal.gateway.metrics import CONTENT_TYPE
from shoal.gateway.service import Caller, HttpProblem, Service, identify_caller

router = APIRouter()
KEY_SCHEMES = {
    "Bearer": {"type": "http", "scheme": "bearer", "description": "A client's key."},
    "Header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same in another header."},
}
"""The two ways to send a key, as the OpenAPI document describes them."""
_NEEDS_KEY: dict[str, Any] = {"security": [{name: []} for name in KEY_SCHEMES]}
_ALWAYS = (401, 408, 413, 422, 429, 500, 503)
"""What whoever needs a key may get."""
CallerOf = Annotated[Caller, Depends(identify_caller)]
Number = Annotated[schemas.Number, Path(description="The number of a request.")]


@router.post(
    "/query",
    name="query",
    openapi_extra=_NEEDS_KEY,
    summary="Ask in SQL",
    response_model=None,
    responses={
        200: {"model": schemas.Answered, "content": schemas.MEDIA_SCHEMAS, "description": "The answer."},
        **describe_problems(*_ALWAYS, 403, 406, 504),
    },
)
async def answer_query(request: Request, body: schemas.Query, caller: CallerOf) -> Response:
    """Answer a request: as it is, anonymized first, or not at all, as the owners' policies say.

    JSON holds the records and the explanation. Arrow and Parquet hold the explanation in the schema's metadata under
    ``shoal``; CSV holds the records only. ``GET /releases/{number}/explanation`` gives it for any.
    """
    caller.require_role("client")
    number = body.request or secrets.token_hex(16)
    caller.trace.request = number
    format = _choose_format(request, body.format)
    answers = caller.service.answers

    def answer() -> tuple[Reply, bytes]:
        reply = answers.answer(
            caller.name,
            body.sql,
            owner_column=body.owner_column,
            number=number,
            again=body.request is not None,
        )
        return reply, write_reply(reply, format)

    try:
        reply, content = await caller.service.run(answer, number=number)
    except HttpProblem as problem:
        if problem.status == 403:
            caller.trace.action = "refuse"
            caller.service.metrics.count_decision("refuse")
        raise
    _record_decisions(caller, reply)
    return _respond(content, format, number)


@router.get(
    "/releases/{number}",
    name="release",
    openapi_extra=_NEEDS_KEY,
    summary="Fetch an answer again",
    response_model=None,
    responses={
        200: {
            "model": schemas.Answered | schemas.Explanation,
            "content": schemas.MEDIA_SCHEMAS,
            "description": "The answer as it was; for auditors its explanation.",
        },
        **describe_problems(*_ALWAYS, 403, 404, 406, 504),
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
    form, answers = _choose_format(request, format), caller.service.answers

    def fetch() -> bytes | None:
        reply = answers.fetch(caller.name, number)
        return None if reply is None else write_reply(reply, form)

    content = await caller.service.run(fetch)
    if content is None:
        raise _not_found()
    return _respond(content, form, number)


@router.get(
    "/releases/{number}/explanation",
    name="explanation",
    openapi_extra=_NEEDS_KEY,
    summary="Fetch why an answer was what it was",
    response_model=schemas.Explanation,
    responses=describe_problems(*_ALWAYS, 403, 404, 504),
)
async def fetch_explanation(number: Number, caller: CallerOf) -> JSONResponse:
    """Give the explanation of an answer: to the client who got it, and to auditors."""
    caller.require_role("client", "auditor")
    caller.trace.request = number
    return JSONResponse(await _explain(caller, number))


async def _explain(caller: Caller, number: str) -> dict[str, Any]:
    answers = caller.service.answers
    if "auditor" in caller.client.roles:
        explanation = await caller.service.run(lambda: answers.explain_entry(number))
    else:
        explanation = await caller.service.run(lambda: answers.explain(caller.name, number))
    if explanation is None:
        raise _not_found()
    return explanation


@router.get(
    "/tables",
    name="tables",
    openapi_extra=_NEEDS_KEY,
    summary="What can be asked for",
    response_model=schemas.Tables,
    responses=describe_problems(*_ALWAYS, 504),
)
async def list_tables(caller: CallerOf) -> JSONResponse:
    """Tell the tables that can be asked for now, their columns and owners, and the joins that are declared."""
    return JSONResponse(await caller.service.run(caller.service.answers.list_tables))


@router.get(
    "/ledger",
    name="ledger",
    openapi_extra=_NEEDS_KEY,
    summary="Who got what",
    response_model=schemas.Entries,
    responses=describe_problems(*_ALWAYS, 403, 504),
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
    read = partial(caller.service.answers.read_ledger, after=after, most=most, owner=owner)
    return JSONResponse(await caller.service.run(read))


@router.get(
    "/health",
    name="health",
    summary="Can it answer",
    response_model=schemas.Health,
    responses=describe_problems(408, 413, 500, 503, 504),
)
async def check_health(request: Request) -> JSONResponse:
    """Tell whether the ledger can be read and the owners can be reached; no data is read for it."""
    service: Service = request.app.state.service
    return JSONResponse(await service.run(service.answers.check_health, workers=service.health_checker))


@router.get(
    "/metrics",
    name="metrics",
    summary="Counts and times",
    response_class=PlainTextResponse,
    responses=describe_problems(408, 413, 500),
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


def _respond(body: bytes, format: Format, number: str) -> Response:
    link = f'</releases/{number}/explanation>; rel="describedby"'
    return Response(body, media_type=MEDIA[format], headers={"Shoal-Request": number, "Link": link})


def _record_decisions(caller: Caller, reply: Reply) -> None:
    """Note what the log and the metrics say of an answer."""
    decisions = reply.explanation["decisions"]
    caller.trace.tables = sorted({decision["table"] for decision in decisions})
    caller.trace.columns = sorted({name for decision in decisions for name in decision["weights"]})
    caller.trace.action = "+".join(sorted({decision["action"] for decision in decisions}))
    for decision in decisions:
        caller.service.metrics.count_decision(decision["action"])
