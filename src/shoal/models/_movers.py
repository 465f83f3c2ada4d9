"""The earth mover's distances as their paper writes them, for the audit: class by class, in fractions.

Nothing here is used by a search, and nothing of the search is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any

import numpy as np

from shoal.models.base import ValueCounts

Mover = Callable[[dict[int, int]], Fraction]


def equal(counted: ValueCounts) -> Mover:
    """Half the sum of the differences of all shares (Li et al. 2007, section 4.3)."""
    table, whole = counted.table, sum(counted.table.values())

    def distance(values: dict[int, int]) -> Fraction:
        own = sum(values.values())
        if not own:
            return Fraction(1)
        here = sum(abs(count * whole - table.get(value, 0) * own) for value, count in values.items())
        elsewhere = whole - sum(table.get(value, 0) for value in values)
        return Fraction(here + elsewhere * own, 2 * own * whole)

    return distance


def ordered(counted: ValueCounts) -> Mover:
    """The differences of the cumulated shares, in steps (section 4.2); values are numbered in their order."""
    numbers = sorted(counted.table)
    index = {number: rank for rank, number in enumerate(numbers)}
    whole = sum(counted.table.values())
    exact: Any = np.int64 if whole * whole * len(numbers) < 2**62 else object
    table = np.array([counted.table[number] for number in numbers], exact)

    def distance(values: dict[int, int]) -> Fraction:
        own = sum(values.values())
        if not own or not index.keys() >= values.keys():
            return Fraction(1)
        extra = -table * own
        for value, count in values.items():
            extra[index[value]] += count * whole
        moved = int(np.abs(np.cumsum(extra)).sum())
        return Fraction(moved, own * whole * max(len(numbers) - 1, 1))

    return distance


def hierarchical(counted: ValueCounts) -> Mover:
    """From the leaves up: what one child has too much goes to another, as high as their parent is (section 4.3)."""
    assert counted.paths is not None
    paths, whole = counted.paths, sum(counted.table.values())
    height = len(next(iter(paths), ("",)))
    named = {value: (str(value), *paths[value][1:]) for value in range(len(paths))}

    def distance(values: dict[int, int]) -> Fraction:
        own = sum(values.values())
        if not own:
            return Fraction(1)
        extras: dict[tuple[str, ...], int] = {}
        for value in counted.table.keys() | values.keys():
            extras[named[value]] = values.get(value, 0) * whole - counted.table.get(value, 0) * own
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


MOVERS: dict[str, Callable[[ValueCounts], Mover]] = {"equal": equal, "ordered": ordered, "hierarchical": hierarchical}


def find_greatest_distance(counted: ValueCounts, distance: str) -> Fraction:
    """Return the greatest distance of a class; unknown values are those that make it greatest.

    It is convex in what they are: those of the class have all one value then, and those of the rest all one.
    """
    mover = MOVERS[distance](counted)
    if not counted.table_blank and not counted.blank.any():
        return max(mover(values) for values, _ in counted.rows)
    if counted.unknown is not None:
        return max(
            _of_persons(values, counted, number, mover(values)) for number, (values, _) in enumerate(counted.rows)
        )
    index, worst = PLACERS[distance](counted), Fraction(0)
    bounded = [(_at_most(values, blank, counted, mover(values)), values, blank) for values, blank in counted.rows]
    for bound, values, blank in sorted(bounded, key=itemgetter(0), reverse=True):
        if bound <= worst:
            break
        worst = max(worst, index(values, blank))
    return worst


def _of_persons(values: dict[int, int], counted: ValueCounts, number: int, distance: Fraction) -> Fraction:
    """A bound where persons are counted, who may have several values, or miss one that they have elsewhere."""
    assert counted.unknown is not None
    known, whole = sum(values.values()), sum(counted.table.values())
    unknown, missing = int(counted.unknown[number]), int(counted.unknown[-1])
    if (known, unknown) == (whole, missing):
        return Fraction(0)
    if not known:
        return Fraction(1)
    return min(distance + 1 - Fraction(known, known + unknown) + 1 - Fraction(whole, whole + missing), Fraction(1))


def _at_most(values: dict[int, int], blank: int, counted: ValueCounts, distance: Fraction) -> Fraction:
    """A quick bound: unknown values are moved all the way, in the class and in the rest of the table."""
    known, whole = sum(values.values()), sum(counted.table.values())
    size, everyone = known + blank, whole + counted.table_blank
    if blank > counted.table_blank or size > everyone:
        return Fraction(1)  # no part of the table
    if size == everyone:
        return Fraction(0)
    apart = distance * Fraction(whole, whole - known) if 0 < known < whole else Fraction(1)
    unknown = Fraction(blank, size) + Fraction(counted.table_blank - blank, everyone - size)
    return (1 - Fraction(size, everyone)) * min(apart + unknown, Fraction(1))


Placer = Callable[[dict[int, int], int], Fraction]
"""The distance of a class with so many unknown values, each placed where it is worst."""


@dataclass(frozen=True)
class _Class:
    """A class and the rest of its table, in whole numbers: shares times the records of both."""

    extras: dict[int, int]
    """What it has too much of each value, unknown ones aside; of two values where there are fewer."""
    shifts: tuple[int, int, int, int]
    """How that changes where nothing unknown is placed, that of the class, that of the rest, both."""
    whole: int
    """What a share of 1 is."""

    @classmethod
    def of(cls, values: dict[int, int], blank: int, counted: ValueCounts) -> _Class | None:
        """Compare a class with the table; ``None`` where it is no part of it."""
        size = sum(values.values()) + blank
        everyone = sum(counted.table.values()) + counted.table_blank
        if blank > counted.table_blank or size > everyone or not counted.table.keys() >= values.keys():
            return None
        extras = {value: values.get(value, 0) * everyone - held * size for value, held in counted.table.items()}
        extras |= dict.fromkeys(range(-1, len(extras) - 3, -1), 0)
        raised, lowered = blank * (everyone - size), (counted.table_blank - blank) * size
        return cls(extras, (0, raised, -lowered, raised - lowered), size * everyone)


def anywhere(counted: ValueCounts) -> Placer:
    """The value that the class has most of is raised, and the one that it has least of lowered."""

    def distance(values: dict[int, int], blank: int) -> Fraction:
        one = _Class.of(values, blank, counted)
        if one is None:
            return Fraction(1)
        least, *others, most = sorted(one.extras.values())
        placed = (least + one.shifts[2], *others, most + one.shifts[1])
        return Fraction(sum(extra for extra in placed if extra > 0), one.whole)

    return distance


def along_order(counted: ValueCounts) -> Placer:
    """Walk along the values, and at each place what is unknown or keep it for later."""

    def distance(values: dict[int, int], blank: int) -> Fraction:
        one = _Class.of(values, blank, counted)
        if one is None:
            return Fraction(1)
        none = own = rest = both = reached = 0
        for step, value in enumerate(sorted(one.extras), start=1):
            own, rest = max(own, none), max(rest, none)
            both = max(both, own, rest)
            if step == len(one.extras):
                break
            reached += one.extras[value]
            none, own, rest, both = (
                moved + abs(reached + shift) for moved, shift in zip((none, own, rest, both), one.shifts, strict=True)
            )
        return Fraction(both, one.whole * (len(one.extras) - 1))

    return distance


def under_labels(counted: ValueCounts) -> Placer:
    """From the leaves up: what is unknown is placed in one child, or in two."""
    assert counted.paths is not None
    paths = counted.paths
    height = len(next(iter(paths), ("",)))

    def distance(values: dict[int, int], blank: int) -> Fraction:
        one = _Class.of(values, blank, counted)
        if one is None:
            return Fraction(1)
        extras = {(str(value), *_labels(value, paths, height)): extra for value, extra in one.extras.items()}
        moved: dict[tuple[str, ...], list[int]] = {path: [0, 0, 0, 0] for path in extras}
        for _ in range(height):
            below, moved = moved, {}
            sums: dict[tuple[str, ...], int] = {}
            for path, extra in extras.items():
                parent = path[1:]
                much = [before + max(extra + shift, 0) for before, shift in zip(below[path], one.shifts, strict=True)]
                moved[parent] = _either(moved[parent], much) if parent in moved else much
                sums[parent] = sums.get(parent, 0) + extra
            extras = sums
        return Fraction(moved[()][-1], one.whole * height)

    return distance


def _labels(value: int, paths: Sequence[tuple[str, ...]], height: int) -> tuple[str, ...]:
    """The labels above a value; one that does not occur has its own."""
    return paths[value][1:] if value >= 0 else (f"\0{value}",) * (height - 1)


def _either(first: list[int], second: list[int]) -> list[int]:
    """Place what is unknown in one of two parts, or some in each."""
    none, own, rest, both = first
    others = second
    return [
        none + others[0],
        max(own + others[0], none + others[1]),
        max(rest + others[0], none + others[2]),
        max(both + others[0], own + others[2], rest + others[1], none + others[3]),
    ]


PLACERS: dict[str, Callable[[ValueCounts], Placer]] = {
    "equal": anywhere,
    "ordered": along_order,
    "hierarchical": under_labels,
}
