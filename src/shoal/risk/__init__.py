"""What an attacker can do: one file per question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.registry import lazy_family
from shoal.risk.base import Evidence, Finding, Risk

if TYPE_CHECKING:
    from shoal.risk.background_knowledge import BackgroundKnowledge
    from shoal.risk.complementary_release import ComplementaryRelease
    from shoal.risk.composition import Composition
    from shoal.risk.downcoding import Downcoding
    from shoal.risk.homogeneity import Homogeneity
    from shoal.risk.inference import Inference
    from shoal.risk.journalist import Journalist
    from shoal.risk.known_columns import KnownColumns
    from shoal.risk.linking import Linking
    from shoal.risk.marketer import Marketer
    from shoal.risk.minimality import Minimality
    from shoal.risk.prosecutor import Prosecutor
    from shoal.risk.similarity import Similarity
    from shoal.risk.skewness import Skewness
    from shoal.risk.temporal import Temporal
    from shoal.risk.uniqueness import Uniqueness
    from shoal.risk.unsorted_matching import UnsortedMatching

__all__ = [
    "BackgroundKnowledge",
    "ComplementaryRelease",
    "Composition",
    "Downcoding",
    "Evidence",
    "Finding",
    "Homogeneity",
    "Inference",
    "Journalist",
    "KnownColumns",
    "Linking",
    "Marketer",
    "Minimality",
    "Prosecutor",
    "Risk",
    "Similarity",
    "Skewness",
    "Temporal",
    "Uniqueness",
    "UnsortedMatching",
]

__getattr__ = lazy_family("risk")
