"""What the compiled search for groups does, as plainly as it can be said."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

Tuple = Sequence[int]


def distance(one: Tuple, other: Tuple, weights: Sequence[float]) -> float:
    """The weights of the columns in which two tuples differ, added up."""
    return sum(weight for a, b, weight in zip(one, other, weights, strict=True) if a != b)


def nearest(codes: Sequence[Tuple], weights: Sequence[float], places: int) -> list[list[tuple[float, int]]]:
    """For each tuple the distances and numbers of the nearest others."""
    return [
        sorted((distance(one, other, weights), number) for number, other in enumerate(codes) if number != own)[:places]
        for own, one in enumerate(codes)
    ]


def cost_of_group(group: Sequence[Tuple], weights: Sequence[float]) -> float:
    """The cells that differ from the most frequent value of their column."""
    return sum(
        weight * (len(group) - max(column.count(value) for value in column))
        for column, weight in zip([list(column) for column in zip(*group, strict=True)], weights, strict=True)
    )


def cost_of_equal_group(group: Sequence[Tuple], weights: Sequence[float]) -> float:
    """All cells of the columns in which a group does not agree."""
    return sum(
        weight * len(group)
        for column, weight in zip(zip(*group, strict=True), weights, strict=True)
        if len(set(column)) > 1
    )


def least_cost(records: Sequence[Tuple], k: int, weights: Sequence[float], cost: object = cost_of_group) -> float:
    """The least that disjoint groups of at least k records cost, by trying all."""
    known: dict[frozenset[int], float] = {}

    def best(left: frozenset[int]) -> float:
        if not left:
            return 0.0
        if len(left) < k:
            return float("inf")
        if left not in known:
            first = min(left)
            others = sorted(left - {first})
            known[left] = min(
                cost([records[index] for index in (first, *more)], weights)  # type: ignore[operator]
                + best(left - {first, *more})
                for size in range(k - 1, min(2 * k - 1, len(others) + 1))
                for more in combinations(others, size)
            )
        return known[left]

    return best(frozenset(range(len(records))))
