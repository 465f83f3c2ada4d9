"""Similarity-based clustering: the records most similar to the first one left are the next class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.clustering.local_search import LocalSearch
from shoal.algorithms.clustering.similarity import SimilarityTables, arrange_columns
from shoal.algorithms.feasibility import generalize_fully
from shoal.encoding.types import Bools, Floats, Ints
from shoal.frequencies.frequencies import Classes, Frequencies
from shoal.recodings.local import Local

Found = TypeVar("Found")


class SimilarityClustering(LocalSearch):
    """Take the first record that is left and the most similar ones, until they comply: that is the next class.

    Needs no hierarchy: how similar two values are is read off the table itself. Columns are put in order of their
    cardinality; two values of a column are similar if they are about as frequent among the records that share the
    first record's value in the column before it (or, where those are fewer than k, one of the values most similar to
    that). The values, ordered by how similar they are to the first record's, are 0, 1, 2, ... steps away from it, of
    as many as there are; numbers are as far from each other as their difference is of the column's range. Distances
    are weighted and added up over the columns. What is left is counted again for every class.

    A class has exactly k records where that is enough for every model; else it grows by the next nearest ones until it
    complies. Equal records are nearest, so a tuple with many of them has classes of its own, and the rest of them
    goes with others. Records that are too few for a class at the end join the nearest class, or are suppressed where
    that may be done and loses less. Records that a boundary keeps apart are clustered apart.

    Why it is safe: a class is closed only when every model holds on it. Joining can break models that a larger class
    may fail; such classes are given up and their records join others until every model holds on every class. What
    a class shows covers all its records.

    Cost: for each class a pass over the distinct tuples that are left.

    References
    ----------
    Sarrafi Aghdam, M. R. (2017), chapter 3. Similarity-based clustering model for k-anonymity.
    Sarrafi Aghdam, M. R. and Sonehara, N. (2016). Achieving high data utility k-anonymization using similarity-based
    clustering model. IEICE Transactions on Information and Systems E99-D(8).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.anonymize(table, policy.replace(algorithm=SimilarityClustering(), publish="sets")).attained
    {'k-anonymity': 2}
    """

    suppresses: ClassVar[bool] = True

    def form_classes(self, problem: Problem) -> Local:
        """Make classes of the records that are left until too few are left; find a place for those."""
        frequencies = problem.frequencies
        part, complies = generalize_fully(problem)  # records of different parts share a class only above a boundary
        spare = problem.max_suppressed - int(frequencies.counts[~complies[part]].sum())
        if spare < 0 or not complies.any():
            raise problem.infeasible()
        forced_suppression = np.flatnonzero(~complies[part[frequencies.cell_tuples]])
        pieces = Pieces.outside(forced_suppression, frequencies.cell_counts[forced_suppression])
        for number in np.flatnonzero(complies):
            made = _cluster(problem, np.flatnonzero(part == number), pieces.records)
            placed = _place_rest(problem, made, spare)
            spare -= placed.suppressed
            pieces = pieces.join(placed)
        return pieces.recoding()


@dataclass(frozen=True)
class Pieces:
    """Parts of cells and the class of each; -1 is in none."""

    cells: Ints
    weights: Ints
    classes: Ints
    firsts: Ints
    """The first tuple of each class."""

    @classmethod
    def outside(cls, cells: Ints, weights: Ints) -> Pieces:
        """Return pieces that are in no class."""
        return cls(cells, weights, np.full(len(cells), -1, np.int64), np.zeros(0, np.int64))

    @property
    def records(self) -> int:
        """How many records there are."""
        return int(self.weights.sum())

    @property
    def suppressed(self) -> int:
        """How many records are in no class."""
        return int(self.weights[self.classes < 0].sum())

    def join(self, other: Pieces) -> Pieces:
        """Return these pieces and others, whose classes come after these."""
        return Pieces(
            np.append(self.cells, other.cells),
            np.append(self.weights, other.weights),
            np.append(self.classes, np.where(other.classes < 0, -1, other.classes + len(self.firsts))),
            np.append(self.firsts, other.firsts),
        )

    def where(self, kept: Bools) -> Pieces:
        """Return some of the pieces."""
        return replace(self, cells=self.cells[kept], weights=self.weights[kept], classes=self.classes[kept])

    def give_up(self, classes: Bools) -> Pieces:
        """Return the pieces without some classes."""
        numbers = np.append(np.where(classes, -1, np.cumsum(~classes) - 1), -1)
        return replace(self, classes=numbers[self.classes], firsts=self.firsts[~classes])

    def among(self, frequencies: Frequencies) -> Classes:
        """Return the classes, for models to look at."""
        return Classes(len(self.firsts), self.classes, self.cells, self.weights, frequencies)

    def recoding(self) -> Local:
        """Return the answer: pieces in the order of their cells."""
        return Local.of(self.classes, self.cells, self.weights)


@dataclass(frozen=True)
class Cluster:
    """A class as it is made: the tuples that are near the first one, and how many records of each are taken."""

    first: int
    chosen: Ints
    taken: Ints
    cells: Ints
    weights: Ints


class Left:
    """The dataset T: the tuples that are left, sorted."""

    def __init__(self, problem: Problem, tuples: Ints) -> None:
        from shoal.kernels.similarity import choose_nearest

        self.problem, self._nearest = problem, choose_nearest
        self.k = problem.least_records
        frequencies = problem.frequencies
        codes = frequencies.tuples[tuples]
        numbers, categories = arrange_columns(problem.columns, codes)
        keys = [codes[:, index] for index in (*numbers, *categories)]
        self.tuples = tuples[np.lexsort(keys[::-1])]
        self.codes = np.ascontiguousarray(frequencies.tuples[self.tuples])
        self.counts = frequencies.counts[self.tuples]
        self.records = int(self.counts.sum())
        self.similarity = SimilarityTables(problem.columns, self.codes, self.counts, self.k)
        self.places = np.arange(len(tuples))
        """Where each tuple is in the tables: those that are used up are left out here from time to time."""
        self.cell_counts = frequencies.cell_counts.copy()
        self.head, self.before = 0, -1

    def next_class(self) -> Cluster | None:
        """Return the first tuple that is left with the nearest records that comply; delete them from the dataset."""
        while not self.counts[self.head]:
            self.head += 1
        own, first = int(self.counts[self.head]), int(self.tuples[self.head])
        distances = self.similarity.distances(self.codes[self.head])

        def trial(wanted: int) -> Cluster | None:
            if wanted <= own:
                chosen = np.array([self.head])
            else:
                chosen = np.empty(min(wanted, len(self.codes)), np.int64)
                offsets = self.similarity.offsets
                chosen = chosen[: self._nearest(self.codes, self.counts, distances, offsets, wanted, chosen)]
            taken = self.counts[chosen]
            taken[-1] -= taken.sum() - wanted  # of the farthest tuple only as many as it takes
            cells, weights = self._cells(chosen, int(taken[-1]))
            one = Classes(1, np.zeros(len(cells), np.int64), cells, weights, self.problem.frequencies)
            return Cluster(first, chosen, taken, cells, weights) if self.problem.holds(one)[0] else None

        # records of one tuple look alike, in one class or in several: one of k, for others to join, and all others
        multiple = max(own // self.k, 1) if first == self.before else 1
        self.before = first
        found = find_smallest(trial, multiple * self.k, self.records)
        if found is not None:
            self._delete(found)
        return found

    def rest(self) -> Ints:
        """Return the cells that have records left."""
        cells, _ = self.problem.frequencies.cells_of(self.tuples)
        return cells[self.cell_counts[cells] > 0]

    def _cells(self, chosen: Ints, last: int) -> tuple[Ints, Ints]:
        """Return the cells of tuples and how many records of each to take: all, but of the last tuple fewer."""
        cells, owner = self.problem.frequencies.cells_of(self.tuples[chosen])
        weights, final = self.cell_counts[cells], owner == len(chosen) - 1
        weights[final] = share_evenly(weights[final], last)
        return cells[weights > 0], weights[weights > 0]

    def _delete(self, group: Cluster) -> None:
        self.counts[group.chosen] -= group.taken
        self.cell_counts[group.cells] -= group.weights
        self.records -= int(group.taken.sum())
        self.similarity.take(self.places[group.chosen], group.taken)
        left = self.counts > 0
        if 2 * int(left.sum()) < len(left):
            self.tuples, self.codes = self.tuples[left], np.ascontiguousarray(self.codes[left])
            self.counts, self.places, self.head = self.counts[left], self.places[left], 0


def find_smallest(trial: Callable[[int], Found | None], least: int, most: int) -> Found | None:
    """Return what complies with the fewest records, found by doubling, then halving; ``None`` where nothing does."""
    failed, size = least - 1, least
    while (found := trial(size)) is None:
        if size == most:
            return None
        failed, size = size, min(2 * size, most)
    while size - failed > 1:
        middle = (failed + size) // 2
        smaller = trial(middle)
        if smaller is None:
            failed = middle
        else:
            size, found = middle, smaller
    return found


def share_evenly(counts: Ints, wanted: int) -> Ints:
    """Share wanted records between cells in proportion to their records, so that every class is as mixed as all.

    Examples
    --------
    >>> share_evenly(np.array([6, 3, 1]), 4)
    array([2, 1, 1])
    """
    total = int(counts.sum())
    shares, parts = np.divmod(counts * wanted, max(total, 1))
    shares[np.lexsort([counts, -parts])[: wanted - int(shares.sum())]] += 1
    return shares


def _cluster(problem: Problem, tuples: Ints, done: int) -> Pieces:
    """Make classes until too few records are left; those are in no class."""
    left = Left(problem, tuples)
    total, records = problem.frequencies.records, left.records
    made: list[Cluster] = []
    while left.records >= left.k and (found := left.next_class()) is not None:
        made.append(found)
        if len(made) % 64 == 0:
            problem.progress("clustering", done + records - left.records, total)
    rest = left.rest()
    sizes = [len(group.cells) for group in made]
    return Pieces(
        np.concatenate([*(group.cells for group in made), rest]),
        np.concatenate([*(group.weights for group in made), left.cell_counts[rest]]),
        np.append(np.repeat(np.arange(len(made)), sizes), np.full(len(rest), -1)),
        np.array([group.first for group in made], np.int64),
    )


def _place_rest(problem: Problem, pieces: Pieces, spare: int) -> Pieces:
    """Find a place for the records that are left: the nearest class, or none where that may be and loses less."""
    if not pieces.suppressed:
        return pieces
    tuples = np.unique(problem.frequencies.cell_tuples[pieces.cells])
    counts = problem.frequencies.counts[tuples]
    similarity = SimilarityTables(problem.columns, problem.frequencies.tuples[tuples], counts, problem.least_records)
    joined = _nearest_classes(problem, similarity, pieces)
    lost = _find_costly(problem, pieces, joined, spare)
    joined = joined.where(~lost)
    while not (complies := problem.holds(joined.among(problem.frequencies))).all():
        if len(complies) == 1:
            raise problem.infeasible()
        complies[0] |= not complies.any()
        joined = _nearest_classes(problem, similarity, joined.give_up(~complies))
    return joined.join(Pieces.outside(pieces.cells[lost], pieces.weights[lost]))


def _nearest_classes(problem: Problem, similarity: SimilarityTables, pieces: Pieces) -> Pieces:
    """Put every record that is in no class into the class whose first tuple is nearest, by all records together."""
    from shoal.kernels.similarity import choose_nearest

    tuples = problem.frequencies.tuples
    firsts = np.ascontiguousarray(tuples[pieces.firsts])
    ones, chosen = np.ones(len(firsts), np.int64), np.empty(1, np.int64)
    own, outside = problem.frequencies.cell_tuples[pieces.cells], pieces.classes < 0
    target = np.empty(len(tuples), np.int64)
    for number in np.unique(own[outside]):
        choose_nearest(firsts, ones, similarity.distances(tuples[number]), similarity.offsets, 1, chosen)
        target[number] = chosen[0]
    return replace(pieces, classes=np.where(outside, target[own], pieces.classes))


def _find_costly(problem: Problem, before: Pieces, after: Pieces, spare: int) -> Bools:
    """Return the pieces that cost their new class more than they would cost suppressed, within the spare records."""
    moved = before.classes < 0
    lost = np.zeros(len(moved), bool)
    if not spare:
        return lost
    changed, numbers = np.unique(after.classes[moved], return_inverse=True)
    sizes = np.bincount(numbers, before.weights[moved]).astype(np.int64)
    widened = _costs(problem, after, changed) - _costs(problem, before, changed)
    gain = (widened - sizes * problem.weights.sum()) / sizes
    for number in np.argsort(-gain, kind="stable"):
        if gain[number] > 0 and sizes[number] <= spare:
            lost |= moved & (after.classes == changed[number])
            spare -= int(sizes[number])
    return lost


def _costs(problem: Problem, pieces: Pieces, chosen: Ints) -> Floats:
    """Return the certainty penalty of some classes: records times weighted penalties."""
    numbers = np.full(len(pieces.firsts) + 1, -1, np.int64)
    numbers[chosen] = np.arange(len(chosen))
    draft = Local(numbers[pieces.classes], pieces.cells, pieces.weights).draft(problem.frequencies, problem.columns)
    inside = draft.members >= 0
    records = np.bincount(draft.members[inside], draft.weights[inside], minlength=draft.count)
    penalties = np.stack([shown.penalties for shown in draft.columns])
    return np.asarray(records * (problem.weights @ penalties), np.float64)
