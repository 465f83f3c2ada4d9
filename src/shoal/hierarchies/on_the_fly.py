"""On the fly (OTF): merge the two neighbours whose centres are nearest, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from shoal.encoding.domains import Domain
from shoal.hierarchies import _neighbours, _ranges
from shoal.hierarchies._steps import Step


class OnTheFly(_ranges.RangeHierarchy):
    """Merge the two neighbouring nodes whose centres of gravity are nearest, again and again.

    Known from the papers: the hierarchy of a numerical column is made from the values that occur, by agglomeration
    of the nearest nodes, each known by its values' centre of gravity. Decided here: ties go left; the agglomeration is
    cut into levels where half, a quarter, … of the nodes are left, ``most`` at the finest level above the values.

    References
    ----------
    Campan, A. and Cooper, N. (2010). On-the-fly hierarchies for numerical attributes in data anonymization. SDM.
    Yaseen, S. et al. (2018), II.H.

    Examples
    --------
    >>> OnTheFly().build(Domain.of("integer", [1, 2, 3, 50, 51, 90]), missing=None).labels[1:]
    (('[1, 49]', '[50, 89]', '90'), ('[1, 49]', '[50, 90]'), ('*',))
    """

    most: Annotated[int, Field(ge=2)] = 256
    """The most nodes of a level above the raw values."""

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield the levels of the agglomeration, finest first."""
        values = domain.values.astype(np.float64)
        order = _neighbours.find_falling_order(values, domain.records, lambda a, b, _m, _n: b - a)
        sizes = [size for size in _neighbours.halve_repeatedly(len(domain)) if size <= self.most]
        yield from _neighbours.yield_range_steps(domain, [_neighbours.cut(order, size) for size in sizes])
