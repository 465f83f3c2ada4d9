"""CountSource: counts of a table as it is, blurred as its owner chose; verified, and kept as they were told first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.encoding.types import Bools
from shoal.engines.columns import kind_of, to_plain, to_texts
from shoal.engines.formulas import prefix_cells
from shoal.errors import AuditFailed, Refused
from shoal.gateway.blurred_counts import add_noise, add_numbers, draw_share, number_person, round_count
from shoal.gateway.evaluation import Evaluation, QueryableTable, find_matching, sort_and_limit
from shoal.gateway.labels import LabelReader
from shoal.gateway.request import Request
from shoal.gateway.standing import StandingRecords
from shoal.policy import Policy
from shoal.policy.answers import NoisyCounts, RoundedCounts

_FAR = 60
"""Scales of the noise that no draw is away from the count: once in e to this."""


@dataclass(frozen=True)
class CountSource:
    """The records that are counted, and how their counts are told.

    What was told once is told again, whoever asks and whenever: it is kept beside the records that stand. The work is
    the same all the same: how soon an answer comes would tell that somebody else has it.
    """

    frame: pl.DataFrame
    policy: Policy
    said: NoisyCounts | RoundedCounts
    standing: StandingRecords
    digest: Callable[[bytes], str]
    """Makes secret numbers."""
    _numbers: list[int] = field(default_factory=list, repr=False, compare=False)

    @cached_property
    def table(self) -> QueryableTable:
        """The table that conditions are evaluated on."""
        readers = {name: LabelReader(kind_of(self.frame[name]), exact=True) for name in self.frame.columns}
        return QueryableTable(self.frame, readers)

    def prepare(self) -> None:
        """Do now what every answer needs."""
        self.table.encode_all()
        self._number_persons()

    def find_draw(self, asked: str, version: str) -> str | None:
        """Return what tells the counts that were told from any that are drawn anew; ``None`` if there are none."""
        kept = self.standing.read_draw(*_place_of(asked, version))
        return None if kept is None else kept[1]

    def answer(self, asked: str, version: str, request: Request) -> tuple[Evaluation, str]:
        """Return the answer to a request, with what tells its counts from any that are drawn anew.

        Parameters
        ----------
        asked, version
            What tells the request, and the records with how they are told, from all others.

        Raises
        ------
        Refused
            It asks for more than counts.
        AuditFailed
            The answer does not follow from the records; it goes no further.
        """
        matched = find_matching(request, self.table)
        told = self._blur(request, matched)
        self._verify(request, matched, told)
        kept, draw = self.standing.keep_draw(*_place_of(asked, version), told)
        shown = _lay_out(request, kept)
        shown = prefix_cells(shown) if self.policy.hygiene.prefixes else shown
        return Evaluation(shown, np.flatnonzero(matched), (tell_how(self.said),)), draw

    def _blur(self, request: Request, matched: Bools) -> pl.DataFrame:
        """Return what is told: a record for each group, its values and its count."""
        rows = self._select_records(matched)
        cells: dict[str, list[int]] = {}
        keys = list(zip(*(self.frame[name].gather(rows).to_list() for name in request.group_by), strict=True))
        for index, row in enumerate(rows.to_list()):
            cells.setdefault(_write_key(keys[index] if keys else ()), []).append(row)
        if not request.group_by:
            cells.setdefault(_write_key(()), [])
        told = self._tell(cells, grouped=bool(request.group_by))
        values = {_write_key(key): key for key in keys} | {_write_key(()): ()}
        columns = [
            pl.Series(f"g{index}", [values[key][index] for key in told], dtype=self.frame[name].dtype)
            for index, name in enumerate(request.group_by)
        ]
        return pl.DataFrame([*columns, pl.Series("n", list(told.values()), dtype=pl.Int64)])

    def _tell(self, cells: dict[str, list[int]], *, grouped: bool) -> dict[str, int | None]:
        if isinstance(self.said, NoisyCounts):
            counts = {key: len(rows) for key, rows in cells.items()}
            return {**add_noise(counts, self.said, grouped=grouped)}
        told = {key: self._round(rows, self.said.base) for key, rows in cells.items()}
        return {key: count for key, count in told.items() if count is not None or not grouped}

    def _round(self, rows: list[int], base: int) -> int | None:
        """Return a rounded count; nothing where too few are counted: fewer than k, or some more, as the secret says."""
        numbers = self._number_persons()
        persons = {numbers[row] for row in rows}
        cell, least = add_numbers(list(persons)), max(self.policy.k, 2)
        if len(persons) < least + int(draw_share(cell, "least", self.digest) * least):
            return None
        return round_count(len(rows), cell, base, self.digest)

    def _select_records(self, matched: Bools) -> pl.Series:
        """Return the records that are counted: where noise hides so many of a person, no more of each."""
        rows = pl.Series("row", matched.nonzero()[0])
        if self.policy.subject is None or not isinstance(self.said, NoisyCounts):
            return rows
        persons = to_plain(self.frame[self.policy.subject]).gather(rows).alias("person")
        most = self.said.contributions
        return pl.DataFrame([rows, persons]).group_by("person", maintain_order=True).head(most)["row"].sort()

    def _number_persons(self) -> list[int]:
        """Return each record's person as a secret number; a record is its own where nobody is named."""
        if not self._numbers:
            names = [self.policy.subject] if self.policy.subject is not None else list(self.policy.identifiers)
            texts = [to_texts(self.frame[name]).to_list() for name in names] or [list(range(self.frame.height))]
            named = [json.dumps(person, ensure_ascii=False).encode() for person in zip(*texts, strict=True)]
            self._numbers.extend(number_person(name, self.digest) for name in named)
        return self._numbers

    def _verify(self, request: Request, matched: Bools, told: pl.DataFrame) -> None:
        """Raise if what is told is not what the records give, blurred as it should be; counted again from them."""
        counted: Counter[tuple[Any, ...]] = Counter()
        names = [self.frame.columns.index(name) for name in request.group_by]
        for row in self.frame.rows() if names else ():
            counted[tuple(row[index] for index in names)] += 0
        for row, found in zip(self.frame.rows(), matched.tolist(), strict=True):
            counted[tuple(row[index] for index in names)] += found
        least = max(self.policy.k, 2)
        for *key, count in told.iter_rows():
            exact = counted.get(tuple(key))
            if exact is None or (count is None and request.group_by):
                raise AuditFailed("a group is told that nobody is in", where=request.table)
            if count is None:
                continue
            if isinstance(self.said, RoundedCounts):
                correct = count % self.said.base == 0 and abs(count - exact) < self.said.base and exact >= least
            else:
                near = _FAR * self.said.contributions / self.said.epsilon
                correct = count <= exact + near and (self.policy.subject is not None or count >= exact - near)
            if not correct:
                raise AuditFailed("a count is told that does not follow from the records", where=request.table)


