"""answer(): a request, evaluated on a table: the original where that is released as it is, else the published one."""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
import polars as pl

from shoal.encoding.types import Bools, Ints
from shoal.errors import Refused
from shoal.gateway.cells import hidden
from shoal.gateway.labels import Meaning, Meanings, Truth
from shoal.gateway.request import Among, Compare, Condition, Every, IsNull, Item, Not, Order, Request, Some

_OBJECTS = 4_000
"""Bytes of the objects around an answer, as measured."""
_NUMBER = re.compile(r"[\[({<>=≤≥\s]*(-?\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Evaluated:
    """The answer to a request on one table."""

    table: pl.DataFrame
    matched: Bools
    """Which records of the table it is made of."""
    notes: tuple[str, ...] = ()

    @cached_property
    def content(self) -> bytes:
        """A hash of what it holds, whatever the order of its records."""
        return content(self.table)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return int(self.table.estimated_size()) + self.matched.nbytes


class Remembered:
    """Answers that a table gave: the table is fixed, so they are too. Those asked for longest ago go first.

    They are told apart by how a request is written out: to Python ``1`` and ``True`` are equal, to a condition not.
    """

    def __init__(self, most: int = 64_000_000) -> None:
        self._most, self._size = most, 0
        self._held: OrderedDict[str, Evaluated] = OrderedDict()
        self._lock = Lock()

    def get(self, asked: Request) -> Evaluated | None:
        """Return the answer to a request, if it is remembered."""
        key = repr(asked)
        with self._lock:
            found = self._held.get(key)
            if found is not None:
                self._held.move_to_end(key)
        return found

    def put(self, asked: Request, found: Evaluated) -> None:
        """Remember an answer, unless it takes a large part of the place that there is."""
        key = repr(asked)
        if _place(key, found) > self._most // 8:
            return
        with self._lock:
            if key not in self._held:
                self._held[key] = found
                self._size += _place(key, found)
            while self._size > self._most:
                self._size -= _place(*self._held.popitem(last=False))


def _place(key: str, found: Evaluated) -> int:
    """Return about how many bytes it takes to remember an answer; a small one takes more than it holds."""
    return found.size + len(key) + _OBJECTS


@dataclass(frozen=True)
class Shown:
    """A table that requests are evaluated on."""

    frame: pl.DataFrame
    meanings: Mapping[str, Meanings]
    """Column → how to read it."""
    persons: Ints | None = None
    """The person of each record; ``None`` where each record is one."""
    k: int = 1
    """Cells of fewer persons are left out; 1 where the table is shown as it is."""
    seed: int = 0
    _coded: dict[str, tuple[list[Any], Ints]] = field(default_factory=dict, repr=False, compare=False)
    _meant: dict[str, list[Meaning]] = field(default_factory=dict, repr=False, compare=False)
    remembered: Remembered = field(default_factory=Remembered, repr=False, compare=False)

    def coded(self, name: str) -> tuple[list[Any], Ints]:
        """Return the distinct values of a column in the order that they sort in, and the number of each record's."""
        if name not in self._coded:
            self._coded[name] = _coded(self.frame[name])
        return self._coded[name]

    def meant(self, name: str) -> list[Meaning]:
        """Return what the distinct values of a column can stand for."""
        if name not in self._meant:
            self._meant[name] = [self.meanings[name].of(value) for value in self.coded(name)[0]]
        return self._meant[name]


def evaluate(asked: Request, shown: Shown) -> Evaluated:
    """Return the answer to a request.

    A record matches if what is shown of it can only stand for values that match. What a column is sorted by is what
    is shown; records that tie are in an order that follows from the seed, not from the original.

    Examples
    --------
    >>> frame = pl.DataFrame({"age": ["[20, 29]", "[30, 39]", "*"]})
    >>> shown = Shown(frame, {"age": Meanings("integer")})
    >>> evaluate(Request("people", (Item("age", "age"),), where=Compare("age", "<", 35)), shown).table["age"].to_list()
    ['[20, 29]']
    """
    found = shown.remembered.get(asked)
    if found is None:
        found = _evaluated(asked, shown)
        shown.remembered.put(asked, found)
    return found


def _evaluated(asked: Request, shown: Shown) -> Evaluated:
    matched = np.ones(shown.frame.height, bool) if asked.where is None else _truth(asked.where, shown)[0]
    rows = np.flatnonzero(matched)
    if asked.aggregates:
        table, notes = _aggregated(asked, shown, rows)
        return Evaluated(in_order(table, asked.order_by, asked.limit, shown.seed), matched, notes)
    ranks = {item.name: shown.coded(str(item.column))[1][rows] for item in asked.items}
    indices = pl.Series(rows[_arranged(ranks, asked.order_by, asked.limit, shown.seed)])
    columns = [shown.frame[str(item.column)].gather(indices).alias(item.name) for item in asked.items]
    return Evaluated(pl.DataFrame(columns), matched)


def _truth(condition: Condition, shown: Shown) -> tuple[Bools, Bools]:
    """Return for which records a condition certainly holds, and for which it certainly does not."""
    match condition:
        case Not():
            yes, no = _truth(condition.part, shown)
            return no, yes
        case Every() | Some():
            parts = [_truth(part, shown) for part in condition.parts]
            all_of, any_of = (0, 1) if isinstance(condition, Every) else (1, 0)
            both: list[Bools] = [np.empty(0, bool)] * 2
            both[all_of] = np.logical_and.reduce([part[all_of] for part in parts])
            both[any_of] = np.logical_or.reduce([part[any_of] for part in parts])
            return both[0], both[1]
        case _:
            _, codes = shown.coded(condition.column)
            found = _tests(condition, shown.meanings[condition.column], shown.meant(condition.column))
            yes = np.array([one is True for one in found], bool)
            no = np.array([one is False for one in found], bool)
            return yes[codes], no[codes]


def _tests(test: Compare | Among | IsNull, meanings: Meanings, read: list[Meaning]) -> list[Truth]:
    """Return for each distinct value of a column whether it passes a test."""
    if isinstance(test, IsNull):
        return [one.is_null() for one in read]
    if isinstance(test, Compare) and test.sign not in ("=", "<>"):
        literal = meanings.literal(test.value, test.column)
        return [one.compare(test.sign, literal) for one in read]
    wanted, texts = meanings.literals(test.values if isinstance(test, Among) else (test.value,), test.column)
    found = [one.among(wanted, texts) for one in read]
    if isinstance(test, Compare) and test.sign == "<>":
        return [None if one is None else not one for one in found]
    return found


def _aggregated(asked: Request, shown: Shown, rows: Ints) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a record for each group, without those that are too small to be told."""
    coded = [shown.coded(name) for name in asked.group_by]
    of_row, firsts = combined([codes[rows] for _, codes in coded], len(rows))
    cells = np.zeros((1, 0), np.int64)  # without a grouping all records are one group, even where there are none
    if asked.group_by:
        cells = np.column_stack([codes[rows][firsts] for _, codes in coded])
    told = ~_small(shown, cells, of_row, rows)
    columns: list[pl.Series] = []
    notes: list[str] = []
    for item in asked.items:
        if item.function is None:
            index = asked.group_by.index(str(item.column))
            source = shown.frame[str(item.column)]
            values = pl.Series([coded[index][0][code] for code in cells[told, index]], dtype=source.dtype)
            columns.append(values.alias(item.name))
            continue
        figures = _figures(item, shown, of_row, rows, len(cells), notes)
        columns.append(figures.filter(pl.Series(told)).alias(item.name))
    table = pl.DataFrame(columns)
    if not asked.group_by and not told.all():  # nobody, or too few: both look like this
        table = pl.DataFrame({name: pl.Series([None], dtype=kind) for name, kind in table.schema.items()})
    return table, tuple(notes)


def _small(shown: Shown, cells: Ints, of_row: Ints, rows: Ints) -> Bools:
    if shown.k <= 1:
        return np.zeros(len(cells), bool)
    if shown.persons is None:
        persons = np.bincount(of_row, minlength=len(cells))
    else:
        _, firsts = combined([of_row, shown.persons[rows]], len(rows))
        persons = np.bincount(of_row[firsts], minlength=len(cells))
    return hidden(cells, persons.astype(np.int64), shown.k, several=shown.persons is not None)


def _figures(item: Item, shown: Shown, of_row: Ints, rows: Ints, count: int, notes: list[str]) -> pl.Series:
    """Return one figure for each group."""
    if item.column is None:
        return pl.Series(np.bincount(of_row, minlength=count))
    meanings = shown.meanings[item.column]
    column = shown.frame[item.column]
    if item.function == "count":
        held = column.is_not_null().to_numpy()[rows]
        return pl.Series(np.bincount(of_row[held], minlength=count))
    numbers = column.cast(pl.Float64) if column.dtype.is_numeric() else None
    if numbers is None and not meanings.exact:
        numbers = _middles(item, shown, notes)
    if numbers is None and item.function in ("sum", "avg"):
        raise Refused(f"{item.function} of a column that holds no numbers", where=item.column)
    values = (column if numbers is None or column.dtype.is_numeric() else numbers).gather(pl.Series(rows))
    grouped = pl.DataFrame([pl.Series("group", of_row), values.alias("value")]).group_by("group")
    value = pl.col("value")
    filled = pl.when(value.count() > 0).then(value.sum())
    how = {"sum": filled, "avg": value.mean(), "min": value.min(), "max": value.max()}[str(item.function)]
    found = grouped.agg(how.alias("figure"))
    every = pl.DataFrame([pl.Series("group", np.arange(count))])
    return every.join(found, on="group", how="left", maintain_order="left")["figure"]


def _middles(item: Item, shown: Shown, notes: list[str]) -> pl.Series:
    """Return the middle of what is published, for figures over ranges."""
    name = str(item.column)
    if shown.meanings[name].kind not in ("integer", "float"):
        raise Refused(f"{item.function} of published labels", where=name, hint="count them, or group by them")
    _, codes = shown.coded(name)
    middles = [meaning.middle for meaning in shown.meant(name)]
    told = f"{item.name}: from the middles of the published ranges"
    if any(middle is None for middle in middles):
        told += "; records that show none are left out"
    notes.append(told)
    return pl.Series([middles[code] for code in codes.tolist()], dtype=pl.Float64)


def content(table: pl.DataFrame) -> bytes:
    """Return a hash of what a table holds, whatever the order of its records."""
    columns = [column.alias(f"c{index}") for index, column in enumerate(table)]
    ordered = pl.DataFrame(columns).sort([column.name for column in columns], nulls_last=False)
    text = json.dumps(table.columns) + ordered.write_csv(null_value="\\N", quote_style="non_numeric")
    return hashlib.blake2b(text.encode()).digest()


def in_order(table: pl.DataFrame, by: tuple[Order, ...], limit: int | None, seed: int) -> pl.DataFrame:
    """Return a table sorted by what it shows, and cut.

    Without an order to keep it is sorted by all that it shows; where it is cut or sorted, ties are in a random order
    that follows from the seed, so that the place of a record tells nothing of what is not shown.
    """
    ranks = {column.name: _coded(column)[1] for column in table}
    return table[_arranged(ranks, by, limit, seed)]


def _arranged(ranks: Mapping[str, Ints], by: tuple[Order, ...], limit: int | None, seed: int) -> Ints:
    """Return the records in the order that the ranks of their cells give."""
    rows = np.lexsort(list(ranks.values())[::-1])
    if not by and limit is None:
        return rows
    rows = np.random.default_rng(seed).permutation(rows)
    for order in reversed(by):
        keys = ranks[order.name][rows]
        rows = rows[np.argsort(-keys if order.descending else keys, kind="stable")]
    return rows[:limit]


def _coded(column: pl.Series) -> tuple[list[Any], Ints]:
    cells = column.to_list()
    values = sorted(set(cells), key=_key)
    indices = {value: index for index, value in enumerate(values)}
    return values, np.array([indices[cell] for cell in cells], np.int64)


def combined(codes: Sequence[Ints], records: int) -> tuple[Ints, Ints]:
    """Return the number of each record's combination of codes, and the first record of each combination."""
    numbers, firsts = np.zeros(records, np.int64), np.zeros(min(records, 1), np.int64)
    for each in codes:
        width = int(each.max(initial=0)) + 1
        _, firsts, numbers = np.unique(numbers * width + each, return_index=True, return_inverse=True)
        numbers = numbers.ravel()
    return numbers, firsts


def _key(value: Any) -> tuple[bool, float, str]:
    """Return what a value is sorted by: missing first, numbers and ranges by where they begin, texts as they are."""
    if value is None:
        return False, 0.0, ""
    if isinstance(value, (int, float)):
        return True, float(value), ""
    found = _NUMBER.match(value) if isinstance(value, str) else None
    return True, float(found[1]) if found else float("inf"), str(value)
