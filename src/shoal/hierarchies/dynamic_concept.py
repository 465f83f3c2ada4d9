"""Dynamic concept hierarchy (DCHT): nodes of a level hold a growing number of records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from shoal.encoding.domains import Domain
from shoal.encoding.types import Ints
from shoal.hierarchies import _neighbours, _ranges
from shoal.hierarchies._steps import Step


class DynamicConcept(_ranges.RangeHierarchy):
    """Merge neighbours, value by value, until each node holds enough records; twice as many at each level.

    Known from the papers: hierarchies are created dynamically from the cells of the table, all values are looked at
    before a range is set, and the number of nodes of a level depends on the number of records. Decided here: values
    are taken in order and a node is closed once it has ``records`` records, then twice as many, and so on; what is
    left at the end joins the last node; a level is kept if it has at most three quarters of the nodes below.

    References
    ----------
    Vatsavayi, V. K. and Adusumalli, S. K. (2014). Cost effective dynamic concept hierarchy generation for preserving
    privacy. Journal of Information & Knowledge Management 13(4).
    Yaseen, S. et al. (2018), II.J.

    Examples
    --------
    >>> DynamicConcept(records=2).build(Domain.of("integer", [1, 2, 5, 9, 10]), missing=None).labels[1:]
    (('[1, 4]', '[5, 10]'), ('*',))
    """

    records: Annotated[int, Field(ge=1)] | None = None
    """The fewest records of a node at level 1; the policy's k by default."""

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield levels until two nodes are left."""
        least = domain.k if self.records is None else self.records
        heads = np.arange(len(domain), dtype=np.int64)
        levels: list[Ints] = []
        while len(heads) > 1:
            merged = _filled(np.add.reduceat(domain.records, heads), least)
            heads, least = heads[merged], 2 * least
            if len(heads) <= 0.75 * (
                len(levels[-1]) if levels else len(domain)
            ):  # a level that merges little helps nobody
                levels.append(heads)
        yield from _neighbours.yield_range_steps(domain, levels)


def _filled(records: Ints, least: int) -> Ints:
    """Return which nodes start a node of at least so many records."""
    heads, held = [0], 0
    for number, count in enumerate(records.tolist()):
        if held >= least:
            heads.append(number)
            held = 0
        held += count
    if held < least and len(heads) > 1:
        heads.pop()
    return np.array(heads, np.int64)
