"""Spanning tree: span the records by a minimum spanning tree, remove its longest edges, mend what is too small."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from shoal.algorithms.base import Problem
from shoal.algorithms.clustering.local_search import LocalSearch
from shoal.encoding.types import Bools, Codes, Floats, Ints
from shoal.frequencies.frequencies import Classes
from shoal.recodings.base import Column, Form
from shoal.recodings.forms import weigh_class
from shoal.recodings.local import Local

_STEPS = 4096
"""Tuples that join the tree between two words about the progress."""


class SpanningTree(LocalSearch):
    """Span the records by a minimum spanning tree, remove its longest edges, and mend classes that are too small.

    Two records are as far apart as the effort that both make to look alike: the levels that their values climb
    to the closest common label, over the height of the hierarchy (1 where there is none), or the share of the
    range between two numbers; times the weight of the column, summed over the columns. Of the minimum spanning
    tree over all records the ⌊n / k⌋ - 1 longest edges are removed; the parts are the classes. Each class that
    breaks a model then joins the class with which it loses least, until every class satisfies every model.

    ``removal: longest`` is the paper's rule. It cuts off single records that lie far out and leaves long chains
    behind, which are large classes; ``removal: allowable`` removes an edge only where both sides keep k records: on
    the Adult table it loses a quarter to 70 % less for k of 5 and more. Where the paper minimizes the penalty of the
    joined class (``joining: penalty``), the default is the increase of the table's loss.

    Records of one tuple are at distance 0 and stay together. No edge crosses a boundary, and no class joins one
    across; records that cannot be helped within their boundaries are suppressed.

    Why it is safe: classes join until every model holds on every class, as counted on the classes themselves;
    the tree only decides who is near whom. If all records together do not satisfy the models, nothing can, and
    the search says so.

    Cost: distances are worked out when they are needed (Prim), so U distinct tuples take U² steps and memory for
    U. More tuples than ``block`` are first cut into blocks, each halved along its widest column as Mondrian does;
    each block is spanned on its own, the longest edges of all trees are removed together, and classes look for
    others in their block first. Joining scans the C classes for each that breaks a model: at most C² steps a round.

    References
    ----------
    Ramana, K. V. and Kumari, V. V. (2013). Graph based local recoding for data anonymization. International
    Journal of Database Management Systems 5(4).
    Laszlo, M. and Mukherjee, S. (2005). Minimum spanning tree partitioning algorithm for microaggregation. IEEE
    Transactions on Knowledge and Data Engineering 17(7): allowable removal.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.anonymize(table, policy.replace(algorithm=SpanningTree())).attained
    {'k-anonymity': 2}
    """

    removal: Literal["longest", "allowable"] = "longest"
    """Remove the ⌊n / k⌋ - 1 longest edges, or the longest ones that leave k records on both sides."""
    joining: Literal["increase", "penalty"] = "increase"
    """Join the class with the least increase of the loss, or with the least penalty of the joined class."""
    block: Annotated[int, Field(ge=1, strict=True)] = 40_000
    """The most distinct tuples that one tree spans."""

    def form_classes(self, problem: Problem) -> Local:
        """Span, remove, and join until every class satisfies every model."""
        forest = span_forest(problem, self.block)
        classes = forest.without(self.choose_edges(problem, forest))
        members = join_small_classes(problem, classes, forest.blocks, by_increase=self.joining == "increase")
        return Local(members[problem.frequencies.cell_tuples])

    def choose_edges(self, problem: Problem, forest: Forest) -> Bools:
        """Return which edges are removed."""
        least, queue = problem.least_records, forest.queue()
        removed = np.zeros(len(forest.parents), bool)
        if self.removal == "allowable":
            from shoal.kernels.spanning import remove_allowable

            remove_allowable(forest.parents, queue, problem.frequencies.counts[forest.tuples], least, removed)
        else:
            removed[queue[: max(problem.frequencies.records // least - forest.trees, 0)]] = True
        return removed


@dataclass(frozen=True)
class Forest:
    """The minimum spanning tree of each block, as nodes in the order in which they joined it."""

    tuples: Ints
    """The tuple of each node."""
    parents: Ints
    """The node that the edge of each node leads to, an earlier one; -1 for the root of a tree."""
    lengths: Floats
    """The hierarchical distance between a node and its parent."""
    blocks: Ints
    """The block of each tuple."""

    @property
    def trees(self) -> int:
        """How many trees there are: one per block, more where no way leads on within the boundaries."""
        return int((self.parents < 0).sum())

    def queue(self) -> Ints:
        """Return the edges, each by its later node, the longest first (the paper's priority queue)."""
        edges = np.flatnonzero(self.parents >= 0)
        return edges[np.argsort(-self.lengths[edges], kind="stable")]

    def without(self, removed: Bools) -> Ints:
        """Return the class of each tuple once edges are removed; the classes of a block are neighbours."""
        nodes = np.arange(len(self.parents))
        root = np.where(removed | (self.parents < 0), nodes, self.parents)
        while not np.array_equal(higher := root[root], root):
            root = higher
        result = np.empty(len(nodes), np.int64)
        result[self.tuples] = np.unique(root, return_inverse=True)[1]  # nodes are in the order of blocks
        return result


def weigh_by_effort(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Return the columns with another loss: the effort of two values to look alike, their hierarchical distance.

    The effort of a value is its way up to what both share (eq. 1): the levels it climbs over the height of the tree
    as it is used, or the share of the range between the two. Both values make it (eq. 3).
    """
    return tuple(_weigh_by_effort(column) for column in columns)


def _weigh_by_effort(column: Column) -> Column:
    levels = column.levels
    used = int(levels.joins[: max(len(levels.domain) - 1, 0)].max(initial=1))
    generalization_height = np.minimum(np.arange(levels.height + 1) / used, 1.0)
    efforts = replace(levels, penalties=np.repeat(generalization_height[:, None], levels.size, axis=1))
    form: Form = "ranges" if column.form == "ranges" else "labels"
    return replace(column, levels=efforts, form=form, weight=2.0 * column.weight)


def span_forest(problem: Problem, block: int) -> Forest:
    """Span the tuples of each block by a tree of least total length."""
    from shoal.algorithms.clustering.costs import Slots
    from shoal.kernels.spanning import span

    tuples, slots = problem.frequencies.tuples, Slots.of(weigh_by_effort(problem.columns))
    lows, highs, starts = slots.positions()
    places_of = np.stack([tuples[:, slot.place] for slot in slots.slots]) + starts[:-1, None]
    most = 2.0 * float(problem.weights.sum())
    blocks = cut_tuples(problem.columns, tuples, block)
    numbers = np.empty(len(tuples), np.int64)
    parents = np.full(len(tuples), -1, np.int64)
    lengths = np.full(len(tuples), np.inf)
    spanned = 0
    for number, inside in enumerate(blocks):
        numbers[inside] = number
        indices = np.ascontiguousarray(places_of[:, inside], np.int32)
        here = slice(spanned, spanned + len(inside))
        for begin in range(0, len(inside), _STEPS):
            problem.progress("spanning", spanned + begin, len(tuples))
            end = min(begin + _STEPS, len(inside))
            span(slots.costs, lows, highs, starts, most, indices, inside, parents[here], lengths[here], begin, end)
        spanned += len(inside)
    joined = np.concatenate(blocks)
    node = np.empty(len(tuples), np.int64)
    node[joined] = np.arange(len(tuples))
    return Forest(joined, np.where(parents < 0, -1, node[parents]), lengths, numbers)


def cut_tuples(columns: tuple[Column, ...], tuples: Codes, most: int) -> list[Ints]:
    """Cut the tuples into blocks: the widest column of a block is cut between two values, or halved."""
    waiting, done = [np.arange(len(tuples), dtype=np.int64)], []
    while waiting:
        block = waiting.pop()
        if len(block) <= most:
            done.append(block)
            continue
        codes = tuples[block]
        widths = [_width(column, codes[:, index]) for index, column in enumerate(columns)]
        chosen = codes[:, int(np.argmax(widths))]
        rank = np.argsort(chosen, kind="stable")
        changes = np.flatnonzero(np.diff(chosen[rank])) + 1
        cut = int(changes[np.abs(changes - len(block) // 2).argmin()])
        if min(cut, len(block) - cut) < len(block) // 8:  # one value has almost all: it may lie in both halves
            cut = len(block) // 2
        waiting += [np.sort(block[rank[cut:]]), np.sort(block[rank[:cut]])]
    return done


def _width(column: Column, codes: Codes) -> float:
    """The weighted certainty penalty of a block; negative where there is one value only."""
    values = np.unique(codes)
    return weigh_class(column, values) if len(values) > 1 else -1.0


def join_small_classes(problem: Problem, classes: Ints, blocks: Ints, *, by_increase: bool) -> Ints:
    """Join the classes that break a model to others, of their block while there are, then of any.

    Returns the class of each tuple; -1 where no class within the boundaries satisfies the models.
    """
    from shoal.algorithms.clustering.costs import Points
    from shoal.kernels.spanning import join_classes

    frequencies = problem.frequencies
    points, most = Points.of(problem.columns, frequencies.tuples), float(problem.weights.sum())
    for blocks_seen in (blocks, np.zeros_like(blocks)):
        alone = np.zeros(int(classes.max(initial=-1)) + 1, bool)
        while True:
            counted = Classes.of(frequencies, classes[frequencies.cell_tuples], len(alone))
            poor = ~problem.holds(counted) & ~alone
            if not poor.any():
                break
            problem.progress("joining classes", int((~poor).sum()), len(poor))
            block = blocks_seen[np.unique(classes, return_index=True)[1]]
            reach = [np.searchsorted(block, block, side).astype(np.int64) for side in ("left", "right")]
            into, stays = np.empty(len(poor), np.int64), np.empty(len(poor), bool)
            boxes = points.boxes(frequencies.counts, classes, len(poor))
            join_classes(points.costs, boxes, poor, *reach, problem.least_records, most, by_increase, into, stays)
            kept = into == np.arange(len(into))
            alone = (alone | stays)[kept]
            classes = (np.cumsum(kept) - 1)[into[classes]]
    numbers = np.where(alone, -1, np.cumsum(~alone) - 1)
    return numbers[classes]
