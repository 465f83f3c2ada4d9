"""TableVersion: the records that a table is answered from, and what was made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from shoal.engines.columns import kind_of, to_plain
from shoal.engines.counted import CountedTable
from shoal.engines.formulas import count_formulas
from shoal.engines.treatments import faults, treat
from shoal.errors import Refused
from shoal.gateway.answer_source import AnswerSource
from shoal.gateway.bounded_cache import BoundedCache
from shoal.gateway.count_source import CountSource
from shoal.gateway.evaluation import QueryableTable, hash_records
from shoal.gateway.labels import LabelReader
from shoal.gateway.ledger import Ledger
from shoal.gateway.queryable_release import QueryableRelease
from shoal.gateway.shared_records import select_shared
from shoal.gateway.standing import StandingRecords
from shoal.gateway.verification import AnswerVerifier
from shoal.policy import Policy
from shoal.policy.disclosure_weights import Weighed
from shoal.policy.published_columns import published_columns

NO_FIT, LOOK = "the policy does not fit the table", "the owner has to look at it: shoal check"
_MAX_WEIGHINGS = 4_096
"""Sums of weights that are kept for a version of a table."""
_MAX_RELEASES = 64
"""Releases of some columns that are kept for a version of a table."""


@dataclass
class TableVersion:
    """The records that answers are cut from, and what was made of them."""

    generations: tuple[pl.DataFrame, ...]
    """The records that were there first, and each group of new persons since."""
    policy: Policy
    ledger: Ledger
    standing: StandingRecords
    releases: BoundedCache[tuple[str, frozenset[str]] | None, QueryableRelease | Refused] = field(
        default_factory=lambda: BoundedCache(_MAX_RELEASES)
    )
    """A client and its columns (``None``: all) → their release, or why there is none."""
    weighings: BoundedCache[tuple[Any, ...], tuple[Weighed, dict[str, float]]] = field(
        default_factory=lambda: BoundedCache(_MAX_WEIGHINGS)
    )
    """A client, the columns of its request and what the client has as it is → what they weigh together."""

    @property
    def first(self) -> pl.DataFrame:
        """The records that were there first."""
        return self.generations[0]

    @cached_property
    def records_name(self) -> str:
        """What the records are called that all answers are cut from: those of other ones could be compared."""
        return self.ledger.seal(hash_records(self.first).hex())

    def name(self, content_hash: bytes) -> str:
        """Return what a client calls the version: by its records, and by what was published of them first.

        Neither is to be guessed without the ledger's key.
        """
        return f"{self.records_name}.{self.ledger.seal(content_hash.hex())}-{len(self.generations)}"

    @cached_property
    def raw_name(self) -> str:
        """What the version of answers as they are is called: other records, or others of them, are another."""
        return self.name(hash_records(self._select_raw(self.first)))

    @cached_property
    def raw(self) -> AnswerSource:
        """The records that answers as they are may be cut from, treated as every release is."""
        frame = sort_records(pl.concat([self._select_raw(records) for records in self.generations]))
        self._check_formulas(frame)
        readers = {name: LabelReader(kind_of(frame[name]), exact=True) for name in frame.columns}
        subjects = None if self.policy.subject is None else to_plain(frame[self.policy.subject])
        verifier = AnswerVerifier(frame, readers, self.policy.raw_least, subjects)
        return AnswerSource(QueryableTable(frame, readers), verifier, self.policy.hygiene.prefixes).prepare()

    @cached_property
    def count_name(self) -> str:
        """What the version of counts is called: other records, or another way to blur them, are another."""
        said = "" if self.policy.answers is None else self.policy.answers.model_dump_json()
        return self.name(said.encode())

    @cached_property
    def counts(self) -> CountSource:
        """All records, to be counted; treated as every release is."""
        assert self.policy.answers is not None
        frame = sort_records(self._treat(pl.concat(self.generations)))
        self._check_formulas(frame)
        return CountSource(frame, self.policy, self.policy.answers, self.standing, self.ledger.digest)

    def _check_formulas(self, frame: pl.DataFrame) -> None:
        """Refuse to answer anything, whatever is asked, from records with formulas that the policy refuses."""
        shown = [frame[name] for name in published_columns(frame.columns, self.policy)]
        if self.policy.hygiene.formulas == "refuse" and count_formulas(CountedTable(pl.DataFrame(shown))):
            raise Refused(NO_FIT, hint=LOOK)

    def _select_raw(self, records: pl.DataFrame) -> pl.DataFrame:
        return select_shared(self._treat(records), self.policy)

    def _treat(self, records: pl.DataFrame) -> pl.DataFrame:
        for name, treatment in self.policy.treated.items():
            # a shift of dates needs the owner's key, which no gateway has
            unknown = name not in records.columns or name in self.policy.shifted
            if unknown or faults(records[name], treatment, ""):
                raise Refused(NO_FIT, where=name, hint=LOOK)
        return treat(CountedTable(records), self.policy).frame


def sort_records(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the records in an order that follows from what they hold, not from where they lay."""
    columns = [to_plain(frame[name]).alias(f"c{index}") for index, name in enumerate(frame.columns)]
    ordered = pl.DataFrame(columns).sort([column.name for column in columns], nulls_last=False)
    ordered.columns = frame.columns
    return ordered
