"""OriginalTable: the table that a published one is compared with, what is read of its columns made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from shoal.auditing.reading import Reader
from shoal.encoding.domains import Domain
from shoal.engines.columns import domain_of, plain
from shoal.engines.counted import CountedTable
from shoal.policy import Policy


@dataclass(frozen=True)
class OriginalTable:
    """The original table, treated as the policy says, with who reads the published texts of its columns.

    Readers and domains are made when they are first asked for, once: whoever audits the same table again hands the
    same value over.
    """

    table: CountedTable
    policy: Policy
    _domains: dict[str, Domain] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, original: CountedTable | OriginalTable, policy: Policy) -> OriginalTable:
        """Return a table with its readers; those that were made for the same policy are kept."""
        if isinstance(original, CountedTable):
            return cls(original, policy)
        return original if original.policy is policy or original.policy == policy else cls(original.table, policy)

    @property
    def frame(self) -> pl.DataFrame:
        """The distinct records, or all of them where they were not counted."""
        return self.table.frame

    @cached_property
    def readers(self) -> Mapping[str, Reader]:
        """Quasi-identifier → who reads its published texts."""
        return {name: Reader(self.table, name, self.policy) for name in self.policy.quasi_identifiers}

    def domain(self, name: str) -> Domain:
        """Return the values of a column that is published as it is."""
        if name not in self._domains:
            self._domains[name] = domain_of(plain(self.frame[name]))
        return self._domains[name]
