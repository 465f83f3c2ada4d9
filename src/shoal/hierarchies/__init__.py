"""GENERALIZE: one file per way to build levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.hierarchies.base import Hierarchy, Levels, Step
from shoal.registry import lazy_family

if TYPE_CHECKING:
    from shoal.hierarchies.auto import Auto
    from shoal.hierarchies.cardinality_based import CardinalityBased
    from shoal.hierarchies.conventional import Conventional
    from shoal.hierarchies.dates import Dates
    from shoal.hierarchies.divisor_based import DivisorBased
    from shoal.hierarchies.dynamic_concept import DynamicConcept
    from shoal.hierarchies.improved_on_the_fly import ImprovedOnTheFly
    from shoal.hierarchies.intervals import Intervals
    from shoal.hierarchies.mask import Mask
    from shoal.hierarchies.on_the_fly import OnTheFly
    from shoal.hierarchies.ordering import Ordering
    from shoal.hierarchies.quantiles import Quantiles
    from shoal.hierarchies.rare import Rare
    from shoal.hierarchies.similarity import Similarity
    from shoal.hierarchies.suppress import Suppress
    from shoal.hierarchies.tree import Tree

__all__ = [
    "Auto",
    "CardinalityBased",
    "Conventional",
    "Dates",
    "DivisorBased",
    "DynamicConcept",
    "Hierarchy",
    "ImprovedOnTheFly",
    "Intervals",
    "Levels",
    "Mask",
    "OnTheFly",
    "Ordering",
    "Quantiles",
    "Rare",
    "Similarity",
    "Step",
    "Suppress",
    "Tree",
]

__getattr__ = lazy_family("hierarchies")
