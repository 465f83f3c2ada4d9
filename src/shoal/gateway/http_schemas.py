"""What goes in and out over HTTP, as the OpenAPI document describes it; its schemas have the names of these classes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from shoal.gateway.formats import MEDIA, Format
from shoal.gateway.language import MAX_LENGTH

Number = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._~-]{0,63}$")]
"""A request's number: it is part of an address."""


class _Schema(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class Query(BaseModel):
    """A request."""

    model_config = ConfigDict(
        use_attribute_docstrings=True,
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


class Fault(_Schema):
    """One reason."""

    what: str
    where: str = ""
    got: str = ""
    hint: str = ""


class Problem(_Schema):
    """Why there is no answer; it shows no data."""

    error: str
    """``Refused``, ``Unavailable``, …"""
    faults: list[Fault]
    request: str | None = None
    """The number under which to ask again, where that may help."""


class Decision(_Schema):
    """What an owner decided, and why."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="allow")

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
    action: Literal["release", "anonymize"]
    recoding: Literal["one", "each"] | None
    steps: list[dict[str, Any]]
    """The columns that were generalized, in their order."""
    attained: dict[str, Any]
    """What the release attains that the answer is cut from."""
    notes: list[str]


class Explanation(_Schema):
    """Why an answer is what it is."""

    request: str
    """Its number: ``GET /releases/{number}`` gives it again."""
    decisions: list[Decision]
    """One for each owner that answered."""
    refusals: dict[str, list[Fault]]
    """Owner → why it did not answer."""
    notes: list[str]


class Answered(Explanation):
    """An answer as JSON."""

    columns: dict[str, str]
    """Column → its type."""
    records: list[dict[str, Any]]


class Offered(_Schema):
    """A table that can be asked for."""

    columns: list[str]
    owners: list[str]


class Joining(_Schema):
    """A join that can be asked for: the columns that are equal."""

    left: str
    right: str
    owners: list[str]


class Tables(_Schema):
    """What can be asked for now."""

    tables: dict[str, Offered]
    joins: dict[str, Joining]


class Health(_Schema):
    """Whether the service can answer."""

    status: Literal["ok", "degraded"]
    ledger: bool
    """Whether the ledger can be read."""
    owners: dict[str, bool]
    """Owner → whether its database can be reached."""


class Entry(_Schema):
    """An entry of the ledger: who got what; no values."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="allow")

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


class Entries(_Schema):
    """A part of the ledger."""

    entries: list[Entry]
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
    return {status: {"model": Problem, "description": _WORDS[status]} for status in sorted(statuses)}
