"""What was lost and what was kept: one file per metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.registry import lazy_family
from shoal.utility.base import Measured, Metric, Outcome

if TYPE_CHECKING:
    from shoal.utility.average_class_size import AverageClassSize
    from shoal.utility.certainty_penalty import CertaintyPenalty
    from shoal.utility.class_size import ClassSize
    from shoal.utility.classification_metric import ClassificationMetric
    from shoal.utility.discernibility import Discernibility
    from shoal.utility.distinct_combinations import DistinctCombinations
    from shoal.utility.distortion_ratio import DistortionRatio
    from shoal.utility.granularity import Granularity
    from shoal.utility.height import Height
    from shoal.utility.i_loss import ILoss
    from shoal.utility.kl_divergence import KlDivergence
    from shoal.utility.minimal_distortion import MinimalDistortion
    from shoal.utility.non_uniform_entropy import NonUniformEntropy
    from shoal.utility.precision import Precision

__all__ = [
    "AverageClassSize",
    "CertaintyPenalty",
    "ClassSize",
    "ClassificationMetric",
    "Discernibility",
    "DistinctCombinations",
    "DistortionRatio",
    "Granularity",
    "Height",
    "ILoss",
    "KlDivergence",
    "Measured",
    "Metric",
    "MinimalDistortion",
    "NonUniformEntropy",
    "Outcome",
    "Precision",
]

__getattr__ = lazy_family("utility")
