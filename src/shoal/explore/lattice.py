"""Every full-domain node: levels, attained k, suppressed records, losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.full_domain.exhaustive import walk_lattice
from shoal.algorithms.lattice.lattice import Lattice
from shoal.encoding.types import Progress, silent
from shoal.engines.memory.source import open_in_memory
from shoal.hierarchies.suppress import Suppress
from shoal.pipeline.encode import encode
from shoal.pipeline.prepare import look_up
from shoal.policy import Policy
from shoal.registry import find, names
from shoal.utility.base import Metric, Outcome


def lattice(table: object, policy: Policy, *, progress: Progress = silent) -> list[dict[str, Any]]:
    """Return every full-domain node: levels, attained k, suppressed records and every loss.

    ``k`` is what the node attains with nothing suppressed; ``suppressed`` are the records in classes that break a
    model, and the losses count them as suppressed; ``unsuppressed`` are the losses with nothing suppressed. The loss of
    the policy comes first. ``distortion`` is the distortion ratio of the table at that node, nothing suppressed.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> max(node["k"] for node in lattice(table, policy))
    1
    """
    policy.require_quasi_identifiers("the lattice is of the levels of quasi-identifiers")
    words = look_up(open_in_memory(table).table, policy)
    encoded = encode(words)
    problem = encoded.problem(policy.replace(max_suppressed=1.0), progress)
    losses = [
        policy.loss,
        *(cast("Metric", find("utility", n)()) for n in names("utility") if n != policy.loss.key()),
    ]
    allowed = policy.may_suppress(words.table.records) - encoded.forced_suppression
    space, distortions = Lattice(problem, every_level=True), _distortions(problem, policy)
    rows: list[dict[str, Any]] = []
    for looked in walk_lattice(space):
        whole = cast("Outcome", looked.outcome.whole)
        columns = {
            "k": looked.smallest.tolist(),
            "suppressed": looked.suppressed.tolist(),
            "losses": _totals(losses, looked.outcome),
            "unsuppressed": _totals(losses, whole),
            "distortion": _distortion_ratios(distortions, looked.nodes).tolist(),
        }
        for levels, *values in zip(looked.nodes.tolist(), *columns.values(), strict=True):
            node = {"levels": {c.name: level for c, level in zip(problem.columns, levels, strict=True)}}
            rows.append({**node, **dict(zip(columns, values, strict=True)), "allowed": allowed})
        progress("walking the lattice", len(rows), space.size)
    return sorted(rows, key=lambda row: tuple(row["levels"].values()))


def _totals(losses: Sequence[Metric], outcome: Outcome) -> list[dict[str, float]]:
    known = {loss.key(): np.asarray(loss.totals(outcome)).tolist() for loss in losses if loss.known(outcome)}
    return [dict(zip(known, values, strict=True)) for values in zip(*known.values(), strict=True)]


def _distortions(problem: Problem, policy: Policy) -> list[np.ndarray[Any, Any]]:
    """Return for each column the mean distortion of its records at each level."""
    shares = problem.frequencies.counts / max(problem.frequencies.records, 1)
    means = []
    for index, column in enumerate(problem.columns):
        hierarchy = policy.quasi_identifiers[column.name].hierarchy or Suppress()
        means.append(hierarchy.distortions(column.levels)[:, problem.frequencies.tuples[:, index]] @ shares)
    return means


def _distortion_ratios(distortions: list[np.ndarray[Any, Any]], nodes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The table's distortion over that of the fully generalized table (Yaseen et al. 2018, Definition 9)."""
    whole = sum(float(mean[-1]) for mean in distortions)
    sums = np.sum([mean[levels] for mean, levels in zip(distortions, nodes.T, strict=True)], axis=0)
    return sums / whole if whole else np.zeros(len(nodes))
