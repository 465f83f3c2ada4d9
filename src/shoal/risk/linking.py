"""Linking: the attacker holds a table of persons and looks for their records."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from shoal.encoding.types import Bools, Ints
from shoal.risk._cells import Cells
from shoal.risk._matching import find_matches
from shoal.risk.base import Attribute, Evidence, Finding, SmallGroupRisk, share


class Linking(SmallGroupRisk):
    """The attacker holds a table of persons, such as a voter list, and looks for the records that may be theirs.

    A record may be a person's where each published text covers what is known of the person; a quasi-identifier that the
    external table lacks rules nothing out. ``matched`` persons have such records, ``alone`` counts those with one,
    ``max`` and ``mean`` are the chances of one over the number of records, ``above`` is the share of the matched with
    fewer than ``least``. ``learned`` counts for each sensitive column the persons whose records all have one value. A
    leak is a person with fewer than ``least`` records. Whether the person is in the table at all is not known: this is
    what an attacker would believe.

    Cost: the distinct tuples of the persons against the classes; texts rule out most of them early.

    References
    ----------
    Sweeney, L. (2002). k-anonymity: a model for protecting privacy. International Journal of Uncertainty, Fuzziness
    and Knowledge-Based Systems 10(5).

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.risk.base import TextMeaning, KnownPersons, PublishedClasses
    >>> covers = np.array([[True, True, False], [False, True, True]])
    >>> evidence = Evidence(
    ...     np.array([1, 3]),
    ...     release=PublishedClasses(np.array([0, 1, 1, 1]), np.array([[0], [1]]), np.array([1, 3])),
    ...     meaning=(TextMeaning(covers, covers - 1),),
    ...     external=KnownPersons(np.array([[0], [1]]), np.array([1, 1])),
    ... )
    >>> Linking().run(evidence)[0].measured
    {'persons': 2, 'matched': 2, 'alone': 1, 'max': 1.0, 'mean': 0.625, 'above': 0.5, 'learned': {}}
    """

    needs: ClassVar[tuple[str, ...]] = ("release", "meaning", "external")
    means: ClassVar[str] = "A person of the external table is found in the release."

    def run(self, evidence: Evidence) -> list[Finding]:
        """Look for each person."""
        assert evidence.release is not None
        assert evidence.meaning is not None
        assert evidence.external is not None
        people, least = evidence.external, self.enough(evidence)
        candidates = np.zeros(len(people.counts), np.int64)
        of_class = np.full(len(people.counts), -1, np.int64)  # the smallest class that may hold the person
        values = {
            name: _Values(evidence, column, len(candidates)) for name, column in (evidence.sensitive or {}).items()
        }
        for number, (index, found) in enumerate(find_matches(evidence.release, evidence.meaning, people.tuples)):
            evidence.progress("linking with the external table", number, len(evidence.sizes))
            size = int(evidence.sizes[index])
            nearer = found[(of_class[found] < 0) | (evidence.sizes[of_class[found]] > size)]
            of_class[nearer] = index
            candidates[found] += size
            for column in values.values():
                column.add(index, found)
        matched, few = candidates > 0, (candidates > 0) & (candidates < least)
        persons = int(people.counts[matched].sum())
        chances = people.counts[matched] / candidates[matched]
        measured: dict[str, Any] = {
            "persons": int(people.counts.sum()),
            "matched": persons,
            "alone": int(people.counts[candidates == 1].sum()),
            "max": 1.0 / int(candidates[matched].min()) if persons else 0.0,
            "mean": share(float(chances.sum()), persons),
            "above": share(int(people.counts[few].sum()), persons),
            "learned": {name: int(people.counts[column.single].sum()) for name, column in values.items()},
        }
        worst = dict.fromkeys(of_class[few][np.argsort(candidates[few], kind="stable")].tolist())
        return [Finding(bool(few.any()), measured, tuple(worst)[:5])]


class _Values:
    """The least and the greatest value among the records of each person: they agree where there is only one."""

    def __init__(self, evidence: Evidence, attribute: Attribute, people: int) -> None:
        cells = Cells.about(evidence, attribute)
        count = len(cells.wild)
        top = np.iinfo(np.int64).max
        self.low, self.high = np.full(count, top), np.full(count, -1)
        np.minimum.at(self.low, cells.classes, cells.values)
        np.maximum.at(self.high, cells.classes, cells.values)
        self.least, self.greatest = np.full(people, top), np.full(people, -1)

    def add(self, index: int, found: Ints) -> None:
        """Add the records of a class to those that may be some persons'."""
        self.least[found] = np.minimum(self.least[found], self.low[index])
        self.greatest[found] = np.maximum(self.greatest[found], self.high[index])

    @property
    def single(self) -> Bools:
        """Whose records all have one value."""
        agree: Bools = self.least == self.greatest
        return agree
