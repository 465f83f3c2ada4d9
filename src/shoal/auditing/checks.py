"""Checks of the table itself, in one list: each that could be made with its outcome, each that could not with why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.auditing.assignment import assign
from shoal.auditing.census import CountedClasses
from shoal.auditing.hygiene import bytes_faults, columns_faults, invented_faults
from shoal.auditing.labels import level_faults, supply_faults
from shoal.auditing.order import drop_perturbed, order_faults
from shoal.auditing.original import OriginalTable
from shoal.auditing.outputs import CompanionTable, form_faults
from shoal.auditing.treatments import untreated_faults
from shoal.auditing.truth import record_faults
from shoal.engines.counted import CountedTable
from shoal.engines.limits import NO_ORDER, NO_ORIGINAL
from shoal.engines.memory.files import format_of
from shoal.errors import Fault
from shoal.policy import Policy
from shoal.policy.outputs import Generalized


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
        described = {"check": self.name, "asks": self.asks, "outcome": self.outcome}
        return described | ({"why": self.not_run} if self.not_run else {})


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What the checks look at: the published table, and the original where it is given.

    Attributes
    ----------
    whole
        The published table with the columns that its output form adds; ``published`` is without them.
    rows
        The original record of each published one, where that is known.
    path
        The file that the published table was read from, where it was.
    counted
        The classes of the published table, once they are counted.
    failed
        The checks that failed already.
    """

    policy: Policy
    published: CountedTable
    whole: pl.DataFrame
    original: OriginalTable | None = None
    companion: CompanionTable
    rows: pl.Series | None = None
    path: Path | None = None
    counted: CountedClasses | None = None
    failed: frozenset[str] = frozenset()

    @property
    def classes(self) -> CountedClasses:
        """The classes, for checks that look at them."""
        assert self.counted is not None
        return self.counted

    @property
    def class_of_each(self) -> pl.Series:
        """The class of each record; all are in one where there are no quasi-identifiers."""
        return (
            pl.zeros(self.published.frame.height, pl.Int64, eager=True)
            if self.counted is None
            else self.classes.of_each
        )

    @property
    def table(self) -> OriginalTable:
        """The original, for checks that need it."""
        assert self.original is not None
        return self.original

    @property
    def unperturbed(self) -> pl.DataFrame:
        """The published columns by which a record can be compared with its original."""
        return drop_perturbed(self.published.frame, self.policy)

    @property
    def is_counted(self) -> bool:
        """Whether one of the tables was given by its distinct records, without an order."""
        return self.published.is_counted or (self.original is not None and self.original.table.is_counted)


@dataclass(frozen=True)
class Question:
    """A check that an audit can make: its name, what it asks, how it finds faults, and what it cannot do without."""

    name: str
    asks: str
    find: Callable[[Compared], Iterable[Fault]] = lambda compared: ()
    lacks: Callable[[Compared], str] = lambda compared: ""
    """Why it cannot be asked of some tables; empty where it can."""
    concerns: Callable[[Policy], bool] = lambda policy: True
    """Whether it is about releases of a policy at all."""

    def check(self, faults: Iterable[Fault] = (), not_run: str = "") -> Check:
        """Return the outcome."""
        return Check(self.name, self.asks, tuple(faults), not_run)

    def ask(self, compared: Compared) -> Check:
        """Return what comes out for some tables."""
        if not_run := self.lacks(compared):
            return self.check(not_run=not_run)
        try:
            return self.check(self.find(compared))
        except TooLarge as error:
            note = Fault("whether original records explain the table was not looked at", got=str(error), kind="note")
            return self.check([note], f"too large: {error}")


class TooLarge(Exception):
    """A check was given up: it would take too long."""


def _lacks_original(compared: Compared) -> str:
    return NO_ORIGINAL if compared.original is None else ""


def _lacks_order(compared: Compared) -> str:
    return _lacks_original(compared) or (NO_ORDER if compared.is_counted else "")


def _lacks_file(compared: Compared) -> str:
    return _lacks_original(compared) or ("" if compared.path else "the table was not read from a file")


def _lacks_records(compared: Compared) -> str:
    if compared.original is None or compared.rows is not None:
        return _lacks_original(compared)
    if not compared.policy.quasi_identifiers:
        return "without quasi-identifiers nobody can tell which original record a published one may be"
    if compared.failed & _IMPLIED_BY_TRUTH:
        return "another check failed: see there"
    return "only columns of the original are known, not its records" if compared.original.table.apart else ""


_IMPLIED_BY_TRUTH = {"records", "values", "labels", "levels"}
"""Where one of these fails no assignment of records exists, and none is looked for."""


