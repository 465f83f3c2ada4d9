"""What a lattice of recodings tells: which nodes comply, the optimum, the trade between k and loss."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

WHOLE, CUT, SHORT = "whole", "cut", "short"
"""Kinds of nodes: complies with nothing suppressed, complies with the allowed suppression, does not comply."""
KINDS = {
    WHOLE: "complies, nothing suppressed",
    CUT: "complies with the allowed suppression",
    SHORT: "does not comply",
}


@dataclass(frozen=True, kw_only=True)
class Point:
    """A node of the lattice, as it is drawn."""

    levels: tuple[int, ...]
    k: int
    """What the node attains with nothing suppressed."""
    loss: float
    """Its loss with nothing suppressed, where that is known: see :func:`read_points`."""
    released: float
    """Its loss once the classes that break a model are suppressed: what a search compares."""
    suppressed: int
    """Records in classes that break a model."""
    allowed: int
    exact: bool
    """Whether ``loss`` is that of the node with nothing suppressed, and so belongs to its ``k``."""

    @property
    def height(self) -> int:
        """How many steps the node lies above the bottom."""
        return sum(self.levels)

    @property
    def kind(self) -> str:
        """Whether and how it complies."""
        return SHORT if self.suppressed > self.allowed else CUT if self.suppressed else WHOLE

    @property
    def label(self) -> str:
        """Its levels, as they are written in papers."""
        return f"⟨{','.join(map(str, self.levels))}⟩"


def read_points(nodes: Iterable[Mapping[str, Any]], loss: str) -> list[Point]:
    """Read the nodes that :func:`shoal.explore.lattice.lattice` returns; no other function knows their keys.

    ``levels``, ``k``, ``suppressed`` and ``allowed`` are taken as they are. ``losses`` count the records of classes
    that break a model as suppressed, so such a loss does not belong to ``k``, which counts nothing as suppressed. The
    loss beside ``k`` is therefore that of ``unsuppressed`` (name → value, nothing suppressed) where a node has it.
    Without it ``losses`` stands in, which is the same number wherever nothing is suppressed; ``exact`` tells.

    Examples
    --------
    >>> node = {"levels": {"age": 1}, "k": 1, "suppressed": 2, "allowed": 3, "losses": {"lm": 0.5}}
    >>> [(point.loss, point.exact) for point in read_points([node, {**node, "unsuppressed": {"lm": 0.25}}], "lm")]
    [(0.5, False), (0.25, True)]
    """
    return [
        Point(
            levels=tuple(node["levels"].values()),
            k=node["k"],
            loss=float(node.get("unsuppressed", node["losses"])[loss]),
            released=float(node["losses"][loss]),
            suppressed=node["suppressed"],
            allowed=node["allowed"],
            exact="unsuppressed" in node or not node["suppressed"],
        )
        for node in nodes
    ]


def pareto_front(points: Iterable[Point]) -> list[Point]:
    """Return the Pareto front, the least k first: each attains more than every node that loses no more.

    Of nodes that are equal in both, the lower one is taken, then the first.

    Examples
    --------
    >>> pairs = [(1, 0.0), (1, 0.5), (4, 1.0)]
    >>> nodes = [
    ...     {"levels": {"age": level}, "k": k, "suppressed": 0, "allowed": 0, "losses": {"lm": loss}}
    ...     for level, (k, loss) in enumerate(pairs)
    ... ]
    >>> [point.label for point in pareto_front(read_points(nodes, "lm"))]
    ['⟨0⟩', '⟨2⟩']
    """
    kept: list[Point] = []
    known = (point for point in points if math.isfinite(point.loss))
    for point in sorted(known, key=lambda point: (-point.k, point.loss, point.height, point.levels)):
        if not kept or point.loss < kept[-1].loss:
            kept.append(point)
    return kept[::-1]


def find_optimum(points: Iterable[Point]) -> Point | None:
    """Return the node that complies and loses least; ties go to the lower, then the first, as in Exhaustive.

    Examples
    --------
    >>> low = {"levels": {"age": 0}, "k": 1, "suppressed": 9, "allowed": 3, "losses": {"lm": 0.2}}
    >>> high = {"levels": {"age": 1}, "k": 4, "suppressed": 0, "allowed": 3, "losses": {"lm": 0.5}}
    >>> find_optimum(read_points([low, high], "lm")).label
    '⟨1⟩'
    """
    fit = (point for point in points if point.kind != SHORT)
    return min(fit, key=lambda point: (_rank_loss(point.released), point.height, point.levels), default=None)


def _rank_loss(loss: float) -> float:
    return math.inf if math.isnan(loss) else loss


@dataclass(frozen=True)
class Space:
    """A lattice: its columns, the loss by which it is judged, the asked k and every node."""

    columns: tuple[str, ...]
    loss: str
    asked: int | None
    points: tuple[Point, ...]

    @classmethod
    def of(cls, nodes: Sequence[Mapping[str, Any]], asked: int | None = None) -> Space:
        """Read nodes; the first of their losses is the policy's, and the one that is drawn."""
        if not nodes:
            return cls((), "", asked, ())
        loss = next(iter(nodes[0]["losses"]))
        return cls(tuple(nodes[0]["levels"]), loss, asked, tuple(read_points(nodes, loss)))

    @cached_property
    def best(self) -> Point | None:
        """The optimum, if any node complies."""
        return find_optimum(self.points)

    @cached_property
    def front(self) -> tuple[Point, ...]:
        """The Pareto front of k and loss."""
        return tuple(pareto_front(self.points))

    @cached_property
    def inexact(self) -> int:
        """How many nodes have a loss that counts records as suppressed, which k does not."""
        return sum(not point.exact for point in self.points)

    @property
    def is_exact_above(self) -> bool:
        """Whether the front is exact from the asked k on: nodes below it cannot change it there."""
        return self.asked is not None and all(point.exact for point in self.points if point.k >= self.asked)

    @cached_property
    def widest(self) -> int:
        """How many nodes the height with the most of them has."""
        return max((len(row) for row in self.rows().values()), default=0)

    def counts(self) -> dict[str, int]:
        """Return how many nodes are of each kind."""
        by_kind = dict.fromkeys(KINDS, 0)
        for point in self.points:
            by_kind[point.kind] += 1
        return by_kind

    def rows(self) -> dict[int, list[Point]]:
        """Return the nodes of each height, the bottom first and the first column's levels from left to right."""
        by_height: dict[int, list[Point]] = {}
        for point in sorted(self.points, key=lambda point: (point.height, tuple(-level for level in point.levels))):
            by_height.setdefault(point.height, []).append(point)
        return by_height

    def around(self, point: Point) -> list[Point]:
        """Return a node, its direct predecessors and its direct successors."""
        return [
            other
            for other in self.points
            if other == point or is_direct_successor(other, point) or is_direct_successor(point, other)
        ]

    @property
    def enough(self) -> tuple[Point, ...]:
        """The nodes of the front that attain the asked k, the least loss first."""
        return tuple(point for point in self.front if self.asked is None or point.k >= self.asked)


def is_direct_successor(low: Point, high: Point) -> bool:
    """Whether one node is a direct successor of another: one column is one level higher."""
    steps = [b - a for a, b in zip(low.levels, high.levels, strict=True) if a != b]
    return steps == [1]
