"""Bottom-up generalization: start with every value as it is, and tell less wherever that protects most per loss."""

from __future__ import annotations

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.cuts.cuts import DIGITS, HierarchyCut, Moves, SubtreeSearch, find_occurring
from shoal.algorithms.cuts.impurity import Impurity
from shoal.algorithms.cuts.trees import ValueTree, runs_anywhere
from shoal.encoding.types import Bools, Floats, Ints
from shoal.recodings.intervals import IntervalRecoding


class BottomUp(SubtreeSearch):
    """Start with every value as it is, and replace children by their parent wherever that loses least per gain.

    The mirror of top-down specialization: a *cut* through each column's hierarchy moves up, one generalization of
    all children of a label at a time, until the records in classes that break a model are no more than may be
    suppressed. Only *critical* generalizations are looked at, those of a value in such a class; where none can be
    made yet (a sibling is still finer), any other. The one with the least loss per gain is made:

    * loss is the information that is lost about the ``class_column``, as in the paper, or, without one, the
      increase of the certainty penalty;
    * gain is by how many the records that would have to be suppressed become fewer; where no step spares a record,
      by how many the classes that break a model do. The paper takes the growth of the smallest class, which is 0
      for nearly every step while many classes are small, and says nothing of other models.

    The paper suppresses nothing. Where records may be suppressed, generalizations go on as long as the published
    table loses less with them than with more suppressed records.

    A column without a hierarchy gets one that halves its values at the median record, again and again, as long as
    both halves have as many records as a class needs; there it starts. Boundaries are never crossed. Where levels of
    a hierarchy do not nest, those that do are used.

    Why it is safe: the search ends only when every model holds on every class that is published. A label is shown
    only for values under it, the same in every record.

    Cost: a step counts only the records under its label, once per column: all steps together some passes over the
    distinct tuples for each level of each column.

    References
    ----------
    Wang, K., Yu, P. S. and Chakraborty, S. (2004). Bottom-up generalization: a data mining solution to privacy
    protection. ICDM.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("hospital")
    >>> shoal.anonymize(table, policy.replace(algorithm=BottomUp(class_column="disease"))).attained
    {'k-anonymity': 2}
    """

    def search(self, problem: Problem) -> IntervalRecoding:
        """Generalize until few enough records are in classes that break a model."""
        cut = Generalizations(problem, self.find_class_column(problem))
        done = 0
        while cut.lost > problem.most_suppressed:
            if not cut.generalize():
                raise problem.infeasible()
            done += 1
            problem.progress("generalizing", done, 0)
        while cut.rescue():
            done += 1
            problem.progress("generalizing", done, 0)
        return cut.recoding()


class Generalizations(HierarchyCut):
    """A cut that moves up."""

    def __init__(self, problem: Problem, class_place: int | None) -> None:
        trees = []
        for index, (column, codes) in enumerate(zip(problem.columns, find_occurring(problem), strict=True)):
            numbers = np.searchsorted(codes, problem.frequencies.tuples[:, index])
            records = np.bincount(numbers, problem.frequencies.counts, minlength=len(codes)).astype(np.int64)
            free, least = runs_anywhere(column), problem.least_records
            trees.append(ValueTree.halves(column, codes, records, least) if free else ValueTree.of(column, codes))
        super().__init__(problem, trees, [tree.bottom() for tree in trees])
        self._information: list[Floats] = []
        if class_place is not None:
            pairs = zip(trees, self.codes, strict=True)
            self._information = [_losses(tree, Impurity(problem.frequencies, own, class_place)) for tree, own in pairs]

    def generalize(self) -> bool:
        """Make the generalization that loses least per gain; return whether there was one."""
        return self.step_to_best(lambda moves: (np.ones(len(moves.nodes), bool), *self.score(moves)))

    def rescue(self) -> bool:
        """Make the generalization that lowers the loss of the published table most; return whether there was one."""

        def rate(moves: Moves) -> tuple[Bools, Floats]:
            cost = np.round(moves.cost, DIGITS)
            return (self.lost + moves.lost <= self.problem.most_suppressed) & (cost < 0.0), cost

        return self.step_to_best(rate)

    def score(self, moves: Moves) -> tuple[Ints, Floats, Floats]:
        """Return whose turn it is (the least first), the loss per gain, and the same for the certainty penalty."""
        spares, joins = moves.lost < 0, moves.broken < 0
        gain = np.where(spares, -moves.lost, np.where(joins, -moves.broken, 1))
        turn = np.where(spares, 0, np.where(joins, 1, 2)) + np.where(moves.broken_now > 0, 0, 3)
        certainty = np.round(moves.widened / gain, DIGITS)
        if not self._information:
            return turn, certainty, certainty
        return turn, np.round(self._information[moves.place][moves.nodes] / gain, DIGITS), certainty

    def _aim(self, index: int, changed: Bools) -> Bools:
        tree, at = self.trees[index], self.at[index]
        moving, target = self.moving[index], self.target[index]
        reset = changed.copy()
        moving[changed] = target[changed] = -1
        for node in np.unique(tree.parent[at[changed]]).tolist():
            ready = node >= 0 and all(at[tree.low[child]] == child for child in tree.children[node])
            if ready and tree.allowed[node]:
                inside = slice(tree.low[node], tree.high[node] + 1)
                moving[inside] = target[inside] = node
                reset[inside] = True
        return reset


def _losses(tree: ValueTree, impurity: Impurity) -> Floats:
    """The information that each label loses of its children."""
    losses = np.zeros(len(tree))
    for node, children in enumerate(tree.children):
        parts = [(int(tree.low[child]), int(tree.high[child])) for child in children]
        losses[node] = impurity.gain(int(tree.low[node]), int(tree.high[node]), parts) if parts else 0.0
    return losses
