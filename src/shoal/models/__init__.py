"""PROMISE: one file per condition on equivalence classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.catalog import lazy_family
from shoal.models.base import Census, PrivacyModel, Tally

if TYPE_CHECKING:
    from shoal.models.distinct_l_diversity import DistinctLDiversity
    from shoal.models.k_anonymity import KAnonymity

__all__ = ["Census", "DistinctLDiversity", "KAnonymity", "PrivacyModel", "Tally"]

__getattr__ = lazy_family("models")
