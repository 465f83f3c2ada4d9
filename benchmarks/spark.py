"""Mondrian on Spark, local[2]: beside the published Spark Mondrian, beside our own engine, and as tables grow.

Every run reads Parquet and writes an audited release as Parquet. The peer is mosaicrown's distributed Mondrian, as it
was measured once on the same kind of machine with the same columns and the same loss (30,162 complete records of Adult,
33 times each for 995,346).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from benchmarks import data
from benchmarks.results import Result
from shoal.policy import Policy

NAME = "spark"
EIGHT = (
    "age",
    "workclass",
    "education-num",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
)
PEER = "mosaicrown, Spark"
PUBLISHED = {(1, 10): (151.0, 80.0, 0.0655), (33, 330): (215.0, 156.0, 0.0655), (33, 10): (831.0, 553.0, 0.0035)}
"""Times that Adult is repeated, and k → wall seconds, CPU seconds and loss of the peer."""
SEARCHES: dict[str, dict[str, Any]] = {"mondrian": {"name": "mondrian"}, "shoal": {"name": "shoal", "effort": 0}}
BAR = 20.0
MILLIONS = (1, 3, 10)


def run() -> Iterator[Result]:
    """Yield records per second and losses beside the peer's, the overhead of Spark, and growth."""
    try:
        from shoal.spark import session

        spark = session("local[2]")
    except shoal.ShoalError as error:
        yield Result(NAME, "records per second", None, "", note=str(error))
        return
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        _prepare(data.complete_adult().head(2_000), here / "warm.parquet")
        _on_spark(spark, here / "warm.parquet", _policy(10), here)  # JVM and kernels warm up
        for times, k in PUBLISHED:
            for search in SEARCHES:
                yield from _beside_the_peer(spark, here, times, k, search)
        yield from _growth(spark, here)
    spark.stop()


def _beside_the_peer(spark: Any, here: Path, times: int, k: int, search: str) -> Iterator[Result]:
    seconds, their_cpu, lost = PUBLISHED[times, k]
    table, policy = pl.concat([data.complete_adult()] * times), _policy(k).replace(algorithm=SEARCHES[search])
    path, before = _prepare(table, here / "peer.parquet"), _cpu()
    wall, loss = _on_spark(spark, path, policy, here)
    cpu = _cpu() - before
    local, same = _on_our_own(path, policy, here)
    what, target = f"{table.height:,}, k = {k}, {search}", BAR * table.height / seconds
    yield Result(
        NAME,
        f"records/s, {what}",
        table.height / wall,
        "",
        target=target,
        peer=PEER,
        theirs=table.height / seconds,
        cpu=cpu,
        their_cpu=their_cpu,
        more_is_better=True,
        note=f"Spark {wall:.1f} s, our own engine {local:.1f} s: {wall / local:.1f} times as long on Spark",
    )
    note = "the same loss by our own engine" if loss == same else f"our own engine {same:.4f}"
    yield Result(NAME, f"loss, {what}", loss, "", target=lost + 1e-4, peer=PEER, theirs=lost, note=note)


def _growth(spark: Any, here: Path) -> Iterator[Result]:
    walls: list[float] = []
    for millions in MILLIONS:
        path = _prepare(data.million_adult(millions * 1_000_000), here / "grown.parquet")
        wall, loss = _on_spark(spark, path, _policy(10), here)
        local, _ = _on_our_own(path, _policy(10), here)
        walls.append(wall)
        rate = f"{millions * 1e6 / wall:,.0f} records/s, loss {loss:.4f}"
        note = f"{rate}; our own engine {local:.1f} s; {wall / walls[0]:.1f} times {MILLIONS[0]} million"
        yield Result(NAME, f"{millions} million records, noise on age, k = 10", wall, note=note)
        if millions == 1:
            cut, lost = _on_spark(spark, path, _policy(10), here, fits=10_000, block=50_000)
            yield Result(NAME, "the same, cut into blocks", cut, note=f"loss {lost:.4f}, {loss:.4f} in one block")


def _cpu() -> float:
    """Return the CPU seconds of this process and of all that descend from it: Java, and the Python of executors."""
    ticks, parents = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            pid = int(folder.name)
            parents[pid], ticks[pid] = int(fields[1]), sum(int(field) for field in fields[11:15])
    mine = {os.getpid()}
    for pid in sorted(parents):
        if parents[pid] in mine:
            mine.add(pid)
    return sum(ticks.get(pid, 0) for pid in mine) / os.sysconf("SC_CLK_TCK")


def _policy(k: int) -> Policy:
    return Policy(
        quasi_identifiers=list(EIGHT),
        sensitive=["income"],
        others="drop",
        models=[{"name": "k-anonymity", "k": k}],
        algorithm={"name": "mondrian"},
        publish="sets",
    )


def _prepare(table: pl.DataFrame, path: Path) -> Path:
    table.select(*EIGHT, "income").write_parquet(path, row_group_size=250_000)
    return path


def _on_spark(spark: Any, path: Path, policy: Policy, here: Path, **limits: Any) -> tuple[float, float]:
    begun = time.perf_counter()
    release = shoal.anonymize(spark.read.parquet(path.as_uri()), policy, **limits)
    release.write(here / "out", statistics=False)
    return time.perf_counter() - begun, release.loss


def _on_our_own(path: Path, policy: Policy, here: Path) -> tuple[float, float]:
    begun = time.perf_counter()
    release = shoal.anonymize(path, policy)
    release.write(here / "local", statistics=False)
    return time.perf_counter() - begun, release.loss
