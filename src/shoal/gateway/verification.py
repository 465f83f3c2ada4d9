"""AnswerVerifier: compares an answer with the table that was audited, before it leaves.

It shares the dictionary with the code that cuts answers (how a published range is read), not the cutting: records are
looked up in the audited table, groups are counted again. Which records match the condition is taken from the answer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose
from typing import Any

import numpy as np
import polars as pl

from shoal.encoding.domains import STAR
from shoal.encoding.types import Ints
from shoal.errors import AuditFailed
from shoal.gateway.bounded_cache import BoundedCache
from shoal.gateway.evaluation import Evaluation
from shoal.gateway.labels import LabelReader
from shoal.gateway.request import Item, Request

_MAX_SHARED = 4_096
"""Combinations of columns of a client that are known to be shared by enough persons."""
_TOLERANCE = 1e-9
"""Sums of the same numbers may differ so much with their order."""
_PERSONS = "persons"


@dataclass(frozen=True)
class AnswerVerifier:
    """Verifies that answers show nothing that the audited table does not hold.

    - Each record of an answer is one of the table, and each of these is shown once.
    - A group of an answer occurs in the table, and once in the answer; its figures follow from the published records.
    - Where the table is shown as it is, whatever an answer's request touches is shared by enough persons.

    Examples
    --------
    >>> from shoal.gateway.evaluation import QueryableTable, evaluate
    >>> audited = pl.DataFrame({"age": ["[20, 29]", "[30, 39]"]})
    >>> readers, request = {"age": LabelReader("integer")}, Request("people", (Item("age", "age"),))
    >>> verifier = AnswerVerifier(audited, readers)
    >>> verifier.verify(request, evaluate(request, QueryableTable(audited, readers)))
    >>> verifier.verify(request, evaluate(request, QueryableTable(pl.DataFrame({"age": ["24", "31"]}), readers)))
    Traceback (most recent call last):
        ...
    shoal.errors.AuditFailed: people: the answer shows a record that the release does not hold.
    """

    audited: pl.DataFrame
    readers: Mapping[str, LabelReader]
    """Column → how to read it; columns that the audited table lacks show ``*``."""
    least: int = 1
    """How many persons share what is touched of each record."""
    subjects: pl.Series | None = None
    """The person of each record; ``None`` where each record is one."""
    _shared: BoundedCache[tuple[str, frozenset[str]], bool] = field(
        default_factory=lambda: BoundedCache(_MAX_SHARED), repr=False, compare=False
    )
    _stars: dict[str, pl.Series] = field(default_factory=dict, repr=False, compare=False)
    """Columns that are never given out."""
    _hashes: dict[str, pl.Series] = field(default_factory=dict, repr=False, compare=False)
    _midpoints: dict[str, pl.Series] = field(default_factory=dict, repr=False, compare=False)

    def prepare(self) -> None:
        """Read every column now: how soon the first answer comes would tell whether somebody asked for it before."""
        for name in self.readers:
            self._hash(name)
            if self._shows_ranges(name) and self.readers[name].is_number:
                self._read_midpoints(name)

    def verify(self, request: Request, answer: Evaluation, client: str = "") -> None:
        """Raise if an answer to a client shows anything that it must not.

        Raises
        ------
        AuditFailed
            It does; the text holds no data.
        """
        if answer.table.columns != [item.name for item in request.items]:
            raise _failure(request, "the answer has other columns than were asked for")
        if not _are_distinct(answer.rows, self.audited.height):
            raise _failure(request, "the answer is made of records that the release does not hold, or of one twice")
        if request.limit is not None and answer.table.height > request.limit:
            raise _failure(request, "the answer has more records than were asked for")
        if not request.aggregates and answer.table.height != len(answer.rows):
            raise _failure(request, "the answer has other records than it is made of")
        keys = [item for item in request.items if not item.function]
        if any(answer.table[item.name].dtype != self._column(str(item.column)).dtype for item in keys):
            raise _failure(request, "the answer shows values of another kind than the release")
        if self.least > 1 and not self._is_shared(client, frozenset(request.touched)):
            raise _failure(request, "the answer is cut from records that too few persons share")
        if request.aggregates:
            self._verify_groups(request, answer)
        else:
            self._verify_records(request, answer)

    def _is_shared(self, client: str, columns: frozenset[str]) -> bool:
        """Whether enough persons have each combination of values in some columns."""
        shared = self._shared.get((client, columns))
        if shared is None:
            groups = _number(map(self._hash, sorted(columns)), "g")
            persons = pl.len() if self.subjects is None else pl.col(_PERSONS).n_unique()
            people = [] if self.subjects is None else [self.subjects.alias(_PERSONS)]
            counts = pl.DataFrame([*groups, *people]).group_by([group.name for group in groups]).agg(persons.alias("n"))
            shared = bool((counts["n"] >= self.least).all())
            self._shared.put((client, columns), shared)
        return shared

    def _verify_records(self, request: Request, answer: Evaluation) -> None:
        rows = pl.Series(answer.rows, dtype=pl.get_index_type())
        audited = [self._column(str(item.column))[rows] for item in request.items]
        if not all(map(pl.Series.equals, audited, answer.table)):
            raise _failure(request, "the answer shows a record that the release does not hold")

    def _column(self, name: str) -> pl.Series:
        if name in self.audited.columns:
            return self.audited[name]
        if name not in self._stars:
            self._stars[name] = pl.Series([STAR], dtype=pl.String).new_from_index(0, self.audited.height)
        return self._stars[name]

    def _hash(self, name: str) -> pl.Series:
        """Return a column's values as numbers of 64 bits, which compare sooner than texts."""
        if name not in self._hashes:
            self._hashes[name] = self._column(name).hash()
        return self._hashes[name]

    def _verify_groups(self, request: Request, answer: Evaluation) -> None:
        groups = self._recount(request, answer.rows)
        selected = [request.group_by.index(str(item.column)) for item in request.items if not item.function]
        hashes = [answer.table[item.name].hash().to_list() for item in request.items if not item.function]
        shown = list(zip(*hashes, strict=True)) if hashes else [()] * answer.table.height
        known = Counter(tuple(key[index] for index in selected) for key in groups)
        if Counter(shown) - known:
            raise _failure(request, "the answer shows a group that the release does not hold")
        figures = [answer.table[item.name].to_list() for item in request.items if item.function]
        if set(selected) != set(range(len(request.group_by))):  # which group a figure is about is not shown
            correct = all(map(_occur, figures, zip(*groups.values(), strict=True)))
        else:
            named = {tuple(key[index] for index in selected): key for key in groups}
            keys = [named[key] for key in shown]
            correct = all(map(_are_near, zip(*figures, strict=True), (groups[key] for key in keys)))
        if not correct:
            raise _failure(request, "a figure of the answer does not follow from the release")

    def _recount(self, request: Request, rows: Ints) -> dict[tuple[int, ...], tuple[Any, ...]]:
        """Count the groups of the records that an answer is made of: hashes of their keys → their figures."""
        groups = [f"g{index}" for index in range(len(request.group_by))]
        figures = {f"a{index}": item for index, item in enumerate(request.items) if item.function}
        columns = _number(map(self._hash, request.group_by), "g")
        columns += [self._values(item).alias(name) for name, item in figures.items()]
        counts = [_figure(item, name).alias(name) for name, item in figures.items()]
        records = pl.DataFrame(columns)[pl.Series(rows, dtype=pl.get_index_type())]
        cells = records.group_by(groups).agg(counts) if groups else records.select(counts)
        width = len(groups)
        return {row[:width]: row[width:] for row in cells.iter_rows()}

    def _values(self, item: Item) -> pl.Series:
        """Return what a figure is made of: the published values, or the midpoints of published ranges."""
        name = item.column
        if name is None:
            return pl.Series([True]).new_from_index(0, self.audited.height)
        if item.function == "count" or not self._shows_ranges(name):
            return self._column(name)
        return self._read_midpoints(name)

    def _shows_ranges(self, name: str) -> bool:
        return not (self._column(name).dtype.is_numeric() or self.readers[name].exact)

    def _read_midpoints(self, name: str) -> pl.Series:
        if name not in self._midpoints:
            column = self._column(name)
            middles = {value: self.readers[name].of(value).middle for value in column.unique()}
            self._midpoints[name] = pl.Series([middles[value] for value in column], dtype=pl.Float64)
        return self._midpoints[name]


