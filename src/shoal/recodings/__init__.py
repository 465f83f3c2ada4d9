"""DECISION: what a search may answer."""

from shoal.recodings.base import Column, Recoding
from shoal.recodings.full_domain import FullDomain
from shoal.recodings.local import Local
from shoal.recodings.publication import Publication, publish

__all__ = ["Column", "FullDomain", "Local", "Publication", "Recoding", "publish"]
