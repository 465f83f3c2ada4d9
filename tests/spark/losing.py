"""A run on a small cluster of which an executor is killed in the middle; prints what was released."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import SparkSession

import shoal
from tests.spark.conftest import adult, adult_policy, there


def executors() -> list[int]:
    """Return the executors that descend from this process."""
    found, parents = [], {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if b"CoarseGrainedExecutorBackend" in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return sorted(pid for pid in found if _descends(pid, parents))


def _descends(pid: int, parents: dict[int, int]) -> bool:
    while pid > 1:
        pid = parents.get(pid, 0)
        if pid == os.getpid():
            return True
    return False


def fingerprint(table: Any) -> str:
    frame = pl.from_arrow(table.toArrow())
    assert isinstance(frame, pl.DataFrame)
    return hashlib.sha256(frame.write_csv().encode()).hexdigest()


def main(step: str) -> None:
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "768m")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.log.level", "FATAL")
        .getOrCreate()
    )
    killed: list[int] = []

    def watch(what: str, done: int, total: int) -> None:
        if step in what and done and not killed:
            killed.append(executors()[0])
            os.kill(killed[0], signal.SIGKILL)

    release = shoal.anonymize(there(spark, adult(400), 4), adult_policy("mondrian"), fits=50, block=150, progress=watch)
    print("killed", len(killed), "released", fingerprint(release.table), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
