"""Quantiles: ranges that hold equally many records."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated

import numpy as np
from pydantic import Field, field_validator

from shoal.encoding.domains import Domain
from shoal.encoding.types import Ints
from shoal.hierarchies import _neighbours, _ranges
from shoal.hierarchies._steps import Step


class Quantiles(_ranges.RangeHierarchy):
    """Ranges that hold about equally many records: sixteenths, eighths, quarters, halves.

    Equal values stay together, so a frequent value may fill more than its share.

    References
    ----------
    Hyndman, R. J. and Fan, Y. (1996). Sample quantiles in statistical packages. The American Statistician 50(4);
    the inverse of the empirical distribution function (type 1).

    Examples
    --------
    >>> Quantiles(parts=[4, 2]).build(Domain.of("integer", [1, 2, 3, 40, 50, 60, 70, 800]), missing=None).labels[1]
    ('[1, 2]', '[3, 49]', '[50, 69]', '[70, 800]')
    """

    parts: Annotated[tuple[Annotated[int, Field(ge=2)], ...], Field(min_length=1)] = (16, 8, 4, 2)
    """How many ranges level 1, 2, … has; each divides the one before."""

    @field_validator("parts")
    @classmethod
    def _dividing(cls, parts: tuple[int, ...]) -> tuple[int, ...]:
        if any(coarse >= fine or fine % coarse for fine, coarse in pairwise(parts)):
            raise ValueError("each number of parts must divide the one before, so that ranges nest")
        return parts

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield one level per number of parts; a level that is no coarser than the one below is left out."""
        ends = np.cumsum(domain.records)
        levels: list[Ints] = []
        for parts in self.parts:
            # value i starts a part if the records before it reach the part's share
            reached = (ends[:-1] * parts) // ends[-1]
            starts = np.flatnonzero(np.diff(np.append(0, reached))) + 1
            heads = np.append(0, starts).astype(np.int64)
            if len(heads) < (len(levels[-1]) if levels else len(domain)):
                levels.append(heads)
        yield from _neighbours.yield_range_steps(domain, levels)
