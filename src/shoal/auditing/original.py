"""OriginalTable: the table that a published one is compared with, and who reads the published texts of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from shoal.auditing.reading import Reader
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.policy import Policy


@dataclass(frozen=True)
class OriginalTable:
    """The original table, treated as the policy says.

    What is made of its columns is made once: the values, domains and hierarchies are those of its dictionary, and
    whoever audits the same table again hands the same original over.
    """

    words: TableDictionary

    @classmethod
    def of(cls, original: CountedTable | OriginalTable, policy: Policy) -> OriginalTable:
        """Return a table with its readers; those that were made for the same policy are kept."""
        if isinstance(original, CountedTable):
            return cls(TableDictionary(original, policy))
        is_same = original.policy is policy or original.policy == policy
        return original if is_same else cls(TableDictionary(original.table, policy))

    @property
    def table(self) -> CountedTable:
        """The records."""
        return self.words.table

    @property
    def policy(self) -> Policy:
        """What it is treated by."""
        return self.words.policy

    @property
    def frame(self) -> pl.DataFrame:
        """The distinct records, or all of them where they were not counted."""
        return self.table.frame

    @cached_property
    def readers(self) -> Mapping[str, Reader]:
        """Quasi-identifier → who reads its published texts."""
        return {name: Reader(self.words, name) for name in self.policy.quasi_identifiers}
