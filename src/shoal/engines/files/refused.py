"""require_tallied(): what a policy asks for must follow from how often each record occurs."""

from __future__ import annotations

from shoal.engines.counted import untallied
from shoal.errors import Fault, Misfit
from shoal.policy import Policy


def require_tallied(policy: Policy, faults: list[Fault] | None = None) -> None:
    """Raise every fault, those that were found already and what a policy asks of single records."""
    found = [*(faults or []), *untallied(policy)]
    if policy.subject is not None:
        found.append(Fault("persons are counted from the records one by one", "subject", policy.subject))
    if found:
        raise Misfit(found)