def _failure(request: Request, what: str) -> AuditFailed:
    return AuditFailed(what, where=request.table)


def _number(columns: Iterable[pl.Series], prefix: str) -> list[pl.Series]:
    """Name columns by numbers: polars reads some names as patterns."""
    return [column.alias(f"{prefix}{index}") for index, column in enumerate(columns)]


def _are_distinct(rows: Ints, height: int) -> bool:
    """Whether these are the numbers of records of a table that has so many, each once."""
    if len(rows) and not 0 <= rows.min() <= rows.max() < height:
        return False
    seen = np.zeros(height, bool)
    seen[rows] = True
    return int(seen.sum()) == len(rows)


def _figure(item: Item, name: str) -> pl.Expr:
    value = pl.col(name)
    if item.column is None:
        return pl.len()
    total = pl.when(value.count() > 0).then(value.sum())
    figures = {"count": value.count(), "sum": total, "avg": value.mean(), "min": value.min(), "max": value.max()}
    return figures[str(item.function)]


def _occur(figures: Sequence[Any], recounted: Sequence[Any]) -> bool:
    values = [figure for figure in figures if figure is not None]
    known = sorted(figure for figure in recounted if figure is not None)
    for value in values:
        after = bisect_left(known, value)
        if not any(_are_near([value], [figure]) for figure in known[max(after - 1, 0) : after + 1]):
            return False
    return True


def _are_near(figures: Sequence[Any], recounted: Sequence[Any]) -> bool:
    """Whether figures are the same, but for the rounding of sums."""
    return all(
        left == right
        or (
            isinstance(left, float)
            and isinstance(right, float)
            and isclose(left, right, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        )
        for left, right in zip(figures, recounted, strict=True)
    )
