"""Datafly: generalize the column with the most distinct values until few records are left over; suppress those."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.lattice.best import explain_failure
from shoal.algorithms.lattice.lattice import Lattice
from shoal.algorithms.lattice.walk import Shorts
from shoal.encoding.types import Bools, Ints
from shoal.kernels.group import group
from shoal.recodings.base import Proof
from shoal.recodings.full_domain import FullDomain


@dataclass(frozen=True)
class FrequencyList:
    """The distinct sequences of a node: one round of Datafly."""

    levels: Shorts
    sequences: Ints
    """The number of each tuple's sequence."""
    counts: Ints
    """Records of each sequence."""
    distinct: tuple[int, ...]
    """Distinct values of each column."""
    out: int
    """Records that would have to be suppressed."""


class Datafly(Algorithm):
    """Generalize the column with the most distinct values until few records are left over, and suppress those.

    A round counts the sequences of quasi-identifiers. While more than k records (or more than the policy allows)
    are in sequences that do not comply, the column with the most distinct values goes up one level. Then these
    records are suppressed; if they are fewer than k, the smallest of the other sequences joins them where the policy
    allows it (*complementary suppression*), so that the suppressed records are no smaller class than any other.

    It is quick and rough: it never goes back, and looks at no loss.

    Why it is safe: it stops only when every model was checked on every class that stays.

    Cost: one count per level that is climbed.

    References
    ----------
    Sweeney, L. (2002). Achieving k-anonymity privacy protection using generalization and suppression. IJUFKS 10(5).
    Sarrafi, M. (2017), Tables 2-6 to 2-9.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("hospital")
    >>> shoal.anonymize(table, policy.replace(algorithm=Datafly())).recoding.levels
    {'date of birth': 2, 'gender': 0, 'zip code': 0, 'race': 0}
    """

    needs_hierarchies: ClassVar[bool] = True
    looks_across: ClassVar[bool] = True
    footprint: ClassVar[int] = 500

    def search(self, problem: Problem) -> FullDomain:
        """Go through the rounds; suppress what the last one leaves over."""
        lattice = Lattice(problem)
        *before, last = self.rounds(lattice)
        looked = lattice.look(last.levels[None, :])
        loss = float(np.asarray(problem.loss.totals(looked.outcome))[0])
        proof = Proof(loss, None, lattice.size, len(before) + 1)
        recoding = lattice.recoding(last.levels, proof)
        return replace(recoding, suppressed=_complement(problem, last, recoding.suppressed))

    def rounds(self, lattice: Lattice) -> Iterator[FrequencyList]:
        """Yield each frequency list, up to the one that leaves few enough records over."""
        problem = lattice.problem
        allowed = min(problem.most_suppressed, max(problem.least_shown, 1))
        levels, heights = np.zeros(len(lattice.heights), np.int16), np.array(lattice.heights)
        while True:
            listed = _list_sequences(lattice, levels)
            problem.progress("generalizing", int(levels.sum()), sum(lattice.heights))
            yield listed
            if listed.out <= allowed:
                return
            if (levels == heights).all():
                reason = f"at the top of all columns {listed.out:,} records break a model, {allowed:,} may"
                raise explain_failure(problem, reason, proven=lattice.monotone)
            widest = int(np.argmax(np.where(levels < heights, listed.distinct, -1)))
            levels = levels.copy()
            levels[widest] += 1


def _list_sequences(lattice: Lattice, levels: Shorts) -> FrequencyList:
    problem = lattice.problem
    tuples, counts = problem.frequencies.tuples, problem.frequencies.counts
    pairs = list(zip(problem.columns, levels.tolist(), tuples.T, strict=True))
    labels = [column.levels.codes[level][codes] for column, level, codes in pairs]
    sequences, rows = group(labels, [len(column.levels.labels[level]) for column, level, _ in pairs])
    out = int(lattice.look(levels[None, :]).suppressed[0])
    sizes = np.bincount(sequences, counts, minlength=len(rows)).astype(np.int64)
    return FrequencyList(levels, sequences, sizes, tuple(len(np.unique(column)) for column in labels), out)


def _complement(problem: Problem, last: FrequencyList, suppressed: Bools) -> Bools:
    """Suppress the smallest sequence too where fewer than k records would be suppressed, and the policy allows it."""
    counts = problem.frequencies.counts
    out = int(counts[suppressed].sum())
    staying = np.unique(last.sequences[~suppressed])
    alone = all(model.classwise for model in problem.models)  # else others may need the class that would go
    if not alone or not 0 < out < problem.least_shown or len(staying) < 2:
        return suppressed
    smallest = staying[np.argmin(last.counts[staying])]
    joined = suppressed | (last.sequences == smallest)
    return joined if int(counts[joined].sum()) <= problem.max_suppressed else suppressed