def check_counts(request: Request, policy: Policy) -> None:
    """Refuse whatever asks for more than counts of records by columns that may be published."""
    hint = "SELECT columns, count(*) … GROUP BY the same columns"
    figures = [item for item in request.items if item.function is not None]
    plain = [item.column for item in request.items if item.function is None]
    if len(figures) != 1 or figures[0].function != "count" or figures[0].column is not None:
        raise Refused("this owner answers with one count(*), and nothing else", where=request.table, hint=hint)
    if set(plain) != set(request.group_by):
        raise Refused("the columns that are counted by are not those that are shown", where=request.table, hint=hint)
    for name in request.touched:
        if name in policy.hidden or (policy.others == "drop" and name not in _list_published(policy)):
            raise Refused("this column is never given out", where=name)


def tell_how(said: NoisyCounts | RoundedCounts) -> str:
    """Return how counts are told, as an answer says it."""
    if isinstance(said, RoundedCounts):
        return f"counts are rounded at random to multiples of {said.base}; groups of few persons are left out"
    text = f"counts have Laplace noise of scale {said.contributions / said.epsilon:g} (epsilon {said.epsilon:g}"
    return f"{text}, delta {said.delta:g} where groups are asked for); groups of few persons are left out"


def _list_published(policy: Policy) -> set[str]:
    return {*policy.quasi_identifiers, *policy.sensitive}


def _write_key(key: tuple[Any, ...]) -> str:
    return repr(key)


def _place_of(asked: str, version: str) -> tuple[str, int]:
    """Return the name and the number under which the counts of a request are kept."""
    records, _, generation = version.partition("-")
    return f"count-{asked}-{records}", int(generation) - 1


def _lay_out(request: Request, told: pl.DataFrame) -> pl.DataFrame:
    """Return what is told as the request wants it shown: its columns, sorted, and cut."""
    columns = [
        told["n" if item.function else f"g{request.group_by.index(str(item.column))}"].alias(item.name)
        for item in request.items
    ]
    return sort_and_limit(pl.DataFrame(columns), request.order_by, request.limit, 0)
