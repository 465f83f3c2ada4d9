"""The walk through boxes again, in plain Python that looks at every box: tests compare the compiled walk with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.bounding import FLAT, OPEN


class PlainPartition(NamedTuple):
    """A partition of a column."""

    labels: npt.NDArray[np.int32]
    """The label of each code."""
    costs: npt.NDArray[np.float64]
    """What the label of each code costs."""
    kind: int = 0
    """``FLAT``: the line does not count; ``OPEN``: what the records need in the column does."""


class PlainColumn(NamedTuple):
    """The partitions of a column, and what it shows where it is open: a range of places, or values at a unit each."""

    partitions: Sequence[PlainPartition]
    unit: float
    places: npt.NDArray[np.float64] | None = None


class Table(NamedTuple):
    """Tuples in the order of the line."""

    codes: npt.NDArray[np.int32]
    """``codes[tuple, column]``"""
    counts: npt.NDArray[np.int64]
    points: npt.NDArray[np.float64]
    columns: Sequence[PlainColumn]
    least: int


def cheapest_boxes(table: Table) -> list[float]:
    """Return what the cheapest box of each tuple costs: see :func:`shoal.kernels.bounding.walk_boxes`."""
    lowest = [np.inf] * len(table.counts)
    for cost, members in _boxes(table):
        for member in members:
            lowest[member] = min(lowest[member], cost)
    return lowest


def largest_ratios(table: Table, prices: npt.NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """Return for each tuple the largest ratio of a mean price to the cost of the box, over boxes that hold it.

    First of classes that the tuple is in, then of any classes; the kernel's ratio lies between the two.
    """
    least = table.least
    own, anyone = [0.0] * len(prices), [0.0] * len(prices)
    for cost, members in _boxes(table):
        listed = sorted((float(prices[m]) for m in members for _ in range(int(table.counts[m]))), reverse=True)
        whole, short = sum(listed[:least]), sum(listed[: least - 1])
        for member in members:
            if prices[member] > 0:
                held = min(whole, short + float(prices[member]))
                own[member] = max(own[member], held / (least * cost) if cost > 0 else np.inf)
                anyone[member] = max(anyone[member], whole / (least * cost) if cost > 0 else np.inf)
    return own, anyone


def _boxes(table: Table) -> Iterator[tuple[float, list[int]]]:
    """Every box that holds enough records: its cost, and its tuples."""
    points = table.points
    for partitions in product(*(column.partitions for column in table.columns)):
        groups: dict[tuple[int, ...], list[int]] = {}
        for member, row in enumerate(table.codes.tolist()):
            key = tuple(int(partition.labels[code]) for partition, code in zip(partitions, row, strict=True))
            groups.setdefault(key, []).append(member)
        for members in groups.values():
            indices = sorted({float(points[m]) for m in members})
            pairs = [(low, high) for low in indices for high in indices if low <= high]
            if any(partition.kind == FLAT for partition in partitions):
                pairs = [(indices[0], indices[-1])]
            for low, high in pairs:
                inside = [m for m in members if low <= points[m] <= high]
                if table.counts[inside].sum() >= table.least:
                    width = 0.0 if any(partition.kind == FLAT for partition in partitions) else high - low
                    costs = [_cost(table, index, partition, inside) for index, partition in enumerate(partitions)]
                    yield width + sum(costs), inside


def _cost(table: Table, index: int, partition: PlainPartition, inside: list[int]) -> float:
    """What a column costs: the partition, or what any k of the records need where that is more."""
    column, codes = table.columns[index], table.codes[inside, index]
    cost = float(partition.costs[codes[0]])
    if partition.kind != OPEN:
        return cost
    each = np.repeat(codes, table.counts[inside])
    if column.places is None:
        held = np.cumsum(np.sort(np.unique(each, return_counts=True)[1])[::-1])
        return max(cost, column.unit * float(np.searchsorted(held, table.least) + 1))
    spots = np.sort(column.places[each])
    return max(cost, float((spots[table.least - 1 :] - spots[: len(spots) - table.least + 1]).min()))
