"""Checks of the table itself: each that could be made with its outcome, each that could not with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.auditing.assignment import assign
from shoal.auditing.census import Counted, Often
from shoal.auditing.hygiene import bytes_faults, columns_faults, invented_faults
from shoal.auditing.levels import has_fixed_levels, level_faults
from shoal.auditing.order import order_faults
from shoal.auditing.reading import Reader
from shoal.auditing.supply import supply_faults
from shoal.auditing.treatments import treatment_faults
from shoal.auditing.truth import record_faults
from shoal.engines.counted import records_of
from shoal.engines.memory.files import format_of
from shoal.errors import Fault
from shoal.policy import Policy


@dataclass(frozen=True)
class Check:
    """One question about the table itself, and what came out."""

    name: str
    requested_k: str
    faults: tuple[Fault, ...] = ()
    not_run: str = ""
    """Why it could not be asked; empty where it was."""

    @property
    def outcome(self) -> str:
        """``passed``, ``failed`` or ``not run``."""
        return "not run" if self.not_run else "failed" if self.faults else "passed"

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain data."""
        told = {"check": self.name, "asks": self.requested_k, "outcome": self.outcome}
        return told | ({"why": self.not_run} if self.not_run else {})


@dataclass(frozen=True)
class Original:
    """The original table, as the published one is compared with it."""

    frame: pl.DataFrame
    readers: Mapping[str, Reader]
    """Quasi-identifier → who reads its published texts."""
    apart: bool = False
    """Whether only its columns are known, not its records."""


_ASKS = {
    "form": "Do ends, class numbers, statistics and pseudonyms tell what they may, and no more?",
    "columns": "Are all quasi-identifiers there, and no identifier, index or column without a role?",
    "treatments": "Does a treated column show no more than its treatment leaves?",
    "records": "Has the published table no more records than the original?",
    "order": "Do the records stand in another order than in the original, or in one that everyone can see?",
    "values": "Is no value of a column that is published as it is there more often than in the original?",
    "labels": "Is no label published more often than the original has records under it?",
    "levels": "Does every column show labels of the level that was fixed before?",
    "truth": "Does each published record show what an original record holds, each a different one?",
    "bytes": "Does the file hold no original value that the table does not show?",
}
_NO_ORIGINAL = "the original table was not given"
_TALLIED = "the table was given tallied, without an order"
_NO_FILE = "the table was not read from a file"
_APART = "only columns of the original are known, not its records"
_BROKEN = "another check failed: see there"


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
    original: Original | None,
    counted: Counted,
    policy: Policy,
    often: Often,
    rows: pl.Series | None,
) -> list[Check]:
    """Return the checks that compare with the original.

    ``whole`` is the table with the columns that its output form adds; ``rows`` the original record of each published
    one, where that is known.
    """
    fixed = ("levels",) if has_fixed_levels(policy) else ()
    names = ("records", "order", "values", "labels", *fixed, "truth", "bytes")
    if original is None:
        return [Check(name, _ASKS[name], not_run=_NO_ORIGINAL) for name in names]
    raw, readers = original.frame, original.readers
    made: dict[str, Callable[[], Iterable[Fault]]] = {
        "records": lambda: _too_many(records_of(frame, often.published), records_of(raw, often.original)),
        "order": lambda: order_faults(frame, raw, readers),
        "values": lambda: invented_faults(frame, raw, policy, often.published, often.original),
        "labels": lambda: supply_faults(counted.classes, readers),
    }
    if fixed:
        made["levels"] = lambda: level_faults(counted.classes, policy, readers)
    checks = [
        Check(name, _ASKS[name], not_run=_TALLIED) if name == "order" and often.is_tallied else _check(name, question())
        for name, question in made.items()
    ]
    if rows is not None:
        checks.append(_check("truth", record_faults(frame, raw, readers, rows, often)))
    elif any(check.faults for check in checks if check.name != "order"):
        checks.append(Check("truth", _ASKS["truth"], not_run=_BROKEN))
    else:
        checks.append(_explained(frame, original, counted, often))
    if not isinstance(table, (str, Path)):
        return [*checks, Check("bytes", _ASKS["bytes"], not_run=_NO_FILE)]
    path = Path(table)
    return [*checks, bytes_check(bytes_faults(path.read_bytes(), format_of(path), whole, raw))]


def _explained(frame: pl.DataFrame, original: Original, counted: Counted, often: Often) -> Check:
    """Return whether some assignment of original records explains the published ones."""
    if original.apart:
        return Check("truth", _ASKS["truth"], not_run=_APART)
    found = assign(frame, original.frame, counted.of_each.to_numpy(), original.readers, often)
    if found.too_large:
        note = Fault("whether original records explain the table was not looked at", got=found.too_large, kind="note")
        return Check("truth", _ASKS["truth"], (note,), not_run=f"too large: {found.too_large}")
    if not found.unexplained:
        return _check("truth", ())
    what = "no assignment of original records explains what is published: values were moved, exchanged or made up"
    return _check("truth", [Fault(what, got=f"at least {found.unexplained:,} records that stand for nobody")])


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
