"""evaluate(): a request, answered from a table: the original where it is released as it is, else the published one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.encoding.labels import read_start
from shoal.encoding.types import Bools, Ints
from shoal.errors import Refused
from shoal.gateway.labels import SIGNS, LabelReader, PossibleValues, Truth, to_comparable
from shoal.gateway.request import Among, Compare, Condition, Every, IsNull, Item, Not, Order, Request, Some

Objects = npt.NDArray[np.object_]


@dataclass(frozen=True)
class Evaluation:
    """The answer to a request on one table."""

    table: pl.DataFrame
    matched: Bools
    """Which records of the table it is made of: those that match the condition."""
    notes: tuple[str, ...] = ()

    @cached_property
    def content_hash(self) -> bytes:
        """A hash of what it holds, whatever the order of its records."""
        return hash_records(self.table)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return int(self.table.estimated_size()) + self.matched.nbytes


@dataclass(frozen=True)
class QueryableTable:
    """A table that requests are evaluated on."""

    frame: pl.DataFrame
    meanings: Mapping[str, LabelReader]
    """Column → how to read it."""
    seed: int = 0
    _codes: dict[str, tuple[list[Any], Ints]] = field(default_factory=dict, repr=False, compare=False)
    _labels: dict[str, list[PossibleValues]] = field(default_factory=dict, repr=False, compare=False)
    _exact: dict[str, Objects] = field(default_factory=dict, repr=False, compare=False)

    def encode_all(self) -> None:
        """Encode every column: how soon the first answer about one comes would tell whether somebody asked for it."""
        for name in self.frame.columns:
            if self.meanings[name].exact:
                self.read_exact(name)
            else:
                self.read_labels(name)

    def encode(self, name: str) -> tuple[list[Any], Ints]:
        """Return the distinct values of a column in the order that they sort in, and the number of each record's."""
        if name not in self._codes:
            self._codes[name] = _encode(self.frame[name])
        return self._codes[name]

    def read_labels(self, name: str) -> list[PossibleValues]:
        """Return what the distinct values of a column can stand for."""
        if name not in self._labels:
            self._labels[name] = [self.meanings[name].of(value) for value in self.encode(name)[0]]
        return self._labels[name]

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
    matched = np.ones(table.frame.height, bool) if request.where is None else _match(request.where, table)[0]
    rows = np.flatnonzero(matched)
    if request.aggregates:
        groups, notes = _aggregate(request, table, rows)
        return Evaluation(sort_and_limit(groups, request.order_by, request.limit, table.seed), matched, notes)
    ranks = {item.name: table.encode(str(item.column))[1][rows] for item in request.items}
    indices = pl.Series(rows[_order_rows(ranks, request.order_by, request.limit, table.seed)])
    columns = [table.frame[str(item.column)].gather(indices).alias(item.name) for item in request.items]
    return Evaluation(pl.DataFrame(columns), matched)


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
                truths = _test_labels(condition, reader, table.read_labels(condition.column))
                yes = np.array([truth is True for truth in truths], bool)
                no = np.array([truth is False for truth in truths], bool)
            return yes[codes], no[codes]


def _test_labels(test: Compare | Among | IsNull, reader: LabelReader, labels: list[PossibleValues]) -> list[Truth]:
    """Return for each distinct label of a published column whether it passes a test."""
    if isinstance(test, IsNull):
        return [label.is_null() for label in labels]
    if isinstance(test, Compare) and test.sign not in ("=", "<>"):
        literal = reader.literal(test.value, test.column)
        return [label.compare(test.sign, literal) for label in labels]
    wanted, texts = reader.literals(test.values if isinstance(test, Among) else (test.value,), test.column)
    truths = [label.among(wanted, texts) for label in labels]
    if isinstance(test, Compare) and test.sign == "<>":
        return [None if truth is None else not truth for truth in truths]
    return truths


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
    cells: Ints
    """A row for each group, a column for each that is grouped by: the numbers of its values."""

    @classmethod
    def of(cls, columns: Sequence[Ints], rows: Ints) -> _Groups:
        of_row, firsts = combine_codes([codes[rows] for codes in columns], len(rows))
        if not columns:  # all records are one group, even where there are none
            return cls(rows, of_row, np.zeros((1, 0), np.int64))
        return cls(rows, of_row, np.column_stack([codes[rows][firsts] for codes in columns]))


