"""TableDictionary: what the values of a table's columns are, made once per run and handed on.

Search and audit look things up in the same dictionary (values, domains, hierarchies); each counts for itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from shoal.encoding.domains import Domain
from shoal.engines.columns import column_domain, plain
from shoal.engines.counted import CountedTable
from shoal.hierarchies.base import Levels
from shoal.hierarchies.suppress import Suppress
from shoal.policy import Policy


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
    _domains: dict[str, Domain] = field(default_factory=dict, init=False, repr=False)
    _levels: dict[str, Levels] = field(default_factory=dict, init=False, repr=False)

    def values(self, name: str) -> pl.Series:
        """Return a column in a plain type (:func:`~shoal.engines.columns.plain`)."""
        if name not in self._values:
            self._values[name] = plain(self.table.frame[name])
        return self._values[name]

    def domain(self, name: str) -> Domain:
        """Return all that the hierarchy of a quasi-identifier may be built from."""
        if name not in self._domains:
            self._domains[name] = column_domain(self.table, name, self.policy)
        return self._domains[name]

    def levels(self, name: str) -> Levels:
        """Return the hierarchy of a quasi-identifier, built; one without a hierarchy can only be suppressed."""
        if name not in self._levels:
            spec = self.policy.quasi_identifiers[name]
            shown = spec.missing in ("own-value", "wildcard") and self.values(name).null_count()
            hierarchy = spec.hierarchy or Suppress()
            self._levels[name] = hierarchy.build(self.domain(name), missing=spec.missing if shown else None)
        return self._levels[name]
