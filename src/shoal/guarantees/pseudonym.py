"""Pseudonym: a column shows keyed pseudonyms of an identifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from shoal.guarantees.base import ColumnView, Guarantee

if TYPE_CHECKING:
    from shoal.policy import Policy


class Pseudonym(Guarantee):
    """Each value is a text that nobody can compute without the key, and links no two records."""

    broken: ClassVar[str] = "pseudonyms that are not what they must be"
    of: str
    """The identifier that is replaced."""

    @classmethod
    def declare(cls, column: str, policy: Policy) -> Self | None:
        """Return it for the columns of pseudonyms that a policy asks for."""
        return next((cls(of=name) for name, shown in policy.pseudonyms.items() if shown == column), None)

    def find_false(self, view: ColumnView) -> None:
        """Return nothing: the key is not at hand; what can be seen without it is the question ``form``."""
