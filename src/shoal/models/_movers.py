"""The earth mover's distances as their paper writes them, for the audit: class by class, in fractions.

Nothing here is used by a search, and nothing of the search is used here.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.models.base import Tally

Mover = Callable[[dict[int, int]], Fraction]


def equal(tally: Tally) -> Mover:
    """Half the sum of the differences of all shares (Li et al. 2007, section 4.3)."""
    table, whole = tally.table, sum(tally.table.values())

    def distance(values: dict[int, int]) -> Fraction:
        own = sum(values.values())
        if not own:
            return Fraction(1)
        here = sum(abs(count * whole - table.get(value, 0) * own) for value, count in values.items())
        elsewhere = whole - sum(table.get(value, 0) for value in values)
        return Fraction(here + elsewhere * own, 2 * own * whole)

    return distance


def ordered(tally: Tally) -> Mover:
    """The differences of the cumulated shares, in steps (section 4.2); values are numbered in their order."""
    numbers = sorted(tally.table)
    place = {number: rank for rank, number in enumerate(numbers)}
    whole = sum(tally.table.values())
    exact: Any = np.int64 if whole * whole * len(numbers) < 2**62 else object
    table = np.array([tally.table[number] for number in numbers], exact)

    def distance(values: dict[int, int]) -> Fraction:
        own = sum(values.values())
        if not own or not place.keys() >= values.keys():
            return Fraction(1)
        extra = -table * own
        for value, count in values.items():
            extra[place[value]] += count * whole
        moved = int(np.abs(np.cumsum(extra)).sum())
        return Fraction(moved, own * whole * max(len(numbers) - 1, 1))

    return distance


def hierarchical(tally: Tally) -> Mover:
    """From the leaves up: what one child has too much goes to another, as high as their parent is (section 4.3)."""
    assert tally.paths is not None
    paths, whole = tally.paths, sum(tally.table.values())
    height = len(next(iter(paths), ("",)))
    named = {value: (str(value), *paths[value][1:]) for value in range(len(paths))}

    def distance(values: dict[int, int]) -> Fraction:
        own = sum(values.values())
        if not own:
            return Fraction(1)
        extras: dict[tuple[str, ...], int] = {}
        for value in tally.table.keys() | values.keys():
            extras[named[value]] = values.get(value, 0) * whole - tally.table.get(value, 0) * own
        moved = 0
        for level in range(1, height + 1):
            parents: dict[tuple[str, ...], list[int]] = {}
            for path, extra in extras.items():
                parents.setdefault(path[1:], []).append(extra)
            for children in parents.values():
                much = sum(extra for extra in children if extra > 0)
                little = -sum(extra for extra in children if extra < 0)
                moved += level * min(much, little)
            extras = {path: sum(children) for path, children in parents.items()}
        return Fraction(moved, own * whole * height)

    return distance


MOVERS: dict[str, Callable[[Tally], Mover]] = {"equal": equal, "ordered": ordered, "hierarchical": hierarchical}
