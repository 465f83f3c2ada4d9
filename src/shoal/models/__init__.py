"""PROMISE: one file per condition on equivalence classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.models.base import Census, PrivacyModel, ValueCounts
from shoal.registry import lazy_family, list_classes

if TYPE_CHECKING:
    from shoal.models.alpha_k_anonymity import AlphaKAnonymity as AlphaKAnonymity
    from shoal.models.average_risk import AverageRisk as AverageRisk
    from shoal.models.beta_likeness import BetaLikeness as BetaLikeness
    from shoal.models.delta_disclosure import DeltaDisclosure as DeltaDisclosure
    from shoal.models.delta_presence import DeltaPresence as DeltaPresence
    from shoal.models.differential_privacy import DifferentialPrivacy as DifferentialPrivacy
    from shoal.models.distinct_l_diversity import DistinctLDiversity as DistinctLDiversity
    from shoal.models.entropy_l_diversity import EntropyLDiversity as EntropyLDiversity
    from shoal.models.k_anonymity import KAnonymity as KAnonymity
    from shoal.models.k_map import KMap as KMap
    from shoal.models.p_sensitive import PSensitive as PSensitive
    from shoal.models.personal_k import PersonalK as PersonalK
    from shoal.models.population_uniqueness import PopulationUniqueness as PopulationUniqueness
    from shoal.models.recursive_l_diversity import RecursiveLDiversity as RecursiveLDiversity
    from shoal.models.sample_uniqueness import SampleUniqueness as SampleUniqueness
    from shoal.models.scenarios import Scenarios as Scenarios
    from shoal.models.t_closeness import TCloseness as TCloseness
    from shoal.models.wildcard_k_anonymity import WildcardKAnonymity as WildcardKAnonymity

__all__ = ["Census", "PrivacyModel", "ValueCounts"]
__all__.extend(list_classes("models"))

__getattr__ = lazy_family("models")
