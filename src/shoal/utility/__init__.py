"""What was lost and what was kept: one file per metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.registry import lazy_family, list_classes
from shoal.utility.base import Measured, Metric, Outcome

if TYPE_CHECKING:
    from shoal.utility.average_class_size import AverageClassSize as AverageClassSize
    from shoal.utility.certainty_penalty import CertaintyPenalty as CertaintyPenalty
    from shoal.utility.class_size import ClassSize as ClassSize
    from shoal.utility.classification_metric import ClassificationMetric as ClassificationMetric
    from shoal.utility.discernibility import Discernibility as Discernibility
    from shoal.utility.distinct_combinations import DistinctCombinations as DistinctCombinations
    from shoal.utility.distortion_ratio import DistortionRatio as DistortionRatio
    from shoal.utility.granularity import Granularity as Granularity
    from shoal.utility.height import Height as Height
    from shoal.utility.i_loss import ILoss as ILoss
    from shoal.utility.kl_divergence import KlDivergence as KlDivergence
    from shoal.utility.minimal_distortion import MinimalDistortion as MinimalDistortion
    from shoal.utility.non_uniform_entropy import NonUniformEntropy as NonUniformEntropy
    from shoal.utility.precision import Precision as Precision

__all__ = ["Measured", "Metric", "Outcome"]
__all__.extend(list_classes("utility"))

__getattr__ = lazy_family("utility")
