"""Exact: a column is published as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import polars as pl

from shoal.guarantees.base import ColumnView, Guarantee

if TYPE_CHECKING:
    from shoal.policy import Policy


class Exact(Guarantee):
    """Each record shows its own value, as the policy's treatment of the column left it.

    It is what is promised of every published column of which nothing else is: sensitive ones, others that are kept,
    and quasi-identifiers of a form that leaves them as they are.
    """

    broken: ClassVar[str] = "published values that are not those of their records"
    keeps_values: ClassVar[bool] = True

    @classmethod
    def declare(cls, column: str, policy: Policy) -> Self | None:
        """It is not declared, but left over."""
        return None

    def find_false(self, view: ColumnView) -> pl.Series:
        """Return which records show another value than their own."""
        return view.find_changed()
