"""The audit of k and distinct l on 325,610 records by six columns; the peer is pycanon."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

import shoal
from benchmarks import peers
from benchmarks.results import Result, timed
from shoal.policy import Policy

NAME = "audit_speed"
_COLUMNS = ("age", "workclass", "education", "marital-status", "race", "sex")
_SENSITIVE = "occupation"


def run() -> Iterator[Result]:
    """Yield the time of counting k and l, and whether the peer counts the same."""
    table = _table()
    policy = Policy(
        quasi_identifiers=list(_COLUMNS),
        sensitive=[_SENSITIVE],
        models=[
            {"name": "k-anonymity", "k": 2},
            {"name": "distinct-l-diversity", "on": _SENSITIVE, "l": 2},
        ],
    )
    shoal.audit(table, policy)  # warms up
    ours, audit = timed(lambda: shoal.audit(table, policy), 9)
    question = {"columns": list(_COLUMNS), "sensitive": [_SENSITIVE], "runs": 3}
    answer = peers.run("pycanon_check", {"table": table}, question)
    theirs = answer or {}
    attained = tuple(model.attained for model in audit.models)
    yield Result(
        NAME,
        f"audit() of k and l, {table.height:,} × {len(_COLUMNS)}",
        ours.wall,
        target=0.5,
        peer=f"pycanon {answer['version']}" if answer else "",
        theirs=theirs.get("wall"),
        cpu=ours.cpu,
        their_cpu=theirs.get("cpu"),
        note=_agreement(attained, answer),
    )


def _table() -> pl.DataFrame:
    """Return adult.data ten times over, missing values written as in the file."""
    once = shoal.datasets.adult(part="train").select(*_COLUMNS, _SENSITIVE)
    return pl.concat([once] * 10).with_columns(pl.col(pl.String).fill_null("?"))


def _agreement(ours: tuple[int, ...], answer: dict[str, int] | None) -> str:
    k, distinct = ours
    if answer is None:
        return f"k={k}, l={distinct}"
    if ours == (answer["k"], answer["l"]):
        return f"both count k={k}, l={distinct}"
    return f"DISAGREE: ours k={k}, l={distinct}; the peer's k={answer['k']}, l={answer['l']}"
