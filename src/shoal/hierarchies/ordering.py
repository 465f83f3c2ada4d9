"""Ordering: groups of neighbours in a given order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated

from pydantic import Field, field_validator

from shoal.encoding.domains import Domain
from shoal.errors import Fault, examples
from shoal.hierarchies._groups import group_label
from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Hierarchy


class Ordering(Hierarchy):
    """Groups of neighbours in a given order: small, medium, large; never, seldom, often, always.

    The order is given, or the natural one of the values. Each level takes so many neighbours together.

    References
    ----------
    ARX's order-based hierarchies (Prasser et al. 2014) do the same.

    Examples
    --------
    >>> sizes = Domain.of("text", ["L", "M", "S", "XL"])
    >>> Ordering(order=["S", "M", "L", "XL"], sizes=[2]).build(sizes, missing=None).labels[1]
    ('{L, XL}', '{S, M}')
    """

    order: tuple[str, ...] = ()
    """The values in order; the natural order where none is given."""
    sizes: Annotated[tuple[Annotated[int, Field(ge=2)], ...], Field(min_length=1)] = (2, 4, 8)
    """How many values a group of level 1, 2, … has; each a multiple of the one before."""

    @field_validator("sizes")
    @classmethod
    def _multiples(cls, sizes: tuple[int, ...]) -> tuple[int, ...]:
        if any(above <= below or above % below for below, above in pairwise(sizes)):
            raise ValueError("each size must be a multiple of the one before, so that groups nest")
        return sizes

    @field_validator("order")
    @classmethod
    def _once(cls, order: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({value for value in order if order.count(value) > 1})
        if twice:
            raise ValueError(f"values stand in the order twice: {examples(twice)}")
        return order

    def leaves(self) -> tuple[str, ...]:
        """Return the values of the order."""
        return self.order

    def faults(self, domain: Domain) -> Iterator[Fault]:
        """Yield a fault that names values which are not in the order."""
        unknown = [text for text in domain.texts if text not in set(self.order)] if self.order else []
        if unknown:
            yield Fault(f"{len(unknown)} of {len(domain)} values are missing from the order", got=examples(unknown))

    @property
    def declared_order(self) -> tuple[str, ...]:
        """The values in order."""
        return self.order

    @property
    def data_independent(self) -> bool:  # type: ignore[override]
        """The groups are those of the order, where one is given."""
        return bool(self.order)

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield one level per size."""
        order = self.order or domain.texts
        index = {text: number for number, text in enumerate(order)}
        for size in self.sizes:
            if size >= len(order):
                return
            labels = [group_label(order[start : start + size]) for start in range(0, len(order), size)]
            yield Step.of([labels[index[text] // size] for text in domain.texts])
