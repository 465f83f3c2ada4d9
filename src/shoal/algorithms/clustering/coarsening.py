"""coarsen(): records that stand side by side within a class as one unit, so that a search moves them together.

The multilevel idea of Karypis, G. and Kumar, V. (1998). A fast and high quality multilevel scheme for partitioning
irregular graphs. SIAM J. Sci. Comput. 20(1): with large classes it is rarely one record that must move. Each round
makes other pieces, so in the end it is any records.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.algorithms.clustering.sequence import move_key, order_by_rule
from shoal.algorithms.clustering.snake import sort_records
from shoal.algorithms.clustering.units import Units
from shoal.encoding.types import Ints

_SHARES = (6, 12, 25)
"""Pieces that the least class would have: few move far in little time, many find what few do not."""
_MOVES = 6
"""The most keys that change their place in a sequence: near enough that neighbours are still alike."""


def choose_sizes(units: Units) -> list[int]:
    """Return the least records of the pieces of each step of a round; 1 where single units are moved.

    Models that look at more than sizes would have to look into pieces: for them single units are moved.
    """
    if not units.counts_only:
        return [1]
    return sorted({max(units.problem.least_records // share, 1) for share in _SHARES}, reverse=True)


def coarsen(units: Units, members: Ints, least: int, step: int) -> tuple[Units, Ints]:
    """Return pieces of classes as units, each of at least so many records, and the piece of each unit.

    They are stretches of a sequence, cut by the program within each class; another sequence in each step.
    """
    from shoal.kernels.coarsening import cut_pieces
    from shoal.kernels.widths import fill_boxes, make_boxes

    random = np.random.default_rng([units.problem.seed, step, 1])
    keys = order_by_rule(units)
    for _ in range(int(random.integers(_MOVES + 1))):
        keys = move_key(keys, random)
    order = sort_records(keys, units.codes)
    order = order[np.argsort(members[order], kind="stable")]
    starts = np.searchsorted(members[order], np.arange(int(members.max()) + 2))
    pieces = np.empty(len(units), np.int64)
    count = int(cut_pieces(units.costs, units.boxes, units.weights, order, starts, least, pieces))
    boxes, weights = make_boxes(count, units.boxes), np.empty(count, np.int64)
    fill_boxes(units.boxes, units.weights, pieces, boxes, weights)
    some = np.empty(count, np.int64)
    some[pieces] = np.arange(len(units))
    return replace(units, boxes=boxes, weights=weights, records=weights, tuples=units.tuples[some]), pieces
