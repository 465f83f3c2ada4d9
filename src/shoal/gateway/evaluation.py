"""evaluate(): a request, answered from a table: the original where it is released as it is, else the published one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.encoding.labels import read_start
from shoal.encoding.types import Bools, Ints
from shoal.errors import Refused
from shoal.gateway.label_column import LabelColumn
from shoal.gateway.labels import SIGNS, LabelReader, Truth, to_comparable
from shoal.gateway.request import Among, Compare, Condition, Every, IsNull, Item, Not, Order, Request, Some

Objects = npt.NDArray[np.object_]
_MAX_NUMBER = 2**62
"""The largest number that stands for several codes."""
_MAX_GAPS = 8
"""Numbers for each record up to which a table of all of them is made in place of sorting."""


@dataclass(frozen=True)
class Evaluation:
    """The answer to a request on one table."""

    table: pl.DataFrame
    rows: Ints
    """Which records of the table it is made of: the one that each record shows, or all that figures are about."""
    notes: tuple[str, ...] = ()

    @cached_property
    def content_hash(self) -> bytes:
        """A hash of what it holds, whatever the order of its records."""
        return hash_answer(self.table)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return int(self.table.estimated_size()) + self.rows.nbytes


@dataclass(frozen=True)
class QueryableTable:
    """A table that requests are evaluated on."""

    frame: pl.DataFrame
    meanings: Mapping[str, LabelReader]
    """Column → how to read it."""
    seed: int = 0
    _codes: dict[str, tuple[list[Any], Ints]] = field(default_factory=dict, repr=False, compare=False)
    _labels: dict[str, LabelColumn] = field(default_factory=dict, repr=False, compare=False)
    _midpoints: dict[str, pl.Series] = field(default_factory=dict, repr=False, compare=False)
    _exact: dict[str, Objects] = field(default_factory=dict, repr=False, compare=False)

    def encode_all(self) -> None:
        """Encode every column: how soon the first answer about one comes would tell whether somebody asked for it."""
        self.shuffled.setflags(write=False)  # it is shared
        for name in self.frame.columns:
            if self.meanings[name].exact:
                self.read_exact(name)
            else:
                self.read_labels(name)
                if self.meanings[name].is_number:
                    self.read_midpoints(name)

    def encode(self, name: str) -> tuple[list[Any], Ints]:
        """Return the distinct values of a column in the order that they sort in, and the number of each record's."""
        if name not in self._codes:
            self._codes[name] = _encode(self.frame[name])
        return self._codes[name]

    def read_labels(self, name: str) -> LabelColumn:
        """Return what the distinct values of a column can stand for."""
        if name not in self._labels:
            self._labels[name] = LabelColumn.of([self.meanings[name].of(value) for value in self.encode(name)[0]])
        return self._labels[name]

    def read_midpoints(self, name: str) -> pl.Series:
        """Return the middle of what each record shows; nothing where that is no number."""
        if name not in self._midpoints:
            middles = pl.Series([label.middle for label in self.read_labels(name).labels], dtype=pl.Float64)
            self._midpoints[name] = middles.gather(pl.Series(self.encode(name)[1]))
        return self._midpoints[name]

    @cached_property
    def shuffled(self) -> Ints:
        """Positions in a random order that follows from the seed."""
        return np.random.default_rng(self.seed).permutation(self.frame.height)

    def read_exact(self, name: str) -> Objects:
        """Return the distinct values of a column that is shown as it is, as they compare."""
        if name not in self._exact:
            values = self.encode(name)[0]
            self._exact[name] = np.empty(len(values), object)
            self._exact[name][:] = [to_comparable(value) for value in values]
        return self._exact[name]


