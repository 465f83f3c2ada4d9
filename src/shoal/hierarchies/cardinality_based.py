"""Cardinality-based (CBGH): merge neighbours from the leaves up, so that nodes hold equally many records."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from shoal.encoding.domains import Domain
from shoal.encoding.types import Ints
from shoal.hierarchies import _ranges
from shoal.hierarchies._steps import Step
from shoal.hierarchies.conventional import Smallest


class CardinalityBased(_ranges.RangeHierarchy):
    """Merge neighbouring intervals from the leaves up, so that nodes of a level hold equally many records.

    The paper's Algorithm 2. *CreateLeafLevel*: intervals of the smallest wanted size, 2 where none is given.
    *CreateLevel*: an even number of nodes is merged pair by pair; of an odd number one node stays as it is: the one
    whose staying makes the records of the new nodes differ least (the greatest minus the least, then the sum of
    squares, then the last). Distortion is in proportion to the interval, and gives the paper's Table 4 exactly.

    Step 1 of the algorithm widens the range where its ends differ in parity, which would make an *odd* number of
    values; the range is widened here so that the leaves have equal size, as in the paper's own figure.

    References
    ----------
    Yaseen, S. et al. (2018). Improved generalization for secure data publishing. IEEE Access 6, III.C, Algorithm 2.

    Examples
    --------
    >>> hours = Domain.of("integer", list(range(1, 101)))
    >>> built = CardinalityBased(smallest=10).build(hours, missing=None)
    >>> [len(level) for level in built.labels]
    [100, 10, 5, 3, 2, 1]
    """

    smallest: Smallest | None = None
    """The size of the leaf intervals; by default 2 for whole numbers, a sixteenth of the range for others."""

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield the leaf intervals, then merged ones until two are left."""
        if not _ranges.length(domain):
            return
        starts = self._leaf_starts(domain)
        records = _records(domain, starts)
        while len(starts) > 1:
            yield _ranges.step(domain, starts)
            heads = _merged(records)
            starts = [starts[head] for head in heads]
            records = np.add.reduceat(records, heads)

    def _leaf_starts(self, domain: Domain) -> list[Fraction]:
        low, _ = _ranges.bounds(domain)
        size = _ranges.length(domain)
        if self.smallest is not None:
            smallest = _ranges.exact(self.smallest)
        else:
            smallest = Fraction(2) if domain.kind == "integer" else _ranges.default_smallest(domain)
        parts = max(-int(-size // smallest), 1)
        if parts > 4 * _ranges.MOST_RANGES:  # one leaf per value is enough for a long range with few values
            return [_ranges.exact(value) for value in domain.values.tolist()]
        return [low + smallest * part for part in range(parts)]


def _records(domain: Domain, starts: list[Fraction]) -> Ints:
    edges = np.array([float(start) for start in starts])
    indices = np.maximum(np.searchsorted(edges, domain.values.astype(np.float64), side="right") - 1, 0)
    return np.bincount(indices, weights=domain.records, minlength=len(starts)).astype(np.int64)


def _merged(records: Ints) -> list[int]:
    """Return which nodes start a node of the next level (CreateLevel)."""
    count = len(records)
    if count % 2 == 0:
        return list(range(0, count, 2))
    best: tuple[int, int] | None = None
    kept = count - 1
    # pairs before the untouched node start at even places, those behind it at odd ones
    pairs = records[:-1] + records[1:]
    for alone in range(count - 1, -1, -2):
        sizes = np.concatenate([pairs[0:alone:2], records[alone : alone + 1], pairs[alone + 1 :: 2]])
        rank = (int(sizes.max() - sizes.min()), int((sizes * sizes).sum()))
        if best is None or rank < best:
            best, kept = rank, alone
    return [*range(0, kept, 2), kept, *range(kept + 1, count, 2)]
