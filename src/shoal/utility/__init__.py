"""What was lost and what was kept: one file per metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.catalog import lazy_family
from shoal.utility.base import Measured, Metric, Outcome

if TYPE_CHECKING:
    from shoal.utility.average_class_size import AverageClassSize
    from shoal.utility.certainty_penalty import CertaintyPenalty
    from shoal.utility.class_size import ClassSize
    from shoal.utility.discernibility import Discernibility
    from shoal.utility.granularity import Granularity
    from shoal.utility.height import Height
    from shoal.utility.non_uniform_entropy import NonUniformEntropy
    from shoal.utility.precision import Precision

__all__ = [
    "AverageClassSize",
    "CertaintyPenalty",
    "ClassSize",
    "Discernibility",
    "Granularity",
    "Height",
    "Measured",
    "Metric",
    "NonUniformEntropy",
    "Outcome",
    "Precision",
]

__getattr__ = lazy_family("utility")
