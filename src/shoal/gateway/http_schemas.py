"""What goes in and out over HTTP, as the OpenAPI document describes it; and problems, which go out instead."""

from __future__ import annotations

from math import ceil
from typing import Annotated, Any, Literal

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from shoal.errors import Fault
from shoal.gateway.formats import MEDIA, Format
from shoal.gateway.language import MAX_LENGTH

Number = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._~-]{0,63}$")]
"""A request's number: it is part of an address."""


class HttpSchema(BaseModel):
    """A schema of the OpenAPI document, which calls it as its class, without ``Json``."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    def __init_subclass__(cls, **options: Any) -> None:
        cls.__qualname__ = cls.model_config["title"] = cls.__name__.removesuffix("Json")
        super().__init_subclass__(**options)


class QueryJson(HttpSchema):
    """A request."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"example": {"sql": "SELECT sex, count(*) AS n FROM people GROUP BY sex", "request": "7"}},
    )

    sql: Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]
    """What is asked for: one SELECT."""
    owner_column: bool = False
    """Whether the answer names the owner of each record."""
    request: Number | None = None
    """The request's number; the same number again gives the same answer, and is entered once."""
    format: Format | None = None
    """How the answer is written; without it the ``Accept`` header says."""


class FaultJson(HttpSchema):
    """One reason."""

    what: str
    where: str = ""
    got: str = ""
    hint: str = ""


class ProblemJson(HttpSchema):
    """Why there is no answer; it shows no data."""

    error: str
    """``Refused``, ``Unavailable``, …"""
    faults: list[FaultJson]
    request: str | None = None
    """The number under which to ask again, where that may help."""


class DecisionJson(HttpSchema):
    """What an owner decided, and why."""

    model_config = ConfigDict(extra="allow")

    owner: str
    table: str
    version: str
    weights: dict[str, float]
    """Column → its weight, for every column that the request touches."""
    total: float
    threshold: float | None
    withheld: list[str]
    """Columns that are never given out."""
    together: dict[str, float]
    """Columns that the client already has as they are, weighed with these."""
    action: Literal["release", "anonymize", "count"]
    recoding: Literal["one", "each"] | None
    noise: dict[str, Any] | None = None
    """How counts are blurred, and what of its budget the client has spent."""
    steps: list[dict[str, Any]]
    """The columns that were generalized, in their order."""
    attained: dict[str, Any]
    """What the release attains that the answer is cut from."""
    notes: list[str]


class ExplanationJson(HttpSchema):
    """Why an answer is what it is."""

    request: str
    """Its number: ``GET /releases/{number}`` gives it again."""
    decisions: list[DecisionJson]
    """One for each owner that answered."""
    refusals: dict[str, list[FaultJson]]
    """Owner → why it did not answer."""
    notes: list[str]


class AnsweredJson(ExplanationJson):
    """An answer as JSON."""

    columns: dict[str, str]
    """Column → its type."""
    records: list[dict[str, Any]]


class OfferedJson(HttpSchema):
    """A table that can be asked for."""

    columns: list[str]
    owners: list[str]


class JoiningJson(HttpSchema):
    """A join that can be asked for: the columns that are equal."""

    left: str
    right: str
    owners: list[str]


class TablesJson(HttpSchema):
    """What can be asked for now."""

    tables: dict[str, OfferedJson]
    joins: dict[str, JoiningJson]


class HealthJson(HttpSchema):
    """Whether the service can answer."""

    status: Literal["ok", "degraded"]
    ledger: bool
    """Whether the ledger is what it was, and an entry could be written now."""
    owners: dict[str, bool]
    """Owner → whether its database can be reached."""


class EntryJson(HttpSchema):
    """An entry of the ledger: who got what; no values."""

    model_config = ConfigDict(extra="allow")

    number: int
    at: str
    request: str
    client: str
    owner: str
    table: str
    version: str
    action: str
    digest: str
    """A keyed hash of the records."""


class EntriesJson(HttpSchema):
    """A part of the ledger."""

    entries: list[EntryJson]
    verified: int | None
    """How many entries the whole chain has, all of them good; none if it is broken."""
    broken: str | None
    """Where the chain is broken."""
    head: str
    """The hash of the newest entry: keep it elsewhere."""


_TEXT = {"text/csv": {"schema": {"type": "string"}}}
_BINARY = {MEDIA[kind]: {"schema": {"type": "string", "format": "binary"}} for kind in ("arrow", "parquet")}
MEDIA_SCHEMAS: dict[str, Any] = {**_TEXT, **_BINARY}
"""The forms of an answer beside JSON."""
_WORDS = {
    401: "No key, or none that is good.",
    403: "Refused: by the owners, or because the key has another role.",
    404: "There is no such answer for this client.",
    406: "None of the formats that are accepted is one of ours.",
    408: "The request did not arrive in time.",
    413: "The request is too large.",
    422: "The request is not one.",
    429: "Too often; Retry-After says when to come back.",
    500: "Something went wrong inside.",
    503: "The service or the owners cannot answer now.",
    504: "It takes longer than a client waits; ask again under the same number.",
}


def describe_problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how the OpenAPI document describes problems."""
    return {status: {"model": ProblemJson, "description": _WORDS[status]} for status in sorted(statuses)}


class HttpProblem(Exception):
    """There is no answer: a status, and why."""

    def __init__(self, status: int, error: str, *faults: Fault, request: str | None = None, wait: float = 0) -> None:
        self.status = status
        self.content: dict[str, Any] = {"error": error, "faults": [fault.to_dict() for fault in faults]}
        if request:
            self.content["request"] = request
        self.headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        if wait:
            self.headers["Retry-After"] = str(ceil(wait))

    def respond(self, **headers: str) -> JSONResponse:
        """Return it as a response."""
        return JSONResponse(self.content, self.status, {**self.headers, **headers})
