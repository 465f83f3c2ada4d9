"""Omitted: a column is not published."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from shoal.guarantees.base import ColumnView, Guarantee

if TYPE_CHECKING:
    from shoal.policy import Policy


class Omitted(Guarantee):
    """The column is not there: it names persons, tells what they ask for, or has no role."""

    broken: ClassVar[str] = "a column is published that must not be"

    @classmethod
    def declare(cls, column: str, policy: Policy) -> Self | None:
        """Return it for columns that name persons or tell what they ask for; for dropped ones too."""
        has_role = column in {*policy.quasi_identifiers, *policy.sensitive, *policy.perturbed, *policy.added_columns}
        return cls() if column in policy.hidden or (policy.others != "keep" and not has_role) else None

    def find_false(self, view: ColumnView) -> None:
        """Return nothing: that it is not there is asked of the columns, before any record is looked at."""
