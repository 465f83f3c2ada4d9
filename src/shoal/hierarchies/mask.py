"""Mask: keep the beginning (or the end) of a code, star the rest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from shoal.encoding.domains import STAR, Domain
from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Hierarchy


class Mask(Hierarchy):
    """Keep the beginning (or the end) of a code and star the rest.

    For postal codes, phone numbers and other codes whose characters go from coarse to fine.

    References
    ----------
    Samarati, P. and Sweeney, L. (1998). Protecting privacy when disclosing information: k-anonymity and its
    enforcement through generalization and suppression. SRI-CSL-98-04.

    Examples
    --------
    >>> zips = Domain.of("text", ["22370", "22501"])
    >>> Mask(keep=[3, 2]).build(zips, missing=None).labels
    (('22370', '22501'), ('223**', '225**'), ('22***',), ('*',))
    """

    data_independent: ClassVar[bool] = True

    keep: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]
    """How many characters stay at level 1, 2, …: strictly decreasing; 0 is ``*``."""
    side: Literal["prefix", "suffix"] = "prefix"
    """Which end stays."""

    @field_validator("keep")
    @classmethod
    def _decreasing(cls, keep: tuple[int, ...]) -> tuple[int, ...]:
        if any(below <= above for below, above in pairwise(keep)):
            raise ValueError("must be strictly decreasing, so that each level coarsens the one below")
        return keep

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield one level per number of kept characters."""
        for kept in self.keep:
            yield Step.of([self._masked(text, kept) for text in domain.texts])

    def _masked(self, text: str, kept: int) -> str:
        if kept == 0:
            return STAR
        stars = "*" * max(len(text) - kept, 0)
        return text[:kept] + stars if self.side == "prefix" else stars + text[len(stars) :]
