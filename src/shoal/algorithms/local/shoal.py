"""Shoal: records in a good sequence, cut at the best places, then classes taken apart and put together anew."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Annotated

import numpy as np
from pydantic import Field

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.local._outliers import drop_outliers
from shoal.algorithms.local._rounds import run_rounds
from shoal.algorithms.local._sequence import search_sequences
from shoal.algorithms.local._units import Units
from shoal.encoding.types import Ints
from shoal.recodings.local import Local

_ROUNDS = 30
"""Rounds of the search for an effort of 1."""
_WORTH = 3.0
"""Blocks that cost so many times the mean of the first cut are always taken apart, cheaper ones less often."""
_SPARINGS = 3
"""How often outliers are looked for in a sequence, where records may be suppressed."""


class Shoal(Algorithm):
    """Put the records in a good sequence, cut it at the best places, then take classes apart and cluster them anew.

    1. *Sequence*: records are sorted by columns and levels, what is costly to lose first, in snake lines; some other
    orders are tried.
    2. *Program*: a dynamic program cuts the sequence into the classes that cost least.
    3. *Search*: again and again all classes are grouped into small blocks of those that are nearest to each other; the
    records of a block change classes, alone, in twos or over a third class, or are clustered from the start, and what
    is not worse is kept.
    4. *Outliers*: within ``max_suppressed``, records are suppressed that cost the others of their class more than they
    would lose themselves; the search then goes on with the others.

    Each step minimizes the weighted certainty penalty of what is published: labels, ranges or sets of values.

    Why it is safe: a class never gets smaller than the models allow. Where models look at more than sizes, every step
    keeps as many kinds of sensitive values in a class as they need, and every changed block is checked: where a model
    breaks, the block gets classes of the same kinds as before, or stays as it was.

    Cost: near-linear; a sequence costs one sort and k steps per record (some thousands at most), a round of the search
    about as much as five sequences. The answer depends on ``seed``, not on the number of threads or the order of
    records. More effort never loses more (but where a label is called like a value: classes that look alike are one,
    which the search does not foresee). Ctrl-C ends the search with what it has.

    References
    ----------
    Xu, J. et al. (2006). Utility-based anonymization using local recoding. KDD.
    Domingo-Ferrer, J. and Mateo-Sanz, J. M. (2002). Practical data-oriented microaggregation. IEEE TKDE 14(1).
    Shaw, P. (1998). Using constraint programming and local search methods to solve vehicle routing problems. CP.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.anonymize(table, policy.replace(algorithm=Shoal())).attained
    {'k-anonymity': 2}
    """

    effort: Annotated[float, Field(ge=0.0, le=1000.0, allow_inf_nan=False)] = 1.0
    """How long to search for less loss: 0 is the sequence and the program only, every 1 is thirty rounds more."""
    seconds: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None = None
    """The most time that the rounds may take; the answer then depends on the machine."""

    def trial(self) -> Algorithm:
        """Return the same without any effort: it complies wherever this one does."""
        return self.replace(effort=0.0)

    def search(self, problem: Problem) -> Local:
        """Go through the steps; Ctrl-C ends them with the best so far."""
        problem.begin()
        units, found, stopped = Units.of(problem), [], ""
        try:
            for members in self._steps(units):
                found = [members]
        except KeyboardInterrupt:
            if not found:
                raise
            stopped = "by the user"
        return replace(units.recoding(found[0]), stopped=stopped)

    def _steps(self, units: Units) -> Iterator[Ints]:
        """Yield the class of each unit, -1 for suppressed ones, never dearer than before.

        More effort goes the same way, only farther: that is why it never ends with more loss.
        """
        together, least = np.zeros(len(units), np.int64), np.inf  # in one class all may show nothing
        for members in chain(search_sequences(units, self.effort), [together]):
            for found in (members, *suppress_outliers(units, members)):
                if (cost := units.cost(found)) < least:
                    best, least = found, cost
                    yield best
        worth, turns = _WORTH * least / int(units.weights.sum()), self._turns(units.problem)
        for spares, length in _phases(round(self.effort * _ROUNDS), units.problem.max_suppressed > 0):
            start = _drop_outliers(units, best) if spares else best
            for found in _improve(units, start, worth, islice(turns, length)):
                if (cost := units.cost(found)) <= least:
                    best, least = found, cost
                    yield best

    def _turns(self, problem: Problem) -> Iterator[int]:
        """Yield the numbers of the rounds, until there were enough or time is up."""
        started, enough = time.monotonic(), round(self.effort * _ROUNDS)
        for turn in range(enough):
            if self.seconds is not None and time.monotonic() - started > self.seconds:
                return
            yield turn
            problem.progress("searching for less loss", turn + 1, enough)


def _phases(enough: int, may_spare: bool) -> Iterator[tuple[bool, int]]:
    """Yield whether outliers are suppressed, and how many rounds then follow: without and with, longer and longer."""
    if not may_spare:
        yield False, enough
        return
    done, length = 0, 1
    while done < enough:
        yield False, length
        yield True, length
        done, length = done + 2 * length, 2 * length


def suppress_outliers(units: Units, members: Ints) -> Iterator[Ints]:
    """Suppress outliers, and those that then are, some times."""
    for _ in range(_SPARINGS if units.problem.max_suppressed else 0):
        members = _drop_outliers(units, members)
        yield members


def _drop_outliers(units: Units, members: Ints) -> Ints:
    """Suppress outliers among those who are not suppressed yet."""
    left = units.problem.max_suppressed - int(units.records[members < 0].sum())
    kept = np.flatnonzero(members >= 0)
    return _put_back(members, kept, drop_outliers(units.only(kept), members[kept], left))


def _improve(units: Units, members: Ints, worth: float, turns: Iterable[int]) -> Iterator[Ints]:
    """Go on with those who are not suppressed."""
    kept = np.flatnonzero(members >= 0)
    for inside in run_rounds(units.only(kept), members[kept], worth, turns):
        yield _put_back(members, kept, inside)


def _put_back(members: Ints, kept: Ints, inside: Ints) -> Ints:
    """Return the classes with other ones for those who are kept."""
    result = members.copy()
    result[kept] = inside
    return result
