"""weigh(): may a request for some columns be answered with the data as they are, or must it be anonymized first?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from shoal.errors import PolicyError, nearest
from shoal.policy import Policy


@dataclass(frozen=True)
class Weighed:
    """A request for some columns, what each weighs, and what follows from it."""

    weights: dict[str, float]
    """Column → its weight; each column that is touched counts once."""
    total: float
    threshold: float | None
    """``None``: nothing may be answered with the data as they are."""
    withheld: tuple[str, ...]
    """Columns that are never given out, whatever they weigh: identifiers, the subject, columns that are dropped."""
    action: Literal["release", "anonymize"]

    def __str__(self) -> str:
        named = ", ".join(f"{name} {weight:g}" for name, weight in self.weights.items())
        text = f"weight {self.total:g} ({named})"
        text += "; no threshold is set" if self.threshold is None else f", threshold {self.threshold:g}"
        text += f"; never given out: {', '.join(self.withheld)}" if self.withheld else ""
        return f"{text}: {'released as it is' if self.action == 'release' else 'anonymized'}"

    def to_dict(self) -> dict[str, Any]:
        """Return the request as plain data, for manifests and answers."""
        return {
            "weights": self.weights,
            "total": self.total,
            "threshold": self.threshold,
            "withheld": list(self.withheld),
            "action": self.action,
        }


def weigh(policy: Policy, columns: Iterable[str]) -> Weighed:
    """Decide whether a request that touches some columns may be answered with the data as they are.

    A request's weight is the sum over the columns that it touches, wherever it names them. At or under the policy's
    threshold it may be released as it is, above it the columns are anonymized first. Weights are compared as exact
    fractions. A request for a column that is never given out is anonymized whatever it weighs: the paper gives
    identifiers the threshold itself as their weight, so that they are the first to go. So is one for a column that is
    no quasi-identifier: a sensitive value beside what identifies a person is what all of this is about. The paper
    weighs it 0 and shows it; ``raw: {least: 1}`` says so.

    This decides on *requests*. :func:`shoal.anonymize` never asks it: a release promises its models, so they hold in
    it, however little its columns weigh. A service that answers requests asks it first (what it then releases
    promises nothing), and anonymizes the rest.

    References
    ----------
    Hussien, A. A., Darwish, N. R. and Hefny, H. A. (2015). Utility-based anonymization using generalization boundaries
    to protect sensitive attributes. Journal of Information Security 6(3), sections 2.4 and 3.2.

    Examples
    --------
    >>> from shoal import datasets
    >>> policy = datasets.policy("employees")
    >>> print(weigh(policy, ["sex", "race", "salary"]))
    weight 6 (sex 2, race 4, salary 0), threshold 6: released as it is
    >>> weigh(policy, ["sex", "age"]).action
    'anonymize'
    """
    names = list(dict.fromkeys(columns))
    weights = {name: _weight(policy, name) for name in names}
    withheld = tuple(name for name in names if name in policy.hidden or _is_dropped(policy, name))
    total = _sum(weights.values())
    light = policy.threshold is not None and total <= _exact(policy.threshold)
    open_to_all = not withheld and all(may_be_raw(policy, name) for name in names)
    action: Literal["release", "anonymize"] = "release" if light and open_to_all else "anonymize"
    return Weighed(weights, float(total), policy.threshold, withheld, action)


def may_be_raw(policy: Policy, name: str) -> bool:
    """Whether a column may be shown as it is: only what an attacker may know anyway, unless the policy says more.

    Examples
    --------
    >>> from shoal import datasets
    >>> paper = datasets.policy("employees")
    >>> may_be_raw(paper, "salary"), may_be_raw(paper.replace(raw=None), "salary")
    (True, False)
    """
    return name in policy.quasi_identifiers or (policy.raw is not None and policy.raw.shows_sensitive)


def _weight(policy: Policy, name: str) -> float:
    if name in policy.quasi_identifiers:
        return policy.quasi_identifiers[name].weight
    if name in policy.sensitive:
        return policy.sensitive[name].weight
    if name in policy.hidden:
        own = policy.identifiers[name].weight if name in policy.identifiers else None
        return (policy.threshold or 0.0) if own is None else own
    if policy.others is None:
        declared = [*policy.hidden, *policy.quasi_identifiers, *policy.sensitive]
        raise PolicyError("a request for a column without a role", got=repr(name), hint=nearest(name, declared))
    return 0.0


def _is_dropped(policy: Policy, name: str) -> bool:
    return policy.others == "drop" and name not in {*policy.hidden, *policy.quasi_identifiers, *policy.sensitive}


def _sum(weights: Iterable[float]) -> Fraction:
    return sum(map(_exact, weights), Fraction(0))


def _exact(number: float) -> Fraction:
    # through the shortest decimal text, so that 0.1 means one tenth, as its reader thinks
    return Fraction(repr(number))
