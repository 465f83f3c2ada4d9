"""Draft: what suggest() returns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from shoal.policy import Policy


class Draft(str):
    """A draft policy: its YAML as a text, with the policy that it says and the reason for each column.

    It is a text wherever one is expected: it can be printed, written to a file, or read by ``Policy.from_yaml``.
    Whoever takes a policy takes a draft too.

    Examples
    --------
    >>> import shoal
    >>> draft = shoal.suggest(shoal.datasets.voters())
    >>> type(draft.policy).__name__, sorted(draft.reasons)[0], draft.yaml == draft
    ('Policy', 'age', True)
    """

    reasons: Mapping[str, str]
    """Column → why it has its role; for a person to read."""

    def __new__(cls, yaml: str, reasons: Mapping[str, str]) -> Draft:
        """Make a draft of its text."""
        draft = super().__new__(cls, yaml)
        draft.reasons = dict(reasons)
        return draft

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (str(self), self.reasons)

    @property
    def yaml(self) -> str:
        """The text."""
        return str(self)

    @cached_property
    def policy(self) -> Policy:
        """What the text says."""
        return Policy.from_yaml(str(self), source="draft")

    def __str__(self) -> str:
        return "".join(self)

    def __repr__(self) -> str:
        roles = self.policy
        return (
            f"<Draft {len(roles.identifiers)} identifiers, {len(roles.quasi_identifiers)} quasi-identifiers, "
            f"{len(roles.sensitive)} sensitive; subject {roles.declared_subject}>"
        )
