"""Covers: a column shows texts that hold the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import polars as pl

from shoal.guarantees.base import ColumnView, Guarantee

if TYPE_CHECKING:
    from shoal.policy import Policy


class Covers(Guarantee):
    """Each record shows a label, a range or a set that holds its value, within the value's boundary."""

    broken: ClassVar[str] = "published texts that are not true of their records"

    @classmethod
    def declare(cls, column: str, policy: Policy) -> Self | None:
        """Return it for the quasi-identifiers of a form that generalizes them."""
        return cls() if column in policy.quasi_identifiers and policy.output.generalizes else None

    def find_false(self, view: ColumnView) -> pl.Series:
        """Return which records show a text that does not hold their value."""
        return view.find_uncovered()
