"""Top-down specialization: start with nothing told, and tell more wherever it is worth most."""

from __future__ import annotations

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.cuts.cuts import DIGITS, HierarchyCut, Moves, SubtreeSearch, find_occurring
from shoal.algorithms.cuts.impurity import Impurity
from shoal.algorithms.cuts.trees import ValueTree, runs_anywhere
from shoal.encoding.types import Bools, Floats, Ints
from shoal.recodings.intervals import IntervalRecoding


class TopDownSpecialization(SubtreeSearch):
    """Start with ``*`` everywhere, and replace a label by its children wherever that is worth most.

    A *cut* through each column's hierarchy says which label stands for each value in the whole table. A
    specialization replaces one label of the cut by its children; it is valid if the records in classes that break a
    model are not more than may be suppressed, and beneficial if the published table then loses less. The one with
    the highest score is made, again and again, until none is left:

    * with a ``class_column``, as in the paper, ``InfoGain / (AnonyLoss + 1)``: how much better the records under the
      label are classified, per what it costs in anonymity (the drop of the smallest class);
    * without one, the drop of the certainty penalty in place of the information gain.

    The paper suppresses nothing; here AnonyLoss also counts the records that would newly be suppressed. A column
    without a hierarchy is divided in two, where the division is valid and itself gains most.
    Boundaries are where the cut starts. Where levels of a hierarchy do not nest, those that do are used.

    Why it is safe: a specialization is made only if every model then holds on every class that is published. A label
    is shown only for values under it, the same in every record.

    Cost: a step counts only the records under its label, once per column: all steps together some passes over the
    distinct tuples for each level of each column.

    References
    ----------
    Fung, B. C. M., Wang, K. and Yu, P. S. (2005). Top-down specialization for information and privacy preservation.
    ICDE. Also (2007). Anonymizing classification data for privacy preservation. IEEE TKDE 19(5).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("hospital")
    >>> shoal.anonymize(table, policy.replace(algorithm=TopDownSpecialization(class_column="disease"))).attained
    {'k-anonymity': 2}
    """

    def search(self, problem: Problem) -> IntervalRecoding:
        """Specialize until no valid and beneficial specialization is left."""
        cut = Specializations(problem, self.find_class_column(problem))
        done = 0
        while cut.specialize():
            done += 1
            problem.progress("specializing", done, 0)
        if cut.lost > problem.most_suppressed:
            raise problem.infeasible()
        return cut.recoding()


