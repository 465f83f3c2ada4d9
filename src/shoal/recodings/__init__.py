"""DECISION: what a search may answer."""

from shoal.recodings.base import Column, Recoding
from shoal.recodings.bounded import Bounded
from shoal.recodings.equivalence_classes import EquivalenceClasses, publish
from shoal.recodings.full_domain import FullDomain
from shoal.recodings.intervals import Intervals
from shoal.recodings.local import Local

__all__ = ["Bounded", "Column", "EquivalenceClasses", "FullDomain", "Intervals", "Local", "Recoding", "publish"]
