"""Columns published as other values under a declared guarantee: one file per method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.perturbations.base import ColumnValues, Microdata, Perturbation, Perturbed
from shoal.registry import lazy_family, list_classes

if TYPE_CHECKING:
    from shoal.perturbations.class_means import ClassMeans as ClassMeans
    from shoal.perturbations.mdav import Mdav as Mdav
    from shoal.perturbations.noise import Noise as Noise
    from shoal.perturbations.optimal_univariate import OptimalUnivariate as OptimalUnivariate
    from shoal.perturbations.pram import Pram as Pram
    from shoal.perturbations.rank_swapping import RankSwapping as RankSwapping
    from shoal.perturbations.record_swapping import RecordSwapping as RecordSwapping
    from shoal.perturbations.rounding import Rounding as Rounding
    from shoal.perturbations.shoal_microaggregation import ShoalMicroaggregation as ShoalMicroaggregation
    from shoal.perturbations.top_bottom_coding import TopBottomCoding as TopBottomCoding
    from shoal.perturbations.v_mdav import VMdav as VMdav

__all__ = ["ColumnValues", "Microdata", "Perturbation", "Perturbed"]
__all__.extend(list_classes("perturbations"))

__getattr__ = lazy_family("perturbations")
