"""worst(): the classes of a tally that decide what a model attains, found in whole columns of numbers at once.

A model's own recount is exact, class by class. It is slow where there are many classes, and nearly all of them are far
from the worst. So a model scores each class, in floating point; those that come near the greatest are told exactly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.encoding.types import Floats, Ints
from shoal.models.base import Census

_NEAR = 1e-9
_MANY = 200
"""Of more classes than that which score alike, one of each score is looked at."""


def worst(census: Census, column: str, scores: Floats) -> Census:
    """Return a census of the classes that score highest by one sensitive column.

    Only for tallies of records in which every value is known: there the sizes are the sums of the counts.
    """
    if not len(census.sizes):
        return census
    top = float(scores.max())
    near = np.flatnonzero(scores == top if np.isinf(top) else scores >= top - _NEAR * max(1.0, abs(top)))
    if len(near) > _MANY:
        near = near[np.unique(scores[near], return_index=True)[1]]
    return _only(census, column, near)


def _only(census: Census, column: str, indices: Ints) -> Census:
    tally = census.tallies[column,]
    number = np.full(len(census.sizes), -1, np.int64)
    number[indices] = np.arange(len(indices))
    kept = number[tally.classes]
    order = np.flatnonzero(kept >= 0)
    order = order[np.argsort(kept[order], kind="stable")]
    part = replace(
        tally,
        classes=kept[order],
        values=tally.values[order],
        counts=tally.counts[order],
        blank=tally.blank[indices],
    )
    values = {column: census.values[column][indices]}
    return Census(sizes=census.sizes[indices], values=values, tallies={(column,): part})
