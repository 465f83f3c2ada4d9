"""Risk: an attacker's question, and what the evidence answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.encoding.types import Bools, Floats, Ints, Progress, silent
from shoal.registry import Entry
from shoal.risk._evidence import Attribute, Beside, Diversity, Evidence, Meaning, People, Published

__all__ = [
    "WANTED",
    "Attribute",
    "AttributeRisk",
    "Beside",
    "Bools",
    "Diversity",
    "Evidence",
    "Finding",
    "Floats",
    "Ints",
    "Meaning",
    "People",
    "Progress",
    "Published",
    "Risk",
    "share",
    "silent",
    "worst_of",
]

WANTED = {
    "distinct": "a sensitive column that is published",
    "release": "the records of the release",
    "sensitive": "a sensitive column that is published",
    "meaning": "the original or an external table, to read what published texts stand for",
    "external": "an external table",
    "original": "the original",
    "earlier": "an earlier release",
    "people": "the original or an external table, to know whom to look for",
    "population": "a population: in the policy, or as an external table",
    "asked": "a policy",
}
"""Field of the evidence → what somebody must give for it."""

_EXAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """What one attack found, about one sensitive column or one other table where it looks at such.

    Examples
    --------
    >>> Finding(found=True, measured={"max": 1.0}, worst=(0,)).to_dict()
    {'found': True, 'measured': {'max': 1.0}, 'worst': [0]}
    """

    found: bool
    """Whether there is a leak, by the threshold of the attack."""
    measured: Mapping[str, Any]
    """What was measured, by name: numbers, or lists of them."""
    worst: tuple[int, ...] = ()
    """A few classes where it is worst, by number in the order of what they show; never what they show."""
    on: str = ""
    """The sensitive column, or the other table, that this is about."""
    left_out: str = ""
    """What was not looked at, and why."""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain data, without what is empty."""
        about = {"on": self.on} if self.on else {}
        rest = {"left_out": self.left_out} if self.left_out else {}
        return {**about, "found": self.found, "measured": dict(self.measured), "worst": list(self.worst), **rest}


class Risk(Entry):
    """Base of all attackers' questions.

    An attack looks at the :class:`Evidence` and nothing else; it is run where all that it ``needs`` is there.
    """

    family: ClassVar[str] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("sizes",)
    """The fields of the evidence without which there is nothing to look at."""
    means: ClassVar[str] = ""
    """What a leak means for a person, as a sentence."""

    @classmethod
    def notes(cls) -> dict[str, Any]:
        """Return what the attack needs, and what a leak means."""
        return {"needs": [WANTED[name] for name in cls.needs if name in WANTED], "means": cls.means}

    @classmethod
    def lacks(cls, evidence: Evidence) -> str:
        """Return what is not there and needed, in words; nothing where all is there."""
        missing = [name for name in cls.needs if getattr(evidence, name) is None]
        return "" if not missing else "needs " + " and ".join(dict.fromkeys(WANTED[name] for name in missing))

    @abstractmethod
    def run(self, evidence: Evidence) -> list[Finding]:
        """Return what the attack finds; more than one finding where it looks at several columns or tables."""


class AttributeRisk(Risk):
    """Base of attacks on sensitive columns: each column is looked at alone."""

    needs: ClassVar[tuple[str, ...]] = ("release", "sensitive")

    def run(self, evidence: Evidence) -> list[Finding]:
        """Look at each column."""
        assert evidence.sensitive is not None
        found = [(name, self.about(evidence, attribute)) for name, attribute in evidence.sensitive.items()]
        return [replace(finding, on=name) for name, finding in found if finding is not None]

    @abstractmethod
    def about(self, evidence: Evidence, attribute: Attribute) -> Finding | None:
        """Return what the attack finds in one column; ``None`` where the column is none that it can look at."""


def worst_of(badness: Floats | Ints, among: Bools | None = None) -> tuple[int, ...]:
    """Return the few classes with the most of something, among those that count.

    Examples
    --------
    >>> worst_of(np.array([1, 5, 3, 3]), np.array([True, False, True, True]))
    (2, 3, 0)
    """
    indices = np.arange(len(badness)) if among is None else np.flatnonzero(among)
    order = indices[np.argsort(-badness[indices], kind="stable")]
    return tuple(order[:_EXAMPLES].tolist())


def share(part: float, whole: float) -> float:
    """Return a part as a share of a whole; 0 of nothing.

    Examples
    --------
    >>> share(1, 4), share(0, 0)
    (0.25, 0.0)
    """
    return float(part) / float(whole) if whole else 0.0
