"""Several k and algorithms side by side: what each attains, loses and needs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

from shoal.algorithms.base import Algorithm
from shoal.encoding.types import Progress, silent
from shoal.engines.memory.source import MemoryTable, open_in_memory
from shoal.errors import Infeasible
from shoal.explore.policies import warm_up
from shoal.models.k_anonymity import KAnonymity
from shoal.pipeline.anonymize import anonymize
from shoal.policy import Policy
from shoal.registry import find, names


def compare(
    table: object,
    policy: Policy,
    values: Sequence[int],
    algorithms: Sequence[str] = (),
    *,
    with_risk: bool = False,
    progress: Progress = silent,
) -> list[dict[str, Any]]:
    """Return for each k and algorithm what a release attains and loses, or why there is none.

    ``with_risk``: also the prosecutor's risks, by name.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> [row["attained"] for row in compare(table, policy, [2, 4], ["mondrian"])]
    [2, 4]
    """
    policy.require_quasi_identifiers("algorithms are compared by how they generalize them")
    source = open_in_memory(table)
    warmed: set[str] = set()
    chosen = [cast("Algorithm", find("algorithms", name)()) for name in algorithms or names("algorithms")]
    chosen = [one for one in chosen if algorithms or _suits(one, policy)]
    rows = []
    for k in values:
        for algorithm in chosen:
            others = [model for model in policy.models if model.only_asks != "records"]
            trial = policy.asking([KAnonymity(k=k), *others]).replace(algorithm=algorithm)
            trial = trial.replace(identifiers=list(policy.identifiers))  # nothing is released: no key is needed
            if algorithm.key() not in warmed:  # seconds are those of the search, not of compiling it
                warm_up(source, trial)
                warmed.add(algorithm.key())
            row = {"algorithm": algorithm.key(), "k": k, **_trial(source, trial, progress)}
            rows.append(row if with_risk else {name: value for name, value in row.items() if name != "risk"})
    return _share_bounds(rows)


def _suits(algorithm: Algorithm, policy: Policy) -> bool:
    """Whether it is shown unasked: it searches, by this loss, and these models lead it."""
    return not algorithm.data_independent and algorithm.goes_by(policy.loss) and algorithm.is_led_by(policy.models)


def _share_bounds(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with one bound for each k: each search proves some of it, and the most of it holds of all."""
    proven: dict[int, float] = {}
    for row in rows:
        if row.get("bound") is not None:
            proven[row["k"]] = max(row["bound"], proven.get(row["k"], 0.0))
    return [{**row, "bound": proven.get(row["k"])} if row["attained"] is not None else row for row in rows]


def _trial(source: MemoryTable, policy: Policy, progress: Progress) -> dict[str, Any]:
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
        "risk": dict(audit.risk["prosecutor"]),
        **losses,
        "bound": audit.claimed_bound,
        "seconds": seconds,
    }
