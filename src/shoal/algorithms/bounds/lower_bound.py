"""LowerBound: what no local recoding of a table can go below.

Every class of a local recoding lies in a *box*: in each column one label, one range or one set of values. So a record
pays at least what the cheapest box costs that holds it and enough records for a class: that is the basic bound.

It is raised by dual prices. Give each record a *price* such that in no box the k largest prices are, on average,
more than the box costs. A class has at least k records, so the mean of its prices is no more than the mean of the k
largest in its box, and that is no more than what each of its records pays: the prices of a class add up to no more
than its cost, and the prices of all records to no more than the loss. (This is the dual of set partitioning.)

In many columns, and where a sensitive value asks for larger classes of those who have it, the nearest records tell more
than boxes: see :mod:`shoal.algorithms.bounds.neighbour_bound`. The better of the two is told.

Boxes are many. Those that cost little are few, so records pay at least the cheapest box *up to a cap*, and the cap is
raised as long as there is work to spend. Where there are too many even so, columns are bounded in groups: what classes
lose in each group adds up. So whatever the table, there is a bound in time; it is only weaker for some.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.bounds.dual_bound import DualBound
from shoal.algorithms.bounds.neighbour_bound import NeighbourBound
from shoal.registry import Frozen

_SECOND = 100_000_000
"""Work of about a second, in tuples that are looked at."""
_PAIRS = 4
"""Pairs of values that are looked at in the time of a tuple."""
_CELL, _FURTHER_CELL = 12, 4
"""Work for each cell of the table that the basic bound may take, and for each beyond the first ``_CELLS``: about a
tenth of reading and auditing it, which costs less for a cell of a large table."""
_CELLS = 2_000_000
_LEAST = 1_000_000
"""Work that any table may take: about a hundredth of a second."""
_BESIDE, _FURTHER_BESIDE, _BESIDE_CELLS = 3e-6, 5e-7, 1_000_000
"""Seconds of raising for a cell, beside a search of effort 1, for each of the first so many and for further ones: less
than a fifth of what that takes."""
_SAFE = 1e-9
"""The part of the bound that is given away for what rounding may have added, and of what could be lost at all."""


@dataclass(frozen=True)
class Bound:
    """A certainty penalty that no local recoding goes below, and how it was found."""

    total: float
    how: str


class LowerBound(Frozen):
    """Find a certainty penalty that no local recoding of a problem goes below.

    It holds for every way to put records into classes of at least ``problem.least_shown`` records, whatever else the
    models ask, with any number of suppressed records (each costs 1 per cell, and no price is more than that).

    The basic bound takes work in proportion to the cells of the table, at most. Ctrl-C keeps what is proven by then.

    Examples
    --------
    >>> import shoal
    >>> from shoal.testing import encode_table
    >>> table, policy = shoal.datasets.load("patients")
    >>> bound = LowerBound().of(encode_table(table, policy).problem(policy))
    >>> bound.total <= shoal.anonymize(table, policy).loss
    True
    """

    effort: float = Field(default=0.25, ge=0, allow_inf_nan=False)
    """How much work to spend on raising the bound, in about seconds; it is counted, not timed, so that the same table
    always gets the same bound. 0 asks for the basic bound alone."""

    def of(self, problem: Problem) -> Bound:
        """Return the bound of a problem, on the same scale as the certainty penalty of its records."""
        problem.progress("bounding the loss (compiled once per machine)", 0, 0)
        weight, records = float(problem.weights.sum()), problem.frequencies.records
        if not records or weight <= 0:
            return Bound(0.0, "there is nothing to lose")
        budget = int(self.effort * _SECOND) + _LEAST + _basic_work(records * len(problem.columns))
        bound = DualBound(problem, budget, raising=self.effort > 0)
        near = NeighbourBound(problem)
        stopped = ""
        try:
            for rounds in bound.rounds():
                problem.progress("raising the bound", rounds, 0)
            if near.asks_more or not bound.whole:
                for _ in near.find(budget * _PAIRS):
                    problem.progress("bounding by neighbours", int(100 * near.done), 100)
        except KeyboardInterrupt:
            stopped = "; stopped early"
        best, how = max((bound.best, bound.how), (near.total, near.how), key=lambda found: found[0])
        return Bound(max(best / (weight * records) * (1.0 - _SAFE) - _SAFE**2, 0.0), how + stopped)

    @classmethod
    def beside(cls, algorithm: Algorithm, problem: Problem) -> LowerBound:
        """Return the bound to seek unasked: it takes about a tenth of the time that a release takes anyhow.

        Beside a quick search that is the basic bound. A search that has an ``effort`` of its own takes time in
        proportion to it and to the cells of the table, and so does raising the bound. It is counted, never timed.
        """
        cells = problem.frequencies.records * len(problem.columns)
        further = max(cells - _BESIDE_CELLS, 0)
        seconds = (cells - further) * _BESIDE + further * _FURTHER_BESIDE
        return cls(effort=getattr(algorithm, "effort", 0.0) * seconds)


def _basic_work(cells: int) -> int:
    """Return the work that the basic bound of a table with so many cells may take."""
    return _CELL * min(cells, _CELLS) + _FURTHER_CELL * max(cells - _CELLS, 0)
