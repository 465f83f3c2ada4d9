"""PROMISE: one file per condition on equivalence classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.models.base import Census, PrivacyModel, Tally
from shoal.registry import lazy_family

if TYPE_CHECKING:
    from shoal.models.alpha_k_anonymity import AlphaKAnonymity
    from shoal.models.average_risk import AverageRisk
    from shoal.models.beta_likeness import BetaLikeness
    from shoal.models.delta_disclosure import DeltaDisclosure
    from shoal.models.delta_presence import DeltaPresence
    from shoal.models.differential_privacy import DifferentialPrivacy
    from shoal.models.distinct_l_diversity import DistinctLDiversity
    from shoal.models.entropy_l_diversity import EntropyLDiversity
    from shoal.models.k_anonymity import KAnonymity
    from shoal.models.k_map import KMap
    from shoal.models.p_sensitive import PSensitive
    from shoal.models.personal_k import PersonalK
    from shoal.models.population_uniqueness import PopulationUniqueness
    from shoal.models.recursive_l_diversity import RecursiveLDiversity
    from shoal.models.sample_uniqueness import SampleUniqueness
    from shoal.models.scenarios import Scenarios
    from shoal.models.t_closeness import TCloseness

__all__ = [
    "AlphaKAnonymity",
    "AverageRisk",
    "BetaLikeness",
    "Census",
    "DeltaDisclosure",
    "DeltaPresence",
    "DifferentialPrivacy",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "KAnonymity",
    "KMap",
    "PSensitive",
    "PersonalK",
    "PopulationUniqueness",
    "PrivacyModel",
    "RecursiveLDiversity",
    "SampleUniqueness",
    "Scenarios",
    "TCloseness",
    "Tally",
]

__getattr__ = lazy_family("models")
