"""Derived: a column follows from the other published ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from shoal.guarantees.base import ColumnView, Guarantee

if TYPE_CHECKING:
    from shoal.policy import Policy


class Derived(Guarantee):
    """Each cell follows from what else its record shows: the ends of its range, the number of its class."""

    broken: ClassVar[str] = "published values that do not follow from the others"

    @classmethod
    def declare(cls, column: str, policy: Policy) -> Self | None:
        """Return it for the columns that the form of a release adds."""
        return cls() if column in policy.added_columns and column not in policy.pseudonyms.values() else None

    def find_false(self, view: ColumnView) -> None:
        """Return nothing: it is asked of the published table alone, in the question ``form``."""
