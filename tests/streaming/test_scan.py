"""Reading part by part gives what reading at once gives: the same columns, types, values and errors."""

from __future__ import annotations

import tempfile
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from shoal.encoding.read_options import ReadOptions
from shoal.engines.files.budget import MemoryBudget
from shoal.engines.files.count import count
from shoal.engines.files.scan import DelimitedScan, open_scan
from shoal.engines.memory.files import read_file
from shoal.errors import TableError

CSV = {
    "plain": b"age,sex\n21,f\n24,m\n21,f\n",
    "no last newline": b"age,sex\n21,f\n24,m",
    "only a header": b"age,sex\n",
    "blank lines": b"age,sex\n\n21,f\n\n\n24,m\n\n",
    "windows": b"age,sex\r\n21,f\r\n24,m\r\n",
    "old mac": b"age,sex\r21,f\r24,m\r",
    "mark": b"\xef\xbb\xbfage,sex\n21,f\n",
    "mark twice": b"\xef\xbb\xbf\xef\xbb\xbfage,sex\n21,f\n",
    "mark, quoted": b'\xef\xbb\xbf"age",sex\n21,"f"\n',
    "utf-16": "age,sex\n21,Frau Müller\n24,m\n".encode("utf-16"),
    "cp1252": "age,name\n21,Müller\n24,Weiß\n".encode("cp1252"),
    "cp1252 far down": b"age,name\n" + b"21,Mueller\n" * 50 + "24,Weiß\n".encode("cp1252"),
    "semicolons": b"age;sex;note\n21;f;a,b\n24;m;c,d\n",
    "tabs": b"age\tsex\n21\tf\n",
    "missing": b"age,sex,zip\n,f,\n24,,02138\n,,\n",
    "quoted": b'age,name\n21,"Smith, John"\n24,"a ""b"" c"\n"30","two\nlines"\n24,""\n',
    "quoted far down": b"age,name\n" + b"21,x\n" * 50 + b'24,"y"\n',
    "quoted, windows": b'age,name\r\n21,"Smith, John"\r\n\r\n24,"two\r\nlines"\r\n30,"x"\r\n',
    "quoted, windows, well-formed": b'age,name\r\n21,"Smith, John"\r\n\r\n24,"y"\r\n',
    "quoted, old mac": b'age,name\r21,"Smith, John"\r24,"y"\r',
    "quoted, no last newline": b'age,name\n21,"Smith, John"\n24,"a ""b"""',
    "quotes inside cells": b'age,name\n21,"x"\n24,a "b" c\n25,5" pipe\n',
    "cells of lines that look whole": b'age,name\n21,"x"\n24,"a\n25,b\n26,c"\n27,"y"\n',
    "quoted header over lines": b'age,"first\nname"\n21,"x"\n24,y\n',
    "quoted header over many lines": b'age,"first\n' + b"21,x\n" * 50 + b'name"\n21,"x"\n24,y\n',
    "quoted with blanks": b'age,name\n21, "x"\n24,"y"\n',
    "quoted, other lines": '"age","name"\n21,"a\u2028b"\n24,"c\x0bd\x85e"\n'.encode(),
    "quoted tabs": b'a\tb\n"1\t2"\t3\n4\t5\n',
    "quoted pipes": b'a|b\n"1|2"|3\n4|5\n',
    "quoted far down, then lines": b"age,name\n" + b'21,"x"\n' * 50 + b'24,"y\nz"\n' + b'21,"x"\n' * 5,
    "apostrophes as quotes": b"a,b,c\n'x','y','z'\n'1,5','2','3'\n",
    "one column": b"age\n21\n\n24\n",
    "one column, quoted": b'age\n"21"\n\n"24"\n',
    "one column, only blank": b"age\n\n\n",
    "odd names": b"*,^a$,a b,c.d\n1,2,3,4\n5,6,7,8\n",
    "numbers that are codes": b"zip,long,float\n02138,12345678901234567890,1.5\n10001,1,2\n",
    "floats": b"a,b\n1,1e3\n2.5,-0.0\n2.50,\n",
    "infinite": b"a\n1e999\n2\n",
    "dates": b"day,moment\n1995-01-31,1995-01-31T10:00:00\n1995-02-28,1995-01-31 10:00:00.5\n",
    "no dates": b"day\n1995-01-31\n1995-02-30\n",
    "truth": b"a,b\ntrue,True\nfalse,yes\nTRUE,no\n",
    "long texts": b"a,b\n" + b"".join(b"%d,%s\n" % (i % 3, b"x" * (i % 40)) for i in range(100)),
}
BAD = {
    "ragged": b"age,sex\n21,f\n24\n",
    "ragged far down": b"age,sex\n" + b"21,f\n" * 20 + b"\n24,m,x\n",
    "ragged and quoted": b'age,sex\n21,"f"\n24\n',
    "open quote": b'age,sex\n21,"f\n24,m\n',
    "ragged and quoted far down": b"age,sex\n" + b'21,"f"\n' * 20 + b'\n24,"m",x\n21,"f"\n',
    "ragged in one column": b"age\n21\n24,25\n",
    "ragged below a cell of lines": b'age,sex\n21,"f\nm"\n' + b'21,"f"\n' * 20 + b"24\n",
    "text after a quote": b'age,sex\n21,"f"\n24,"m"x\n',
    "names twice": b"age,age\n21,f\n",
    "no name": b"age,\n21,f\n",
    "no header": b"\n21,f\n",
    "zeros": b"age,sex\n21,f\x00\n",
}


