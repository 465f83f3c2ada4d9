"""A relaxation: a change of a policy that makes it feasible."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.policy.policy import Policy


@dataclass(frozen=True)
class Relaxation:
    """A change of the policy that was tried and works."""

    text: str
    policy: Policy
    loss: float

    def __str__(self) -> str:
        return f"{self.text} (loss {self.loss:.4f})"