def evaluate(request: Request, table: QueryableTable) -> Evaluation:
    """Return the answer to a request.

    A record matches if what is shown of it can only stand for values that match. What a column is sorted by is what
    is shown; records that tie are in an order that follows from the seed, not from the original.

    Examples
    --------
    >>> frame = pl.DataFrame({"age": ["[20, 29]", "[30, 39]", "*"]})
    >>> table = QueryableTable(frame, {"age": LabelReader("integer")})
    >>> evaluate(Request("people", (Item("age", "age"),), where=Compare("age", "<", 35)), table).table["age"].to_list()
    ['[20, 29]']
    """
    rows = np.flatnonzero(find_matching(request, table))
    if request.aggregates:
        groups, notes = _aggregate(request, table, rows)
        return Evaluation(sort_and_limit(groups, request.order_by, request.limit, table.seed), rows, notes)
    ranks = {item.name: table.encode(str(item.column))[1] for item in request.items}
    shuffled = table.shuffled[table.shuffled < len(rows)]
    rows = _order_rows(rows, ranks, request.order_by, request.limit, shuffled)
    columns = [take_rows(table.frame[str(item.column)], rows).alias(item.name) for item in request.items]
    return Evaluation(pl.DataFrame(columns), rows)


def find_matching(request: Request, table: QueryableTable) -> Bools:
    """Return which records of a table certainly match a request's condition."""
    return np.ones(table.frame.height, bool) if request.where is None else _match(request.where, table)[0]


def _match(condition: Condition, table: QueryableTable) -> tuple[Bools, Bools]:
    """Return for which records a condition certainly holds, and for which it certainly does not."""
    match condition:
        case Not():
            yes, no = _match(condition.part, table)
            return no, yes
        case Every() | Some():
            yes, no = _match(condition.parts[0], table)
            for part in condition.parts[1:]:
                also_yes, also_no = _match(part, table)
                if isinstance(condition, Every):
                    yes, no = yes & also_yes, no | also_no
                else:
                    yes, no = yes | also_yes, no & also_no
            return yes, no
        case _:
            _, codes = table.encode(condition.column)
            reader = table.meanings[condition.column]
            if reader.exact:
                yes, no = _test_exact(condition, reader, table.read_exact(condition.column))
            else:
                yes, no = _test_labels(condition, reader, table.read_labels(condition.column))
            return yes[codes], no[codes]


def _test_labels(test: Compare | Among | IsNull, reader: LabelReader, column: LabelColumn) -> tuple[Bools, Bools]:
    """Return which distinct labels of a published column certainly pass a test, and which certainly do not."""
    if isinstance(test, IsNull):
        return _split(label.is_null() for label in column.labels)
    if isinstance(test, Compare) and test.sign not in ("=", "<>"):
        return column.compare(test.sign, reader.literal(test.value, test.column))
    wanted, texts = reader.literals(test.values if isinstance(test, Among) else (test.value,), test.column)
    yes, no = _split(label.among(wanted, texts) for label in column.labels)
    return (no, yes) if isinstance(test, Compare) and test.sign == "<>" else (yes, no)


def _split(truths: Iterable[Truth]) -> tuple[Bools, Bools]:
    known = list(truths)
    return np.array([truth is True for truth in known], bool), np.array([truth is False for truth in known], bool)


def _test_exact(test: Compare | Among | IsNull, reader: LabelReader, values: Objects) -> tuple[Bools, Bools]:
    """Return for which distinct values of a column a test holds, and for which it does not; a column that is shown as
    it is may have as many of them as there are records, and a request two hundred tests."""
    first = int(len(values) > 0 and values[0] is None)  # what is missing sorts first
    yes, no = np.zeros(len(values), bool), np.zeros(len(values), bool)
    if isinstance(test, IsNull):
        yes[:first], no[first:] = True, True
        return yes, no
    known = values[first:]
    if isinstance(test, Among):
        wanted, _ = reader.literals(test.values, test.column)
        held = np.fromiter((value in wanted for value in known), bool, len(known))
    else:
        held = SIGNS[test.sign](known, reader.literal(test.value, test.column)).astype(bool)
    yes[first:], no[first:] = held, ~held
    return yes, no