class Narrow(MemoryBudget):
    """A budget that reads only so many records at a time."""

    def __init__(self, size: int, at_a_time: int) -> None:
        super().__init__(size)
        object.__setattr__(self, "at_a_time", at_a_time)

    def rows(self, columns: int) -> int:
        return int(self.__dict__["at_a_time"])


@pytest.fixture(params=[1, 3, 1000])
def narrow(request: pytest.FixtureRequest) -> MemoryBudget:
    return Narrow(10**9, at_a_time=request.param)


def multiset(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the records with how often each occurs, in an order that follows from them."""
    renamed = frame.rename({name: f"c{index}" for index, name in enumerate(frame.columns)})
    return renamed.group_by(renamed.columns).len().sort(renamed.columns)


@pytest.mark.parametrize("types", [True, False])
@pytest.mark.parametrize("data", CSV.values(), ids=CSV.keys())
def test_a_csv_is_what_reading_it_at_once_gives(data: bytes, types: bool, narrow: MemoryBudget, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(data)
    whole = read_file(path, types=types)
    counted, head = count(open_scan(path), narrow, types=types, head=5)
    assert counted.frame.schema == whole.schema
    assert counted.records == whole.height
    assert_frame_equal(multiset(counted.expand()), multiset(whole))
    assert_frame_equal(head, whole.head(5))


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
def test_a_bad_csv_has_the_same_error(data: bytes, narrow: MemoryBudget, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(data)
    with pytest.raises(TableError) as whole:
        read_file(path)
    with pytest.raises(TableError) as parts:
        count(open_scan(path), narrow)
    assert str(parts.value) == str(whole.value)


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ";"},
        {"encoding": "latin-1"},
        {"quote": "'"},
        {"encoding": "utf-9"},
        {"delimiter": "::"},
        {"quote": ";", "delimiter": ";"},
        {"delimiter": "§"},
    ],
    ids=str,
)
def test_the_options_mean_the_same(options: dict[str, str], narrow: MemoryBudget, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes("a;b,c\n1;'x',Müller\n2;y,Weiß\n".encode())
    said = ReadOptions.of(None, options)
    try:
        whole = read_file(path, said)
    except TableError as error:
        with pytest.raises(TableError) as parts:
            count(open_scan(path, said), narrow)
        assert str(parts.value) == str(error)
    else:
        counted, _ = count(open_scan(path, said), narrow)
        assert_frame_equal(multiset(counted.expand()), multiset(whole))


PARQUET = pl.DataFrame(
    {
        "*": [1, 2, None, 1],
        "^a$": ["x", "", None, "x"],
        "a b": [1.5, float("nan"), -0.0, 1.5],
        "day": [date(1995, 1, 31), None, date(1995, 1, 31), date(1995, 1, 31)],
        "moment": [datetime(1995, 1, 31, 10), None, None, datetime(1995, 1, 31, 10)],
        "small": pl.Series([1, 2, 3, 1], dtype=pl.UInt8),
        "category": pl.Series(["u", "v", None, "u"], dtype=pl.Categorical),
        "truth": [True, False, None, True],
        "nothing": [None, None, None, None],
    }
)


def test_a_parquet_is_what_reading_it_at_once_gives(narrow: MemoryBudget, tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    PARQUET.write_parquet(path, row_group_size=2)
    counted, head = count(open_scan(path), narrow, head=3)
    whole = read_file(path)
    assert counted.frame.schema == whole.schema
    assert_frame_equal(multiset(counted.expand()), multiset(whole))
    assert_frame_equal(head, whole.head(3))


def test_columns_that_are_not_asked_for_are_there_and_not_looked_at(narrow: MemoryBudget, tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    PARQUET.write_parquet(path)
    frame = count(open_scan(path), narrow, names=["*", "day"])[0].frame
    assert frame.columns == PARQUET.columns
    assert [name for name in frame.columns if frame[name].null_count() < frame.height] == ["*", "day"]


def test_a_folder_and_a_pattern_are_one_table(narrow: MemoryBudget, tmp_path: Path) -> None:
    for kind, write in (("csv", pl.DataFrame.write_csv), ("parquet", pl.DataFrame.write_parquet)):
        folder = tmp_path / kind
        folder.mkdir()
        for number in range(3):
            write(pl.DataFrame({"age": [21, number], "sex": ["f", "m"]}), folder / f"part-{number}.{kind}")
        (folder / "_SUCCESS").write_bytes(b"")
        for path in (folder, folder / "*.*", str(folder / "part-[012].*")):
            counted, head = count(open_scan(path), narrow, head=4)
            assert sorted(counted.expand().rows()) == [
                (0, "m"),
                (1, "m"),
                (2, "m"),
                (21, "f"),
                (21, "f"),
                (21, "f"),
            ]
            assert head["age"].to_list() == [21, 0, 21, 1]


def test_a_type_follows_from_all_files(narrow: MemoryBudget, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("zip\n10001\n")
    (tmp_path / "b.csv").write_text("zip\n02138\n")
    assert count(open_scan(tmp_path), narrow)[0].frame["zip"].dtype == pl.String


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({}, "no Parquet or CSV file is there"),
        ({"a.csv": "x\n1\n", "b.csv": "y\n1\n"}, "has other columns than a.csv"),
        ({"a.csv": "x\n1\n", "b.parquet": "y"}, "only CSV and Parquet"),
        ({"a.csv": ""}, "the file is empty"),
        ({"a.parquet": "no parquet"}, "cannot be read as parquet"),
    ],
)
def test_folders_that_are_no_table(files: dict[str, str], what: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(TableError, match=what):
        open_scan(tmp_path)


def test_files_of_other_types_are_no_table(tmp_path: Path) -> None:
    pl.DataFrame({"age": [1]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"age": ["1"]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(TableError, match=r"b\.parquet: has other columns or types than a\.parquet; got age"):
        open_scan(tmp_path)


def test_a_folder_with_folders_is_refused(tmp_path: Path) -> None:
    """Spark writes the values of a column as names of folders: reading the files alone would lose it."""
    (tmp_path / "year=1995").mkdir()
    with pytest.raises(TableError, match="has folders in it"):
        open_scan(tmp_path)


def test_other_formats_and_files_that_are_not_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}")
    with pytest.raises(TableError, match="only CSV and Parquet"):
        open_scan(tmp_path / "a.jsonl")
    with pytest.raises(TableError, match="no such file"):
        open_scan(tmp_path / "b.csv")
    with pytest.raises(TableError, match="names no known format"):
        open_scan(__file__)


def test_a_parquet_that_breaks_off_is_told(tmp_path: Path, narrow: MemoryBudget) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"age": list(range(1000)), "name": [str(n) for n in range(1000)]}).write_parquet(path)
    data = bytearray(path.read_bytes())
    data[10:2000] = b"\xff" * 1990
    path.write_bytes(bytes(data))
    with pytest.raises(TableError, match="cannot be read as parquet"):
        count(open_scan(path), narrow)


def test_progress_is_told_up_to_the_end(tmp_path: Path, narrow: MemoryBudget) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CSV["long texts"])
    seen: list[tuple[str, int, int]] = []
    count(open_scan(path), narrow, progress=lambda *told: seen.append(told))
    assert seen[0] == ("counting", 0, path.stat().st_size)
    assert seen[-1] == ("counting", path.stat().st_size, path.stat().st_size)
    assert isinstance(open_scan(path), DelimitedScan)


@settings(deadline=None, max_examples=200)
@given(
    first=st.sampled_from(["x,y\n1,2\n", 'x,"y\nz"\n', ""]),
    text=st.text(alphabet="ab1,\"\n\r;'| \ufeff\u2028", max_size=40),
    rows=st.sampled_from([1, 2, 1000]),
    types=st.booleans(),
)
def test_any_text_is_read_as_at_once(first: str, text: str, rows: int, types: bool) -> None:
    """Whatever stands in a file: the same records, or the same error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        path.write_bytes(f"{first}{text or 'a'}".encode())
        narrow = Narrow(10**9, at_a_time=rows)
        try:
            whole = read_file(path, types=types)
        except TableError as error:
            with pytest.raises(TableError) as parts:
                count(open_scan(path), narrow, types=types)
            assert str(parts.value) == str(error)
        else:
            counted, head = count(open_scan(path), narrow, types=types, head=5)
            assert_frame_equal(multiset(counted.expand()), multiset(whole))
            assert_frame_equal(head, whole.head(5))
