"""Near tuples: which others differ in the fewest cells, by weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shoal.encoding.types import Floats, Ints

PLACES = 32
"""So many near tuples are known of each, at most."""
_PAIRS, _WINDOW, _HOSTS, _ORDERS = 40_000_000, 12, 3, 66


@dataclass(frozen=True)
class Neighbours:
    """The tuples with fewer than k records, and which others are near each."""

    rows: Ints
    """Their numbers among all tuples."""
    near: Ints
    """``near[row, place]``: rows, the nearest first; -1 where there are no more."""
    apart: Floats
    """How far they are: the weights of the columns in which they differ, added up."""
    host: Ints
    """The nearest tuple of k records or more, -1 where there is none."""
    hosting: Floats
    lender: Ints
    """The nearest tuple of more than k records, which can spare one."""
    lending: Floats


def find_neighbours(codes: Ints, counts: Ints, k: int, weights: Floats) -> Neighbours:
    """Return which tuples are near each tuple of fewer than k records.

    In small tables all pairs are compared. Else tuples are sorted once for each two columns, these last, and compared
    with those who stand near: what differs in no other column stands together. Whoever differs in more columns may be
    overlooked, which costs loss, never a promise.
    """
    from shoal.kernels.centres import note_hosts, note_neighbours

    codes, weights = np.ascontiguousarray(codes), np.ascontiguousarray(weights)
    risky = counts < k
    rows = np.flatnonzero(risky)
    among = np.full(len(counts), -1, np.int64)
    among[rows] = np.arange(len(rows))
    near = np.full((len(rows), PLACES), -1, np.int64)
    apart = np.full((len(rows), PLACES), np.inf)
    far = 4.0 * float(weights.sum())
    host, hosting = np.full(len(rows), -1, np.int64), np.full(len(rows), far)
    lender, lending = np.full(len(rows), -1, np.int64), np.full(len(rows), far)
    small = len(counts) ** 2 <= _PAIRS
    for order in [np.arange(len(counts))] if small else _orders(codes):
        chosen = order[risky[order]]
        note_neighbours(codes, weights, chosen, among, len(counts) if small else _WINDOW, near, apart)
        for hosts, found, cost in ((~risky, host, hosting), (counts > k, lender, lending)):
            window = max(int(hosts.sum()), 1) if small else _HOSTS
            note_hosts(codes, weights, order, among, hosts.astype(np.uint8), window, found, cost)
    # who shares no value would show nothing: that is no group
    whole = float(weights.sum()) - 1e-9
    near[apart >= whole], apart[apart >= whole] = -1, np.inf
    host[hosting >= whole], hosting[hosting >= whole] = -1, far
    lender[lending >= whole], lending[lending >= whole] = -1, far
    return Neighbours(rows, near, apart, host, hosting, lender, lending)


def _orders(codes: Ints) -> Iterator[Ints]:
    """Yield the tuples in orders in which each two columns come last; of very many columns not all of them."""
    columns = range(codes.shape[1])
    pairs = list(combinations(columns, 2)) or [(0, 0)]
    for pair in pairs[:: max(len(pairs) // _ORDERS, 1)]:
        others = [column for column in columns if column not in pair]
        yield np.lexsort([*(codes[:, column] for column in (*pair, *others))])


def least_distances(codes: Ints, counts: Ints, k: int, weights: Floats) -> Floats:
    """Return for each tuple what its k - 1 nearest records are away, added up, at least.

    Records in the same tuple are at distance 0, those that differ in one column are counted exactly, column by column,
    and all others differ in two at least.
    """
    need = np.full(len(counts), k - 1, np.int64) - (counts - 1)
    total = np.zeros(len(counts))
    for column in np.argsort(weights, kind="stable").tolist():
        rest = np.delete(codes, column, axis=1)
        groups = _number_rows(rest)
        others = np.bincount(groups, counts).astype(np.int64)[groups] - counts
        taken = np.clip(need, 0, others)
        total += taken * weights[column]
        need = need - taken
    two = float(np.sort(weights)[:2].sum())
    return np.asarray(total + np.maximum(need, 0) * two)


def _number_rows(codes: Ints) -> Ints:
    if not codes.shape[1]:
        return np.zeros(len(codes), np.int64)
    return np.unique(codes, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
