"""Rare: merge rare categories until each has enough records."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated

import numpy as np
from pydantic import Field, field_validator

from shoal.encoding.domains import Domain
from shoal.encoding.types import Bools, Ints
from shoal.errors import Fault
from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Hierarchy


class Rare(Hierarchy):
    """Merge the rare categories of a column into one until each has enough records.

    At each level the values with fewer than so many records are called ``(other)``; where all of them together are
    still too few, the rarest of the rest join them. Frequent values stay as they are.

    References
    ----------
    ARX issue 398 asks for it; R's ``forcats::fct_lump_min`` does one such level.

    Examples
    --------
    >>> jobs = Domain("text", np.array(list("abcd")), tuple("abcd"), counts=np.array([50, 3, 9, 4]))
    >>> Rare(records=[5, 16]).build(jobs, missing=None).labels[1:]
    (('a', '(other)', 'c'), ('a', '(other 2)'), ('*',))
    """

    records: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """How many records a value needs to stay, at level 1, 2, …, growing; by default k and ten times k."""
    label: str = "(other)"
    """What rare values are called."""

    @field_validator("records")
    @classmethod
    def _growing(cls, records: tuple[int, ...]) -> tuple[int, ...]:
        if any(above <= below for below, above in pairwise(records)):
            raise ValueError("must grow from level to level")
        return records

    def faults(self, domain: Domain) -> Iterator[Fault]:
        """Yield a fault where a value is called as rare ones are."""
        if self.label in domain.texts:
            yield Fault("a value is called as rare ones are", got=repr(self.label), hint="choose another label")

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield one level per number of records; a level that merges nothing more is left out."""
        merged = np.zeros(len(domain), bool)
        level = 0
        for least in self.records or (domain.k, 10 * domain.k):
            rare = merged | _rare(domain.records, least)
            if rare.sum() < 2 or rare.all() or (rare == merged).all():
                continue
            merged, level = rare, level + 1
            name = self.label if level == 1 else f"{self.label.rstrip(')')} {level})"
            yield Step.of([name if out else text for text, out in zip(domain.texts, rare.tolist(), strict=True)])


def _rare(records: Ints, least: int) -> Bools:
    rare = records < least
    if not rare.any():
        return rare
    for code in np.argsort(records, kind="stable").tolist():
        if records[rare].sum() >= least:
            break
        rare[code] = True
    return rare
