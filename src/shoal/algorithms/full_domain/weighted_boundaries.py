"""Weighted boundaries: generalize column after column, the least weight first, each up to its boundaries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.lattice.best import explain_failure
from shoal.encoding.types import Bools
from shoal.frequencies.frequencies import Classes
from shoal.kernels.group import group
from shoal.recodings.base import Column, Round
from shoal.recodings.bounded import Bounded, Capped


class WeightedBoundaries(Algorithm):
    """Generalize column after column, the least weight first, each up to its boundaries, until the models hold.

    A column's weight says how much it matters; what matters most is touched last. The column with the least weight is
    raised to its boundaries (a value without one to the top), and every model is tested; if more records break one
    than may be suppressed, the next column follows. Columns of equal weight keep the policy's order. What still
    breaks a model then is suppressed, as far as the policy allows it. Every step is told (``release.recoding.rounds``,
    the manifest, the report, the command line).

    A value stops at its own boundary, at whatever level that is, so no record is lost for being above one. Identifiers
    are never published: the paper suppresses them first. It releases the data as they are where the columns of a
    request weigh no more than a threshold; that is a decision on requests
    (:func:`shoal.policy.disclosure_weights.weigh`), not on releases: this search keeps the models whatever the columns
    weigh.

    Why it is safe: it stops only when every model was tested on every class that stays; what a value shows is never
    above its boundary, by construction.

    Cost: one count per column, or per level.

    References
    ----------
    Hussien, A. A., Darwish, N. R. and Hefny, H. A. (2015). Utility-based anonymization using generalization boundaries
    to protect sensitive attributes. Journal of Information Security 6(3), section 3.2.
    Miller, J., Campan, A. and Truta, T. M. (2008). Constrained k-anonymity: privacy with generalization boundaries.
    P3DM.

    Examples
    --------
    The paper's Tables 5 and 6:

    >>> import shoal
    >>> release = shoal.anonymize(*shoal.datasets.load("employees"))
    >>> for step in release.recoding.rounds:
    ...     print(step)
    as it is: k-anonymity 1, distinct-l-diversity 1; records that break a model: 6
    sex (weight 2) to level 1: k-anonymity 1, distinct-l-diversity 1; records that break a model: 6
    marital_status (weight 3) to level 1: k-anonymity 1, distinct-l-diversity 1; records that break a model: 6
    race (weight 4) to level 1: k-anonymity 1, distinct-l-diversity 1; records that break a model: 6
    age (weight 5) to level 1: k-anonymity 2, distinct-l-diversity 2; records that break a model: 0
    """

    needs_hierarchies: ClassVar[bool] = True

    pace: Literal["column", "level"] = "column"
    """Whether the models are tested when a column is at its boundaries, as in the paper, or after each level: then
    the last column may stay below them."""

    def search(self, problem: Problem) -> Bounded:
        """Raise the columns until few enough records break a model; suppress those."""
        allowed = problem.most_suppressed
        shown = [Capped.of(column, 0) for column in problem.columns]
        levels = [0] * len(shown)
        attained, broken, failing = _test(problem, shown)
        rounds = [Round(None, 0.0, 0, attained, failing)]
        for index, level in self.steps(problem.columns):
            if failing <= allowed:
                break
            column, levels[index] = problem.columns[index], level
            shown[index] = Capped.of(column, level)
            attained, broken, failing = _test(problem, shown)
            rounds.append(Round(column.name, column.weight, level, attained, failing))
            problem.progress("generalizing", len(rounds), 0)
        if failing > allowed:
            found = f"records that break a model with every column at its boundaries: {failing}"
            reason = f"{found}, may be suppressed: {problem.max_suppressed}"
            raise explain_failure(problem, reason, proven=problem.absorbing)
        named = {column.name: level for column, level in zip(problem.columns, levels, strict=True)}
        return Bounded(broken, named, tuple(rounds))

    def steps(self, columns: tuple[Column, ...]) -> Iterator[tuple[int, int]]:
        """Yield which column is raised to which level, one after the other."""
        for index in sorted(range(len(columns)), key=lambda index: columns[index].weight):
            top = columns[index].max_level
            first = 1 if self.pace == "level" else top
            yield from ((index, level) for level in range(max(first, 1), top + 1))


def _test(problem: Problem, shown: list[Capped]) -> tuple[dict[str, Any], Bools, int]:
    """Return what a table attains, which tuples are in a class that breaks a model, and how many records."""
    frequencies = problem.frequencies
    codes = frequencies.tuples.T
    labels = [shows.ids[held] for shows, held in zip(shown, codes, strict=True)]
    members, rows = group(labels, [len(shows.texts) for shows in shown])
    classes = Classes.of(frequencies, members[frequencies.cell_tuples], len(rows))
    fits = problem.holds(classes)
    if len(rows) > 1:  # a class that shows * everywhere looks suppressed, unless it is all there is
        fits &= ~np.logical_and.reduce([shows.stars[held[rows]] for shows, held in zip(shown, codes, strict=True)])
    broken = ~fits[members]
    return problem.attained(classes), broken, int(frequencies.counts[broken].sum())
