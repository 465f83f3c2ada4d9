"""Failures planted in the road or in an engine: each is caught on every engine, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.local.mondrian import Mondrian
from shoal.engines import open_engine
from shoal.engines.base import RowMapping, TableEngine
from shoal.engines.counted import CountedTable
from shoal.errors import AuditFailed
from shoal.models.k_anonymity import KAnonymity
from shoal.pipeline import anonymize as road
from shoal.recodings import forms
from shoal.recodings.local import Local

from .conftest import Laid, release_of

Lay = Callable[[pl.DataFrame], Laid]
Change = Callable[[pl.DataFrame], pl.DataFrame]
RNG = np.random.default_rng(11)
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(20, 60, 160),
        "city": RNG.choice(["Bonn", "Kiel", "Ulm"], 160),
        "illness": RNG.choice(["cold", "cough", "flu", "gout"], 160),
    }
)
POLICY = shoal.Policy(
    quasi_identifiers=["age", "city"],
    sensitive=["illness"],
    models=[{"name": "k-anonymity", "k": 4}],
    algorithm="mondrian",
)


def refuse(lay: Lay, folder: Path) -> str:
    """Return why nothing leaves; nothing is left in the folder of the release."""
    laid = lay(TABLE)
    with pytest.raises(AuditFailed) as caught:
        release_of(laid, POLICY).write(folder / "out", statistics=False)
    assert not (folder / "out").exists()
    return str(caught.value)


def plant(monkeypatch: pytest.MonkeyPatch, *planted: tuple[Any, str, Any]) -> None:
    """Let parts be other ones, each given by its owner and name; on executors of Spark too, which search blocks."""
    for owner, name, value in planted:
        monkeypatch.setattr(owner, name, value)
    try:
        from shoal.engines.spark.blocks import SparkCut
    except ImportError:
        return
    honest = SparkCut.search

    def search(cut: Any, search_block: Any) -> Any:
        def spoil(block: Any) -> Any:
            with ExitStack() as stack:
                for owner, name, value in planted:
                    stack.enter_context(mock.patch.object(owner, name, value))
                return search_block(block)

        return honest(cut, spoil)

    monkeypatch.setattr(SparkCut, "search", search)


def test_the_honest_road(lay_anywhere: Lay, tmp_path: Path) -> None:
    assert len(release_of(lay_anywhere(TABLE), POLICY).write(tmp_path / "out")) == 4


def test_a_search_that_leaks(lay_anywhere: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Mondrian.search

    def leak(self: Mondrian, problem: Any) -> Local:
        recoding = honest(self, problem)
        members = recoding.members.copy()
        members[np.argmax(problem.frequencies.cell_counts == 1)] = recoding.count
        return Local(members)

    plant(monkeypatch, (Mondrian, "search", leak))
    assert "k-anonymity does not hold" in refuse(lay_anywhere, tmp_path)


def test_a_model_that_always_says_yes(lay_anywhere: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    always = (KAnonymity, "holds", lambda self, classes, background: np.ones(classes.count, bool))
    plant(monkeypatch, always, (KAnonymity, "least_records", property(lambda self: 1)))
    assert "k-anonymity does not hold" in refuse(lay_anywhere, tmp_path)


def test_a_recoding_that_lies(lay_anywhere: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = forms.write_range
    plant(
        monkeypatch,
        (forms, "write_range", lambda first, last: honest(str(int(first) - 9), str(int(last) - 9))),
    )
    assert "not true of their records" in refuse(lay_anywhere, tmp_path)


def test_a_stage_that_moves_values(lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = road.publish

    def move(*given: Any) -> Any:
        published = honest(*given)
        values = published.table.frame["illness"].to_list()
        moved = published.table.frame.with_columns(pl.Series("illness", [*values[1:], values[0]]))
        return replace(published, table=published.table.with_frame(moved))

    monkeypatch.setattr(road, "publish", move)
    assert "illness" in refuse(lay, tmp_path)


def spoil_counts(monkeypatch: pytest.MonkeyPatch, engine: type, spoil: Callable[[CountedTable], CountedTable]) -> None:
    """Let an engine publish another table than was decided."""
    honest = engine.publish

    def publish(self: Any, mapping: RowMapping) -> TableEngine:
        rows = pl.Series(np.arange(mapping.published.frame.height))
        spoiled = spoil(mapping.published.with_frame(mapping.published.frame.with_columns(rows.alias("row"))))
        kept = spoiled.frame["row"].to_numpy()
        published = spoiled.with_frame(spoiled.frame.drop("row"))
        return honest(self, replace(mapping, published=published, rows=mapping.rows[kept]))

    monkeypatch.setattr(engine, "publish", publish)


def drop_first(table: CountedTable) -> CountedTable:
    return CountedTable(table.frame[1:], None if table.counts is None else table.counts[1:])


def double_first(table: CountedTable) -> CountedTable:
    counts = None if table.counts is None else pl.concat([table.counts[:1], table.counts])
    return CountedTable(pl.concat([table.frame[:1], table.frame]), counts)


def exchange(table: CountedTable) -> CountedTable:
    """Two records of different classes change their illness: every count of a column stays."""
    values = table.frame["illness"].to_list()
    index = next(
        i for i in range(1, len(values)) if values[i] != values[0] and table.frame["age"][i] != table.frame["age"][0]
    )
    values[0], values[index] = values[index], values[0]
    return table.with_frame(table.frame.with_columns(pl.Series("illness", values)))


@pytest.mark.parametrize("spoil", [drop_first, double_first, exchange])
def test_an_engine_that_publishes_another_table(
    lay: Lay, spoil: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.engines import open_engine

    laid = lay(TABLE)
    spoil_counts(monkeypatch, type(open_engine(laid.table, POLICY, **laid.options)), spoil)
    with pytest.raises(AuditFailed, match="does not hold the released records"):
        release_of(laid, POLICY)


def rewrite(
    release: shoal.Release, monkeypatch: pytest.MonkeyPatch, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> str:
    """Let the engine's files hold another table than it wrote; return the format that they are in."""
    engine = type(release.published)
    honest = engine.write

    def write(self: Any, path: Path, format: str) -> None:
        honest(self, path, format)
        parts = sorted(path.iterdir()) if path.is_dir() else [path]
        if format == "csv":
            frame = pl.concat([pl.read_csv(part, infer_schema=False) for part in parts])
            change(frame).write_csv(parts[0])
        else:
            frame = pl.concat([pl.read_parquet(part) for part in parts])
            change(frame).write_parquet(parts[0], compression="uncompressed", statistics=False)
        for part in parts[1:]:
            part.unlink()

    monkeypatch.setattr(engine, "write", write)
    return release.published.default_format


