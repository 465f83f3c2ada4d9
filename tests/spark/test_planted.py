"""Planted failures: an engine that loses, doubles, exchanges or keeps what it must not is found out every time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.engines.spark.engine import SparkTable
from shoal.errors import AuditFailed
from shoal.pipeline import anonymize as road
from tests.spark.conftest import adult, adult_policy, there

WHOLE: dict[str, int] = {}
BLOCKS = {"fits": 20, "block": 60}
FRAME = pl.DataFrame(
    {
        "age": [20 + n % 40 for n in range(200)],
        "sex": ["f", "m"] * 100,
        "city": [["Bonn", "Ulm", "Kiel", "Jena", "Mainz"][n % 5] for n in range(200)],
    }
)
POLICY = shoal.Policy(
    quasi_identifiers=["age", "sex"], others="keep", models=[{"name": "k-anonymity", "k": 4}], algorithm="mondrian"
)


def plant(monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Any], Any]) -> None:
    """Let every published table that Spark holds be another one."""
    honest = SparkTable.hold_published

    def broken(self: SparkTable, table: Any, *more: Any) -> SparkTable:
        return honest(self, spoil(table), *more)

    monkeypatch.setattr(SparkTable, "hold_published", broken)


def lose(table: Any) -> Any:
    return table.limit(table.count() - 1)


def double(table: Any) -> Any:
    return table.union(table.limit(1))


def exchange(table: Any) -> Any:
    """Two records have each other's age: each column holds each text as often as before."""
    first, *rest = table.collect()
    index = next(i for i, row in enumerate(rest) if row[0] != first[0] and row[1] != first[1])
    other = rest.pop(index)
    rows = [(other[0], *first[1:]), (first[0], *other[1:]), *rest]
    return table.sparkSession.createDataFrame(rows, table.schema)


@pytest.mark.parametrize("limits", [WHOLE, BLOCKS], ids=["whole", "blocks"])
@pytest.mark.parametrize("spoil", [lose, double, exchange])
@pytest.mark.parametrize("others", ["keep", "drop"])
def test_a_record_that_is_lost_doubled_or_exchanged(
    spark: Any, spoil: Any, limits: dict[str, int], others: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, spoil)
    with pytest.raises(AuditFailed, match="does not hold the released records"):
        shoal.anonymize(there(spark, FRAME), POLICY.replace(others=others), **limits)


