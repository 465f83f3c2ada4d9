"""What an attacker can do: one file per question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.catalog import lazy_family
from shoal.risk.base import Risk

if TYPE_CHECKING:
    from shoal.risk.marketer import Marketer
    from shoal.risk.prosecutor import Prosecutor

__all__ = ["Marketer", "Prosecutor", "Risk"]

__getattr__ = lazy_family("risk")