CHANGES: dict[str, tuple[Change, str]] = {
    "exchanges two values": (
        lambda frame: frame.with_columns(
            pl.Series("illness", [*frame["illness"].to_list()[3:], *frame["illness"][:3]])
        ),
        "does not hold the released records",
    ),
    "loses a record": (lambda frame: frame[1:], "does not hold the released records"),
    "doubles a record": (lambda frame: pl.concat([frame[:1], frame]), "does not hold the released records"),
    "adds an index": (lambda frame: frame.with_row_index("index"), "columns are not the release's"),
    "keeps a raw value": (
        lambda frame: frame.with_columns(pl.Series("age", ["20", *frame["age"].to_list()[1:]])),
        "does not hold the released records",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_writer_that_breaks(lay_anywhere: Lay, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_of(lay_anywhere(TABLE), POLICY)
    spoil, message = CHANGES[change]
    format = rewrite(release, monkeypatch, spoil)
    with pytest.raises(AuditFailed, match=message):
        release.write(tmp_path / "out", format=format, statistics=False)
    assert not (tmp_path / "out").exists()


def test_unused_categories_in_the_bytes(lay_anywhere: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dictionary with values that no record shows: no reader of records sees it, a search of the bytes does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = TABLE.with_columns(city=pl.Series(["Heringsdorf", *["Bonn", "Kiel", "Ulm"] * 53]))
    models = [{"name": "k-anonymity", "k": 160}]
    policy = POLICY.replace(quasi_identifiers={"age": "suppress", "city": "suppress"}, models=models)
    release = release_of(lay_anywhere(table), policy)
    engine = type(release.published)
    honest = engine.write
    spoilt: list[Path] = []

    def write(self: Any, path: Path, format: str) -> None:
        honest(self, path, format)
        for part in sorted(path.glob("part-*")) if path.is_dir() else [path]:
            written = pq.read_table(part)
            codes = pa.array([0] * written.num_rows, pa.int32())
            cities = pa.DictionaryArray.from_arrays(codes, pa.array(["*", "Heringsdorf"]))
            pq.write_table(written.set_column(1, "city", cities), part, compression="none", store_schema=False)
            assert set(pq.read_table(part)["city"].to_pylist()) <= {"*"}
            spoilt.append(part)

    monkeypatch.setattr(engine, "write", write)
    with pytest.raises(AuditFailed) as caught:
        release.write(tmp_path / "out", format="parquet", statistics=False)
    assert spoilt
    faults = [fault.what for fault in caught.value.faults if fault.kind == "fault"]
    assert faults == ["the file holds raw values that are not published"]


WITH_PAY = TABLE.with_columns(pay=pl.Series(RNG.permutation(160)).cast(pl.Int64) + 1000)
"""Each record tells by its pay which one it is."""
ORDERED = POLICY.replace(sensitive=["illness", "pay"])
RANKS = {pay: rank for rank, pay in enumerate(WITH_PAY["pay"])}


def rank_originals(frame: pl.DataFrame) -> np.ndarray[Any, Any]:
    """Return the records of a published table in the order of their originals."""
    return np.argsort([RANKS[int(pay)] for pay in frame["pay"]])


def test_a_stage_that_keeps_the_original_order(lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = road.publish

    def keep(*given: Any) -> Any:
        published = honest(*given)
        order = rank_originals(published.table.frame)
        counts = None if published.table.counts is None else published.table.counts[order]
        table = CountedTable(published.table.frame[order], counts)
        owner = replace(published.owner, rows=published.rows[order])
        return replace(published, table=table, owner=owner, classes=published.classes[order])

    monkeypatch.setattr(road, "publish", keep)
    laid = lay(WITH_PAY)
    with pytest.raises(AuditFailed) as caught:
        release_of(laid, ORDERED).write(tmp_path / "out", statistics=False)
    assert [fault.what for fault in caught.value.faults] == ["the records stand in their original order"]


def test_a_writer_that_restores_the_original_order(
    lay_anywhere: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All released records, but each where its original stands; in memory no file may have another order at all."""
    release = release_of(lay_anywhere(WITH_PAY), ORDERED)
    format = rewrite(release, monkeypatch, lambda frame: frame[rank_originals(frame)])
    with pytest.raises(AuditFailed) as caught:
        release.write(tmp_path / "out", format=format, statistics=False)
    faults = [fault.what for fault in caught.value.faults]
    expected = "the records stand in their original order"
    if release.published.count().is_counted:
        assert faults == [expected]
    else:
        assert "the file does not hold the released records, each as often" in faults and expected in faults


@pytest.mark.parametrize("change", [-1, 1], ids=["loses", "doubles"])
def test_an_engine_that_loses_or_doubles_an_original_record(
    lay_anywhere: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: int
) -> None:
    """Every check compares with what the engine counted; so that is compared with another count of the records."""
    laid = lay_anywhere(TABLE)
    engine = type(open_engine(laid.table, POLICY, **laid.options))
    if engine.name == "memory":
        pytest.skip("a table in memory is not counted: its records stand one by one")
    for name in ("count", "count_marginals"):
        if hasattr(engine, name):
            monkeypatch.setattr(engine, name, _miscount(getattr(engine, name), change))
    told = refuse(lambda table: laid, tmp_path)
    # in blocks what is searched is counted once more, and is not what the driver knows of
    assert "counted other records than there are" in told or "does not hold the released records" in told


def _miscount(honest: Any, change: int) -> Any:
    def count(*given: Any, **options: Any) -> CountedTable:
        table: CountedTable = honest(*given, **options)
        counts = table.record_counts.copy()
        counts[np.argmax(counts)] += change
        there = pl.Series(counts > 0)
        return CountedTable(table.frame.filter(there), pl.Series(counts).filter(there), table.apart)

    return count
