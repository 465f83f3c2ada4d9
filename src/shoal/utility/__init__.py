"""What was lost and what was kept: one file per metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.catalog import lazy_family
from shoal.utility.base import Measured, Metric, Outcome

if TYPE_CHECKING:
    from shoal.utility.certainty_penalty import CertaintyPenalty
    from shoal.utility.class_size import ClassSize
    from shoal.utility.discernibility import Discernibility

__all__ = ["CertaintyPenalty", "ClassSize", "Discernibility", "Measured", "Metric", "Outcome"]

__getattr__ = lazy_family("utility")
