"""Failures planted in the road or in an engine: each is caught on every engine, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.local.mondrian import Mondrian
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


def test_the_honest_road(lay: Lay, tmp_path: Path) -> None:
    assert len(release_of(lay(TABLE), POLICY).write(tmp_path / "out")) == 4


def test_a_search_that_leaks(lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Mondrian.search

    def leak(self: Mondrian, problem: Any) -> Local:
        recoding = honest(self, problem)
        members = recoding.members.copy()
        members[np.argmax(problem.frequencies.cell_counts == 1)] = recoding.count
        return Local(members)

    monkeypatch.setattr(Mondrian, "search", leak)
    assert "k-anonymity does not hold" in refuse(lay, tmp_path)


def test_a_model_that_always_says_yes(lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KAnonymity, "holds", lambda self, classes, background: np.ones(classes.count, bool))
    monkeypatch.setattr(KAnonymity, "least_records", property(lambda self: 1))
    assert "k-anonymity does not hold" in refuse(lay, tmp_path)


def test_a_recoding_that_lies(lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = forms._range_text
    monkeypatch.setattr(
        forms, "_range_text", lambda levels, low, high: honest(levels, max(low - 9, 0), max(low - 3, 1))
    )
    assert "not true of their records" in refuse(lay, tmp_path)


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
def test_a_writer_that_breaks(lay: Lay, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_of(lay(TABLE), POLICY)
    spoil, message = CHANGES[change]
    format = rewrite(release, monkeypatch, spoil)
    with pytest.raises(AuditFailed, match=message):
        release.write(tmp_path / "out", format=format, statistics=False)
    assert not (tmp_path / "out").exists()


def test_unused_categories_in_the_bytes(lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dictionary with values that no record shows: no reader of records sees it, a search of the bytes does."""
    table = TABLE.with_columns(city=pl.Series(["Heringsdorf", *["Bonn", "Kiel", "Ulm"] * 53]))
    policy = POLICY.replace(
        quasi_identifiers={"age": {}, "city": "suppress"},
        algorithm="optimal",
        models=[{"name": "k-anonymity", "k": 160}],
    ).replace(quasi_identifiers={"age": "suppress", "city": "suppress"})
    release = release_of(lay(table), policy)
    engine = type(release.published)
    honest = engine.write

    def write(self: Any, path: Path, format: str) -> None:
        honest(self, path, format)
        part = sorted(path.iterdir())[0] if path.is_dir() else path
        data = part.read_bytes()
        footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        part.write_bytes(data[:footer] + b"Heringsdorf" + data[footer:])

    monkeypatch.setattr(engine, "write", write)
    with pytest.raises(AuditFailed, match="raw values that are not published"):
        release.write(tmp_path / "out", format="parquet", statistics=False)


def test_the_original_order(lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All released records, but each where its original stands."""
    table = TABLE.with_columns(pay=pl.Series(RNG.permutation(160)).cast(pl.Int64) + 1000)
    policy = POLICY.replace(sensitive=["illness", "pay"])
    release = release_of(lay(table), policy)
    place = {row: number for number, row in enumerate(table.select("pay", "illness").rows())}

    def restore(frame: pl.DataFrame) -> pl.DataFrame:
        ranks = [place[int(row[0]), row[1]] for row in frame.select("pay", "illness").rows()]
        return frame.with_columns(pl.Series("rank", ranks)).sort("rank").drop("rank")

    format = rewrite(release, monkeypatch, restore)
    with pytest.raises(AuditFailed, match=r"original order|does not hold the released records"):
        release.write(tmp_path / "out", format=format, statistics=False)