def _aggregate(request: Request, table: QueryableTable, rows: Ints) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a record for each group."""
    encoded = [table.encode(name) for name in request.group_by]
    groups = _Groups.of([codes for _, codes in encoded], rows)
    columns: list[pl.Series] = []
    notes: list[str] = []
    for item in request.items:
        if item.function is None:
            index = request.group_by.index(str(item.column))
            values = [encoded[index][0][code] for code in groups.cells[:, index]]
            columns.append(pl.Series(item.name, values, dtype=table.frame[str(item.column)].dtype))
        else:
            columns.append(_compute_figures(item, table, groups, notes).alias(item.name))
    return pl.DataFrame(columns), tuple(notes)


def _compute_figures(item: Item, table: QueryableTable, groups: _Groups, notes: list[str]) -> pl.Series:
    count = len(groups.cells)
    if item.column is None:
        return pl.Series(np.bincount(groups.of_row, minlength=count))
    column = table.frame[item.column]
    if item.function == "count":
        present = column.is_not_null().to_numpy()[groups.rows]
        return pl.Series(np.bincount(groups.of_row[present], minlength=count))
    values = _figure_values(item, table, notes).gather(pl.Series(groups.rows))
    grouped = pl.DataFrame([pl.Series("group", groups.of_row), values.alias("value")]).group_by("group")
    value = pl.col("value")
    total = pl.when(value.count() > 0).then(value.sum())
    figure = {"sum": total, "avg": value.mean(), "min": value.min(), "max": value.max()}[str(item.function)]
    every = pl.DataFrame([pl.Series("group", np.arange(count))])
    return every.join(grouped.agg(figure.alias("figure")), on="group", how="left", maintain_order="left")["figure"]


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
    if table.meanings[name].kind not in ("integer", "float"):
        raise Refused(f"{item.function} of published labels", where=name, hint="count them, or group by them")
    _, codes = table.encode(name)
    middles = [meaning.middle for meaning in table.read_labels(name)]
    note = f"{item.name}: from the middles of the published ranges"
    if any(middle is None for middle in middles):
        note += "; records that show none are left out"
    notes.append(note)
    return pl.Series([middles[code] for code in codes.tolist()], dtype=pl.Float64)


def hash_records(table: pl.DataFrame) -> bytes:
    """Return a hash of what a table holds, whatever the order of its records."""
    columns = [column.alias(f"c{index}") for index, column in enumerate(table)]
    ordered = pl.DataFrame(columns).sort([column.name for column in columns], nulls_last=False)
    text = json.dumps(table.columns) + ordered.write_csv(null_value="\\N", quote_style="non_numeric")
    return hashlib.blake2b(text.encode()).digest()


def sort_and_limit(table: pl.DataFrame, keys: tuple[Order, ...], limit: int | None, seed: int) -> pl.DataFrame:
    """Return a table sorted by what it shows, and cut.

    Without an order to keep it is sorted by all that it shows; where it is cut or sorted, ties are in a random order
    that follows from the seed, so that the index of a record tells nothing of what is not shown.
    """
    ranks = {column.name: _encode(column)[1] for column in table}
    return table[_order_rows(ranks, keys, limit, seed)]


def _order_rows(ranks: Mapping[str, Ints], keys: tuple[Order, ...], limit: int | None, seed: int) -> Ints:
    """Return the records in the order that the ranks of their cells give."""
    rows = np.lexsort(list(ranks.values())[::-1])
    if not keys and limit is None:
        return rows
    rows = np.random.default_rng(seed).permutation(rows)
    for key in reversed(keys):
        rank = ranks[key.name][rows]
        rows = rows[np.argsort(-rank if key.descending else rank, kind="stable")]
    return rows[:limit]


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
        _, firsts, numbers = np.unique(numbers * width + codes, return_index=True, return_inverse=True)
        numbers = numbers.ravel()
    return numbers, firsts


def _sort_key(value: Any) -> tuple[bool, float, str]:
    """Return what a value is sorted by: missing first, numbers and ranges by where they begin, texts as they are."""
    if value is None:
        return False, 0.0, ""
    if isinstance(value, (int, float)):
        return True, float(value), ""
    return True, read_start(value) if isinstance(value, str) else float("inf"), str(value)
