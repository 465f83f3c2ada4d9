"""SEARCH: one file per paper; arrays only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.algorithms.base import Algorithm, Problem
from shoal.registry import lazy_family

if TYPE_CHECKING:
    from shoal.algorithms.full_domain.datafly import Datafly
    from shoal.algorithms.full_domain.exhaustive import Exhaustive
    from shoal.algorithms.full_domain.fixed_levels import FixedLevels
    from shoal.algorithms.full_domain.heuristic import Heuristic
    from shoal.algorithms.full_domain.incognito import Incognito
    from shoal.algorithms.full_domain.optimal import Optimal
    from shoal.algorithms.full_domain.samarati import Samarati
    from shoal.algorithms.full_domain.weighted_boundaries import WeightedBoundaries
    from shoal.algorithms.local.bottom_up_merging import BottomUpMerging
    from shoal.algorithms.local.burel import Burel
    from shoal.algorithms.local.k_member import KMember
    from shoal.algorithms.local.kaca import Kaca
    from shoal.algorithms.local.local_suppression import LocalSuppression
    from shoal.algorithms.local.mondrian import Mondrian
    from shoal.algorithms.local.sabre import Sabre
    from shoal.algorithms.local.shoal import Shoal
    from shoal.algorithms.local.similarity_clustering import SimilarityClustering
    from shoal.algorithms.local.spanning_tree import SpanningTree
    from shoal.algorithms.local.t_closeness_first import TClosenessFirst
    from shoal.algorithms.local.top_down_greedy import TopDownGreedy
    from shoal.algorithms.subtree.bottom_up import BottomUp
    from shoal.algorithms.subtree.single_dimensional import SingleDimensional
    from shoal.algorithms.subtree.top_down_specialization import TopDownSpecialization

__all__ = [
    "Algorithm",
    "BottomUp",
    "BottomUpMerging",
    "Burel",
    "Datafly",
    "Exhaustive",
    "FixedLevels",
    "Heuristic",
    "Incognito",
    "KMember",
    "Kaca",
    "LocalSuppression",
    "Mondrian",
    "Optimal",
    "Problem",
    "Sabre",
    "Samarati",
    "Shoal",
    "SimilarityClustering",
    "SingleDimensional",
    "SpanningTree",
    "TClosenessFirst",
    "TopDownGreedy",
    "TopDownSpecialization",
    "WeightedBoundaries",
]

__getattr__ = lazy_family("algorithms")
