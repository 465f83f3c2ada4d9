"""The audit of k and distinct l, and of the whole family, on 325,610 records by six columns; the peer is pycanon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose, isinf
from typing import Any

import polars as pl

import shoal
from benchmarks import peers
from benchmarks.results import Result, timed
from shoal.policy import Policy

NAME = "audit_speed"
_COLUMNS = ("age", "workclass", "education", "marital-status", "race", "sex")
_SENSITIVE = "occupation"
_MODELS: dict[str, dict[str, object]] = {
    "k-anonymity": {"k": 2},
    "distinct-l-diversity": {"l": 2},
    "entropy-l-diversity": {"l": 2},
    "recursive-l-diversity": {"c": 2, "l": 2},
    "alpha-k-anonymity": {"alpha": 0.5, "k": 2},
    "t-closeness": {"t": 0.5},
    "beta-likeness": {"beta": 2, "enhanced": False},
    "delta-disclosure": {"delta": 2},
}


def run() -> Iterator[Result]:
    """Yield the time of counting k and l, then of all models, and whether the peer counts the same.

    The first table is Adult as it is; in the other every class has all three kinds of occupation, so that no model
    ends its count at the first class.
    """
    raw = _table()
    yield _measured("k and l", raw, list(_MODELS)[:2], 0.5, 3)
    yield _measured("k, 3 l, t, α, β, δ", raw, list(_MODELS), 1.0, 1)
    yield _measured("the same, three kinds of occupation in ten classes", _coarse(raw), list(_MODELS), 1.0, 1)


def _measured(what: str, table: pl.DataFrame, models: list[str], target: float, runs: int) -> Result:
    policy = Policy(quasi_identifiers=list(_COLUMNS), sensitive=[_SENSITIVE], models=[_model(name) for name in models])
    shoal.audit(table, policy)  # warms up
    ours, audit = timed(lambda: shoal.audit(table, policy), 9)
    question = {"columns": list(_COLUMNS), "sensitive": [_SENSITIVE], "runs": runs, "models": models}
    answer = peers.run("pycanon_check", {"table": table}, question)
    theirs: dict[str, Any] = answer or {}
    return Result(
        NAME,
        f"audit() of {what}, {table.height:,} × {len(_COLUMNS)}",
        ours.wall,
        target=target,
        peer=f"pycanon {answer['version']}" if answer else "",
        theirs=theirs.get("wall"),
        cpu=ours.cpu,
        their_cpu=theirs.get("cpu"),
        note=_agreement({entry.model.key(): entry.attained for entry in audit.models}, theirs.get("attained")),
    )


def _model(name: str) -> dict[str, object]:
    return {"name": name, **_MODELS[name], **({} if name == "k-anonymity" else {"on": _SENSITIVE})}


def _table() -> pl.DataFrame:
    """Return adult.data ten times over, missing values written as in the file."""
    once = shoal.datasets.adult(part="train").select(*_COLUMNS, _SENSITIVE)
    return pl.concat([once] * 10).with_columns(pl.col(pl.String).fill_null("?"))


def _coarse(table: pl.DataFrame) -> pl.DataFrame:
    """Return the same with coarse ages, few columns that say something, and kinds of occupations."""
    shown = [pl.lit("*").alias(name) for name in _COLUMNS if name not in ("age", "sex")]
    age = (pl.col("age") // 10).clip(2, 6).cast(pl.String)
    kinds = pl.col(_SENSITIVE).replace_strict(_KINDS, default="other")
    return table.with_columns(*shown, age, kinds)


_KINDS = {"Exec-managerial": "office", "Adm-clerical": "office", "Prof-specialty": "skilled", "Craft-repair": "skilled"}


def _agreement(ours: Mapping[str, Any], theirs: Mapping[str, float] | None) -> str:
    """Say what is counted, and each model of which the peer counts something else."""
    own = {name: _number(attained) for name, attained in ours.items()}
    told = ", ".join(f"{name} {value:.5g}" for name, value in own.items())
    if theirs is None:
        return told
    other = {name: value for name, value in theirs.items() if not _same(own[name], value)}
    return told + ("; the peer counts the same" if not other else f"; the peer counts {other}")


def _number(attained: Any) -> float:
    return float(attained[0] if isinstance(attained, tuple) else attained)


def _same(own: float, value: float) -> bool:
    return (isinf(own) and isinf(value)) or isclose(own, value, rel_tol=1e-6, abs_tol=1e-6)
