"""divide_by_signature(): which records can be balanced, and with whom; the others are held back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Bools, Floats, Ints

Signature = tuple[int, ...]
"""Sensitive values by their numbers, in order."""
_FEW = 5_000
"""Of so many records one waits rather than getting a signature that hardly anybody has."""
_WAITING = 500
"""Of so many records one may wait before new signatures are sought."""
_NEW = 0.98
"""What a record with a new signature counts where one with a known signature counts 1."""


@dataclass(frozen=True)
class Division:
    """Records by the signature with which they are published."""

    signatures: tuple[Signature, ...]
    of_record: Ints
    """The signature of each record, -1 for those that are held back."""


def divide_by_signature(
    values: Ints,
    known: Ints,
    signatures: Sequence[Signature],
    m: int,
    barred: Mapping[int, frozenset[int]] | None = None,
) -> Division:
    """Return the largest division found in which each signature holds all its values equally often.

    Persons who have a signature already stay in it or are held back; new ones fill what lacks there or join as whole
    units, and only the rest gets signatures of its own: the fewer there are, the nearer to each other are the records
    of each. How many of each signature are published is a linear program, rounded down, then raised one by one.

    Parameters
    ----------
    values
        The sensitive value of each record.
    known
        The signature of each record before that holds its value, -1 for none.
    signatures
        The signatures that there are.
    m
        The least number of values of a new one.
    barred
        Record → the values that its signature must not hold: those of the signatures that its person had.

    Examples
    --------
    >>> divide_by_signature(np.array([0, 1, 0, 2]), np.array([-1, -1, -1, -1]), [], 2)
    Division(signatures=((0, 1), (0, 2)), of_record=array([0, 0, 1, 1]))
    """
    size = int(max(values.max(initial=-1), *(max(one) for one in signatures), -1)) + 1
    barred, out = barred or {}, np.zeros(len(values), bool)
    while True:
        fresh = np.bincount(values[(known < 0) & ~out], minlength=size)
        every, units = _choose_units(values, known, signatures, fresh, m)
        placed = _place_barred(values, known, every, units, {row: barred[row] for row in barred if not out[row]})
        unplaced = [row for row in barred if not out[row] and row not in placed]
        if not unplaced:
            return Division(tuple(every), _assign(values, known, every, units, placed, out))
        out[unplaced] = True


def _choose_units(
    values: Ints, known: Ints, signatures: Sequence[Signature], fresh: Ints, m: int
) -> tuple[list[Signature], Ints]:
    """Return the signatures, with new ones where too many would wait without, and how many units each has.

    New ones are sought for what the known ones leave; where that is not enough, for all new records, last also such as
    hardly anybody has. The first that leaves few waiting is taken, else the one that leaves the fewest.
    """
    found = list[tuple[int, list[Signature], Ints]]()
    least, more = 1 + len(values) // _FEW, [one for one, _ in split_counts(fresh, m)]
    for asked, fewest in (([], least), (more, least), (more, 1)):
        every = list(dict.fromkeys([*signatures, *asked]))
        held = _count(values, known, len(fresh), every)
        units, left = _fill(every, held, fresh, len(signatures), fewest)
        every, units = _add_signatures(every, units, split_counts(left, m), fewest)
        waiting = int((known >= 0).sum() + fresh.sum()) - sum(n * len(one) for n, one in zip(units, every, strict=True))
        found.append((waiting, every, units))
        if waiting <= len(values) // _WAITING:
            break
    return min(found, key=lambda one: one[0])[1:]


def _add_signatures(
    every: list[Signature], units: Ints, added: Sequence[tuple[Signature, int]], fewest: int
) -> tuple[list[Signature], Ints]:
    """Return signatures and units with more of both; no signature is new for fewer units than are asked."""
    counts = dict(zip(every, units.tolist(), strict=True))
    for one, count in added:
        if one in counts or count >= fewest:
            counts[one] = counts.get(one, 0) + count
    return list(counts), np.array(list(counts.values()), np.int64)


def split_counts(counts: Ints, m: int) -> list[tuple[Signature, int]]:
    """Return signatures of m values and how many units of each use up as much of some counts as is possible.

    Always the m values that are most frequent, as many as leave no other value more than an m-th of the rest: so as
    little as possible is left over.

    Examples
    --------
    >>> split_counts(np.array([3, 2, 2, 1]), 2)
    [((0, 1), 2), ((0, 2), 1), ((2, 3), 1)]
    """
    left, found = counts.astype(np.int64).copy(), list[tuple[Signature, int]]()
    while np.count_nonzero(left) >= m:
        order = np.lexsort((np.arange(len(left)), -left))
        chosen, outside = order[:m], order[m:]
        room = (int(left.sum()) - m * int(left[outside].max(initial=0))) // m
        units = max(1, min(int(left[chosen].min()), room))
        left[chosen] -= units
        found.append((tuple(sorted(chosen.tolist())), units))
    return found


def _count(values: Ints, known: Ints, size: int, every: Sequence[Signature]) -> Ints:
    """Return how many records of each signature have each value."""
    held = np.zeros((len(every), size), np.int64)
    np.add.at(held, (known[known >= 0], values[known >= 0]), 1)
    return held


def _fill(every: Sequence[Signature], held: Ints, fresh: Ints, known: int, least: int) -> tuple[Ints, Ints]:
    """Return how many units of each signature are published, and what is left of the new records."""
    if not every:
        return np.zeros(0, np.int64), fresh.copy()
    units = np.floor(_solve(every, held, fresh, known) + 1e-6).astype(np.int64)
    units[known:][units[known:] < least] = 0
    while (_taken(every, held, units).sum(axis=0) > fresh).any():  # a rounding of the program
        units[np.argmax(units)] -= 1
    grown = True
    while grown:
        grown = False
        for index in [place for place in range(len(every)) if place < known or units[place]]:
            more = units.copy()
            more[index] += 1
            if (_taken(every, held, more).sum(axis=0) <= fresh).all():
                units, grown = more, True
    return units, fresh - _taken(every, held, units).sum(axis=0)


def _solve(every: Sequence[Signature], held: Ints, fresh: Ints, known: int) -> Floats:
    """Return the units of each signature that publish the most records, as a linear program gives them."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    pairs = [(index, value) for index, signature in enumerate(every) for value in signature]
    owners, values = (np.array(side) for side in zip(*pairs, strict=True))
    count, first = len(pairs), len(every)
    places = np.arange(count)
    rows = np.concatenate([places, places, count + values])  # units - filled <= held; filled of a value <= fresh
    columns = np.concatenate([owners, first + places, first + places])
    entries = np.repeat([1.0, -1.0, 1.0], count)
    matrix = coo_matrix((entries, (rows, columns)), shape=(count + len(fresh), first + count))
    sizes = np.array([len(one) for one in every]) * np.where(np.arange(first) < known, 1.0, _NEW)
    gain = np.concatenate([-sizes, np.full(count, 1e-6)])
    limits = np.concatenate([held[owners, values], fresh]).astype(np.float64)
    found = linprog(gain, A_ub=matrix.tocsr(), b_ub=limits, bounds=(0, None), method="highs")
    return np.zeros(first) if found.x is None else np.asarray(found.x[:first], np.float64)


