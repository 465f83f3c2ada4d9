"""SUDA: who is unique in how few columns, and how likely that is unique in the population."""

from __future__ import annotations

from math import comb, factorial
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Bools, Floats, Ints
from shoal.risk._subsets import MOST_CELLS, found_in_parts, list_groupings
from shoal.risk.base import Evidence, Finding, Risk, worst_of


class Suda(Risk):
    """Special uniques: the fewer columns a record is unique in, the likelier it is unique in the population.

    A minimal sample unique is a set of columns in which a record is unique, and in no part of which it is. Each of
    s of the m quasi-identifiers adds (m - s)! to the record's score: ``scores`` is the sum of all, ``max`` the
    greatest, ``contributions`` the part of each column in percent, in their order (a set counts for each of its
    columns).

    DIS, the data intrusion simulation, is the chance that a match with a unique record is right: with U unique records,
    P records in pairs and the share f of the population that is in the table, U f / (U f + P (1 - f)). DIS-SUDA spreads
    it by score s over the records: 1 / (1 + (U / DIS - U) / (s^q · Σ s^-q)) with q = 1 + (8 - m) / 20. ``dis`` is the
    sum, ``dis_max`` the greatest. A leak is a record above ``most``.

    Cost: the classes, sorted for each set of columns; where the sets are too many the largest are left out.

    References
    ----------
    Elliot, M. J., Manning, A., Mayes, K., Gurd, J. and Bane, M. (2005). SUDA: a program for detecting special uniques.
    UNECE/Eurostat work session on statistical data confidentiality.
    Manning, A. M., Haglin, D. J. and Keane, J. A. (2008). A recursive search algorithm for statistical disclosure
    assessment. Data Mining and Knowledge Discovery 16.

    Examples
    --------
    Three records, two of which are unique in one column; the third only in both:

    >>> from shoal.risk.base import PublishedClasses
    >>> shown = np.array([[0, 0], [0, 1], [1, 0]])
    >>> release = PublishedClasses(np.arange(3), shown, np.array([1, 1, 1]))
    >>> measured = Suda().run(Evidence(release.sizes, columns=("age", "sex"), release=release))[0].measured
    >>> measured["scores"], measured["contributions"]
    (3.0, [66.66666666666667, 66.66666666666667])
    """

    needs: ClassVar[tuple[str, ...]] = ("release",)
    means: ClassVar[str] = "A record is so odd that nobody else of the population is likely to look like it."

    sampled: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    """The share of the population that is in the table: by the weights of a survey where they are known, else 0.01."""
    most: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1
    """The greatest DIS-SUDA score of a record that nobody need worry about."""

    def run(self, evidence: Evidence) -> list[Finding]:
        """Find the minimal sample uniques of each record, and score them."""
        assert evidence.release is not None
        release = evidence.release
        alone = np.flatnonzero(release.sizes == 1)  # no other record is unique in any columns
        columns, looked_at = release.shown.shape[1], self._count_sizes(release.shown)
        shares = np.zeros((len(alone), columns))
        scores = np.zeros(len(alone))
        before: dict[tuple[int, ...], Bools] = {(): np.zeros(len(alone), bool)}
        for many in range(1, looked_at + 1):
            found = {}
            for number, (known, groups) in enumerate(list_groupings(release.shown, many)):
                evidence.progress(f"unique in {many} columns", number, comb(columns, many))
                sizes = np.bincount(groups, release.sizes).astype(np.int64)
                found[known] = sizes[groups[alone]] == 1
                added = (found[known] & ~found_in_parts(known, before)) * float(factorial(columns - many))
                scores += added
                shares[:, known] += added[:, None]
            before = found
        chances = self._spread_dis(evidence, scores, columns)
        total = float(scores.sum())
        parts = (100.0 * shares.sum(axis=0) / total if total else np.zeros(columns)).tolist()
        measured = {
            "scores": total,
            "max": float(scores.max(initial=0.0)),
            "dis": float(chances.sum()),
            "dis_max": float(chances.max(initial=0.0)),
            "contributions": parts,
        }
        worst = tuple(int(alone[index]) for index in worst_of(scores, scores > 0))
        return [Finding(bool((chances > self.most).any()), measured, worst, left_out=_left_out(columns, looked_at))]

    def _count_sizes(self, shown: Ints) -> int:
        """Return up to which size sets of columns can be looked at."""
        columns, spent = int(shown.shape[1]), 0
        for many in range(1, columns + 1):
            spent += comb(columns, many) * max(len(shown), 1)
            if spent > MOST_CELLS:
                return max(many - 1, 1)
        return columns

    def _spread_dis(self, evidence: Evidence, scores: Floats, columns: int) -> Floats:
        """Return for each unique record the chance that it is unique in the population, by its score."""
        scored = scores[scores > 0.0]
        if not len(scored):
            return np.zeros(len(scores))
        fraction = self.sampled or _sampled(evidence)
        uniques, pairs = len(scores), 2 * int((evidence.sizes == 2).sum())
        dis = uniques * fraction / (uniques * fraction + pairs * (1.0 - fraction))
        power = 1.0 + (8.0 - columns) / 20.0
        spread = np.maximum(scores, 1e-300) ** power * float((1.0 / scored**power).sum())
        return np.where(scores > 0.0, 1.0 / (1.0 + (uniques / dis - uniques) / spread), 0.0)


def _sampled(evidence: Evidence) -> float:
    """Return the share of the population that is in the table, as far as it is known."""
    if evidence.weights is None:
        return 0.01
    return min(evidence.records / max(float(evidence.weights.sum()), 1.0), 1.0)


def _left_out(columns: int, looked_at: int) -> str:
    sets = sum(comb(columns, many) for many in range(looked_at + 1, columns + 1))
    return f"{sets:,} sets of {looked_at + 1} columns or more: too many for so many classes" if sets else ""
