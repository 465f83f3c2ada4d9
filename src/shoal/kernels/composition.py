"""Composition: what the models ask of the sensitive values of a class, so that a search sees it move by move.

A class is its *histogram*: how many of its units are at each place, a value of a column that some model looks at (or a
label of its hierarchy). A unit is at one place or at several. What a model asks is one or more conditions of a few
forms on that. They are a search's view, in floats that tell no edge; whether a class complies is for the model to say.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from shoal.encoding.types import Floats, Ints
from shoal.kernels.compiled import kernel

CAPS, FLOORS, SURPLUS, ORDERED, EVENNESS, DISTINCT, TAIL, REQUESTS = range(8)
"""Forms of a condition on a class of n records, c of which are at a place:

* CAPS, FLOORS: c is at most, or at least, the place's number times n.
* SURPLUS: what c exceeds the place's share of n by, summed over the places, is at most bound times n.
* ORDERED: the same of the sums over all places up to each, and of what they fall short by.
* EVENNESS: the sum of the numbers of all c is at most n (log n - bound); the numbers are by count, not by place.
* DISTINCT: at least bound places are held.
* TAIL: the most frequent has less than bound times as many as all but the first of them, so many as its number says.
* REQUESTS: n is at least the number of each place that is held.
"""
NEAR = 1e-9
"""Sums that differ by less, as a share of the class, are the same."""


class Conditions(NamedTuple):
    """What is asked of a class."""

    least: int
    """The fewest records."""
    width: int
    """The places of a histogram."""
    forms: Ints
    begins: Ints
    """The first place that each condition looks at."""
    ends: Ints
    starts: Ints
    """Where the numbers of each condition start."""
    bounds: Floats
    numbers: Floats


@kernel
def may_comply(conditions, held, size, planned):
    """Return whether a class may comply once it has the planned number of records, as far as one can tell.

    ``held`` is the histogram of the ``size`` records that it has; where that is what is planned, it complies.
    """
    if planned < conditions.least:
        return False
    for one in range(len(conditions.forms)):
        form, begin, end = conditions.forms[one], conditions.begins[one], conditions.ends[one]
        numbers, bound = conditions.numbers[conditions.starts[one] :], conditions.bounds[one]
        if form in (CAPS, REQUESTS):
            if not _is_below(form == CAPS, numbers, held[begin:end], planned):
                return False
        elif form == TAIL:
            if not _has_tail(bound, np.int64(numbers[0]), held[begin:end], size, planned):
                return False
        elif _measure(form, numbers, held[begin:end], size, planned) > _allowed(form, bound, size, planned):
            return False
    return True


@nb.njit(inline="always")
def _allowed(form, bound, size, planned):
    """Return the most that the sum of a condition may be."""
    if form == FLOORS:
        return float(planned - size)
    if form == DISTINCT:
        return float(planned - size) - bound
    if form == EVENNESS:
        return planned * (np.log(planned) - bound + NEAR)
    return planned * (bound + NEAR)


@kernel
def _measure(form, numbers, held, size, planned):
    """Return the sum of a condition, at least: records that are yet to come are thought to be the best."""
    total, reached, share = 0.0, 0.0, 0.0
    if form == EVENNESS:
        total = (planned - size) * numbers[1]
    if form == SURPLUS:
        return _sum_surplus(numbers, held, size, planned)
    for place in range(len(held)):
        count = held[place]
        if form == EVENNESS:
            total += numbers[count] if count > 0 else 0.0
        elif form == DISTINCT:
            total -= count > 0
        elif form == FLOORS:
            total += np.ceil(max(numbers[place] * planned - count - NEAR, 0.0))
        else:
            reached += count
            share += numbers[place]
            total += max(reached - share * planned, share * planned - reached - (planned - size), 0.0)
    return total


@kernel
def _sum_surplus(numbers, held, size, planned):
    """Return what places have too much, at least: those that are yet to come first go where they are none too many."""
    total, free, layers = 0.0, 0, 0.0
    for place in range(len(held)):
        share = numbers[place] * planned
        layers += numbers[place]
        total += max(held[place] - share, 0.0)
        free += max(np.int64(np.floor(share + NEAR)) - held[place], 0)
    missing = np.int64(np.rint(layers)) * (planned - size) - free
    if missing <= 0:
        return total
    parts, count = np.empty(len(held)), 0  # where one more is too many by a part of it
    for place in range(len(held)):
        share = numbers[place] * planned
        if share > held[place] or share > np.floor(share + NEAR):
            more = max(held[place], np.int64(np.floor(share + NEAR))) + 1 - share
            if more < 1.0:
                parts[count] = more
                count += 1
    parts = np.sort(parts[:count])
    for index in range(min(missing, count)):
        total += parts[index]
    return total + max(missing - count, 0)


@nb.njit(inline="always")
def _is_below(scaled, numbers, held, planned):
    """Return whether no place has too many, or asks for more."""
    for place in range(len(held)):
        if held[place] > 0:
            if scaled and held[place] > numbers[place] * planned * (1.0 + 1e-12) + 1e-12:
                return False
            if not scaled and numbers[place] > planned:
                return False
    return True


@kernel
def _has_tail(bound, first, held, size, planned):
    """Return whether the most frequent place has less than ``bound`` times the ``first``-th and rarer ones."""
    top = np.zeros(max(first, 1), np.int64)
    for count in held:
        at = len(top)
        while at > 0 and top[at - 1] < count:
            if at < len(top):
                top[at] = top[at - 1]
            at -= 1
        if at < len(top):
            top[at] = count
    tail = planned - size
    for count in held:
        tail += count
    for count in top[: first - 1]:
        tail -= count
    return top[0] < bound * tail - NEAR * planned


@kernel
def count_held(conditions, places, members, classes):
    """Return the histogram of each class; units of class -1 are in none."""
    held = np.zeros((classes, conditions.width), np.int32)
    for unit in range(len(members)):
        if members[unit] >= 0:
            add(held, members[unit], places, unit, 1)
    return held


@nb.njit(inline="always")
def add(held, own, places, unit, change):
    """Put a unit into the histogram of a class, or take it out."""
    for at in range(places.shape[1]):
        held[own, places[unit, at]] += change


@kernel
def complies_with(conditions, held, size, own, places, gained, lost):
    """Return whether a class complies once it gained a unit and lost another one; -1 is none."""
    if gained >= 0:
        add(held, own, places, gained, 1)
    if lost >= 0:
        add(held, own, places, lost, -1)
    size += np.int64(gained >= 0) - np.int64(lost >= 0)
    result = may_comply(conditions, held[own], size, size)
    if gained >= 0:
        add(held, own, places, gained, -1)
    if lost >= 0:
        add(held, own, places, lost, 1)
    return result