def _taken(every: Sequence[Signature], held: Ints, units: Ints) -> Ints:
    """Return how many new records of each value fill what each signature lacks."""
    lacking = np.zeros_like(held)
    for index, signature in enumerate(every):
        inside = list(signature)
        lacking[index, inside] = np.maximum(units[index] - held[index, inside], 0)
    return lacking


def _place_barred(
    values: Ints, known: Ints, every: Sequence[Signature], units: Ints, barred: Mapping[int, frozenset[int]]
) -> dict[int, int]:
    """Return the signature of each record that some are barred for, where one with room is not."""
    room = units[:, None] - np.minimum(_count(values, known, int(values.max(initial=-1)) + 1, every), units[:, None])
    placed: dict[int, int] = {}
    for row, others in barred.items():
        value = int(values[row])
        free = (n for n, one in enumerate(every) if value in one and room[n, value] > 0 and not others & {*one})
        if (index := next(free, None)) is not None:
            placed[row] = index
            room[index, value] -= 1
    return placed


def _assign(
    values: Ints, known: Ints, every: Sequence[Signature], units: Ints, placed: Mapping[int, int], out: Bools
) -> Ints:
    """Return the signature of each record: those that have it first, then those that are placed, then new ones."""
    of_record = np.full(len(values), -1, np.int64)
    known, out = known.copy(), out.copy()
    for row, index in placed.items():
        of_record[row], out[row] = index, True
    free = (known < 0) & ~out
    new = {value: list(np.flatnonzero(free & (values == value))[::-1]) for value in np.unique(values).tolist()}
    for index, signature in enumerate(every):
        for value in signature:
            there = int(((of_record == index) & (values == value)).sum())
            mine = np.flatnonzero((known == index) & (values == value))[: int(units[index]) - there]
            of_record[mine] = index
            for _ in range(int(units[index]) - there - len(mine)):
                of_record[new[value].pop()] = index
    return of_record
