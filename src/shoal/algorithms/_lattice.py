"""The lattice of full-domain recodings: one level per column, walked so that each node rolls up a smaller one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from shoal.algorithms.base import Ints, Problem
from shoal.frequencies import Classes
from shoal.kernels.group import group
from shoal.recodings.base import Column
from shoal.utility.base import Outcome


@dataclass(frozen=True)
class Node:
    """A place in the lattice: the level of each column, and the classes that it makes of the tuples."""

    levels: tuple[int, ...]
    members: Ints
    """The class of each tuple."""
    labels: Ints
    """``labels[column, class]``: the number of the label."""
    examples: Ints
    """One tuple of each class."""

    def classes(self, problem: Problem) -> Classes:
        """Return the classes of the records; records beyond a boundary are in none."""
        beyond = self.beyond(problem)
        members = self.members if beyond is None else np.where(beyond, -1, self.members)
        return Classes.of(problem.frequencies, members[problem.frequencies.cell_tuples], len(self.examples))

    def beyond(self, problem: Problem) -> npt.NDArray[np.bool_] | None:
        """Return which tuples would be shown above a boundary; ``None`` where there are no boundaries."""
        result: npt.NDArray[np.bool_] | None = None
        for place, (column, level) in enumerate(zip(problem.columns, self.levels, strict=True)):
            if column.limits is not None:
                over = column.limits[problem.frequencies.tuples[:, place]] < level
                result = over if result is None else result | over
        return result

    def outcome(self, problem: Problem, classes: Classes, fits: npt.NDArray[np.bool_]) -> Outcome:
        """Return what becomes of the table at this node when the classes that do not fit are suppressed."""
        records = classes.records
        shown = self.examples[fits]
        penalties = np.stack(
            [
                column.levels.penalties[level][problem.frequencies.tuples[shown, place]]
                for place, (column, level) in enumerate(zip(problem.columns, self.levels, strict=True))
            ],
            axis=1,
        )
        suppressed = problem.frequencies.records - int(records[fits].sum())
        return Outcome(
            problem.frequencies.records,
            records[fits],
            penalties,
            tuple(column.name for column in problem.columns),
            problem.weights,
            suppressed,
            0,
            problem.k,
        )


@dataclass(frozen=True)
class Lattice:
    """All full-domain recodings of a problem."""

    problem: Problem

    @property
    def heights(self) -> tuple[int, ...]:
        """The highest allowed level of each column."""
        return tuple(column.max_level for column in self.problem.columns)

    def __len__(self) -> int:
        return prod(height + 1 for height in self.heights)

    def walk(self) -> Iterator[Node]:
        """Yield every node once; each is rolled up from a node one level below it, which has fewer classes."""
        yield from self._climb(self._bottom(), 0)

    def _climb(self, node: Node, first: int) -> Iterator[Node]:
        """Yield a node, then every node above it that raises only columns from ``first`` on."""
        yield node
        for place in range(first, len(self.heights)):
            nested = self.problem.columns[place].levels.nested
            above = node
            for level in range(1, self.heights[place] + 1):
                # where labels of a level do not lie in labels of the next, only the values themselves roll up
                above = self._raise(above if nested else node, place, level)
                yield from self._climb(above, place + 1)

    def _bottom(self) -> Node:
        tuples = self.problem.frequencies.tuples
        everyone = np.arange(len(tuples), dtype=np.int64)
        return Node((0,) * tuples.shape[1], everyone, tuples.T.astype(np.int64), everyone)

    def _raise(self, below: Node, place: int, to: int) -> Node:
        column = self.problem.columns[place]
        levels = (*below.levels[:place], to, *below.levels[place + 1 :])
        labels = below.labels.copy()
        codes = self.problem.frequencies.tuples[below.examples, place]
        labels[place] = column.levels.codes[levels[place]][codes]
        groups, rows = group(list(labels), [_labels(c, level) for c, level in self._at(levels)])
        return Node(levels, groups[below.members], labels[:, rows], below.examples[rows])

    def _at(self, levels: tuple[int, ...]) -> list[tuple[Column, int]]:
        return list(zip(self.problem.columns, levels, strict=True))


def _labels(column: Column, level: int) -> int:
    return len(column.levels.labels[level])
