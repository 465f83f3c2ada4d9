"""The processes that first_try measures: a draft from a table, and a release by that draft; each process does one."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import shoal

RECORDS, COLUMNS = 6_000, 60


def make_visits(records: int) -> pl.DataFrame:
    """Return visits of a clinic, about four of each patient, in twelve columns."""
    draw = np.random.default_rng(18)
    patients = records // 4
    patient = draw.integers(0, patients, records)
    born = draw.integers(-14_000, 13_000, patients).astype("datetime64[D]")
    places = 10_000 + draw.integers(0, 900, patients) * 7
    return pl.DataFrame(
        {
            "Fallnummer": patient + 1_000_000,
            "visit": np.arange(records) + 5_000_000,
            "birth": born[patient],
            "sex": np.array(["f", "m"])[draw.integers(0, 2, patients)][patient],
            "zip": places[patient].astype(str),
            "admitted": (19_000 + draw.integers(0, 1_000, records)).astype("datetime64[D]"),
            "days": draw.geometric(0.2, records),
            "ward": np.array([f"ward {i}" for i in range(14)])[draw.integers(0, 14, records)],
            "diagnosis": np.array([f"{c}{i:02d}" for c in "EIJK" for i in range(40)])[draw.integers(0, 160, records)],
            "insurance": np.array(["public", "private", "none"])[draw.integers(0, 3, patients)][patient],
            "weight": draw.normal(76, 14, records).round(1),
            "cost": draw.lognormal(7, 1, records).round(2),
        }
    )


def make_wide(records: int = RECORDS, columns: int = COLUMNS) -> pl.DataFrame:
    """Return persons with a few facts that others know, and many measurements and flags."""
    draw = np.random.default_rng(19)
    known = {
        "id": np.arange(records) + 70_000,
        "age": draw.integers(18, 95, records),
        "sex": np.array(["f", "m"])[draw.integers(0, 2, records)],
        "zip": (10_000 + draw.integers(0, 90, records) * 11).astype(str),
        "admitted": (19_000 + draw.integers(0, 700, records)).astype("datetime64[D]"),
        "job": np.array([f"job {i}" for i in range(20)])[draw.integers(0, 20, records)],
    }
    measured = {f"lab_{i}": draw.normal(40 + i, 7, records).round(2) for i in range((columns - 6) * 2 // 3)}
    flags = {f"flag_{i}": draw.random(records) < 0.2 for i in range(columns - 6 - len(measured))}
    return pl.DataFrame({**known, **measured, **flags})


def main() -> None:
    """Print the CPU seconds and the memory of one part; ``make`` writes the table that the others read."""
    part, path = sys.argv[1], Path(sys.argv[2])
    if part == "make":
        (make_wide() if path.stem == "wide" else make_visits(int(path.stem))).write_parquet(path)
        return
    before, started = time.process_time(), time.perf_counter()
    draft = shoal.suggest(path)
    drafted = time.process_time() - before
    if part == "release":
        shoal.anonymize(path, draft)
    figures = {
        "suggest": drafted,
        "cpu": time.process_time() - before,
        "wall": time.perf_counter() - started,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
