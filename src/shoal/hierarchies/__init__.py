"""GENERALIZE: one file per way to build levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Hierarchy, Levels
from shoal.registry import lazy_family, list_classes

if TYPE_CHECKING:
    from shoal.hierarchies.auto import Auto as Auto
    from shoal.hierarchies.cardinality_based import CardinalityBased as CardinalityBased
    from shoal.hierarchies.conventional import Conventional as Conventional
    from shoal.hierarchies.dates import Dates as Dates
    from shoal.hierarchies.divisor_based import DivisorBased as DivisorBased
    from shoal.hierarchies.dynamic_concept import DynamicConcept as DynamicConcept
    from shoal.hierarchies.grid import Grid as Grid
    from shoal.hierarchies.improved_on_the_fly import ImprovedOnTheFly as ImprovedOnTheFly
    from shoal.hierarchies.intervals import Intervals as Intervals
    from shoal.hierarchies.mask import Mask as Mask
    from shoal.hierarchies.on_the_fly import OnTheFly as OnTheFly
    from shoal.hierarchies.ordering import Ordering as Ordering
    from shoal.hierarchies.quantiles import Quantiles as Quantiles
    from shoal.hierarchies.rare import Rare as Rare
    from shoal.hierarchies.similarity import Similarity as Similarity
    from shoal.hierarchies.suppress import Suppress as Suppress
    from shoal.hierarchies.tree import Tree as Tree

__all__ = ["Hierarchy", "Levels", "Step"]
__all__.extend(list_classes("hierarchies"))

__getattr__ = lazy_family("hierarchies")
