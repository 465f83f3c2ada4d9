"""Conventional (CGH): halve the range from the root down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from shoal.encoding.domains import Domain
from shoal.encoding.types import Floats
from shoal.hierarchies import _ranges
from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Levels

Smallest = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Conventional(_ranges.RangeHierarchy):
    """Halve the range from the root down to a smallest wanted interval.

    The whole range is the root; each interval is split into two equal ones as long as they are not smaller than
    ``smallest``. Distortion is the paper's: the height at the root, and half of its parent's at any other node.

    References
    ----------
    Yaseen, S. et al. (2018). Improved generalization for secure data publishing. IEEE Access 6, III.A.

    Examples
    --------
    >>> hours = Domain.of("integer", list(range(1, 101)))
    >>> [len(level) for level in Conventional(smallest=10).build(hours, missing=None).labels]
    [100, 8, 4, 2, 1]
    """

    smallest: Smallest | None = None
    """The smallest wanted interval above the raw values; by default a sixteenth of the range."""

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield the halved ranges, finest first."""
        size = _ranges.length(domain)
        if not size:
            return
        smallest = _ranges.default_smallest(domain) if self.smallest is None else _ranges.exact(self.smallest)
        halvings = 0
        while size / 2 ** (halvings + 1) >= smallest and 2**halvings < _ranges.MOST_RANGES:
            halvings += 1
        low, _ = _ranges.bounds(domain)
        yield from _ranges.steps(domain, [_ranges.even_starts(low, size, 2**n) for n in range(halvings, 0, -1)])

    def distortions(self, levels: Levels) -> Floats:
        """Return the height at the top, half of it at each level below, and nothing for a raw value."""
        result = np.zeros_like(levels.penalties)
        for level in range(1, levels.height + 1):
            result[level] = levels.height / 2 ** (levels.height - level)
        return result
