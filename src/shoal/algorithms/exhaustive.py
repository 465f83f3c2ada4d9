"""Exhaustive: look at every full-domain recoding and take the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms._lattice import Lattice, Node
from shoal.algorithms.base import Algorithm, Problem
from shoal.errors import Infeasible
from shoal.recodings.full_domain import FullDomain
from shoal.utility.base import Metric


@dataclass(frozen=True)
class Visit:
    """What a node of the lattice turned out to be."""

    node: Node
    suppressed: int
    """Records in classes that do not comply."""
    attained: dict[str, Any]
    """What each model attains at the node as it is, nothing suppressed."""
    losses: dict[str, float]
    """The losses once the classes that do not comply are suppressed."""


class Exhaustive(Algorithm):
    """Look at every full-domain recoding and take the one that loses least.

    Records in classes that do not comply are suppressed, up to the policy's ``max_suppressed``. The answer is
    the optimum of its kind, proven by having seen all the others; ties go to the lower, then the first node.

    Why it is safe: a node is taken only after every model was checked on every class that stays.

    Cost: one roll-up per node; each node is counted from the classes of a node below it, not from the table.

    References
    ----------
    Samarati, P. (2001). Protecting respondents' identities in microdata release. IEEE TKDE 13(6).
    Sweeney, L. (2002). Achieving k-anonymity privacy protection using generalization and suppression. IJUFKS 10(5).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("hospital")
    >>> shoal.anonymize(table, policy.replace(algorithm=Exhaustive())).attained
    {'k-anonymity': 2}
    """

    needs_hierarchies: ClassVar[bool] = True

    def search(self, problem: Problem) -> FullDomain:
        """Walk the lattice and keep the best node that suppresses few enough records."""
        monotone = all(model.monotone for model in problem.models)
        if monotone and not problem.max_suppressed and not problem.holds(problem.together()).all():
            raise problem.infeasible()  # a union of classes that comply would comply
        best: tuple[float, int, tuple[int, ...]] | None = None
        chosen: Node | None = None
        for visit in visits(problem, [problem.loss]):
            if visit.suppressed > problem.max_suppressed:
                continue
            rank = (visit.losses[problem.loss.key()], sum(visit.node.levels), visit.node.levels)
            if best is None or rank < best:
                best, chosen = rank, visit.node
        if chosen is None:
            raise _no_node(problem)
        return recoding_at(problem, chosen)


def visits(problem: Problem, losses: Sequence[Metric], *, measure: bool = False) -> Iterator[Visit]:
    """Yield every node of the lattice with what it costs; ``measure`` adds what each model attains there."""
    lattice = Lattice(problem)
    for number, node in enumerate(lattice.walk(), start=1):
        classes = node.classes(problem)
        fits = problem.holds(classes)
        outcome = node.outcome(problem, classes, fits)
        attained = {
            model.key(): model.measure(classes, problem.sensitive) for model in (problem.models if measure else ())
        }
        totals = {loss.key(): loss.measure(outcome).total for loss in losses}
        problem.progress("walking the lattice", number, len(lattice))
        yield Visit(node, outcome.suppressed, attained, totals)


def recoding_at(problem: Problem, node: Node) -> FullDomain:
    """Return the recoding of a node, its classes that do not comply suppressed."""
    fits = problem.holds(node.classes(problem))
    levels = {column.name: level for column, level in zip(problem.columns, node.levels, strict=True)}
    suppressed = ~fits[node.members] if len(fits) else np.zeros(0, bool)
    beyond = node.beyond(problem)
    return FullDomain(levels, suppressed if beyond is None else suppressed | beyond)


def _no_node(problem: Problem) -> Infeasible:
    if not problem.holds(problem.together()).all():
        return problem.infeasible()
    fixed = [column.name for column in problem.columns if column.max_level == 0]
    bounded = [column.name for column in problem.columns if column.limits is not None]
    reason = f"no full-domain recoding keeps the models with at most {problem.max_suppressed} records suppressed"
    if fixed:
        reason += f"; columns without a hierarchy can only be published as they are ({', '.join(fixed)})"
    if bounded:
        reason += f"; boundaries hold back {', '.join(bounded)}"
    return Infeasible(reason, blocking=[*fixed, *bounded])
