"""The compiled walk through boxes finds what its plain twin finds by looking at every box."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain.bounding import PlainColumn, PlainPartition, Table, cheapest_boxes, largest_ratios

from shoal.kernels import spread
from shoal.kernels.bounding import FLAT, OPEN, make_walk_room, walk_boxes
from shoal.kernels.spread import RANGES, SETS, BoxSpace
from shoal.kernels.windows import Ratios

REACH = 1.3
ENOUGH = 1 << 40


def random_column(random: np.random.Generator, size: int) -> PlainColumn:
    """Partitions that need not nest, with costs that need not rise."""
    partitions = [PlainPartition(np.arange(size, dtype=np.int32), np.zeros(size))]
    for _ in range(int(random.integers(0, 3))):
        labels = random.integers(0, 3, size).astype(np.int32)
        kind = int(random.choice([0, 0, 0, 0, FLAT, OPEN, OPEN]))
        partitions.append(PlainPartition(labels, random.integers(0, 9, 3)[labels] / 8, kind))
    if random.random() < 0.8:
        kind = int(random.choice([0, FLAT, OPEN]))
        partitions.append(PlainPartition(np.zeros(size, np.int32), np.full(size, random.integers(2, 9) / 8), kind))
    return PlainColumn(partitions, 0.25, random.integers(0, 9, size) / 4 if random.random() < 0.5 else None)


def random_table(seed: int) -> Table:
    random = np.random.default_rng(seed)
    count, sizes = int(random.integers(1, 14)), random.integers(1, 6, int(random.integers(1, 4)))
    codes = np.stack([random.integers(0, size, count) for size in sizes], axis=1).astype(np.int32)
    points = np.sort(random.integers(0, 6, count) / 4 if random.random() < 0.8 else np.zeros(count))
    counts = random.integers(1, 4, count).astype(np.int64)
    columns = [random_column(random, int(size)) for size in sizes]
    return Table(codes, counts, points, columns, int(random.integers(1, 7)))


def laid_out(table: Table) -> BoxSpace:
    columns = table.columns
    shape = (len(columns), max(len(column.partitions) for column in columns) + 1)
    offsets, kinds = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    indices = np.zeros((len(columns), 9))
    at = 0
    for row, column in enumerate(columns):
        for number, partition in enumerate(column.partitions):
            offsets[row, number], kinds[row, number] = at, partition.kind
            at += len(partition.labels)
        if column.places is not None:
            indices[row, : len(column.places)] = column.places
    every = [partition for column in columns for partition in column.partitions]
    return BoxSpace(
        np.ascontiguousarray(table.codes.T),
        table.counts,
        table.points,
        table.least,
        np.array([len(column.partitions) for column in columns], np.int64),
        offsets,
        np.concatenate([partition.labels for partition in every]),
        np.concatenate([partition.costs for partition in every]),
        kinds,
        np.array([SETS if column.places is None else RANGES for column in columns], np.int64),
        np.array([column.unit for column in columns]),
        indices,
    )


def closed(table: Table) -> Table:
    """The same boxes where what the records need in open columns does not count."""
    return table._replace(
        columns=[
            column._replace(
                partitions=[
                    partition._replace(kind=0 if partition.kind == OPEN else partition.kind)
                    for partition in column.partitions
                ]
            )
            for column in table.columns
        ]
    )


def cheapest(table: Table, counting: bool, budget: int = ENOUGH, cap: float = np.inf) -> tuple[Any, int]:
    boxes, lowest, nobody = laid_out(table), np.full(len(table.counts), cap), np.empty((0, 0), np.int32)
    room = make_walk_room(boxes, 0, counting)
    left = walk_boxes(boxes, *room, False, budget, lowest, Ratios(lowest, lowest, nobody, nobody))
    return lowest, left


def ratios_of(table: Table, counting: bool, prices: Any) -> Any:
    boxes, ratios = laid_out(table), np.full(len(prices), 1 / REACH)
    ids = np.full((len(prices), table.least), -1, np.int32)
    raised = Ratios(prices, ratios, ids, np.zeros_like(ids))
    left = walk_boxes(boxes, *make_walk_room(boxes, table.least, counting), True, ENOUGH, prices, raised)
    assert left >= 0
    return ratios


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_cheapest_boxes(seed: int, counting: bool) -> None:
    table = random_table(seed)
    found, left = cheapest(table, counting)
    assert left >= 0
    assert found == pytest.approx(cheapest_boxes(table if counting else closed(table)), abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(0, 12))
def test_cheapest_boxes_up_to_a_cap(seed: int, counting: bool, eighths: int) -> None:
    table = random_table(seed)
    expected = np.minimum(cheapest_boxes(table if counting else closed(table)), eighths / 8)
    assert cheapest(table, counting, cap=eighths / 8)[0] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(0, 200))
def test_a_walk_says_when_it_was_given_up(seed: int, counting: bool, budget: int) -> None:
    table = random_table(seed)
    found, left = cheapest(table, counting, budget)
    if left >= 0:
        assert found == pytest.approx(cheapest_boxes(table if counting else closed(table)), abs=1e-12)


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_largest_ratios(seed: int, counting: bool) -> None:
    table = random_table(seed)
    plain = table if counting else closed(table)
    lowest = np.array(cheapest_boxes(plain))
    random = np.random.default_rng(seed + 1)
    prices = np.where(np.isfinite(lowest) & (lowest > 0), random.integers(0, 5, len(lowest)) / 4, 0.0)
    own, anyone = (np.maximum(ratios, 1 / REACH) for ratios in largest_ratios(plain, prices))
    found = ratios_of(table, counting, prices)
    inside = prices > 0
    assert (found[inside] >= own[inside] - 1e-12).all()
    assert (found[inside] <= anyone[inside] + 1e-12).all()
    feasible = np.where(inside, prices / found, 0.0)
    assert max(largest_ratios(plain, feasible)[1], default=0.0) <= 1 + 1e-9


def test_long_lists_only_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(200):
        table = random_table(seed)
        with monkeypatch.context() as patch:
            patch.setattr(spread, "LISTED", 3)
            short = cheapest(table, True)[0]
        assert (short <= np.array(cheapest_boxes(table)) + 1e-12).all()
        assert (short >= np.array(cheapest_boxes(closed(table))) - 1e-12).all()


@pytest.mark.parametrize("k", [2, 40])
@pytest.mark.parametrize("counting", [False, True])
def test_work_is_bounded_for_any_k(k: int, counting: bool) -> None:
    """Given up soon after the budget: a box of many windows does not run away with it."""
    random = np.random.default_rng(0)
    count = 3000
    every = PlainPartition(np.zeros(9, np.int32), np.full(9, 0.1), OPEN)
    table = Table(
        random.integers(0, 9, (count, 1)).astype(np.int32), np.ones(count, np.int64), np.sort(random.random(count)),
        [PlainColumn([every], 0.25, np.arange(9) / 9)], k,
    )  # fmt: skip
    boxes, ratios = laid_out(table), np.full(count, 1e-3)
    ids = np.full((count, k), -1, np.int32)
    prices = np.ones(count)
    raised = Ratios(prices, ratios, ids, np.zeros_like(ids))
    left = walk_boxes(boxes, *make_walk_room(boxes, k, counting), True, 50_000, prices, raised)
    assert -50_000 < left < 0