class Specializations(HierarchyCut):
    """A cut that moves down."""

    def __init__(self, problem: Problem, class_place: int | None) -> None:
        pairs = list(zip(problem.columns, find_occurring(problem), strict=True))
        trees = [
            ValueTree.whole(column, codes) if runs_anywhere(column) else ValueTree.of(column, codes)
            for column, codes in pairs
        ]
        self._refused: dict[tuple[int, int], set[int]] = {}
        """Column and run → places where it was refused to divide it."""
        self._closed: set[tuple[int, int]] = set()
        """Columns and runs that can be divided nowhere."""
        self._gains: dict[tuple[int, int, int], float] = {}
        super().__init__(problem, trees, [tree.top() for tree in trees])
        self._impurity: list[Impurity] = []
        if class_place is not None:
            self._impurity = [Impurity(problem.frequencies, own, class_place) for own in self.codes]

    def specialize(self) -> bool:
        """Make the valid and beneficial specialization with the highest score; return whether there was one."""
        if self._specialize():
            return True
        if not self._refused and not self._closed:
            return False
        self._refused.clear()  # what was refused once may have become valid
        self._closed.clear()
        return self._specialize()

    def _specialize(self) -> bool:
        for index, tree in enumerate(self.trees):
            if runs_anywhere(tree.column):
                self._divide_runs(index)
        return self.step_to_best(lambda moves: (self.valid(moves), *(-score for score in self.score(moves))))

    def valid(self, moves: Moves) -> Bools:
        """Return which specializations suppress no more than is allowed, and are worth what they suppress."""
        within = (self.lost + moves.lost <= self.problem.most_suppressed) | (moves.lost < 0)
        return within & ((moves.lost <= 0) | (moves.cost < 0))

    def score(self, moves: Moves) -> tuple[Floats, Floats]:
        """Return what is gained per anonymity that is lost; equal scores are told apart by the certainty penalty."""
        lost = np.maximum(self.smallest - moves.smallest, 0) + np.maximum(moves.lost, 0)
        certainty = np.round(-moves.cost / (lost + 1), DIGITS)
        if not self._impurity:
            return certainty, certainty
        gains = np.array([self._information(moves.place, node) for node in moves.nodes.tolist()])
        return np.round(gains / (lost + 1), DIGITS), certainty

    def _information(self, index: int, node: int) -> float:
        """The information gain of a specialization; it depends only on the records under the label."""
        tree = self.trees[index]
        children = tree.children[node]
        if (key := (index, node, children[0])) not in self._gains:
            parts = [(int(tree.low[child]), int(tree.high[child])) for child in children]
            self._gains[key] = self._impurity[index].gain(int(tree.low[node]), int(tree.high[node]), parts)
        return self._gains[key]

    def _aim(self, index: int, changed: Bools) -> Bools:
        tree, moving, target = self.trees[index], self.moving[index], self.target[index]
        moving[changed] = target[changed] = -1
        for node in np.unique(self.at[index][changed]).tolist():
            for child in tree.children[node]:
                inside = slice(tree.low[child], tree.high[child] + 1)
                moving[inside], target[inside] = node, child
        return changed

    def _divide_runs(self, index: int) -> None:
        """Divide each run of a column without a hierarchy where that is valid, if it is not so divided already."""
        tree = self.trees[index]
        while True:
            moves = self.moves_in(index)
            settled = set(moves.nodes[self.valid(moves)].tolist())
            runs = [run for run in np.unique(self.at[index]).tolist() if tree.low[run] < tree.high[run]]
            waiting = [run for run in runs if run not in settled and (index, run) not in self._closed]
            if not waiting:
                return
            for run in waiting:
                self._divide(index, run)

    def _divide(self, index: int, run: int) -> None:
        """Divide a run where that gains most, of the places that are not refused; close it where there is none."""
        tree = self.trees[index]
        low, high = int(tree.low[run]), int(tree.high[run])
        refused = self._refused.setdefault((index, run), set())
        refused.update(int(tree.high[left]) - low for left in tree.children[run][:1])
        possible = self.find_least_lost(index, low, high) <= max(self.problem.most_suppressed, self.lost - 1)
        possible[list(refused)] = False
        if possible.any():
            tree.divide(run, low + self._best_place(index, low, high, possible))
        else:
            tree.children[run] = []
            self._closed.add((index, run))
        self.aim(index, self.at[index] == run)

    def _best_place(self, index: int, low: int, high: int, possible: Bools) -> int:
        """Return after which value of a run a division gains most: information, then certainty."""
        tree = self.trees[index]
        here = self.codes[index]
        inside = (here >= low) & (here <= high)
        records = np.bincount(here[inside] - low, self.problem.frequencies.counts[inside], minlength=high - low + 1)
        left = np.cumsum(records)[:-1]
        ends = np.arange(low, high)
        parts = left * tree.penalties(np.full_like(ends, low), ends)
        parts += (records.sum() - left) * tree.penalties(ends + 1, np.full_like(ends, high))
        if self._impurity:
            gains = np.where(possible, np.round(self._impurity[index].gains(low, high), DIGITS), -np.inf)
            possible = gains == gains.max()
        return int(np.argmin(np.where(possible, parts, np.inf)))

    def find_least_lost(self, index: int, low: int, high: int) -> Ints:
        """Return a number of records that are surely lost if a run is divided after each of its values but the last.

        A part of a class is lost if it has fewer records than any model allows.
        """
        under = np.flatnonzero((self.codes[index] >= low) & (self.codes[index] <= high))
        under = under[np.lexsort([self.codes[index][under], self.member[under]])]
        member, code = self.member[under], self.codes[index][under] - low
        counts = self.problem.frequencies.counts[under]
        classes, starts, number = np.unique(member, return_index=True, return_inverse=True)
        running = np.cumsum(counts)
        left = running - (running - counts)[starts][number]
        right = np.add.reduceat(counts, starts)[number] - left
        least = self.problem.least_records
        lost = np.where(left < least, left, 0) + np.where(right < least, right, 0)
        before = np.append(0, lost[:-1])
        total = left + right
        before[starts] = np.where(total < least, total, 0)[starts]  # up to its first value a class is whole
        change = np.bincount(code, lost - before, minlength=high - low + 1)
        whole = before[starts].sum()
        elsewhere = self.lost - int(self.records[classes][~self.fits[classes]].sum())
        result: Ints = np.rint(elsewhere + whole + np.cumsum(change)[:-1]).astype(np.int64)
        return result
