"""The compiled kernels span, cut and join as their plain twins do."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain import spanning as plain
from tests.kernels.units import Case

from shoal.algorithms.clustering.costs import Points, Slots
from shoal.algorithms.local.spanning_tree import weigh_by_effort
from shoal.kernels import spanning

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.integers(1, 14))
def test_span(seed: int, steps: int) -> None:
    case = Case(seed, bounded=True)
    heights = [max(column.levels.joins[: len(column.levels.domain) - 1], default=1) for column in case.columns]
    slots, count = Slots.of(weigh_by_effort(case.columns)), len(case.tuples)
    lows, highs, starts = slots.positions()
    given_ = np.stack([case.tuples[:, slot.place] for slot in slots.slots]) + starts[:-1, None]
    indices, most = given_.astype(np.int32), 2.0 * sum(column.weight for column in case.columns)
    order, parents, lengths = np.arange(count), np.full(count, -1), np.full(count, np.inf)
    for begin in range(0, count, steps):  # it can be stopped and go on
        end = min(begin + steps, count)
        spanning.span(slots.costs, lows, highs, starts, most, indices, order, parents, lengths, begin, end)
    shown = [slot.place for slot in slots.slots if not slot.guards]  # distances are added up in this order
    columns = [case.plain[index] | {"height": heights[index]} for index in shown]
    expected = plain.grow_tree(plain.distance_matrix(case.tuples[:, shown], columns))
    assert (order.tolist(), parents.tolist(), lengths.tolist()) == expected
    assert (indices == given_[:, order]).all()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 14), st.integers(1, 6))
def test_remove_allowable(seed: int, count: int, least: int) -> None:
    random = np.random.default_rng(seed)
    parents = np.array([random.integers(-1, node) if node else -1 for node in range(count)], np.int64)
    queue = random.permutation(np.flatnonzero(parents >= 0))
    records = random.integers(1, 4, count)
    removed = np.empty(count, bool)
    spanning.remove_allowable(parents, queue, records, least, removed)
    expected = plain.allowable_edges(parents.tolist(), queue.tolist(), records.tolist(), least)
    assert set(np.flatnonzero(removed).tolist()) == expected


@settings(max_examples=400, deadline=None)
@given(SEEDS, st.booleans())
def test_join_classes(seed: int, by_increase: bool) -> None:
    case = Case(seed, 32, bounded=True)
    random, points = case.random, Points.of(case.columns, case.tuples)
    members = np.unique(random.integers(0, 24, len(points)), return_inverse=True)[1]
    count = int(members.max()) + 1
    weights = random.integers(1, 4, len(members))
    boxes = points.boxes(weights, members, count)
    records, least = boxes.records.tolist(), int(random.choice([2, 5, 12]))
    poor = (boxes.records < least) | (random.random(count) < 0.3)
    blocks = np.sort(random.integers(0, 2, count))
    first, last = (np.searchsorted(blocks, blocks, side).astype(np.int64) for side in ("left", "right"))
    into, alone = np.empty(count, np.int64), np.empty(count, bool)
    most = sum(column.weight for column in case.columns)
    spanning.join_classes(points.costs, boxes, poor, first, last, least, most, by_increase, into, alone)
    expected = plain.join_poor(
        [case.tuples[members == c].tolist() for c in range(count)],
        records,
        poor.tolist(),
        list(zip(first.tolist(), last.tolist(), strict=True)),
        case.plain,
        least,
        by_increase,
    )
    assert (into.tolist(), alone.tolist()) == expected
