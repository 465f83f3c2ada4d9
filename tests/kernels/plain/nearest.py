"""Plain twin of :mod:`shoal.kernels.nearest`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def price(own: int, need: int, tuples: Sequence[Sequence[int]], counts: Sequence[int], costs: Sequence[Any]) -> float:
    """Return the distance within which a tuple has so many records, its own among them."""
    distances = sorted(
        (sum(float(cost[a][b]) for cost, a, b in zip(costs, tuples[own], other, strict=True)), count)
        for other, count in zip(tuples, counts, strict=True)
    )
    held = 0
    for distance, count in distances:
        held += count
        if held >= need:
            return distance
    raise AssertionError("fewer records than a class needs")
