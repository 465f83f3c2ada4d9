"""Shoal: records in a good sequence, cut at the best places, then classes taken apart and put together anew."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from shoal.algorithms._costs import costs_of
from shoal.algorithms._sequence import best_sequence
from shoal.algorithms._units import Units
from shoal.algorithms.base import Algorithm, Ints, Problem
from shoal.recodings.local import Local

_TOGETHER = (4, 6, 9, 13)
"""Classes that are taken apart together, in turn: few are quick, many find what few do not."""
_RECORDS = 1000
"""Records that are taken apart together at most, where two classes have fewer: large classes go two by two."""
_ROUNDS = 30
"""Rounds of the search for an effort of 1."""
_WORTH = 3.0
"""Blocks that cost so many times the mean of the first cut are always taken apart, cheaper ones less often."""


class Shoal(Algorithm):
    """Put the records in a good sequence, cut it at the best places, then take classes apart and cluster them anew.

    1. *Sequence*: records are sorted by columns and levels, what is costly to lose first, in snake lines.
    2. *Program*: a dynamic program cuts the sequence into the classes that cost least.
    3. *Search*: again and again all classes are grouped into small blocks of neighbours; the records of a block move,
    change places, or are clustered from the start, and what is not worse is kept.
    4. *Outliers*: within ``max_suppressed``, records are suppressed that cost the others of their class more than they
    would lose themselves.

    Each step minimizes the weighted certainty penalty of what is published: labels, ranges or sets of values.

    Why it is safe: a class never gets smaller than the models allow, and where models look at more than sizes every
    changed block is checked and undone if a model breaks.

    Cost: near-linear; a sequence costs some sorts and k steps per record, a round of the search about as much as ten
    sequences. The answer depends on ``seed``, not on the number of threads or the order of records. Ctrl-C ends the
    search with what it has.

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

    def search(self, problem: Problem) -> Local:
        """Go through the steps."""
        if not problem.holds(problem.together()).all():
            raise problem.infeasible()
        problem.progress("preparing the search (compiled once per machine)", 0, 0)
        costs = costs_of(problem.columns)
        units = Units.of(problem, costs)
        members, total = best_sequence(units, costs, self.effort)
        try:
            members = self._improved(units, costs, members, _WORTH * total / int(units.weights.sum()))
        except KeyboardInterrupt as stopped:
            members = getattr(stopped, "members", members)
        return units.recoding(_spared(units, costs, members))

    def _improved(self, units: Units, costs: Any, members: Ints, worth: float) -> Ints:
        rounds, started = round(self.effort * _ROUNDS), time.monotonic()
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        with ThreadPoolExecutor(cores) as pool:
            for turn in range(rounds):
                if self.seconds is not None and time.monotonic() - started > self.seconds:
                    break
                try:
                    members = _round(units, costs, members, worth, turn, pool, cores)
                    units.problem.progress("searching for less loss", turn + 1, rounds)
                except KeyboardInterrupt as stopped:
                    stopped.members = members  # type: ignore[attr-defined]
                    raise
        return members


def _round(
    units: Units, costs: Any, members: Ints, worth: float, turn: int, pool: ThreadPoolExecutor, cores: int
) -> Ints:
    """Take all classes apart, block by block, and keep what is not worse and complies."""
    from shoal.kernels.neighbourhood import improve_blocks

    block_of_class, place = _blocks(units, costs, members, turn)
    blocks = int(block_of_class.max()) + 1
    block = block_of_class[members]
    listed = np.argsort(block, kind="stable")
    starts = np.searchsorted(block[listed], np.arange(blocks + 1))
    before, after = place[members[listed]], np.empty(len(units), np.int64)
    cuts = np.unique(np.linspace(0, blocks, min(cores * 4, blocks) + 1).astype(np.int64)).tolist()
    least, seed = max(units.problem.least_records, 1), units.problem.seed

    def work(part: tuple[int, int]) -> None:
        improve_blocks(
            costs,
            units.codes,
            units.bits,
            units.weights,
            listed,
            starts,
            before,
            *part,
            least,
            worth,
            seed,
            turn,
            after,
        )

    list(pool.map(work, pairwise(cuts)))
    width = max(int(before.max()), int(after.max())) + 1
    changed = np.empty(len(units), np.int64)
    changed[listed] = block[listed] * width + after
    numbers = np.unique(changed, return_inverse=True)[1].astype(np.int64)
    return numbers if units.counts_only else _complying(units, members, numbers, block)


def _blocks(units: Units, costs: Any, members: Ints, turn: int) -> tuple[Ints, Ints]:
    """Return the block of each class, and its place in it: classes that are near, seen from a random record of each."""
    from shoal.kernels.neighbourhood import split_blocks

    count = int(members.max()) + 1
    order = np.argsort(members, kind="stable")
    starts = np.searchsorted(members[order], np.arange(count + 1))
    random = np.random.default_rng([units.problem.seed, turn])
    seen_from = order[starts[:-1] + (random.random(count) * np.diff(starts)).astype(np.int64)]
    ranked, ends = np.empty(count, np.int64), np.empty(count + 1, np.int64)
    most = max(min(_TOGETHER[turn % len(_TOGETHER)], _RECORDS // max(units.problem.least_records, 1)), 2)
    blocks = split_blocks(costs, units.codes[seen_from], most, units.problem.seed, turn, ranked, ends)
    sizes = np.diff(ends[: blocks + 1])
    block, place = np.empty(count, np.int64), np.empty(count, np.int64)
    block[ranked] = np.repeat(np.arange(blocks), sizes)
    place[ranked] = np.arange(count) - np.repeat(ends[:blocks], sizes)
    return block, place


def _complying(units: Units, before: Ints, after: Ints, block: Ints) -> Ints:
    """Undo the blocks in which a model broke."""
    holds = units.problem.holds(units.classes(after))
    broken = np.unique(block[~holds[after]])
    undone = np.isin(block, broken)
    mixed = np.where(undone, before, after + int(before.max()) + 1)
    return np.unique(mixed, return_inverse=True)[1].astype(np.int64)


def _spared(units: Units, costs: Any, members: Ints) -> Ints:
    """Suppress records that cost the others of their class more than they lose themselves, as many as may be."""
    from shoal.kernels.neighbourhood import spare

    problem, left = units.problem, units.problem.max_suppressed
    if not left:
        return members
    order = np.argsort(members, kind="stable")
    starts = np.searchsorted(members[order], np.arange(int(members.max()) + 2))
    result = members.copy()
    least = max(problem.least_records, 1)
    spare(costs, units.codes, units.bits, units.weights, units.records, order, starts, least, left, result)
    if not units.counts_only:
        holds = problem.holds(units.classes(result))
        result = np.where(holds[members], result, members)
    return result