@dataclass(frozen=True)
class _Groups:
    """The matching records of a table, put into groups."""

    rows: Ints
    """The records."""
    of_row: Ints
    """The group of each of them."""
    firsts: Ints
    """The first record of each group."""
    count: int

    @classmethod
    def of(cls, columns: Sequence[Ints], rows: Ints) -> _Groups:
        of_row, firsts = combine_codes([codes[rows] for codes in columns], len(rows))
        # without keys all records are one group, even where there are none
        return cls(rows, of_row, rows[firsts], len(firsts) if columns else 1)


def _aggregate(request: Request, table: QueryableTable, rows: Ints) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a record for each group."""
    groups = _Groups.of([table.encode(name)[1] for name in request.group_by], rows)
    columns: list[pl.Series] = []
    notes: list[str] = []
    for item in request.items:
        if item.function is None:
            column = take_rows(table.frame[str(item.column)], groups.firsts)
        else:
            column = _compute_figures(item, table, groups, notes)
        columns.append(column.alias(item.name))
    return pl.DataFrame(columns), tuple(notes)


def _compute_figures(item: Item, table: QueryableTable, groups: _Groups, notes: list[str]) -> pl.Series:
    if item.column is None:
        return pl.Series(np.bincount(groups.of_row, minlength=groups.count))
    if item.function == "count":
        present = table.frame[item.column].is_not_null().to_numpy()[groups.rows]
        return pl.Series(np.bincount(groups.of_row[present], minlength=groups.count))
    values = take_rows(_figure_values(item, table, notes), groups.rows)
    grouped = pl.DataFrame([pl.Series("group", groups.of_row), values.alias("value")]).group_by("group")
    value = pl.col("value")
    total = pl.when(value.count() > 0).then(value.sum())
    figure = {"sum": total, "avg": value.mean(), "min": value.min(), "max": value.max()}[str(item.function)]
    found = grouped.agg(figure.alias("figure"))
    indices = np.full(groups.count, found.height, np.int64)  # a group without records has no figure
    indices[found["group"].to_numpy()] = np.arange(found.height)
    return take_rows(found["figure"].extend_constant(None, 1), indices)


def _figure_values(item: Item, table: QueryableTable, notes: list[str]) -> pl.Series:
    """Return the values that a figure is made of: a column's own, or the midpoints of its published ranges."""
    name = str(item.column)
    column = table.frame[name]
    if column.dtype.is_numeric():
        return column
    if not table.meanings[name].exact:
        return _read_midpoints(item, table, notes)
    if item.function in ("sum", "avg"):
        raise Refused(f"{item.function} of a column that holds no numbers", where=name)
    return column


def _read_midpoints(item: Item, table: QueryableTable, notes: list[str]) -> pl.Series:
    """Return the middle of what is published, for figures over ranges."""
    name = str(item.column)
    if not table.meanings[name].is_number:
        raise Refused(f"{item.function} of published labels", where=name, hint="count them, or group by them")
    middles = table.read_midpoints(name)
    note = f"{item.name}: from the middles of the published ranges"
    if middles.null_count():
        note += "; records that show none are left out"
    notes.append(note)
    return middles


def hash_records(table: pl.DataFrame) -> bytes:
    """Return a hash of what a table holds, whatever the order of its records."""
    columns = [column.alias(f"c{index}") for index, column in enumerate(table)]
    ordered = pl.DataFrame(columns).sort([column.name for column in columns], nulls_last=False)
    text = json.dumps(table.columns) + ordered.write_csv(null_value="\\N", quote_style="non_numeric")
    return hashlib.blake2b(text.encode()).digest()


def hash_answer(table: pl.DataFrame) -> bytes:
    """Return a hash of what an answer holds, whatever the order of its records; of few records this is quick.

    Examples
    --------
    >>> one, other = pl.DataFrame({"a": [1, None]}), pl.DataFrame({"a": [None, 1]})
    >>> hash_answer(one) == hash_answer(other), hash_answer(one) == hash_answer(pl.DataFrame({"a": ["1", None]}))
    (True, False)
    """
    lines = [json.dumps(table.columns), *sorted(map(repr, table.iter_rows()))]
    return hashlib.blake2b("\n".join(lines).encode()).digest()


