"""The compiled kernel proposes what its plain twin proposes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.cut import propose_cuts
from shoal.kernels.plain import propose_cut


def random_column(random: np.random.Generator, size: int, spread: int) -> dict[str, Any]:
    height = 2
    joins = np.where(random.random(max(size - 1, 0)) < 0.5, 1, height).astype(np.int32)
    penalties = np.vstack([np.zeros(size), np.sort(random.random(size)) * 0.5, np.ones(size)])
    return {
        "form": int(random.integers(0, 3)),
        "joins": np.append(joins, 0)[:size].astype(np.int32),
        "penalties": penalties,
        "points": np.sort(random.random(size)) * spread,
        "size": size,
        "weight": float(random.choice([1.0, 0.5])),
        "limits": np.full(size, 1 << 30) if random.random() < 0.5 else random.integers(0, 3, size),
    }


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_twin(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.choice([1, 2, 5, 400], size=random.integers(1, 5))
    columns = [random_column(random, int(size), 1) for size in sizes]
    regions = [int(n) for n in random.integers(1, 12, size=3)]
    count = sum(regions)
    tuples = np.stack([random.integers(0, size, count) for size in sizes], axis=1).astype(np.int32)
    counts = random.integers(1, 5, count).astype(np.int64)
    order = random.permutation(count).astype(np.int64)
    starts = np.cumsum([0, *regions]).astype(np.int64)
    tried = random.random((3, len(sizes))) < 0.2
    least = int(random.integers(1, 5))
    chosen, cut = np.empty(3, np.int32), np.full(3, -1, np.int32)
    propose_cuts(
        np.ascontiguousarray(tuples.T),
        counts,
        order,
        starts,
        tried,
        np.array([c["form"] for c in columns], np.int64),
        np.cumsum([0, *sizes]).astype(np.int64),
        np.concatenate([c["joins"] for c in columns]),
        np.concatenate([c["penalties"].ravel() for c in columns]),
        np.cumsum([0, *(c["penalties"].size for c in columns)])[:-1].astype(np.int64),
        np.concatenate([c["points"] for c in columns]),
        np.array([c["weight"] for c in columns]),
        np.concatenate([c["limits"] for c in columns]).astype(np.int32),
        least,
        chosen,
        cut,
    )
    for region in range(3):
        inside = order[starts[region] : starts[region + 1]]
        place, expected = propose_cut(tuples[inside], counts[inside], tried[region].tolist(), columns, least)
        assert chosen[region] == place
        if place >= 0:
            codes = tuples[inside, place]
            # between two codes that occur any place is the same cut
            assert set(codes[codes <= cut[region]].tolist()) == set(codes[codes <= expected].tolist())
