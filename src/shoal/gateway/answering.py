"""answer(): a request, evaluated on a table: the original where that is released as it is, else the published one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import Refused
from shoal.gateway.cells import hidden
from shoal.gateway.meaning import Meanings, Truth
from shoal.gateway.request import Among, Compare, Condition, Every, IsNull, Item, Not, Order, Request, Some

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_NUMBER = re.compile(r"[\[({<>=≤≥\s]*(-?\d+(?:\.\d+)?)")


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

    def coded(self, name: str) -> tuple[list[Any], Ints]:
        """Return the distinct values of a column, and the number of each record's."""
        if name not in self._coded:
            cells = self.frame[name].to_list()
            numbers = {value: number for number, value in enumerate(dict.fromkeys(cells))}
            self._coded[name] = list(numbers), np.array([numbers[cell] for cell in cells], np.int64)
        return self._coded[name]


@dataclass(frozen=True)
class Evaluated:
    """The answer to a request on one table."""

    table: pl.DataFrame
    matched: Bools
    """Which records of the table it is made of."""
    notes: tuple[str, ...] = ()


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
    matched = np.ones(shown.frame.height, bool) if asked.where is None else _truth(asked.where, shown)[0]
    if asked.aggregates:
        table, notes = _aggregated(asked, shown, np.flatnonzero(matched))
    else:
        places = pl.Series(np.flatnonzero(matched))
        columns = [shown.frame[str(item.column)].gather(places).alias(item.name) for item in asked.items]
        table, notes = in_order(pl.DataFrame(columns), (), None, shown.seed), ()
    return Evaluated(in_order(table, asked.order_by, asked.limit, shown.seed), matched, notes)


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
            values, codes = shown.coded(condition.column)
            found = _tests(condition, shown.meanings[condition.column], values)
            yes = np.array([one is True for one in found], bool)
            no = np.array([one is False for one in found], bool)
            return yes[codes], no[codes]


def _tests(test: Compare | Among | IsNull, meanings: Meanings, values: list[Any]) -> list[Truth]:
    """Return for each distinct value of a column whether it passes a test."""
    read = [meanings.of(value) for value in values]
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
    keys = np.array([codes[rows] for _, codes in coded], np.int64).T.reshape(len(rows), len(coded))
    if asked.group_by:
        cells, of_row = np.unique(keys, axis=0, return_inverse=True)
        of_row = of_row.ravel()
    else:
        cells, of_row = np.zeros((1, 0), np.int64), np.zeros(len(rows), np.int64)
    told = ~_small(shown, cells, of_row, rows)
    columns: list[pl.Series] = []
    notes: list[str] = []
    for item in asked.items:
        if item.function is None:
            place = asked.group_by.index(str(item.column))
            source = shown.frame[str(item.column)]
            firsts = pl.Series([coded[place][0][code] for code in cells[told, place]], dtype=source.dtype)
            columns.append(firsts.alias(item.name))
            continue
        figures = _figures(item, shown, of_row, rows, len(cells), notes)
        columns.append(figures.filter(pl.Series(told)).alias(item.name))
    table = pl.DataFrame(columns)
    if not asked.group_by and not told.all():  # nobody, or too few: both look like this
        table = pl.DataFrame({name: pl.Series([None], dtype=kind) for name, kind in table.schema.items()})
    return in_order(table, (), None, shown.seed), tuple(notes)


def _small(shown: Shown, cells: Ints, of_row: Ints, rows: Ints) -> Bools:
    if shown.k <= 1:
        return np.zeros(len(cells), bool)
    if shown.persons is None:
        persons = np.bincount(of_row, minlength=len(cells))
    else:
        pairs = np.unique(np.column_stack([of_row, shown.persons[rows]]), axis=0)
        persons = np.bincount(pairs[:, 0], minlength=len(cells))
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
    values, codes = shown.coded(name)
    middles = [shown.meanings[name].of(value).middle for value in values]
    told = f"{item.name}: from the middles of the published ranges"
    if any(middle is None for middle in middles):
        told += "; records that show none are left out"
    notes.append(told)
    return pl.Series([middles[code] for code in codes.tolist()], dtype=pl.Float64)


def in_order(table: pl.DataFrame, by: tuple[Order, ...], limit: int | None, seed: int) -> pl.DataFrame:
    """Return a table sorted by what it shows, and cut.

    Without an order to keep it is sorted by all that it shows; where it is cut or sorted, ties are in a random order
    that follows from the seed, so that the place of a record tells nothing of what is not shown.
    """
    if not by and limit is None:
        rows = np.lexsort([_ranks(column) for column in reversed(table.get_columns())])
        return table[rows]
    rows = np.random.default_rng(seed).permutation(table.height)
    for order in reversed(by):
        ranks = _ranks(table[order.name])[rows]
        rows = rows[np.argsort(-ranks if order.descending else ranks, kind="stable")]
    return table[rows[:limit]]


def _ranks(column: pl.Series) -> Ints:
    """Return the place of each cell among the distinct ones."""
    cells = column.to_list()
    places = {cell: place for place, cell in enumerate(sorted(set(cells), key=_key))}
    return np.array([places[cell] for cell in cells], np.int64)


def _key(value: Any) -> tuple[bool, float, str]:
    """Return what a value is sorted by: missing first, numbers and ranges by where they begin, texts as they are."""
    if value is None:
        return False, 0.0, ""
    if isinstance(value, (int, float)):
        return True, float(value), ""
    found = _NUMBER.match(value) if isinstance(value, str) else None
    return True, float(found[1]) if found else float("inf"), str(value)
