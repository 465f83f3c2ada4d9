"""DECISION: what a search may answer."""

from shoal.recodings.base import Column, Recoding
from shoal.recodings.bounded import Bounded
from shoal.recodings.full_domain import FullDomain
from shoal.recodings.intervals import Intervals
from shoal.recodings.local import Local
from shoal.recodings.publication import Publication, publish

__all__ = ["Bounded", "Column", "FullDomain", "Intervals", "Local", "Publication", "Recoding", "publish"]
