"""Files out: what is written is what is read, in every format."""

from __future__ import annotations

import datetime as dt
import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.engines.columns import to_plain, to_texts
from shoal.engines.memory.files import read_file
from shoal.engines.memory.write import ENDINGS, to_bytes, write_bytes
from shoal.errors import WriteError

KINDS = sorted(ENDINGS)
TEXTS = [
    *("=1+1", "{=1}", "@x", "+1", "http://x.de", "mailto:x", "internal:A", "'q", "a\rb", "a\nb", 'a"b', "a,b"),
    *(" lead", "trail ", "\ttab", "_x0041_", "1.50", "TRUE", "NaN", "#N/A", "0012", "é\u2028", "😀", "\x85", "*"),
]
ROWS = st.lists(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), min_size=2, max_size=2),
    min_size=1,
)


def back(frame: pl.DataFrame, kind: str, folder: Path) -> pl.DataFrame:
    path = folder / f"t{ENDINGS[kind]}"
    write_bytes(path, to_bytes(frame, kind))
    return read_file(path, types=False)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_stay_what_they_are(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [*TEXTS, None], "b": ["end"] * (len(TEXTS) + 1)})
    assert back(frame, kind, tmp_path).rows() == frame.rows()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "values",
    [
        [1, None, -3],
        [2**60 + 1, 1],
        [0.25, None, 1e300],
        [0.1 + 0.2, None, 1 / 3, 5e-324],
        [True, None, False],
        [dt.date(2020, 1, 2), None],
        [dt.date(1850, 1, 2), dt.date(2020, 1, 2)],
        [dt.date(1900, 1, 1)],
    ],
)
def test_values_stay_what_they_are(kind: str, values: list[Any], tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": values, "b": ["end"] * len(values)})
    assert back(frame, kind, tmp_path).cast(pl.String).rows() == frame.cast(pl.String).rows()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("micro", [0, 123_000, 123_456])
def test_moments_stay_what_they_are(kind: str, micro: int, tmp_path: Path) -> None:
    moments = [dt.datetime(2020, 1, 2, 3, 4, 5, micro), dt.datetime(2020, 1, 2)]
    again = back(pl.DataFrame({"a": moments, "b": ["x", "y"]}), kind, tmp_path)["a"]
    assert [dt.datetime.fromisoformat(str(value)) for value in again] == moments


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("micro", [[0, 0], [5_000, 0], [5, 999_999]])
def test_a_moment_is_written_in_one_way(kind: str, unit: Any, micro: list[int], tmp_path: Path) -> None:
    moments = [dt.datetime(2021, 10, 31, 0, 30, 0, part) for part in micro]
    frame = pl.DataFrame({"a": to_plain(pl.Series([*moments, None], dtype=pl.Datetime(unit))), "b": ["x", "y", "z"]})
    assert to_texts(back(frame, kind, tmp_path)["a"]).equals(to_texts(frame["a"]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", [["*", "^a.*$"], ["a", "A"], [" s ", "x\ny"], ["a,b", "=1"], ['q"', "_x0041_"]])
def test_names_stay_what_they_are(kind: str, names: list[str], tmp_path: Path) -> None:
    frame = pl.DataFrame({name: ["x", "y"] for name in names})
    assert back(frame, kind, tmp_path).equals(frame)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [["a"], ["^a$", "*"], ["n", "a"]])
@pytest.mark.parametrize("texts", [[None, "x", None], [None, None, None]])
def test_records_in_which_all_is_missing_are_records(
    kind: str, columns: list[str], texts: list[str | None], tmp_path: Path
) -> None:
    frame = pl.DataFrame({name: pl.Series(texts, dtype=pl.String) for name in columns})
    if "n" in columns:
        frame = frame.with_columns(n=pl.Series([None, 1, None], dtype=pl.Int64))
    again = back(frame, kind, tmp_path).cast(pl.String)
    assert [[cell or None for cell in row] for row in again.rows()] == [
        list(row) for row in frame.cast(pl.String).rows()
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_table_is_the_same_bytes(kind: str) -> None:
    frame = pl.DataFrame({"a": ["x", None], "b": [1, 2]})
    assert to_bytes(frame, kind) == to_bytes(frame.clone(), kind)


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "jsonl"])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=ROWS)
def test_any_text_in_any_format(kind: str, rows: list[list[str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    known = [[cell or None for cell in row] for row in rows]
    frame = pl.DataFrame(known, schema={"a": pl.String, "b": pl.String}, orient="row")
    again = back(frame, kind, tmp_path_factory.mktemp("out"))
    assert [[cell or None for cell in row] for row in again.rows()] == known


def test_feather_holds_only_texts_that_are_shown() -> None:
    whole = pl.DataFrame({"a": ["a text of more than twelve letters", "another of more than twelve letters"]})
    assert b"another of" not in to_bytes(whole.head(1), "feather")
    assert b"another of" in to_bytes(whole, "feather")


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_binary_files_are_not_compressed(kind: str) -> None:
    data = to_bytes(pl.DataFrame({"a": [f"value {i:06d}" for i in range(500)]}), kind)
    assert all(f"value {i:06d}".encode() in data for i in range(500))


def test_parquet_has_no_statistics_of_columns() -> None:
    data = to_bytes(pl.DataFrame({"a": ["lowest value", "highest value"] * 5}), "parquet")
    assert data.count(b"highest value") == 1
    assert pl.read_parquet(io.BytesIO(data)).height == 10


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pl.DataFrame({"a": ["x" * 32_768]}), "a: Excel cells hold at most 32,767 characters"),
        (pl.DataFrame({"a": pl.repeat(None, 2**20, dtype=pl.String, eager=True)}), "too large for Excel"),
        (pl.DataFrame({f"c{i}": [1] for i in range(2**14 + 1)}), "too large for Excel"),
    ],
)
def test_what_excel_cannot_hold_is_told(frame: pl.DataFrame, said: str) -> None:
    with pytest.raises(WriteError, match=said):
        to_bytes(frame, "excel")
