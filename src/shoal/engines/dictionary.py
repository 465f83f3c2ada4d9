"""TableDictionary: what the values of a table's columns are, made once per run and handed on.

Search and audit look things up in the same dictionary (values, domains, hierarchies); each counts for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import polars as pl

from shoal.encoding.domains import Domain
from shoal.encoding.types import Ints
from shoal.engines.columns import codes_of, column_domain, domain_of, to_plain
from shoal.engines.counted import CountedTable
from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Levels
from shoal.hierarchies.suppress import Suppress
from shoal.policy import Policy

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class TableDictionary:
    """A table that is treated as the policy says, with the values, domain and levels of each column.

    Examples
    --------
    >>> policy = Policy(quasi_identifiers={"zip": {"hierarchy": "mask", "keep": [2]}},
    ...                 models=[{"name": "k-anonymity", "k": 2}])
    >>> words = TableDictionary(CountedTable(pl.DataFrame({"zip": ["101", "102"]})), policy)
    >>> words.domain("zip").texts, words.levels("zip").height
    (('101', '102'), 2)
    """

    table: CountedTable
    policy: Policy

    _values: dict[str, pl.Series] = field(default_factory=dict, init=False, repr=False)
    _occurring: dict[str, Domain] = field(default_factory=dict, init=False, repr=False)
    _domains: dict[str, Domain] = field(default_factory=dict, init=False, repr=False)
    _steps: dict[str, tuple[Step, ...]] = field(default_factory=dict, init=False, repr=False)
    _levels: dict[str, Levels] = field(default_factory=dict, init=False, repr=False)

    @property
    def persons(self) -> int:
        """How many persons the table is about; as many as records where nobody tells them apart, or a policy names a
        column that is not there, which is told elsewhere."""
        subject = self.policy.subject
        if subject is None or subject not in self.table.frame.columns:
            return self.table.records
        return len(self.occurring(subject))

    def values(self, name: str) -> pl.Series:
        """Return a column in a plain type (:func:`~shoal.engines.columns.to_plain`)."""
        return _make_once(self._values, name, lambda: to_plain(self.table.frame[name]))

    def occurring(self, name: str) -> Domain:
        """Return the values that occur in a column, in order."""
        return _make_once(self._occurring, name, lambda: domain_of(self.values(name)))

    def domain(self, name: str) -> Domain:
        """Return all that the hierarchy of a quasi-identifier may be built from."""
        return _make_once(self._domains, name, lambda: column_domain(self.table, name, self.policy, self.values(name)))

    def codes(self, name: str) -> Ints:
        """Return the place of each record's value in the domain of a quasi-identifier; a missing one comes last."""
        return codes_of(self.values(name), self.domain(name))

    def steps(self, name: str) -> tuple[Step, ...]:
        """Return the levels above the values of a quasi-identifier; none where it has no hierarchy, or no values."""
        hierarchy, domain = self.policy.quasi_identifiers[name].hierarchy, self.domain(name)
        if hierarchy is None or not len(domain):
            return ()
        return _make_once(self._steps, name, lambda: tuple(hierarchy.steps(domain)))

    def levels(self, name: str) -> Levels:
        """Return the hierarchy of a quasi-identifier, built; one without a hierarchy can only be suppressed."""
        return _make_once(self._levels, name, lambda: self._build(name))

    def restrict(self, rows: pl.Series) -> TableDictionary:
        """Return some of the records, given by their numbers, looked up in what the columns of the whole table hold.

        Examples
        --------
        >>> policy = Policy(quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": 2}])
        >>> words = TableDictionary(CountedTable(pl.DataFrame({"age": [30, 40]})), policy).restrict(pl.Series([1]))
        >>> words.values("age").to_list(), words.domain("age").texts
        ([40], ('30', '40'))
        """
        counts = self.table.counts
        table = CountedTable(self.table.frame[rows], None if counts is None else counts.gather(rows), self.table.apart)
        fewer = TableDictionary(table, self.policy)
        for name in self.policy.quasi_identifiers:
            fewer._levels[name], fewer._domains[name] = self.levels(name), self.domain(name)
            fewer._steps[name] = self.steps(name)
        looked_at = (*self.policy.quasi_identifiers, *self.policy.sensitive, self.policy.subject)
        fewer._occurring.update({name: self.occurring(name) for name in looked_at if name is not None})
        return fewer

    def _build(self, name: str) -> Levels:
        spec = self.policy.quasi_identifiers[name]
        shown = spec.missing in ("own-value", "wildcard") and self.values(name).null_count()
        hierarchy, missing = spec.hierarchy or Suppress(), spec.missing if shown else None
        return hierarchy.build(self.domain(name), missing=missing, read_steps=lambda: self.steps(name))


def _make_once(made: dict[str, Made], name: str, make: Callable[[], Made]) -> Made:
    if name not in made:
        made[name] = make()
    return made[name]
