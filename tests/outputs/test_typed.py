"""typed: true: ends in their types on every engine, intervals in pandas where every cell is one; all of it audited."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from tests.engines.conftest import Laid, lay, release_of, spark  # noqa: F401

import shoal
from shoal.engines.memory.intervals import to_intervals, write_interval
from shoal.pipeline import ends

TABLE = pl.DataFrame(
    {
        "Alter": [20, 21, 24, 31, 33, 35, 40, 41],
        "Größe": [1.5, 1.6, 1.7, 1.55, 1.8, 1.85, 1.6, 1.9],
        "seit": [dt.date(2020, 1, 1 + i) for i in range(8)],
        "Ort": ["Köln", "Ulm"] * 4,
    }
)


def policy(**more: Any) -> shoal.Policy:
    asked = {"models": [{"name": "k-anonymity", "k": 2}], "algorithm": "mondrian", **more}
    return shoal.Policy(quasi_identifiers=TABLE.columns, output={"form": "generalized", "typed": True}, **asked)


@pytest.fixture(name="laid")
def _laid(lay: Callable[[pl.DataFrame], Laid]) -> Laid:  # noqa: F811
    return lay(TABLE)


def test_ends_have_their_types_on_every_engine(laid: Laid, tmp_path: Path) -> None:
    release = release_of(laid, policy())
    files = release.write(tmp_path / "out", format="parquet")
    written = pl.read_parquet(files["release"] if files["release"].is_file() else f"{files['release']}/*.parquet")
    kinds = {name: str(kind) for name, kind in written.schema.items() if "." in name}
    assert kinds == {
        "Alter.low": "Int64", "Alter.high": "Int64", "Größe.low": "Float64", "Größe.high": "Float64",
        "seit.low": "Date", "seit.high": "Date",
    }  # fmt: skip
    assert release.audit.guarantees["Alter.low"].key() == "derived"


def test_pandas_has_intervals_where_every_cell_is_one() -> None:
    release = shoal.anonymize(TABLE.to_pandas(), policy())
    table = release.table
    assert isinstance(table["Alter"].dtype, pd.IntervalDtype)
    assert (table["Alter"].array.left == table["Alter.low"]).all()
    assert isinstance(table["seit"].dtype, pd.IntervalDtype)
    assert not isinstance(table["Ort"].dtype, pd.IntervalDtype)
    assert shoal.audit(table, policy(), original=TABLE).holds
    assert [write_interval(one) for one in table["Größe"]] == release.frame["Größe"].to_list()


@pytest.mark.parametrize(
    "texts",
    [["[20, 24]", "*"], ["[20, 24]", None], ["{20, 24}"], ["[20, 25)"], ["alt"], ["[020, 24]"], ["[a, b]"], ["1e3"]],
)
def test_a_column_with_any_other_cell_stays_text(texts: list[str | None]) -> None:
    assert to_intervals(texts) is None


@pytest.mark.parametrize(
    "texts",
    [
        ["20", "[20, 24]"],
        ["0.5", "[0.1, 1e+16]"],
        ["2020-01-01", "[2020-01-01, 2020-12-31]"],
        ["[2020-01-01 00:00:00.000000, 2020-01-03 08:00:00.500000]"],
        ["-3", "[-3, 0]"],
    ],
)
def test_intervals_are_written_back_as_they_were(texts: list[str]) -> None:
    made = to_intervals(texts)
    assert made is not None
    assert [write_interval(one) for one in made] == texts


def test_ends_that_lie_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ends.read_ends
    monkeypatch.setattr(ends, "read_ends", lambda text, kind: (found := honest(text, kind)) and (found[0], found[0]))
    with pytest.raises(shoal.AuditFailed, match="ends that are not those of the text"):
        shoal.anonymize(TABLE, policy())
