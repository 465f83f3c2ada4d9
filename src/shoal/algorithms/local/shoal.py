"""Shoal: records in a good sequence, cut at the best places, then classes taken apart and put together anew."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.clustering.composing import compose_classes, find_demanding
from shoal.algorithms.clustering.local_search import join_lookalikes
from shoal.algorithms.clustering.outliers import drop_outliers
from shoal.algorithms.clustering.partitions import find_best_partition
from shoal.algorithms.clustering.rounds import run_rounds
from shoal.algorithms.clustering.sequence import search_sequences
from shoal.algorithms.clustering.starts import start_as_levels, start_as_others
from shoal.algorithms.clustering.units import Units
from shoal.algorithms.local.mondrian import Mondrian
from shoal.encoding.types import Ints
from shoal.kernels.group import number_values
from shoal.recodings.equivalence_classes import finish_recoding
from shoal.recodings.local import Local

_ROUNDS = 30
"""Rounds of the search for an effort of 1."""
_REPAIRS = 2
"""Rounds even without any effort."""
_WORTH = 3.0
"""Blocks that cost so many times the mean of the first cut are always taken apart, cheaper ones less often."""
_FEW = 2000
"""Records up to which sequences are tried as well where classes are composed: they seldom cost less."""
_SPARINGS = 3
"""How often outliers are looked for in a sequence, where records may be suppressed."""


class Shoal(Algorithm):
    """Put the records in a good sequence, cut it at the best places, then take classes apart and cluster them anew.

    1. *Sequence*: records are sorted by columns and levels, what is costly to lose first, in snake lines; some other
    orders are tried.
    2. *Program*: a dynamic program cuts the sequence into the classes that cost least.
    3. *Search*: again and again all classes are grouped into small blocks of those that are nearest to each other; the
    records of a block change classes, alone, in twos or over a third class, or are clustered from the start, and what
    is not worse is kept. Where classes are large, pieces of them move instead of records, other pieces in each round.
    4. *Outliers*: within ``max_suppressed``, records are suppressed that cost the others of their class more than they
    would lose themselves; the search then goes on with the others, beside the one without suppression. Limits that are
    tried are .5, 1, 2, 5, 10, 20, 50 and 100 % of the records, as far as they are allowed; some between them.

    Of up to 12 records every partition is looked at. Of up to 400 it starts from what other quick entries find, too.

    Each step minimizes the weighted loss of the policy, which must add up over the cells of what is published: labels,
    ranges or sets of values.

    Where models look at sensitive values, the search sees what they ask: it starts from Mondrian's classes, or from
    such as are composed of the nearest records within what the models let a class take, and only exchanges records so
    that all classes still comply. Where a model does not tell it (persons are counted, values that may be any, models
    that look at more than values), finished classes are judged, as wholes.

    Why it is safe: a class never gets smaller than the models allow. Where models look at more than sizes, they decide
    about every changed block themselves: where one breaks, the block stays as it was.

    Cost: near-linear; a sequence costs one sort and k steps per record (some thousands at most), a round of the search
    about as much as five sequences whatever k is (where models look at more than sizes, k steps per record). The answer
    depends on ``seed``, not on the number of threads, or the order of records or columns. More effort or more
    suppression never loses more. Ctrl-C ends the search with what it has.

    References
    ----------
    Xu, J. et al. (2006). Utility-based anonymization using local recoding. KDD.
    Domingo-Ferrer, J. and Mateo-Sanz, J. M. (2002). Practical data-oriented microaggregation. IEEE TKDE 14(1).
    Karypis, G. and Kumar, V. (1998). A fast and high quality multilevel scheme for partitioning irregular graphs. SIAM
    J. Sci. Comput. 20(1).
    Shaw, P. (1998). Using constraint programming and local search methods to solve vehicle routing problems. CP.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.anonymize(table, policy.replace(algorithm=Shoal())).attained
    {'k-anonymity': 2}
    """

    sums_cells: ClassVar[bool] = True

    effort: Annotated[float, Field(ge=0.0, le=1000.0, allow_inf_nan=False)] = 1.0
    """How long to search for less loss: 0 is a sequence, its program and two rounds, every 1 thirty rounds more."""
    seconds: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None = None
    """The most time that the rounds may take; the answer then depends on the machine."""

    def trial(self) -> Algorithm:
        """Return the same without any effort: it complies wherever this one does."""
        return self.replace(effort=0.0)

    def search(self, problem: Problem) -> Local:
        """Go through the steps; Ctrl-C ends them with the best so far."""
        problem.begin()
        units, stopped = Units.of(problem), ""
        found: list[Ints] = []
        try:
            for members in self._steps(units):
                found = [members] if problem.monotone else [*found, members]
        except KeyboardInterrupt:
            if not found:
                raise
            stopped = "by the user"
        return replace(_choose_published(problem, map(units.recoding, reversed(found))), stopped=stopped)

    def _steps(self, units: Units) -> Iterator[Ints]:
        """Yield the class of each unit, -1 for suppressed ones, ever cheaper."""
        least = np.inf
        for found in self._candidates(units):
            if (cost := units.cost(found)) < least:
                least = cost
                yield found

    def _candidates(self, units: Units) -> Iterator[Ints]:
        """Yield all that is found on the way.

        More effort goes the same ways, only farther, and more suppression goes other ways besides: that is why neither
        ever ends with more loss.
        """
        yield np.zeros(len(units), np.int64)  # in one class all may show nothing
        for best in find_best_partition(units):
            yield best
            if units.problem.monotone:  # else classes that look alike may break a model as one
                return
        yield from start_as_levels(units)  # no worse the more may be suppressed
        paths = _open_paths(units)
        for stage in range(2 + (self.effort > 0)):
            for index, path in enumerate(paths):
                yield from path.start(stage)
                if index:
                    yield from path.spare(paths[index - 1].members)
            if stage == 1:  # what all efforts have in common
                yield from paths[0].branch(range(_REPAIRS))
                yield from _spare_between(paths, units.problem)
        without, *sparing = paths
        worth = without.worth
        for turn in self._turns(units.problem):
            yield without.improve(worth, turn)
            for path in sparing if turn % 2 else ():
                yield path.improve(worth, turn)
            if turn & (turn + 1) == 0:  # ever more seldom
                for path in sparing:
                    yield from path.spare(without.members)
                yield from _spare_between(paths, units.problem) if turn >= _SELDOM else ()

    def _turns(self, problem: Problem) -> Iterator[int]:
        """Yield the numbers of the rounds, until there were enough or time is up."""
        started, enough = time.monotonic(), round(self.effort * _ROUNDS)
        for turn in range(enough):
            if self.seconds is not None and time.monotonic() - started > self.seconds:
                return
            yield turn
            problem.progress("searching for less loss", turn + 1, enough)


def _choose_published(problem: Problem, cheapest: Iterator[Local]) -> Local:
    """Return the cheapest recoding that complies as it is published, where classes that look alike are one.

    A union of classes that comply need not, by some models; so each is asked once it is known what classes show.
    """
    first = next(cheapest)
    if problem.monotone:
        return first
    found = (one for one in chain([first], cheapest) if _complies_as_published(problem, one))
    return next(found, None) or join_lookalikes(problem, first)


def _complies_as_published(problem: Problem, recoding: Local) -> bool:
    data = (problem.frequencies, problem.columns, problem.models, problem.background)
    return bool(problem.holds(finish_recoding(recoding, *data).classes).all())


_LIMITS = (5, 10, 20, 50, 100, 200, 500, 1000)
"""Thousandths of all records that are tried as limits, as far as they are allowed."""
_COUNTS = (1, 2, 3, 5, 8)
"""Records that are tried as limits besides, where there are few."""
_COUNTED = 200
"""So many are few."""


_BETWEEN = (6, 7, 8, 12, 14, 17, 25, 30, 35, 40, 60, 70, 80, 120, 140, 170, 250, 300, 350, 400, 600, 700, 800)
"""Thousandths between them: so many are suppressed besides on the path below, without a path of their own."""
_SELDOM = 15
"""The first round after which these are tried."""


def _list_limits(problem: Problem) -> list[int]:
    """Return how many records may be suppressed on each path: none, and fixed shares of all.

    They do not depend on the allowed number, but for the last one that is listed: so a larger one has all of them too.
    """
    return _allow(problem, {0, *(_COUNTS if problem.frequencies.records <= _COUNTED else ())}, _LIMITS)


def _allow(problem: Problem, counts: set[int], shares: Iterable[int]) -> list[int]:
    """Return some numbers of records, and thousandths of all, as far as so many may be suppressed."""
    counts = counts | {problem.frequencies.records * share // 1000 for share in shares}
    return sorted(count for count in counts if count <= problem.max_suppressed)


def _spare_between(paths: list[_Path], problem: Problem) -> Iterator[Ints]:
    """Yield the classes of each path with more outliers suppressed, up to each limit below that of the next path."""
    limits = [path.units.problem.max_suppressed for path in paths]
    for limit in _allow(problem, set(), _BETWEEN):
        below = paths[int(np.searchsorted(limits, limit, side="right")) - 1]
        if limit not in limits:
            yield drop_outliers(below.units.allowing(limit), below.members)


def _open_paths(units: Units) -> list[_Path]:
    """Return the paths of a search, from no suppression to the most."""
    each = [units.allowing(limit) for limit in _list_limits(units.problem)]
    apart = [-1, *(len(find_demanding(own)) for own in each)]
    # where a limit is no reason to leave more kinds out, the path starts from the one before
    return [_Path(own, composes=apart[index] < apart[index + 1]) for index, own in enumerate(each)]


class _Path:
    """The classes of a search within one limit of suppression, from step to step."""

    def __init__(self, units: Units, *, composes: bool) -> None:
        self.units, self.members, self.cost = units, np.zeros(len(units), np.int64), np.inf
        self._composes = composes
        small = units.composition is None or len(units) <= _FEW
        self._sequences = iter(search_sequences(units) if small and not units.problem.max_suppressed else ())

    @property
    def worth(self) -> float:
        """The cost per record from which on classes are always taken apart."""
        return _WORTH * self.cost / int(self.units.weights.sum())

    def start(self, stage: int) -> Iterator[Ints]:
        """Yield what there is to start from at a stage, and go on with the cheapest."""
        for members in self._list_starts(stage):
            yield members
            if self.units.cost(members) < self.cost:
                self.take(members)

    def _list_starts(self, stage: int) -> Iterator[Ints]:
        if stage == 0 and not self.units.problem.max_suppressed:
            yield _cut_as_mondrian(self.units)
        if stage == 0:
            yield from chain(start_as_levels(self.units), start_as_others(self.units))
        yield from islice(self._sequences, 1)
        if stage > 0 and self._composes:
            yield from compose_classes(self.units, at_once=stage == 1)

    def take(self, members: Ints) -> Ints:
        """Go on with these classes."""
        self.members, self.cost = members, self.units.cost(members)
        return members

    def spare(self, members: Ints) -> Iterator[Ints]:
        """Suppress outliers, and those that then are, some times; go on with what costs less."""
        for _ in range(_SPARINGS):
            before, members = members, drop_outliers(self.units, members)
            if members is before:
                return
            yield members
            if self.units.cost(members) < self.cost:
                self.take(members)

    def branch(self, turns: Iterable[int]) -> Iterator[Ints]:
        """Yield what some rounds make of the classes, without going on with it."""
        yield from _improve(self.units, self.members, self.worth, turns)

    def improve(self, worth: float, turn: int) -> Ints:
        """Go on with what a round makes of the classes."""
        (members,) = _improve(self.units, self.members, worth, [turn])
        return self.take(members)


def _cut_as_mondrian(units: Units) -> Ints:
    """Return Mondrian's classes: no answer loses more than they do."""
    cells = units.problem.frequencies.cell_starts[units.tuples] if units.cells is None else units.cells
    return number_values(Mondrian().search(units.problem).members[cells])


def _improve(units: Units, members: Ints, worth: float, turns: Iterable[int]) -> Iterator[Ints]:
    """Go on with those who are not suppressed."""
    kept = np.flatnonzero(members >= 0)
    for inside in run_rounds(units.only(kept), members[kept], worth, turns):
        result = members.copy()
        result[kept] = inside
        yield result
