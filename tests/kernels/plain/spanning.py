"""Plain twins of :mod:`shoal.kernels.spanning`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tests.kernels.plain.boxes import RANGES, Box, box_cost


def hierarchical_distance(column: dict[str, Any], first: int, second: int) -> float:
    """Return how far apart two codes are: :func:`shoal.kernels.spanning.fill_distances`."""
    low, high = min(first, second), max(first, second)
    if low == high:
        return 0.0
    level = max(int(column["joins"][code]) for code in range(low, high))
    if level > min(column["limits"][low], column["limits"][high]):
        return float("inf")
    effort = min(level / int(column["height"]), 1.0)
    if column["form"] == RANGES:
        share = float(column["points"][high] - column["points"][low])
        effort = 1.0 if np.isnan(share) else share
    return 2.0 * effort * float(column["weight"])


def distance_matrix(tuples: npt.NDArray[np.int32], columns: Sequence[dict[str, Any]]) -> npt.NDArray[np.float64]:
    """Return the distances of all pairs of tuples, Definition 7 of Ramana et al. (2013)."""
    return np.array(
        [
            [sum(hierarchical_distance(c, int(a[j]), int(b[j])) for j, c in enumerate(columns)) for b in tuples]
            for a in tuples
        ]
    )


def grow_tree(distances: npt.NDArray[np.float64]) -> tuple[list[int], list[int], list[float]]:
    """Return the order in which nodes join a minimum spanning tree, and their edges: ``spanning.span``."""
    joined: list[int] = []
    parents: list[int] = []
    lengths: list[float] = []
    while len(joined) < len(distances):
        ways = [
            min(((distances[other, node], index, other) for index, other in enumerate(joined)), default=None)
            for node in range(len(distances))
        ]
        left = [node for node in range(len(distances)) if node not in joined]
        reach = {node: way[0] if (way := ways[node]) else np.inf for node in left}
        nearest = min(left, key=lambda node: (reach[node], node))
        way = ways[nearest]
        has_edge = way is not None and way[0] < np.inf
        joined.append(nearest)
        parents.append(way[2] if way is not None and has_edge else -1)
        lengths.append(float(reach[nearest]))
    return joined, parents, lengths


def allowable_edges(parents: Sequence[int], queue: Sequence[int], records: Sequence[int], least: int) -> set[int]:
    """Return the edges that ``spanning.remove_allowable`` removes."""
    removed: set[int] = set()

    def part(node: int) -> int:
        while parents[node] >= 0 and node not in removed:
            node = parents[node]
        return node

    for edge in queue:
        removed.add(edge)
        sizes = {part(node): 0 for node in range(len(parents))}
        for node, count in enumerate(records):
            sizes[part(node)] += count
        if min(sizes[part(edge)], sizes[part(parents[edge])]) < least:
            removed.remove(edge)
    return removed


def join_poor(
    classes: Sequence[Box],
    records: Sequence[int],
    poor: Sequence[bool],
    reach: Sequence[tuple[int, int]],
    columns: Sequence[dict[str, Any]],
    least: int,
    by_increase: bool,
) -> tuple[list[int], list[bool]]:
    """Return what each class is part of after a round, and which had none to join: ``spanning.join_classes``."""
    held = dict(enumerate(classes))
    sizes = list(records)
    into, alone, joined = list(range(len(classes))), [False] * len(classes), set()
    for number in range(len(classes)):
        if not poor[number] or number not in held or (number in joined and sizes[number] >= least):
            continue
        best, partner = float("inf"), -1
        for other in range(*reach[number]):
            if other not in held or other == number:
                continue
            cost = together = box_cost([*held[number], *held[other]], columns)
            if by_increase:
                own = [sizes[c] * box_cost(held[c], columns) for c in (number, other)]
                cost = cost * (sizes[number] + sizes[other]) - (own[0] + own[1])
            if cost < best and together < columns[0]["beyond"]:
                best, partner = cost, other
        if partner < 0:
            alone[number] = True
            continue
        held[partner] = [*held.pop(number), *held[partner]]
        sizes[partner] += sizes[number]
        joined.add(partner)
        into = [partner if c == number else c for c in into]
    return into, alone
