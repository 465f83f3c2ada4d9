"""Outliers: records that cost the others of their class more than they would lose themselves."""

from __future__ import annotations

import numpy as np

from shoal.algorithms.local._sequence import complete_classes
from shoal.algorithms.local._units import Units
from shoal.encoding.types import Ints


def drop_outliers(units: Units, members: Ints, allowed: int) -> Ints:
    """Suppress (class -1) outliers, the costliest first, at most so many records; others join to comply again.

    It may cost more than before: classes that lose a record may have to join others. The caller compares.
    """
    from shoal.kernels.spare import marginal_costs

    gains = np.empty(len(units))
    order = np.argsort(members, kind="stable")
    starts = np.searchsorted(members[order], np.arange(int(members.max()) + 2))
    marginal_costs(units.costs, units.boxes, units.records, order, starts, gains)
    gains -= units.nothing * units.records
    ranked = np.argsort(-gains, kind="stable")
    taken = ranked[(gains[ranked] > 0.0) & (np.cumsum(units.records[ranked]) <= allowed)]
    if not len(taken):
        return members
    kept = np.ones(len(units), bool)
    kept[taken] = False
    if not kept.any():
        return members
    result = np.full(len(units), -1, np.int64)
    rest = units.only(np.flatnonzero(kept))
    if not rest.problem.holds(rest.classes(np.zeros(len(rest), np.int64))).all():
        return members  # all the others together are too few
    result[kept] = complete_classes(rest, np.unique(members[kept], return_inverse=True)[1].astype(np.int64))
    return result
