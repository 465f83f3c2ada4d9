"""GENERALIZE: one file per way to build levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.catalog import lazy_family
from shoal.hierarchies.base import Hierarchy, Levels, Step

if TYPE_CHECKING:
    from shoal.hierarchies.dates import Dates
    from shoal.hierarchies.intervals import Intervals
    from shoal.hierarchies.mask import Mask
    from shoal.hierarchies.suppress import Suppress
    from shoal.hierarchies.tree import Tree

__all__ = ["Dates", "Hierarchy", "Intervals", "Levels", "Mask", "Step", "Suppress", "Tree"]

__getattr__ = lazy_family("hierarchies")
