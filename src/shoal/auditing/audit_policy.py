"""Roles: what the columns of anybody's table are, with nothing promised; for audits that only measure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from shoal.encoding import yaml as notation
from shoal.policy import Policy


class Roles(Policy):
    """The roles of columns, and nothing that is promised of them.

    An audit of roles measures: it tells what a table attains, and nothing *holds*, since nobody asked for anything.
    Hierarchies may be given, so that labels can be read. No release is made from roles.

    Examples
    --------
    >>> roles = Roles(quasi_identifiers=["age", "zip"], sensitive=["illness"])
    >>> roles.models, roles.others
    ((), 'keep')
    """

    others: Literal["keep", "drop"] | None = "keep"
    """Columns without a role are nobody's business here."""
    models: tuple[()] = ()
    """Nothing is promised."""
    max_suppressed: float = 1.0
    """Nothing is said about how much may be suppressed."""

    @property
    def needs_models(self) -> bool:
        """Whether something must be promised: no."""
        return False


def read_audit_policy(policy: Policy | Mapping[str, Any] | str | Path) -> Policy:
    """Return the policy that a table is audited against; one that names no models only says what columns are.

    Examples
    --------
    >>> type(read_audit_policy({"quasi_identifiers": ["age"]})).__name__
    'Roles'
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Mapping):
        return Policy.of(policy) if {"models", "perturb"} & {*policy} else Roles(**policy)
    if hasattr(policy, "policy"):  # a draft is a text too
        return Policy.of(policy)
    return Roles.read(policy) if not _names_models(Path(policy)) else Policy.read(policy)


def _names_models(path: Path) -> bool:
    try:
        said = notation.parse(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, notation.Error):
        return True  # what is wrong with the file is told where it is read
    return not isinstance(said, dict) or bool({"models", "perturb"} & {*said})
