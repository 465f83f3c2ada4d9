"""The full-domain optimum on Adult with ARX's hierarchies, checked against optima found by brute force.

ARX's seconds are recorded figures (ARX 3.9.2, Java 17, warm, CPU seconds of a search for the same k and limit
by its granularity loss, on 2 loaded cores), not measured here. ARX prunes, Exhaustive does not; our seconds are
those of the whole anonymize(), its audit included.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping

import polars as pl

import shoal
from benchmarks.results import SHARED, Result, timed
from shoal.policy import Policy
from shoal.release import Release

NAME = "exhaustive_adult"
_FOLDER = SHARED / "arx-adult"
_K = 5
_ARX_CPU = {"0": (0.04, 0.04), "0.05": (1.0, 1.2), "1.0": (3.2, 3.6)}
_TOLERANCE = 1e-12


def run() -> Iterator[Result]:
    """Yield the time of each suppression limit and whether the optimum is the known one."""
    if not _FOLDER.exists():
        yield Result(NAME, "skipped", None, note="needs ../shared/data/arx-adult, which is not here")
        return
    table = pl.read_csv(_FOLDER / "adult.csv", separator=";", infer_schema_length=None)
    for row in _known_optima():
        limit = row["suppression_limit"]
        policy = _policy(table.columns, float(limit))
        ours, release = timed(lambda policy=policy: shoal.anonymize(table, policy), 1)
        low, high = _ARX_CPU[limit]
        yield Result(
            NAME,
            f"optimum, k={_K}, limit {float(limit):.0%}, CPU",
            ours.cpu,
            peer="ARX 3.9.2 (recorded)",
            theirs=(low + high) / 2,
            note=f"{_agreement(release, row)}; wall {ours.wall:.2f} s",
        )


def _known_optima() -> list[dict[str, str]]:
    with (_FOLDER / "full-domain-optima.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    asked = ("q9", str(_K), "gcp")
    return [row for row in rows if (row["qi_set"], row["k"], row["objective"]) == asked]


def _policy(columns: list[str], limit: float) -> Policy:
    return Policy(
        quasi_identifiers={
            name: {
                "hierarchy": "tree",
                "file": str(_FOLDER / f"adult_hierarchy_{name}.csv"),
                "domain": "hierarchy",
            }
            for name in columns
        },
        models=[{"name": "k-anonymity", "k": _K}],
        algorithm={"name": "exhaustive"},
        max_suppressed=limit,
    )


def _agreement(release: Release, known: Mapping[str, str]) -> str:
    """Say whether value (as the audit counts it), levels and suppressed records are the known ones."""
    audit = release.audit
    value = audit.utility["certainty-penalty"].total
    levels = "|".join(str(level) for level in release.recoding.to_dict()["levels"].values())
    differences = []
    if abs(value - float(known["best_value"])) > _TOLERANCE:
        differences.append(f"loss {value!r}, known {known['best_value']}")
    if levels != known["levels"]:
        differences.append(f"levels {levels}, known {known['levels']}")
    if audit.suppressed != int(known["suppressed"]):
        differences.append(f"suppressed {audit.suppressed}, known {known['suppressed']}")
    if differences:
        return "DISAGREES: " + "; ".join(differences)
    return f"agrees: loss {value:.6f}, levels {levels}, {audit.suppressed:,} suppressed"