def sort_and_limit(table: pl.DataFrame, keys: tuple[Order, ...], limit: int | None, seed: int) -> pl.DataFrame:
    """Return a table sorted by what it shows, and cut.

    Without an order to keep it is sorted by all that it shows; where it is cut or sorted, ties are in a random order
    that follows from the seed, so that the index of a record tells nothing of what is not shown.
    """
    ranks = {column.name: _encode(column)[1] for column in table}
    shuffled = np.random.default_rng(seed).permutation(table.height)
    return table[_order_rows(np.arange(table.height), ranks, keys, limit, shuffled)]


def _order_rows(
    rows: Ints, ranks: Mapping[str, Ints], keys: tuple[Order, ...], limit: int | None, shuffled: Ints
) -> Ints:
    """Return records in the order that the ranks of their cells give; ``shuffled``: as many positions, at random."""
    ordered = rows[_sort_rows(list(ranks.values()), rows)]
    if not keys and limit is None:
        return ordered
    ordered = ordered[shuffled if keys else shuffled[:limit]]
    for key in reversed(keys):
        rank = ranks[key.name][ordered]
        ordered = ordered[np.argsort(-rank if key.descending else rank, kind="stable")]
    return ordered[:limit]


def _sort_rows(ranks: Sequence[Ints], rows: Ints) -> Ints:
    """Return the order of some records by several ranks; those that tie show the same."""
    widths = [int(rank.max(initial=0)) + 1 for rank in ranks]
    if prod(widths) > _MAX_NUMBER:
        return np.lexsort([rank[rows] for rank in ranks[::-1]])
    numbers = np.zeros(len(ranks[0]), np.int64)
    for rank, width in zip(ranks, widths, strict=True):
        numbers = numbers * width + rank
    return np.argsort(numbers[rows])


def take_rows(column: pl.Series, rows: Ints) -> pl.Series:
    """Return some cells of a column; indices of the kind that polars uses itself cost a tenth."""
    return column[pl.Series(rows, dtype=pl.get_index_type())]


def _encode(column: pl.Series) -> tuple[list[Any], Ints]:
    cells = column.to_list()
    values = sorted(set(cells), key=_sort_key)
    indices = {value: index for index, value in enumerate(values)}
    return values, np.array([indices[cell] for cell in cells], np.int64)


def combine_codes(columns: Sequence[Ints], records: int) -> tuple[Ints, Ints]:
    """Return the number of each record's combination of codes, and the first record of each combination."""
    numbers, firsts = np.zeros(records, np.int64), np.zeros(min(records, 1), np.int64)
    for codes in columns:
        width = int(codes.max(initial=0)) + 1
        numbers, firsts = _close_gaps(numbers * width + codes)
    return numbers, firsts


def _close_gaps(numbers: Ints) -> tuple[Ints, Ints]:
    """Return numbers in the same order without gaps, and where each occurs first; few enough need no sorting."""
    width = int(numbers.max(initial=0)) + 1
    if width > _MAX_GAPS * len(numbers):
        _, firsts, closed = np.unique(numbers, return_index=True, return_inverse=True)
        return closed.ravel(), firsts
    places = np.full(width, -1, np.int64)
    places[numbers[::-1]] = np.arange(len(numbers))[::-1]
    firsts = places[places >= 0]
    places[numbers[firsts]] = np.arange(len(firsts))
    return places[numbers], firsts


def _sort_key(value: Any) -> tuple[bool, float, str]:
    """Return what a value is sorted by: missing first, numbers and ranges by where they begin, texts as they are."""
    if value is None:
        return False, 0.0, ""
    if isinstance(value, (int, float)):
        return True, float(value), ""
    return True, read_start(value) if isinstance(value, str) else float("inf"), str(value)
