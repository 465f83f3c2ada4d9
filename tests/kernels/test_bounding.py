"""The compiled walk through boxes finds what its plain twin finds by looking at every box."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.bounding import walk_boxes
from shoal.kernels.plain.bounding import cheapest_boxes, largest_ratios

REACH = 1.3


def random_ladder(random: np.random.Generator, size: int) -> list[tuple[Any, Any, bool]]:
    """Partitions that need not nest, with costs that need not rise."""
    steps: list[tuple[Any, Any, bool]] = [(np.arange(size, dtype=np.int32), np.zeros(size), False)]
    for _ in range(int(random.integers(0, 3))):
        labels = random.integers(0, 3, size).astype(np.int32)
        steps.append((labels, random.integers(0, 9, 3)[labels] / 8, bool(random.random() < 0.15)))
    if random.random() < 0.8:
        steps.append((np.zeros(size, np.int32), np.full(size, 1.0), bool(random.random() < 0.2)))
    return steps


def random_boxes(random: np.random.Generator) -> tuple[Any, ...]:
    count, sizes = int(random.integers(1, 14)), random.integers(1, 6, int(random.integers(1, 4)))
    codes = np.stack([random.integers(0, size, count) for size in sizes], axis=1).astype(np.int32)
    points = np.sort(random.integers(0, 6, count) / 4 if random.random() < 0.8 else np.zeros(count))
    counts = random.integers(1, 4, count).astype(np.int64)
    return codes, counts, points, [random_ladder(random, int(size)) for size in sizes], int(random.integers(1, 7))


def walk(boxes: tuple[Any, ...], shares: Any = None, budget: int = 1 << 40) -> tuple[Any, int]:
    codes, counts, points, ladders, least = boxes
    most = max(map(len, ladders)) + 1
    offsets, flats = np.zeros((len(ladders), most), np.int64), np.zeros((len(ladders), most), bool)
    at = 0
    for place, steps in enumerate(ladders):
        for number in range(most):
            offsets[place, number] = at
            if number < len(steps):
                at += len(steps[number][0])
                flats[place, number] = steps[number][2]
    every = [step for steps in ladders for step in steps]
    by_mean = shares is not None
    limits = shares if by_mean else np.full(len(counts), np.inf)
    ratios = np.zeros(len(counts))
    ids = np.full((len(counts), least), -1, np.int32)
    left = walk_boxes(
        np.ascontiguousarray(codes.T), counts, points, least, np.array([len(s) for s in ladders], np.int64), offsets,
        np.concatenate([step[0] for step in every]), np.concatenate([step[1] for step in every]), flats,
        by_mean, REACH, budget, limits, ratios, ids, np.zeros_like(ids),
    )  # fmt: skip
    return (ratios if by_mean else limits), left


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_cheapest_boxes(seed: int) -> None:
    boxes = random_boxes(np.random.default_rng(seed))
    found, left = walk(boxes)
    assert left >= 0
    assert found == pytest.approx(cheapest_boxes(*boxes), abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 60))
def test_a_short_budget_only_lowers(seed: int, budget: int) -> None:
    boxes = random_boxes(np.random.default_rng(seed))
    found, _ = walk(boxes, budget=budget)
    assert (found <= np.array(cheapest_boxes(*boxes)) + 1e-12).all()


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_largest_ratios(seed: int) -> None:
    random = np.random.default_rng(seed)
    boxes = random_boxes(random)
    lowest = np.array(cheapest_boxes(*boxes))
    shares = np.where(np.isfinite(lowest) & (lowest > 0), random.integers(0, 5, len(lowest)) / 4, 0.0)
    own, anyone = (np.maximum(ratios, 1 / REACH) for ratios in largest_ratios(*boxes, shares))
    found = np.maximum(walk(boxes, shares)[0], 1 / REACH)
    inside = shares > 0
    assert (found[inside] >= own[inside] - 1e-12).all()
    assert (found[inside] <= anyone[inside] + 1e-12).all()
    feasible = np.where(inside, shares / found, 0.0)
    assert max(largest_ratios(*boxes, feasible)[1], default=0.0) <= 1 + 1e-9
