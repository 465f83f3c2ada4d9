"""The compiled boxes cost what recodings show, and the kernels choose what their plain twins choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import tables_and_policies

from shoal.algorithms._boxes import boxes_of, empty_boxes, space_of, taken
from shoal.kernels import boxes as kernels
from shoal.kernels import plain
from shoal.policy import Policy
from shoal.recodings.base import Column
from shoal.recodings.forms import FORMS, Members
from shoal.tables.encode import encode

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables_and_policies(), SEEDS)
def test_a_box_costs_what_its_class_shows(case: tuple[pl.DataFrame, Policy], seed: int) -> None:
    table, policy = case
    if not table.height:
        return
    encoded = encode(table, policy)
    tuples = encoded.frequencies.tuples
    if not len(tuples):
        return
    classes = np.sort(np.random.default_rng(seed).integers(0, 4, len(tuples)))
    classes = np.unique(classes, return_inverse=True)[1].astype(np.int64)
    check_costs(encoded.columns, tuples, encoded.frequencies.counts, classes)


def test_more_than_64_values_take_several_words() -> None:
    table = pl.DataFrame({"city": [f"c{i:03}" for i in range(200)]})
    policy = Policy(quasi_identifiers=["city"], models=[{"name": "k-anonymity", "k": 2}], publish="sets")
    encoded = encode(table, policy)
    classes = np.sort(np.random.default_rng(0).integers(0, 5, 200))
    check_costs(encoded.columns, encoded.frequencies.tuples, encoded.frequencies.counts, classes)


def check_costs(columns: tuple[Column, ...], tuples: Any, counts: Any, classes: Any) -> None:
    space = space_of(columns)
    count = int(classes.max()) + 1
    boxes = boxes_of(space, tuples, counts, classes, count)
    members = Members(classes, count)
    for place, column in enumerate(columns):
        shown = FORMS[column.form](column.levels, members, tuples[:, place].astype(np.int64))
        assert (boxes.costs[:, place] == shown.penalties * column.weight).all()
    assert (boxes.records == np.bincount(classes, counts)).all()
    for a in range(1, count):  # joined one after the other they cost what all together show
        kernels.merge(space, boxes, 0, a)
    together = boxes_of(space, tuples, counts, np.zeros_like(classes), 1)
    for one, other in zip(taken(boxes, np.array([0])), together, strict=True):
        assert (one == other).all()


def random_column(random: np.random.Generator, size: int) -> dict[str, Any]:
    """A nested hierarchy of two levels below the top; penalties rise with the level."""
    middle = np.cumsum(random.random(size) < 0.5)
    upper = np.cumsum(np.append(0, np.diff(middle) * (random.random(size - 1) < 0.5)))
    labels = np.vstack([np.arange(size), middle, upper, np.zeros(size, int)])
    labels[2, :] = np.searchsorted(np.unique(labels[2]), labels[2])
    wild = bool(random.random() < 0.3)
    counts = [np.bincount(row)[row] for row in labels]
    penalties = np.vstack([np.where(row > 1, row / size, 0.0) for row in counts[:3]] + [np.ones(size)])
    values = np.sort(random.integers(0, 50, size)).astype(float)
    if wild:
        labels[1:3, -1] = size  # a missing value shares a label with others at the top only
        penalties[:, -1] = 1.0
        values[-1] = np.nan
    known = values[~np.isnan(values)]
    return {
        "form": int(random.integers(0, 3)),
        "size": size,
        "labels": labels,
        "penalties": penalties,
        "values": values,
        "span": float(known.max() - known.min()) if len(known) else 0.0,
        "limits": np.full(size, 1 << 30) if random.random() < 0.6 else random.integers(0, 4, size),
        "weight": float(random.choice([1.0, 0.5, 2.5])),
        "wild": wild,
    }


def flat(columns: list[dict[str, Any]]) -> kernels.Space:
    sizes = [column["size"] for column in columns]
    words = [-(-column["size"] // 64) * (column["form"] == kernels.SETS) for column in columns]
    return kernels.Space(
        np.array([column["form"] for column in columns]),
        np.array(sizes),
        np.array([len(column["labels"]) - 1 for column in columns]),
        np.cumsum([0, *sizes])[:-1],
        np.cumsum([0, *(column["labels"].size for column in columns)])[:-1],
        np.cumsum([0, *words]),
        np.concatenate([column["labels"].ravel() for column in columns]).astype(np.int32),
        np.concatenate([column["penalties"].ravel() for column in columns]),
        np.concatenate([column["values"] for column in columns]),
        np.array([column["span"] for column in columns]),
        np.concatenate([column["limits"] for column in columns]).astype(np.int32),
        np.array([column["weight"] for column in columns]),
        np.array([column["wild"] for column in columns]),
    )


class Case:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        sizes = self.random.choice([1, 2, 5, 130], size=self.random.integers(1, 4))
        self.columns = [random_column(self.random, int(size)) for size in sizes]
        self.space = flat(self.columns)
        count = int(self.random.integers(2, 14))
        self.tuples = np.stack([self.random.integers(0, size, count) for size in sizes], axis=1).astype(np.int32)
        self.records = self.random.integers(1, 5, count)
        self.classes = self.random.integers(0, min(count, 6), count)
        self.count = int(self.classes.max()) + 1
        self.boxes = boxes_of(self.space, self.tuples, self.records, self.classes, self.count)
        self.lists = [self.tuples[self.classes == a].tolist() for a in range(self.count)]
        self.sizes = [int(self.records[self.classes == a].sum()) for a in range(self.count)]


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_costs_twin(seed: int) -> None:
    case = Case(seed)
    assert case.boxes.records.tolist() == case.sizes
    for a in range(case.count):
        if case.sizes[a]:
            assert case.boxes.costs[a].tolist() == plain.box_costs(case.lists[a], case.columns)


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.booleans())
def test_extreme_twin(seed: int, most: bool) -> None:
    case = Case(seed)
    box = boxes_of(case.space, case.tuples[:1], np.ones(1, np.int64), np.zeros(1, np.int64), 1)
    left = np.maximum(case.records - 2, 0)
    found = kernels.extreme(case.space, box, 0, case.tuples, left, most)
    assert found == plain.extreme(case.tuples[:1].tolist(), case.tuples.tolist(), left.tolist(), case.columns, most)


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.sampled_from([0, 2, 6]), st.sampled_from([1, 2, 100]))
def test_cheapest_and_join_each_twins(seed: int, least: int, window: int) -> None:
    case = Case(seed)
    alive = [a for a in range(case.count) if case.sizes[a]]
    for a in alive:
        found = kernels.cheapest(case.space, case.boxes, a, least, window)
        assert found == plain.cheapest(case.lists, case.sizes, a, case.columns, least, window)
    queue = case.random.permutation(alive).astype(np.int64)
    into = np.arange(case.count)
    kernels.join_each(case.space, case.boxes, queue, window, into)
    assert into.tolist() == plain.join_each(case.lists, case.sizes, queue.tolist(), case.columns, window)


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_bisect_twin(seed: int) -> None:
    case = Case(seed)
    records = case.records
    right = np.zeros(len(case.tuples), bool)
    kernels.bisect(case.space, empty_boxes(case.space, 2), case.tuples, records, 3, right)
    assert right.tolist() == plain.bisect(case.tuples.tolist(), records.tolist(), case.columns, 3)
