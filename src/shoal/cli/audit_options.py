"""What a table is audited against: a policy, or what its columns are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from shoal.policy import Policy


def choose_audit_policy(policy: Path | None, quasi_identifiers: str, sensitive: str, identifiers: str) -> Policy:
    """Return the policy of a file, or the roles that were named."""
    from shoal.auditing.audit_policy import Roles, read_audit_policy

    named = {
        "quasi_identifiers": _names(quasi_identifiers),
        "sensitive": _names(sensitive),
        "identifiers": _names(identifiers),
    }
    if policy is not None:
        given = next((role for role, columns in named.items() if columns), None)
        if given is not None:
            option = f"--{given.replace('_', '-')}"
            raise typer.BadParameter("the policy says what columns are; give one or the other", param_hint=option)
        return read_audit_policy(policy)
    if not named["quasi_identifiers"]:
        raise typer.BadParameter(
            "what is to be counted? Give a policy, or the columns that an attacker may know",
            param_hint="--policy or --quasi-identifiers",
        )
    return Roles(**named)


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
