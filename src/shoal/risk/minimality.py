"""Minimality: the attacker knows that nothing was generalized without need."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb
from typing import ClassVar

import numpy as np

from shoal.encoding.types import Ints
from shoal.models._exact import decimal
from shoal.risk._cells import Cells
from shoal.risk._matching import list_members
from shoal.risk.base import Attribute, AttributeRisk, Diversity, Evidence, Finding, worst_of

_LARGEST = 300
"""Classes of more persons are left out: so many can hide a group that broke the promise."""
_MOST_GROUPS = 40


class Minimality(AttributeRisk):
    """The attacker knows that nothing was generalized without need, and asks what made it needed.

    A search that never looks at sensitive values tells nothing by what it does, and there is no such attack. One that
    merges groups of persons only until their values are diverse tells that some group was not. Whoever knows the
    persons of a class (from what it shows) then gives more weight to the arrangements of its values in which some group
    breaks the promise: ``credibility`` is the greatest chance of a value for the persons of a group, ``share`` the
    greatest share of a value that anyone reads there. A group shares all quasi-identifiers. Where some group has
    fewer than k persons, k alone explains the class and nothing more is learned. A leak is a credibility above both
    the share in its class and what the policy asks for. It is a bound: each value is thought to be the one that made it
    needed, and no other class to be the reason.

    Cost: for each class with several large groups, products of polynomials as long as the class; classes of more than
    300 persons, and such that overlap others, are left out and told.

    References
    ----------
    Wong, R. C.-W., Fu, A. W.-C., Wang, K. and Pei, J. (2007). Minimality attack in privacy preserving data publishing.
    VLDB.

    Examples
    --------
    Two groups of two persons, two of four have HIV, and no group may have more than half: they were merged because
    both with HIV are in one group. Which one is not known.

    >>> credibility(2, (2, 2), (1, 1))
    (Fraction(1, 2), Fraction(1, 2))

    With three persons in the other group, of whom one may have it, either both of the first group have it, or two
    or more of the three.

    >>> credibility(2, (2, 3), (1, 1))
    (Fraction(1, 4), Fraction(1, 2))
    """

    needs: ClassVar[tuple[str, ...]] = ("asked", "sensitive", "release")
    means: ClassVar[str] = "That records were generalized tells what some of them hold."

    @classmethod
    def lacks(cls, evidence: Evidence) -> str:
        """The persons are needed only where the search looked at sensitive values."""
        missing = super().lacks(evidence)
        if missing or not evidence.asked or evidence.people is not None:
            return missing
        return "needs the original or an external table, to know whose records a class holds"

    def run(self, evidence: Evidence) -> list[Finding]:
        """Look at the columns that the search looked at."""
        assert evidence.asked is not None
        assert evidence.sensitive is not None
        if not evidence.asked:
            return [Finding(False, {"looked": False})]
        return super().run(evidence)

    def about(self, evidence: Evidence, attribute: Attribute) -> Finding | None:
        """Weigh the arrangements of each class whose persons are known."""
        assert evidence.asked is not None
        assert evidence.sensitive is not None
        assert evidence.people is not None
        name = next(name for name, one in evidence.sensitive.items() if one is attribute)
        if name not in evidence.asked:
            return None
        asked, cells = evidence.asked[name], Cells.about(evidence, attribute)
        likely, plain = np.zeros(len(evidence.sizes)), np.zeros(len(evidence.sizes))
        known = 0
        for index, found in list_members(evidence):
            evidence.progress("arranging the values of classes", index, len(evidence.sizes))
            groups = tuple(sorted(evidence.people.counts[found].tolist()))
            known += 1
            held = cells.counts[cells.starts[index] : cells.starts[index + 1]]
            if int(held.sum()) != sum(groups):
                continue  # some values may be any
            plain[index] = int(held.max()) / sum(groups)
            likely[index] = float(_worst(held, groups, asked, evidence.least))
        limit = float(min(decimal(asked.share), Fraction(1, asked.distinct)))
        leaks = (likely > plain + 1e-12) & (likely > limit + 1e-12)
        measured = {
            "looked": True,
            "credibility": float(np.maximum(likely, plain).max(initial=0.0)),
            "share": float(plain.max(initial=0.0)),
            "classes": int(leaks.sum()),
        }
        rest = len(evidence.sizes) - known
        left_out = f"{rest:,} of {len(evidence.sizes):,} classes: whose records they hold is not known" if rest else ""
        return Finding(bool(leaks.any()), measured, worst_of(likely, leaks), left_out=left_out)


def _worst(held: Ints, groups: tuple[int, ...], asked: Diversity, least: int) -> Fraction:
    """Return the greatest credibility of a value in a class; 0 where the attack does not apply."""
    if len(groups) < 2 or len(groups) > _MOST_GROUPS or sum(groups) > _LARGEST:
        return Fraction(0)
    if groups[0] < max(least, asked.distinct):
        return Fraction(0)  # merged because of its size, whatever its values are
    limits = tuple(_limit(size, asked) for size in groups)
    return max(max(credibility(count, groups, limits), default=Fraction(0)) for count in set(held.tolist()))


def _limit(size: int, asked: Diversity) -> int:
    """Return how many persons of a group may at most have one value."""
    return min(int(decimal(asked.share) * size), size - asked.distinct + 1)


@cache
def credibility(count: int, groups: tuple[int, ...], limits: tuple[int, ...]) -> tuple[Fraction, ...]:
    """Return for each group the chance of a value for its persons, if some group has more of it than its limit.

    So many persons of the class have the value, and all ways to choose them are as likely. Those in which no group is
    above its limit are counted by a product of polynomials, and taken away.
    """
    total, whole = comb(sum(groups), count), sum(groups)
    factors = [
        [comb(size, n) for n in range(min(limit, count) + 1)] for size, limit in zip(groups, limits, strict=True)
    ]
    before, after = [[1]], [[1]]
    for factor in factors:
        before.append(_product(before[-1], factor, count))
    for factor in reversed(factors):
        after.append(_product(after[-1], factor, count))
    kept = before[-1][count] if len(before[-1]) > count else 0
    if total == kept:
        return ()
    chances = []
    for index, (size, factor) in enumerate(zip(groups, factors, strict=True)):
        rest = _product(before[index], after[len(groups) - 1 - index], count)
        within = sum(n * ways * rest[count - n] for n, ways in enumerate(factor) if 0 <= count - n < len(rest))
        chances.append((Fraction(total * size * count, whole) - within) / (size * (total - kept)))
    return tuple(chances)


def _product(one: Sequence[int], other: Sequence[int], most: int) -> list[int]:
    """Multiply two polynomials, up to a power."""
    result = [0] * min(len(one) + len(other) - 1, most + 1)
    for power, factor in enumerate(one):
        for step, number in enumerate(other[: len(result) - power]):
            result[power + step] += factor * number
    return result
