"""What if: every full-domain node, several k and algorithms side by side."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.full_domain._lattice import Lattice
from shoal.algorithms.full_domain.exhaustive import walked
from shoal.encoding.types import Progress, silent
from shoal.engines.memory.source import Source, open_table
from shoal.engines.memory.write import write_bytes
from shoal.engines.treatments import treated
from shoal.errors import Infeasible, Misfit, WriteError
from shoal.hierarchies.suppress import Suppress
from shoal.models.k_anonymity import KAnonymity
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.check import check
from shoal.pipeline.encode import encode
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
    source = treated(open_table(table), policy)
    misfits = [fault for fault in check(source, policy) if fault.kind == "fault"]
    if misfits:
        raise Misfit(misfits)
    encoded = encode(source.frame, policy, source.times)
    problem = encoded.problem(policy.replace(max_suppressed=1.0), progress)
    losses = [
        policy.loss,
        *(cast("Metric", find("utility", n)()) for n in names("utility") if n != policy.loss.key()),
    ]
    allowed = policy.may_suppress(source.frame.height) - encoded.forced_suppression
    space, distortions = Lattice(problem), _distortions(problem, policy)
    rows: list[dict[str, Any]] = []
    for looked in walked(space):
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
    """Return each node's losses by name."""
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


def compare(
    table: object,
    policy: Policy,
    values: Sequence[int],
    algorithms: Sequence[str] = (),
    *,
    progress: Progress = silent,
) -> list[dict[str, Any]]:
    """Return for each k and algorithm what a release attains and loses, or why there is none.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> [row["attained"] for row in compare(table, policy, [2, 4], ["mondrian"])]
    [2, 4]
    """
    source = open_table(table)
    chosen = [cast("Algorithm", find("algorithms", name)()) for name in algorithms or names("algorithms")]
    chosen = [one for one in chosen if algorithms or not one.data_independent]  # unasked, only what searches
    rows = []
    for k in values:
        for algorithm in chosen:
            others = [model for model in policy.models if not isinstance(model, KAnonymity)]
            asked = policy.asking([KAnonymity(k=k), *others]).replace(algorithm=algorithm)
            asked = asked.replace(identifiers=list(policy.identifiers))  # nothing is released: no key is needed
            rows.append({"algorithm": algorithm.key(), "k": k, **_trial(source, asked, progress)})
    return rows


def _trial(source: Source, policy: Policy, progress: Progress) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        release = anonymize(source, policy, progress=progress)
    except Infeasible as error:
        return {"attained": None, "infeasible": str(error.faults[0])}
    seconds = round(time.perf_counter() - started, 4)
    losses = {name: measured.total for name, measured in release.audit.utility.items()}
    audit = release.audit
    return {
        "attained": release.attained["k-anonymity"],
        "suppressed": audit.suppressed,
        "classes": audit.classes,
        **losses,
        "bound": audit.claimed_bound,
        "seconds": seconds,
    }


def write_rows(rows: Sequence[Mapping[str, Any]], folder: Path, name: str) -> None:
    """Write rows as CSV and as JSON into a folder."""
    text = io.StringIO()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError("cannot make the folder", where=str(folder), got=error.strerror or str(error)) from None
    _write(folder / f"{name}.csv", text.getvalue())
    _write(folder / f"{name}.json", json.dumps(list(rows), indent=2, ensure_ascii=False) + "\n")


def _write(path: Path, text: str) -> None:
    try:
        write_bytes(path, text.encode("utf-8"))
    except OSError as error:
        path.unlink(missing_ok=True)
        raise WriteError("cannot write", where=str(path), got=error.strerror or str(error)) from None
