"""Groups around centres: each record shows what the centre has, and ``*`` where it has something else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.algorithms.suppression.neighbours import Neighbours, find_neighbours
from shoal.encoding.types import Floats, Ints


@dataclass(frozen=True)
class CentredGroups:
    """Some records of a tuple, with the codes of the centre that they are grouped around; all others stay as they are.

    Two records of a group agree wherever both show something: each shows what the centre has or nothing.
    """

    tuples: Ints
    records: Ints
    centres: Ints
    """``centres[piece, column]``."""
    lost: Ints
    """Tuples that found no group: all their records are suppressed."""

    def cost(self, codes: Ints, weights: Floats) -> float:
        """Return the weights of the suppressed cells, added up; a lost record costs all of its cells."""
        return float(self.records @ ((codes[self.tuples] != self.centres) @ weights))


def group_tuples(codes: Ints, counts: Ints, k: int, weights: Floats, *, rounds: int, seed: int) -> CentredGroups:
    """Return groups of at least k records at the least cost that the search finds."""
    from shoal.kernels.centres import group_around_centres

    known = find_neighbours(codes, counts, k, weights)
    centre = np.full(len(known.rows), -1, np.int64)
    lent = np.zeros(len(known.rows), np.int64)
    if len(known.rows):
        group_around_centres(
            k,
            counts[known.rows],
            known.near,
            known.apart,
            known.hosting,
            known.lending,
            known.lender,
            np.maximum(counts - k, 0),
            rounds,
            seed,
            centre,
            lent,
        )
    return _collect(codes, counts, weights, known, centre, lent)


def _collect(codes: Ints, counts: Ints, weights: Floats, known: Neighbours, centre: Ints, lent: Ints) -> CentredGroups:
    """Return the groups; what found none joins the nearest, and each group moves to the centre that costs it least."""
    centre = centre.copy()
    rows = known.rows
    alone = (centre < 0) & (known.host < 0)
    centres = np.unique(centre[centre >= 0])
    if len(centres):
        for row in np.flatnonzero(alone).tolist():
            apart = (codes[rows[centres]] != codes[rows[row]]) @ weights
            best = int(np.argmin(apart))
            if apart[best] < weights.sum() - 1e-9:
                centre[row] = centres[best]
                alone[row] = False
    hosted = np.flatnonzero((centre < 0) & (known.host >= 0))
    inside = np.flatnonzero(centre >= 0)
    lending = np.flatnonzero(lent > 0)
    group = np.concatenate([centre[inside], lending])
    tuples = np.concatenate([rows[inside], known.lender[lending]])
    records = np.concatenate([counts[rows[inside]], lent[lending]])
    modes = find_modes(codes[tuples], records, group)
    silent = np.isin(group, group[np.logical_and.reduce(codes[tuples] != modes, axis=1)])
    modes[silent] = codes[rows[group[silent]]]  # a centre that some member shares nothing with is none
    return CentredGroups(
        np.concatenate([tuples, rows[hosted]]),
        np.concatenate([records, counts[rows[hosted]]]),
        np.concatenate([modes, codes[known.host[hosted]]]),
        rows[alone],
    )


def find_modes(codes: Ints, records: Ints, group: Ints) -> Ints:
    """Return for each piece the most frequent code of each column in its group: no other centre costs less."""
    if not len(group):
        return codes
    found = np.empty_like(codes)
    numbers = np.unique(group, return_inverse=True)[1].ravel()
    for column in range(codes.shape[1]):
        width = int(codes[:, column].max()) + 1
        pairs, where = np.unique(numbers * width + codes[:, column], return_inverse=True)
        held = np.bincount(where.ravel(), records)
        order = np.lexsort([pairs, -held, pairs // width])
        first = order[np.flatnonzero(np.diff(pairs[order] // width, prepend=-1))]
        found[:, column] = (pairs[first] % width)[numbers]
    return found
