"""Checks of the table itself: each that could be made with its outcome, each that could not with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.auditing.census import Often
from shoal.auditing.hygiene import bytes_faults, columns_faults, invented_faults
from shoal.auditing.order import order_faults
from shoal.auditing.reading import Reader
from shoal.auditing.supply import supply_faults
from shoal.auditing.treatments import treatment_faults
from shoal.errors import Fault
from shoal.policy import Policy
from shoal.tables.files import format_of
from shoal.tables.tallied import records_of


@dataclass(frozen=True)
class Check:
    """One question about the table itself, and what came out."""

    name: str
    asks: str
    faults: tuple[Fault, ...] = ()
    not_run: str = ""
    """Why it could not be asked; empty where it was."""

    @property
    def outcome(self) -> str:
        """``passed``, ``failed`` or ``not run``."""
        return "not run" if self.not_run else "failed" if self.faults else "passed"

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain data."""
        told = {"check": self.name, "asks": self.asks, "outcome": self.outcome}
        return told | ({"why": self.not_run} if self.not_run else {})


_ASKS = {
    "form": "Do ends, class numbers, statistics and pseudonyms tell what they may, and no more?",
    "columns": "Are all quasi-identifiers there, and no identifier, index or column without a role?",
    "treatments": "Does a treated column show no more than its treatment leaves?",
    "records": "Has the published table no more records than the original?",
    "order": "Do the records stand in another order than in the original, or in one that everyone can see?",
    "values": "Is no value of a column that is published as it is there more often than in the original?",
    "labels": "Is no label published more often than the original has records under it?",
    "bytes": "Does the file hold no original value that the table does not show?",
}
_NO_ORIGINAL = "the original table was not given"
_TALLIED = "the table was given tallied, without an order"
_NO_FILE = "the table was not read from a file"


def form_check(faults: Iterable[Fault]) -> Check:
    """Return the check of what the output form adds."""
    return _check("form", faults)


def first_checks(frame: pl.DataFrame, raw: pl.DataFrame | None, policy: Policy, often: Often) -> list[Check]:
    """Return the checks that come before anything is counted."""
    return [
        _check("columns", columns_faults(frame, raw, policy, often.published)),
        _check("treatments", treatment_faults(frame, policy)),
    ]


def later_checks(
    table: object,
    whole: pl.DataFrame,
    frame: pl.DataFrame,
    original: tuple[pl.DataFrame, pl.DataFrame | None] | None,
    classes: pl.DataFrame,
    policy: Policy,
    readers: Mapping[str, Reader],
    often: Often,
) -> list[Check]:
    """Return the checks that compare with the original, given as its records and its combinations.

    ``whole`` is the table with the columns that its output form adds.
    """
    names = ("records", "order", "values", "labels", "bytes")
    if original is None:
        return [Check(name, _ASKS[name], not_run=_NO_ORIGINAL) for name in names]
    raw, tuples = original
    made: dict[str, Callable[[], Iterable[Fault]]] = {
        "records": lambda: _too_many(records_of(frame, often.published), records_of(raw, often.original)),
        "order": lambda: order_faults(frame, raw, readers),
        "values": lambda: invented_faults(frame, raw, policy, often.published, often.original),
        "labels": lambda: supply_faults(classes, tuples, readers),
    }
    checks = [
        Check(name, _ASKS[name], not_run=_TALLIED) if name == "order" and often.is_tallied else _check(name, question())
        for name, question in made.items()
    ]
    if not isinstance(table, (str, Path)):
        return [*checks, Check("bytes", _ASKS["bytes"], not_run=_NO_FILE)]
    path = Path(table)
    return [*checks, bytes_check(bytes_faults(path.read_bytes(), format_of(path), whole, raw))]


def bytes_check(faults: Iterable[Fault]) -> Check:
    """Return the outcome of searching the bytes of a file."""
    return _check("bytes", faults)


def order_check(faults: Iterable[Fault]) -> Check:
    """Return the outcome of comparing the order of first records."""
    return _check("order", faults)


def _check(name: str, faults: Iterable[Fault]) -> Check:
    return Check(name, _ASKS[name], tuple(faults))


def _too_many(published: int, original: int) -> list[Fault]:
    if published <= original:
        return []
    return [Fault("the published table has more records than the original", got=f"{published} of {original}")]