@pytest.mark.parametrize("limits", [WHOLE, BLOCKS], ids=["whole", "blocks"])
def test_two_values_of_a_column_that_rides_along(
    spark: Any, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each city is there as often as before; two records have each other's."""
    import pyspark.sql.functions as F  # noqa: N812

    from shoal.engines.spark import blocks, engine

    for module in (engine, blocks):
        honest = module.join_others  # type: ignore[attr-defined]

        def exchange(*given: Any, honest: Any = honest) -> Any:
            joined = honest(*given)
            bonn, ulm = (joined.where(F.col("c2") == city).orderBy("c0", "c1").limit(1) for city in ("Bonn", "Ulm"))
            rest = joined.exceptAll(bonn).exceptAll(ulm)
            return rest.union(bonn.withColumn("c2", F.lit("Ulm"))).union(ulm.withColumn("c2", F.lit("Bonn")))

        monkeypatch.setattr(module, "join_others", exchange)
    with pytest.raises(AuditFailed, match="published as they are"):
        shoal.anonymize(there(spark, FRAME), POLICY, **limits)


def test_texts_that_two_combinations_with_equal_counts_exchange(spark: Any) -> None:
    """All records are there, every text as often as before: only which combination shows which is another."""
    from shoal.engines.spark.recount import find_moved_faults

    original = spark.createDataFrame([(20, "Bonn"), (20, "Ulm"), (40, "Bonn"), (40, "Ulm")], "c0 bigint, c1 string")
    decided = [(20, "[20, 25]", 0, 2), (40, "[40, 45]", 0, 2)]
    pieces = spark.createDataFrame(decided, "c0 bigint, t0 string, low bigint, high bigint")
    honest = original.join(pieces.select("c0", "t0"), "c0").select("c0", "c1", "t0")
    assert find_moved_faults(honest, original, pieces, ["c0"]) == []
    texts = {"[20, 25]": "[40, 45]", "[40, 45]": "[20, 25]"}
    faults = find_moved_faults(honest.replace(texts, subset=["t0"]), original, pieces, ["c0"])
    assert [fault.what for fault in faults] == ["records stand beside other texts than were decided for them"]


@pytest.mark.parametrize("limits", [WHOLE, BLOCKS], ids=["whole", "blocks"])
def test_a_text_above_a_boundary(spark: Any, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """What covers the value may still be more than its boundary allows, also where no record is at hand."""
    from shoal.engines.spark import blocks

    nodes = {"all": {"young": ["1", "2"], "old": ["3", "4"]}}
    frame = pl.DataFrame({"age": ["1", "2", "3", "4"] * 30, "n": [n % 30 for n in range(120)]})
    spec = {"hierarchy": "tree", "nodes": nodes, "boundaries": ["young", "old"]}
    policy = shoal.Policy(
        quasi_identifiers={"age": spec, "n": {}}, models=[{"name": "k-anonymity", "k": 4}], algorithm="mondrian"
    )
    assert shoal.anonymize(there(spark, frame), policy, **limits).audit.holds
    import pyspark.sql.functions as F  # noqa: N812

    honest, honest_publish = blocks.SparkCut.search, road.publish

    def above(cut: blocks.SparkCut, search: Any) -> blocks.SparkPieces:
        found = honest(cut, search)
        return replace(found, pieces=found.pieces.withColumn("t0", F.lit("all")))

    def publish_above(*given: Any) -> Any:
        published = honest_publish(*given)
        shown = published.table.frame.with_columns(age=pl.lit("all"))
        return replace(published, table=published.table.with_frame(shown))

    monkeypatch.setattr(blocks.SparkCut, "search", above)
    monkeypatch.setattr(road, "publish", publish_above)
    with pytest.raises(AuditFailed, match="age: published texts that are not true of their records"):
        shoal.anonymize(there(spark, frame), policy, **limits)


@pytest.mark.parametrize("limits", [WHOLE, BLOCKS], ids=["whole", "blocks"])
def test_files_in_the_order_of_the_original(
    spark: Any, limits: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same records, each as often; but who knows the original knows who is who."""
    from shoal.engines.spark import engine

    frame = FRAME.drop("city").sample(fraction=1.0, shuffle=True, seed=3)
    release = shoal.anonymize(there(spark, frame).coalesce(1), POLICY, **limits)
    left = [tuple(row) for row in release.table.collect()]
    order = []
    for age, sex in frame.rows():  # give each original record a published one that covers it, in its order
        fits = next(row for row in left if _covers(row[0], age) and row[1] in (sex, "*"))
        left.remove(fits)
        order.append(fits)
    spoiled = spark.createDataFrame(order, release.table.schema).coalesce(1)
    honest = engine.write_files
    monkeypatch.setattr(engine, "write_files", lambda table, *more: honest(spoiled, *more))
    with pytest.raises(AuditFailed, match="original order"):
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def _covers(text: str, age: int) -> bool:
    if text == "*":
        return True
    low, _, high = text.strip("[]").partition(", ")
    return int(low) <= age <= int(high or low)


def _extra_file(folder: Path, format: str) -> None:
    (folder / "_index.txt").write_text("1,2,3")


def _extra_column(folder: Path, format: str) -> None:
    for part in sorted(folder.iterdir()):
        frame = shoal.read(part, types=False).with_row_index("index")
        {"parquet": frame.write_parquet, "csv": frame.write_csv, "jsonl": frame.write_ndjson}[format](part)


def _raw_values(folder: Path, format: str) -> None:
    part = sorted(folder.iterdir())[-1]
    frame = pl.read_parquet(part)
    frame.write_parquet(part, compression="uncompressed", metadata={"kept": "Exec-managerial, Prof-specialty"})


@pytest.mark.parametrize(
    ("spoil", "format", "says"),
    [
        (_extra_file, "parquet", "no part of the release"),
        (_extra_file, "csv", "no part of the release"),
        (_extra_column, "parquet", "columns are not the release's"),
        (_extra_column, "csv", "columns are not the release's"),
        (_extra_column, "jsonl", "columns are not the release's"),
        (_raw_values, "parquet", "raw values that are not published"),
    ],
)
def test_files_that_hold_more_than_the_table(
    spark: Any, spoil: Any, format: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.engines.spark import engine

    policy = adult_policy("mondrian")
    quasi = {**policy.quasi_identifiers, "occupation": {"hierarchy": "suppress"}}
    policy = shoal.Policy(
        quasi_identifiers=quasi, others="drop", models=[{"name": "k-anonymity", "k": 40}], algorithm="mondrian"
    )
    release = shoal.anonymize(there(spark, adult(300)), policy)
    honest = engine.write_files

    def broken(table: Any, folder: Path, kind: str) -> None:
        honest(table, folder, kind)
        for hidden in folder.glob(".*"):
            hidden.unlink()
        spoil(folder, kind)

    monkeypatch.setattr(engine, "write_files", broken)
    with pytest.raises(AuditFailed, match=says):
        release.write(tmp_path / "out", format=format)
    assert not (tmp_path / "out").exists()
