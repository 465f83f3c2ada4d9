"""count_classes(): the classes of a published table, by GROUP BY over its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from shoal.auditing.original import OriginalTable
from shoal.auditing.owner import OwnerView
from shoal.auditing.populations import match_population
from shoal.auditing.suppression import suppressed_classes
from shoal.auditing.texts import read_columns
from shoal.auditing.value_counts import RecordClasses, columns_together, count_sensitive_values
from shoal.auditing.wildcards import count_agreeing
from shoal.encoding.types import Ints
from shoal.engines.counted import COUNTS, CountedTable
from shoal.errors import Fault
from shoal.models.base import Census, ValueCounts
from shoal.policy import Policy, Sensitive


@dataclass(frozen=True, kw_only=True)
class CountedClasses:
    """The classes of a published table."""

    classes: pl.DataFrame
    """One row per class: its quasi-identifiers as ``q0``, ``q1``, …, and ``records``."""
    census: Census
    is_starred: pl.Series
    """Which class shows ``*`` everywhere, where that means that its records are suppressed."""
    of_each: pl.Series
    """The class of each record."""
    persons: Literal["exact", "least", "most"] = "exact"
    """Whether classes are counted exactly, or by the least or the most persons that they may have: where persons matter
    and it is not known which records are about one."""

    @property
    def starred(self) -> int:
        """Records that show ``*`` everywhere and are suppressed."""
        return int(self.classes["records"].filter(self.is_starred).sum())


def count_classes(
    published: CountedTable, original: OriginalTable | None, policy: Policy, owner: OwnerView
) -> tuple[CountedClasses, list[Fault]]:
    """Count the classes of a published table, from its texts alone; return also what stands in the way."""
    columns = tuple(policy.quasi_identifiers)
    counter = _Counter(published, original, policy, owner)
    classes, of_each, census = counter.count(columns)
    scenarios = dict.fromkeys(names for model in policy.models for names in model.scenarios(columns))
    match, uncounted = match_population(published, original, policy, classes, owner.weights)
    census = replace(
        census,
        columns=columns,
        known={names: counter.count(names)[2] for names in scenarios},
        persons=match.persons,
        population=match.population,
        records=_count_everyone(published if original is None else original.table, policy, counter.people),
        uncovered=match.uncovered,
        agreeing=_count_agreeing(classes, policy),
    )
    counted = CountedClasses(
        classes=classes,
        census=census,
        is_starred=suppressed_classes(classes, policy),
        of_each=of_each,
        persons=counter.bounds,
    )
    return counted, [fault for fault in (counter.fault, uncounted) if fault]


class _Counter:
    """Counts the classes that some columns make, and what models look at in them."""

    def __init__(
        self, published: CountedTable, original: OriginalTable | None, policy: Policy, owner: OwnerView
    ) -> None:
        self.published, self.policy = published, policy
        self.original = None if original is None else original.table
        self.people = None if policy.subject is None else owner.subjects
        """The person of each record, where persons are counted and known."""
        self.size, self.fault = self._choose_size()

    @property
    def bounds(self) -> Literal["exact", "least", "most"]:
        """Whether persons are known, or bounded."""
        if self.policy.subject is None or self.people is not None:
            return "exact"
        return "most" if self.fault is _NO_SUBJECTS else "least"

    def _choose_size(self) -> tuple[pl.Expr, Fault | None]:
        """Return how the persons of a class are counted, and what stands in the way."""
        if self.policy.subject is None:
            return _RECORDS, None
        if self.people is not None:
            return pl.col("subject").n_unique(), None
        if self.original is None or self.policy.subject not in self.original.frame.columns:
            return _RECORDS, _NO_SUBJECTS
        most = _most_records(self.original, self.policy.subject)
        fault = None if most == 1 else _AT_LEAST
        if most > 1 and any("values" in model.needs for model in self.policy.models):
            fault = _NO_PERSONS
        return (_RECORDS + most - 1) // most, fault

    def count(self, columns: Sequence[str]) -> tuple[pl.DataFrame, pl.Series, Census]:
        """Return the classes that some columns make, the class of each record, and what models look at."""
        frame, policy = self.published.frame, self.policy
        classes = self._group(columns)
        sensitive = [name for name in policy.sensitive if name in frame.columns]
        together = dict.fromkeys([*columns_together(policy), *((name,) for name in sensitive)])
        of_each = _class_of_each(classes, frame.height)
        counted = count_sensitive_values(
            self.published, self.original, policy, RecordClasses(of_each, self.people), together
        )
        distinct = {name: count_distinct(counted[name,], policy.sensitive[name]) for name in sensitive}
        sizes = classes["size"].cast(pl.Int64).to_numpy()
        return classes.drop("row"), of_each, Census(sizes=sizes, values=distinct, value_counts=counted)

    def _group(self, columns: Sequence[str]) -> pl.DataFrame:
        shown = read_columns(self.published.frame, columns)
        keys = [column.name for column in shown]
        people = [] if self.people is None else [self.people.alias("subject")]
        counts = pl.Series(COUNTS, self.published.record_counts)
        table = pl.DataFrame([*shown, *people, counts]).with_row_index("row")
        classes = table.group_by(keys).agg(_RECORDS.alias("records"), self.size.alias("size"), pl.col("row"))
        return classes.sort(keys, nulls_last=False)


def _count_agreeing(classes: pl.DataFrame, policy: Policy) -> int | None:
    """Return how many records agree at least, where a model asks; persons of several classes may be the same."""
    asked = any(model.wildcard_k is not None for model in policy.models)
    return count_agreeing(classes) if asked and policy.subject is None else None


def _class_of_each(classes: pl.DataFrame, records: int) -> pl.Series:
    numbers = np.zeros(records, np.int64)
    numbers[classes["row"].explode().to_numpy()] = np.repeat(np.arange(classes.height), classes["row"].list.len())
    return pl.Series("class", numbers)


HOW_THE_OWNER_COUNTS = (
    "the owner counts it with the person of each published record: --subjects with the file that shoal anonymize "
    "--subjects wrote, in Python subjects=release.subjects"
)
_RECORDS = pl.col(COUNTS).sum()
_AT_LEAST = Fault(
    "persons are counted from below: sizes are the least numbers of persons that the original allows",
    hint=f"for the exact numbers: {HOW_THE_OWNER_COUNTS}",
    kind="note",
)
_NO_PERSONS = Fault(
    "how many persons have each sensitive value cannot be counted: the subject column is not published",
    hint=HOW_THE_OWNER_COUNTS,
    kind="undecided",
)
_NO_SUBJECTS = Fault(
    "persons cannot be counted: the subject column is not published",
    hint=HOW_THE_OWNER_COUNTS,
    kind="undecided",
)


def count_distinct(counted: ValueCounts, role: Sensitive) -> Ints:
    """Return how many values each class has; a missing one adds to them unless it may be any of them."""
    known = np.bincount(counted.classes, minlength=len(counted.blank)).astype(np.int64)
    some = (counted.blank > 0).astype(np.int64)
    return np.maximum(known, some) if role.missing in ("wildcard", "suppress") else known + some


def _count_everyone(whole: CountedTable, policy: Policy, people: pl.Series | None) -> int:
    if policy.subject is None:
        return whole.records
    if policy.subject in whole.frame.columns:
        return whole.frame[policy.subject].n_unique()
    return whole.records if people is None else people.n_unique()


def _most_records(original: CountedTable, subject: str) -> int:
    highest = original.count_values(original.frame[subject], "records")["records"].max()
    return int(highest) if isinstance(highest, int) else 1
