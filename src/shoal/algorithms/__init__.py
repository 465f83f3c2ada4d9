"""SEARCH: one file per paper; arrays only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.algorithms.base import Algorithm, Problem
from shoal.catalog import lazy_family

if TYPE_CHECKING:
    from shoal.algorithms.bottom_up import BottomUp
    from shoal.algorithms.bottom_up_merging import BottomUpMerging
    from shoal.algorithms.datafly import Datafly
    from shoal.algorithms.exhaustive import Exhaustive
    from shoal.algorithms.fixed_levels import FixedLevels
    from shoal.algorithms.heuristic import Heuristic
    from shoal.algorithms.incognito import Incognito
    from shoal.algorithms.k_member import KMember
    from shoal.algorithms.kaca import Kaca
    from shoal.algorithms.mondrian import Mondrian
    from shoal.algorithms.optimal import Optimal
    from shoal.algorithms.samarati import Samarati
    from shoal.algorithms.shoal import Shoal
    from shoal.algorithms.similarity_clustering import SimilarityClustering
    from shoal.algorithms.single_dimensional import SingleDimensional
    from shoal.algorithms.spanning_tree import SpanningTree
    from shoal.algorithms.top_down_greedy import TopDownGreedy
    from shoal.algorithms.top_down_specialization import TopDownSpecialization
    from shoal.algorithms.weighted_boundaries import WeightedBoundaries

__all__ = [
    "Algorithm",
    "BottomUp",
    "BottomUpMerging",
    "Datafly",
    "Exhaustive",
    "FixedLevels",
    "Heuristic",
    "Incognito",
    "KMember",
    "Kaca",
    "Mondrian",
    "Optimal",
    "Problem",
    "Samarati",
    "Shoal",
    "SimilarityClustering",
    "SingleDimensional",
    "SpanningTree",
    "TopDownGreedy",
    "TopDownSpecialization",
    "WeightedBoundaries",
]

__getattr__ = lazy_family("algorithms")
