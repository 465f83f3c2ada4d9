"""The walk through boxes again, in plain Python that looks at every box: tests compare the compiled walk with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.bounding import FLAT, OPEN


class Rung(NamedTuple):
    """A step of a ladder."""

    labels: npt.NDArray[np.int32]
    """The label of each code."""
    costs: npt.NDArray[np.float64]
    """What the label of each code costs."""
    kind: int = 0
    """``FLAT``: the line does not count; ``OPEN``: what the records need in the column does."""


class Rungs(NamedTuple):
    """The ladder of a column, and what it shows where it is open: a range of places, or values at a unit each."""

    steps: Sequence[Rung]
    unit: float
    places: npt.NDArray[np.float64] | None = None


class Table(NamedTuple):
    """Tuples in the order of the line."""

    codes: npt.NDArray[np.int32]
    """``codes[tuple, column]``"""
    counts: npt.NDArray[np.int64]
    points: npt.NDArray[np.float64]
    ladders: Sequence[Rungs]
    least: int


def cheapest_boxes(table: Table) -> list[float]:
    """Return what the cheapest box of each tuple costs: see :func:`shoal.kernels.bounding.walk_boxes`."""
    lowest = [np.inf] * len(table.counts)
    for cost, members in _boxes(table):
        for member in members:
            lowest[member] = min(lowest[member], cost)
    return lowest


def largest_ratios(table: Table, shares: npt.NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """Return for each tuple the largest ratio of a mean share to the cost of the box, over boxes that hold it.

    First of classes that the tuple is in, then of any classes; the kernel's ratio lies between the two.
    """
    least = table.least
    own, anyone = [0.0] * len(shares), [0.0] * len(shares)
    for cost, members in _boxes(table):
        listed = sorted((float(shares[m]) for m in members for _ in range(int(table.counts[m]))), reverse=True)
        whole, short = sum(listed[:least]), sum(listed[: least - 1])
        for member in members:
            if shares[member] > 0:
                held = min(whole, short + float(shares[member]))
                own[member] = max(own[member], held / (least * cost) if cost > 0 else np.inf)
                anyone[member] = max(anyone[member], whole / (least * cost) if cost > 0 else np.inf)
    return own, anyone


def _boxes(table: Table) -> Iterator[tuple[float, list[int]]]:
    """Every box that holds enough records: its cost, and its tuples."""
    points = table.points
    for steps in product(*(weaker_thresholds.steps for weaker_thresholds in table.ladders)):
        groups: dict[tuple[int, ...], list[int]] = {}
        for member, row in enumerate(table.codes.tolist()):
            key = tuple(int(step.labels[code]) for step, code in zip(steps, row, strict=True))
            groups.setdefault(key, []).append(member)
        for members in groups.values():
            indices = sorted({float(points[m]) for m in members})
            pairs = [(low, high) for low in indices for high in indices if low <= high]
            if any(step.kind == FLAT for step in steps):
                pairs = [(indices[0], indices[-1])]
            for low, high in pairs:
                inside = [m for m in members if low <= points[m] <= high]
                if table.counts[inside].sum() >= table.least:
                    width = 0.0 if any(step.kind == FLAT for step in steps) else high - low
                    yield width + sum(_cost(table, index, step, inside) for index, step in enumerate(steps)), inside


def _cost(table: Table, index: int, step: Rung, inside: list[int]) -> float:
    """What a column costs: the step, or what any k of the records need where that is more."""
    weaker_thresholds, codes = table.ladders[index], table.codes[inside, index]
    cost = float(step.costs[codes[0]])
    if step.kind != OPEN:
        return cost
    each = np.repeat(codes, table.counts[inside])
    if weaker_thresholds.places is None:
        held = np.cumsum(np.sort(np.unique(each, return_counts=True)[1])[::-1])
        return max(cost, weaker_thresholds.unit * float(np.searchsorted(held, table.least) + 1))
    spots = np.sort(weaker_thresholds.places[each])
    return max(cost, float((spots[table.least - 1 :] - spots[: len(spots) - table.least + 1]).min()))
