"""Several k and algorithms side by side: what each attains, loses and needs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

from shoal.algorithms.base import Algorithm
from shoal.encoding.types import Progress, silent
from shoal.engines.memory.source import MemoryTable, open_table
from shoal.errors import Infeasible
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
            others = [model for model in policy.models if model.only_asks != "records"]
            trial = policy.asking([KAnonymity(k=k), *others]).replace(algorithm=algorithm)
            trial = trial.replace(identifiers=list(policy.identifiers))  # nothing is released: no key is needed
            rows.append({"algorithm": algorithm.key(), "k": k, **_trial(source, trial, progress)})
    return rows


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
        **losses,
        "bound": audit.claimed_bound,
        "seconds": seconds,
    }
