"""What an attacker can do: one file per question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.registry import lazy_family, list_classes
from shoal.risk.base import Evidence, Finding, Risk

if TYPE_CHECKING:
    from shoal.risk.background_knowledge import BackgroundKnowledge as BackgroundKnowledge
    from shoal.risk.complementary_release import ComplementaryRelease as ComplementaryRelease
    from shoal.risk.composition import Composition as Composition
    from shoal.risk.downcoding import Downcoding as Downcoding
    from shoal.risk.homogeneity import Homogeneity as Homogeneity
    from shoal.risk.household_risk import HouseholdRisk as HouseholdRisk
    from shoal.risk.individual_risk import IndividualRisk as IndividualRisk
    from shoal.risk.inference import Inference as Inference
    from shoal.risk.interval_disclosure import IntervalDisclosure as IntervalDisclosure
    from shoal.risk.journalist import Journalist as Journalist
    from shoal.risk.known_columns import KnownColumns as KnownColumns
    from shoal.risk.linking import Linking as Linking
    from shoal.risk.log_linear import LogLinear as LogLinear
    from shoal.risk.marketer import Marketer as Marketer
    from shoal.risk.minimality import Minimality as Minimality
    from shoal.risk.prosecutor import Prosecutor as Prosecutor
    from shoal.risk.record_linkage import RecordLinkage as RecordLinkage
    from shoal.risk.similarity import Similarity as Similarity
    from shoal.risk.skewness import Skewness as Skewness
    from shoal.risk.suda import Suda as Suda
    from shoal.risk.temporal import Temporal as Temporal
    from shoal.risk.uniqueness import Uniqueness as Uniqueness
    from shoal.risk.unsorted_matching import UnsortedMatching as UnsortedMatching

__all__ = ["Evidence", "Finding", "Risk"]
__all__.extend(list_classes("risk"))

__getattr__ = lazy_family("risk")
