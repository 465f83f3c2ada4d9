"""The compiled kernels span, cut and join as their plain twins do."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import plain, spanning

Ints = npt.NDArray[np.int64]


def random_column(random: np.random.Generator, size: int) -> dict[str, Any]:
    joins = random.choice([1, 1, 1, 2, 2, 3], max(size - 1, 0)).astype(np.int32)
    # exact in binary, so that equal costs are equal however they are added up
    penalties = np.vstack([np.zeros(size), *np.sort(random.integers(0, 9, (2, size)), axis=0) / 16, np.ones(size)])
    points = np.sort(random.integers(0, 65, size)) / 64
    if random.random() < 0.3:
        points[-1] = np.nan
        penalties[:, -1] = random.choice([penalties[:, -1], np.ones(4)])
    return {
        "form": int(random.integers(0, 3)),
        "joins": np.append(joins, 0)[:size].astype(np.int32),
        "penalties": penalties,
        "points": points,
        "size": size,
        "weight": float(random.choice([1.0, 0.5])),
        "limits": np.full(size, 1 << 30) if random.random() < 0.7 else random.choice([0, 1, 2, 3, 3, 1 << 30], size),
        "height": int(random.choice([2, 4])),
    }


def random_space(random: np.random.Generator, count: int) -> tuple[list[dict[str, Any]], npt.NDArray[np.int32]]:
    columns = [random_column(random, int(size)) for size in random.choice([1, 2, 4, 8], size=random.integers(1, 4))]
    tuples = np.stack([random.integers(0, c["size"], count) for c in columns], axis=1).astype(np.int32)
    return columns, tuples


def flat(columns: list[dict[str, Any]], name: str, kind: type) -> npt.NDArray[Any]:
    return np.concatenate([column[name] for column in columns]).astype(kind)


def offsets(columns: list[dict[str, Any]]) -> Ints:
    return np.cumsum([0, *(column["size"] for column in columns)]).astype(np.int64)


def each(columns: list[dict[str, Any]], name: str, kind: type) -> npt.NDArray[Any]:
    return np.array([column[name] for column in columns], kind)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_distances(seed: int) -> None:
    random = np.random.default_rng(seed)
    column = random_column(random, int(random.integers(1, 9)))
    row = np.empty(column["size"])
    for code in range(column["size"]):
        spanning.hierarchical_distances(
            column["form"],
            column["joins"],
            column["points"],
            column["limits"].astype(np.int32),
            column["height"],
            column["weight"],
            code,
            row,
        )
        assert row.tolist() == [plain.hierarchical_distance(column, code, other) for other in range(len(row))]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 14), st.integers(1, 14))
def test_span(seed: int, count: int, steps: int) -> None:
    columns, tuples = random_space(np.random.default_rng(seed), count)
    starts = offsets(columns)
    places = np.ascontiguousarray(tuples.T + starts[:-1, None]).astype(np.int32)
    order, parents, lengths = np.arange(count), np.full(count, -1), np.full(count, np.inf)
    for begin in range(0, count, steps):  # it can be stopped and go on
        spanning.span(
            places,
            order,
            parents,
            lengths,
            begin,
            min(begin + steps, count),
            each(columns, "form", np.int64),
            starts,
            flat(columns, "joins", np.int32),
            flat(columns, "points", np.float64),
            flat(columns, "limits", np.int32),
            each(columns, "height", np.int64),
            each(columns, "weight", np.float64),
        )
    expected = plain.grow_tree(plain.distance_matrix(tuples, columns))
    assert (order.tolist(), parents.tolist(), lengths.tolist()) == expected
    assert (places == tuples[order].T + starts[:-1, None]).all()


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
@given(st.integers(0, 2**32 - 1), st.integers(1, 24), st.booleans())
def test_join_classes(seed: int, count: int, by_increase: bool) -> None:
    random = np.random.default_rng(seed)
    members = np.concatenate([np.arange(count), random.integers(0, count, random.integers(0, 8))])
    columns, tuples = random_space(random, len(members))
    weights = random.integers(1, 4, len(members))
    records = np.bincount(members, weights, minlength=count).astype(np.int64)
    least = int(random.choice([2, 5, 12]))
    poor = (records < least) | (random.random(count) < 0.3)
    blocks = np.sort(random.integers(0, 2, count))
    first, last = (np.searchsorted(blocks, blocks, side).astype(np.int64) for side in ("left", "right"))
    order = np.argsort(members, kind="stable")
    starts = np.searchsorted(members[order], np.arange(count + 1)).astype(np.int64)
    into, alone = np.empty(count, np.int64), np.empty(count, bool)
    spanning.join_classes(
        np.ascontiguousarray(tuples.T),
        order,
        starts,
        records.copy(),
        poor,
        first,
        last,
        each(columns, "form", np.int64),
        offsets(columns),
        flat(columns, "joins", np.int32),
        np.concatenate([column["penalties"].ravel() for column in columns]),
        np.cumsum([0, *(column["penalties"].size for column in columns)])[:-1].astype(np.int64),
        flat(columns, "points", np.float64),
        each(columns, "weight", np.float64),
        flat(columns, "limits", np.int32),
        least,
        by_increase,
        into,
        alone,
    )
    expected = plain.join_poor(
        [tuples[members == c] for c in range(count)],
        records.tolist(),
        poor.tolist(),
        list(zip(first.tolist(), last.tolist(), strict=True)),
        columns,
        least,
        by_increase,
    )
    assert (into.tolist(), alone.tolist()) == expected
