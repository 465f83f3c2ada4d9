"""compare_policies(): what each policy promises, loses and risks with one table; which is better where."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import fsum
from typing import Any

import polars as pl

from shoal.auditing import Fidelity
from shoal.auditing.outputs import drop_added
from shoal.encoding.types import Progress, silent
from shoal.engines.counted import COUNTS, CountedTable
from shoal.engines.keys import TRIAL_KEY
from shoal.engines.memory.source import MemoryTable, open_in_memory
from shoal.errors import Infeasible, Misfit, ShoalError
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.release import Release
from shoal.policy import Policy

_WARMING = 200
"""So many records are released first, so that no seconds are those of compiling."""
MEASURES = {
    "loss": "what is lost of all columns that some policy generalizes, on average (not published: 1, as it is: 0)",
    "suppressed": "the share of records that show nothing",
    "highest risk": "the highest risk of a record to be found by who knows every column that some policy generalizes",
    "average risk": "the average of it",
    "error of counts": "the median relative error of counts asked of the release",
    "distance": "the largest distance between distributions before and after, over pairs of quasi-identifiers",
}
"""Measure → what it says; the less the better."""


def compare_policies(table: object, policies: Mapping[str, Policy], *, progress: Progress = silent) -> dict[str, Any]:
    """Return for each policy what its release attains, loses and risks, or why there is none; and who is best where.

    Nothing is released: pseudonyms and shifts of dates are tried with a key that everybody knows. A policy that
    promises less loses less: read what is promised first.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> found = compare_policies(table, {"as it is": policy, "k = 4": policy.asking([shoal.models.KAnonymity(k=4)])})
    >>> found["best"]["loss"], [one["models"][0]["attained"] for one in found["policies"]]
    (['as it is'], [2, 4])
    """
    source = open_in_memory(table)
    trials = {name: _try(source, policy, progress) for name, policy in policies.items()}
    columns = _list_generalized(source, policies)
    told = [_describe(name, policies[name], trial, columns) for name, trial in trials.items()]
    return {"records": source.table.records, "policies": told, "best": _find_best(told), "measures": MEASURES}


def _try(source: MemoryTable, policy: Policy, progress: Progress) -> tuple[Release, float] | Infeasible | Misfit:
    warm_up(source, policy)
    started = time.perf_counter()
    try:
        release = anonymize(source, policy, progress=progress, key=TRIAL_KEY)
    except (Infeasible, Misfit) as error:
        return error
    return release, round(time.perf_counter() - started, 4)


def warm_up(source: MemoryTable, policy: Policy) -> None:
    """Release the first records of a table, so that all that is compiled once is compiled."""
    few = CountedTable(source.frame.head(_WARMING)) if not source.table.is_counted else source.table
    with suppress(ShoalError):
        anonymize(MemoryTable(table=few), policy, key=TRIAL_KEY, progress=silent)


def _list_generalized(source: MemoryTable, policies: Mapping[str, Policy]) -> list[str]:
    some = {name for policy in policies.values() for name in policy.quasi_identifiers}
    return [name for name in source.columns if name in some]


def _describe(
    name: str, policy: Policy, trial: tuple[Release, float] | Infeasible | Misfit, columns: Sequence[str]
) -> dict[str, Any]:
    promised = [{"name": model.key(), "asked": model.asked} for model in policy.models]
    perturbed = [f"{one.key()} of {', '.join(one.columns)}" for one in policy.perturb]
    if not isinstance(trial, tuple):
        return {
            "name": name,
            "released": False,
            "why": str(trial.faults[0]),
            "models": promised,
            "perturbed": perturbed,
        }
    release, seconds = trial
    audit, lost = release.audit, {column: _lost(release, column) for column in columns}
    statistics = _compare(release)
    risks, counts = _find_risks(release, columns), statistics.get("queries") or {}
    measures = {
        "loss": sum(lost.values()) / len(lost) if lost else None,
        "suppressed": release.suppressed,
        "highest risk": max(risks, default=None),
        "average risk": fsum(risks) / len(risks) if risks else None,
        "error of counts": counts.get("median_relative_error"),
        "distance": (statistics.get("joint") or {}).get("largest"),
    }
    return {
        "name": name,
        "released": True,
        "models": [entry.to_dict() for entry in audit.models],
        "perturbed": perturbed,
        "classes": audit.classes,
        "measures": measures,
        "columns": lost,
        "distances": {column: _distance(found) for column, found in statistics.get("columns", {}).items()},
        "bound": audit.claimed_bound,
        "seconds": seconds,
    }


def _lost(release: Release, column: str) -> float:
    """Return what is lost of a column, from 0 (as it is) to 1 (not published)."""
    if column in release.audit.columns:
        return float(release.audit.columns[column]["certainty-penalty"])
    return 0.0 if column in release.values.frame.columns else 1.0


def _find_risks(release: Release, columns: Sequence[str]) -> list[float]:
    """Return the risk of each published record: one among so many who look alike in all columns that are compared.

    Not in the quasi-identifiers of its own policy alone: one that names fewer would look safer, for the same attacker.
    """
    table, people = release.values, release.subjects
    shown = [table.frame[name].alias(f"c{i}") for i, name in enumerate(columns) if name in table.frame.columns]
    who = [] if people is None else [people.alias("person")]
    counted = pl.DataFrame([*shown, *who, pl.Series(COUNTS, table.record_counts)])
    size = pl.col(COUNTS).sum() if people is None else pl.col("person").n_unique()
    keys = [column.name for column in shown]
    sizes = counted.group_by(keys).agg(size.alias("size"), pl.col(COUNTS).sum()) if keys else None
    if sizes is None:
        return []
    return [1 / size for size, records in sizes.select("size", COUNTS).iter_rows() for _ in range(records)]


def _compare(release: Release) -> dict[str, Any]:
    if not release.policy.output.generalizes:
        return {}
    table = drop_added(release.values, release.policy)
    return Fidelity().compare(table, release.prepared.original)


def _distance(found: Mapping[str, Any]) -> float | None:
    if "total_variation" in found:
        return float(found["total_variation"])
    largest = (found.get("distance") or {}).get("largest")
    return None if largest is None else float(largest)


def _find_best(told: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return measure → the policies with the least of it."""
    best: dict[str, list[str]] = {}
    for measure in MEASURES:
        known = {one["name"]: one["measures"][measure] for one in told if one["released"]}
        values = {name: value for name, value in known.items() if value is not None}
        if values:
            best[measure] = [name for name, value in values.items() if value <= min(values.values()) + 1e-12]
    return best