def _count_faults(compared: Compared) -> Iterator[Fault]:
    published, original = compared.published.records, compared.table.table.records
    if published > original:
        yield Fault("the published table has more records than the original", got=f"{published} of {original}")


def _truth_faults(compared: Compared) -> list[Fault]:
    """Compare each record with its own where the owner tells which; else find out whether some assignment exists."""
    if compared.rows is not None:
        return record_faults(compared.published, compared.table, compared.rows, compared.class_of_each)
    found = assign(compared.published, compared.table, compared.classes.of_each.to_numpy())
    if found.too_large:
        raise TooLarge(found.too_large)
    if not found.unexplained:
        return []
    what = "no assignment of original records explains what is published: values were moved, exchanged or made up"
    return [Fault(what, got=f"at least {found.unexplained:,} records that stand for nobody")]


def _bytes_faults(compared: Compared) -> list[Fault]:
    assert compared.path is not None
    data, kind = compared.path.read_bytes(), format_of(compared.path)
    return bytes_faults(data, kind, compared.whole, compared.table.frame)


BEFORE_COUNTING = (
    Question(
        "form",
        "Do ends, class numbers, statistics and pseudonyms tell what they may, and no more?",
        lambda c: form_faults(c.published.with_frame(c.whole), c.original, c.policy, c.companion, c.rows),
        concerns=lambda policy: policy.output != Generalized() or bool(policy.pseudonyms),
    ),
    Question(
        "columns",
        "Are all quasi-identifiers there, and no identifier, index or column without a role?",
        lambda c: columns_faults(c.published, None if c.original is None else c.original.frame, c.policy),
    ),
    Question(
        "treatments",
        "Does a treated column show no more than its treatment leaves?",
        lambda c: untreated_faults(c.published.frame, c.policy),
    ),
)
"""Checks that need no classes."""
AFTER_COUNTING = (
    Question("records", "Has the published table no more records than the original?", _count_faults, _lacks_original),
    Question(
        "order",
        "Do the records stand in another order than in the original, or in one that everyone can see?",
        lambda c: order_faults(c.unperturbed, c.table.frame, c.table.readers),
        _lacks_order,
    ),
    Question(
        "values",
        "Is no value of a column that is published as it is there more often than in the original?",
        lambda c: invented_faults(c.published, c.table.table, c.policy),
        _lacks_original,
    ),
    Question(
        "labels",
        "Is no label published more often than the original has records under it?",
        lambda c: supply_faults(c.classes.classes, c.table.readers),
        _lacks_original,
    ),
    Question(
        "levels",
        "Does every column show labels of the level that was fixed before?",
        lambda c: level_faults(c.classes.classes, c.policy, c.table.readers),
        _lacks_original,
        lambda policy: policy.algorithm.fixed_levels is not None,
    ),
    Question(
        "truth",
        "Does each published record show what an original record holds, each a different one?",
        _truth_faults,
        _lacks_records,
    ),
    Question("bytes", "Does the file hold no original value that the table does not show?", _bytes_faults, _lacks_file),
)
"""Checks that compare with the original, and may look at the classes."""
WITHOUT_CLASSES = tuple(question for question in AFTER_COUNTING if question.name not in ("labels", "levels"))
"""Those of them that need no classes: for tables without quasi-identifiers."""


WHILE_RELEASING = (
    Question("claims", "Does the audit count what the search claims of its answer?"),
    Question("held", "Is what is handed over what was audited, record by record, and nothing beside it?"),
    Question(
        "series",
        "Beside all earlier releases, does each person stay among as many?",
        concerns=lambda policy: policy.series is not None,
    ),
    Question("written", "Do the files, read back, hold what was audited, and nothing beside it?"),
)
"""Checks that only whoever makes a release can make (:mod:`shoal.pipeline.verify`)."""


OF_TEXTS = (Question("formulas", "Does a spreadsheet take no text of the table for a formula?"),)
"""Checks of a table as it is given, before its texts are read."""


def run_checks(questions: Sequence[Question], compared: Compared) -> list[Check]:
    """Return the outcome of each check that concerns the policy, in order."""
    checks: list[Check] = []
    for question in questions:
        if question.concerns(compared.policy):
            checks.append(question.ask(compared))
            failed = {check.name for check in checks if check.faults}
            compared = replace(compared, failed=compared.failed | failed)
    return checks


def make_check(name: str, faults: Iterable[Fault] = (), not_run: str = "") -> Check:
    """Return the outcome of a check that was made elsewhere; or why it could not be."""
    questions = (*BEFORE_COUNTING, *AFTER_COUNTING, *WHILE_RELEASING, *OF_TEXTS)
    question = next(one for one in questions if one.name == name)
    return question.check(faults, not_run)
