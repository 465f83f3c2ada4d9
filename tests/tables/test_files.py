"""Files in: what is detected, what is given, and one clear error for whatever cannot be read."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.encoding.read_options import AS_WRITTEN, ReadOptions
from shoal.engines import delimited
from shoal.engines.delimited import Dialect
from shoal.engines.memory import files
from shoal.engines.memory.files import FORMATS, format_of, read_csv, read_file
from shoal.engines.texts import detect_dates, detect_type
from shoal.errors import TableError

Read = Callable[..., pl.DataFrame]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(content: str | bytes, name: str = "t.csv", **options: Any) -> pl.DataFrame:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        types = options.pop("types", True)
        return read_file(path, ReadOptions.of(None, options), types=types)

    return read


def workbook(path: Path, rows: list[list[Any]]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("first")
        book.add_worksheet("second")
        for number, row in enumerate(rows):
            for index, value in enumerate(row):
                if value is not None:
                    sheet.write(number, index, value)
    return path


# --------------------------------------------------------------------------------------------------- detection


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quote", ["", '"', "'"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_delimiter_quote_and_ends_of_lines_are_detected(
    read: Read, delimiter: str, quote: str, end: str, last: bool
) -> None:
    rows = [["name", "age"], ["Ann", "30"], ["Bo", "41"]]
    text = end.join(delimiter.join(f"{quote}{cell}{quote}" for cell in row) for row in rows) + end * last
    assert read(text).rows(named=True) == [{"name": "Ann", "age": 30}, {"name": "Bo", "age": 41}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_detected(read: Read, encoding: str) -> None:
    assert read("Größe,Preis\nklein,5€\n".encode(encoding)).rows(named=True) == [{"Größe": "klein", "Preis": "5€"}]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('a,b\n"x\ny",1\n', [("x\ny", 1)]),
        ('a,b\n"x\r\ny",1\n', [("x\r\ny", 1)]),
        ('a,b\n"x, y",1\n', [("x, y", 1)]),
        ('a,b\n"say ""x""",1\n', [('say "x"', 1)]),
        ('a,b\n5" pipe,1\n4,2" nail\n', [('5" pipe', "1"), ("4", '2" nail')]),
        ("a,b\nO'Neil,d'Arc\nl'x,l'y\n", [("O'Neil", "d'Arc"), ("l'x", "l'y")]),
        ("a;b\n1,5;x, y\n2,5;z, w\n", [("1,5", "x, y"), ("2,5", "z, w")]),
        ("a,b\nx\u2028y,\x0b\n", [("x\u2028y", "\x0b")]),
        ("a,b\n\ufeffx,1\n", [("\ufeffx", 1)]),
        ("a,b\n,\n1,x\n", [(None, None), (1, "x")]),
        ("a,b\n1,x\n\n2,y\n\n\n", [(1, "x"), (2, "y")]),  # empty lines are no records
        ('a,b\n1,"x"\n\n2,y\n\n', [(1, "x"), (2, "y")]),
        ("a\n1\n\n2\n", [(1,), (None,), (2,)]),  # but in one column they are missing values
        ('a\n"1"\n\n2\n', [(1,), (None,), (2,)]),
        ("a b\n1\n2", [(1,), (2,)]),
        ("a,b\n", []),
        ("a,b", []),
        ('"a","b"\n', []),
        ("a", []),
    ],
)
def test_what_csv_files_hold(read: Read, text: str, rows: list[Any]) -> None:
    assert read(text).rows() == rows


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-20"], pl.Int64),
        (["9223372036854775807", "0"], pl.Int64),
        (["9223372036854775808", "0"], pl.String),
        (["12345678901234567", "0.5"], pl.String),
        (["02138", "10001"], pl.String),
        (["+5"], pl.String),
        (["1.50", "2"], pl.Float64),
        (["1e5"], pl.Float64),
        (["1e400"], pl.String),
        (["TRUE", "false"], pl.Boolean),
        (["1995-01-31"], pl.Date),
        (["1995-02-30"], pl.String),
        (["0000-01-01"], pl.String),
        (["1995-01-31 10:00:00", "1995-01-31T10:00:00.5"], pl.Datetime("us")),
        (["1995-01-31T25:00:00"], pl.String),
        (["NA", "?"], pl.String),
        (["nan"], pl.String),
        ([""], pl.String),
    ],
)
def test_types_keep_each_value(values: list[str], kind: Any) -> None:
    column = detect_type(pl.Series("^a.*$", values))
    assert column.dtype == kind
    assert column.null_count() == values.count("")


def test_cells_stay_texts_without_types(read: Read) -> None:
    assert read("a,b\n2.50,TRUE\n", types=False).rows() == [("2.50", "TRUE")]


def test_dates_in_json_lines_are_dates(read: Read) -> None:
    lines = [{"born": "1995-01-31", "code": "123", "n": 1}, {"born": None, "code": "0", "n": 2}]
    text = "\ufeff" + "\n".join(json.dumps(line) for line in lines)
    frame = read(text, "t.jsonl")
    assert frame.rows() == [(dt.date(1995, 1, 31), "123", 1), (None, "0", 2)]
    assert detect_dates(pl.Series(["1995-01-31", "x"])).dtype == pl.String
    assert read(text, "t.jsonl", types=False)["born"].dtype == pl.String


@pytest.mark.parametrize(
    ("text", "options", "rows"),
    [
        ("a;b,c\n1;2,3\n", {"delimiter": ","}, [("1;2", 3)]),
        ("a;b,c\n1;2,3\n", {"delimiter": ";"}, [(1, "2,3")]),
        ("a§b\n1§2\n", {"delimiter": "§"}, [(1, 2)]),
        ("a b\n1 2\n", {"delimiter": " "}, [(1, 2)]),
        ("a,b\n~1,1~,2\n", {"quote": "~"}, [("1,1", 2)]),
        ("a,b\n»1,1»,2\n", {"quote": "»"}, [("1,1", 2)]),
        ("a,b\né,2\n".encode("latin-1"), {"encoding": "iso-8859-2"}, [("é", 2)]),
        (b"a,b\n\xe9,2\n", {"encoding": "iso-8859-5"}, [("щ", 2)]),
        ("a,b\né,2\n".encode("utf-16-le"), {"encoding": "utf-16-le"}, [("é", 2)]),
    ],
)
def test_given_options_win(read: Read, text: str | bytes, options: dict[str, str], rows: list[Any]) -> None:
    assert read(text, **options).rows() == rows


def test_columns_may_have_names_that_polars_reads_as_patterns(read: Read) -> None:
    assert read('*,^a.*$,"x\ny", s \n1,2,z,2020-01-01\n').columns == ["*", "^a.*$", "x\ny", " s "]


@pytest.mark.parametrize("name", ["g[1]*.csv", "g[1]*.jsonl", "g[1]*.parquet", "g[1]*.feather", "g[1]*.xlsx"])
def test_a_path_is_no_pattern(tmp_path: Path, name: str) -> None:
    frame, path = pl.DataFrame({"a": [1], "b": ["x"]}), tmp_path / name
    writers = {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet", "feather": "write_ipc"}
    getattr(frame, writers.get(format_of(path), "write_excel"))(path)
    assert read_file(path).equals(frame)


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff"), max_size=5)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=5))
def test_what_polars_writes_is_what_is_read(rows: list[list[str]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row")
    again = read_csv(frame.write_csv().encode(), "t", AS_WRITTEN, types=False)
    assert [[cell or "" for cell in row] for row in again.rows()] == rows


# -------------------------------------------------------------------------------------------------------- Excel


def test_a_text_below_many_numbers_is_not_lost(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [["a", "b"], *([i, i] for i in range(3000)), ["x", 1]])
    column = read_file(path)["a"]
    assert (column.null_count(), column[-1], column[0]) == (0, "x", "0")


def test_sheets_are_chosen_by_name(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [["a", "zip"], [1, "007"]])
    assert read_file(path, ReadOptions(sheet="first")).rows() == read_file(path).rows() == [(1, "007")]


@pytest.mark.parametrize(
    ("rows", "sheet", "said"),
    [
        ([["a", "a"], [1, 2]], None, "column names occur twice; got 'a'"),
        ([["a", None], [1, 2]], None, "a column has no name; got column 2"),
        ([["a"], [1]], "third", "third"),
        ([["a"], [1]], "second", "empty"),
        ([], None, "empty"),
    ],
)
def test_bad_sheets(tmp_path: Path, rows: list[list[Any]], sheet: str | None, said: str) -> None:
    with pytest.raises(TableError, match=said):
        read_file(workbook(tmp_path / "t.xlsx", rows), ReadOptions(sheet=sheet))


# ------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n3\n", "line 3 has 1 cells where the header has 2"),
        ("a,b\r\n1,2\r\n3,4,5\r\n", "line 3 has 3 cells where the header has 2"),
        ("a,b\n1,2\n\n3,4,5\n", "line 4 has 3 cells"),
        ('a,b\n"1\n1",2\n3\n', "line 4 has 1 cells"),
        ('a,b\n"1\n1",2\n\n3,4,"5\n6"\n', "line 5 has 3 cells"),
        ('a,b\n1,2\n3,"x\n4,y\n', "line 3 is not well quoted; got unexpected end of data"),
        ('a,b\n1,2\n"x"y,3\n', "line 3 is not well quoted"),
        ("a,b,a\n1,2,3\n", "column names occur twice; got 'a'"),
        ("a,,b\n1,2,3\n", "a column has no name; got column 2"),
        ('"",b\n1,2\n', "a column has no name; got column 1 of 2, beside 'b'. Hint: name it, or leave it out: pandas"),
        (",,b\n1,2,3\n", "a column has no name; got column 1"),
        ("\n\n", "the first line names no columns"),
        (b"\xef\xbb\xbf", "the first line names no columns"),
        (b"", "the file is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "cannot be decoded; got tried utf-8, cp1252"),
        (b"a,b\n\x81\xe9,2\n", "cannot be decoded; got tried utf-8, cp1252"),
        ("a,b\né,2\n".encode("utf-32"), "cannot be decoded"),
    ],
)
def test_bad_csv_files(read: Read, text: str | bytes, said: str) -> None:
    with pytest.raises(TableError, match=said):
        read(text)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"encoding": "utf-9"}, "no such encoding; got 'utf-9'"),
        ({"encoding": "hex"}, "no such encoding"),
        ({"encoding": "a\0b"}, "no such encoding"),
        ({"encoding": "undefined"}, "cannot be decoded; got tried undefined"),
        ({"encoding": "ascii"}, "cannot be decoded; got tried ascii"),
        ({"delimiter": ",,"}, "must be one character"),
        ({"quote": "ab"}, "must be one character"),
        ({"quote": ",", "delimiter": ","}, "must differ"),
        ({"delimiter": '"'}, "must differ"),
        ({"delimiter": "\n"}, "ends no line"),
        ({"delimiter": "\0"}, "ends no line"),
    ],
)
def test_bad_options(read: Read, options: dict[str, str], said: str) -> None:
    with pytest.raises(TableError, match=said):
        read("a,b\né,2\n", **options)


def test_bad_paths(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a\n1\n")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "people.cvs").write_text("a\n1\n")
    (tmp_path / "people").write_text("a\n1\n")
    for name, said in {
        "peple.csv": "no such file. Hint: did you mean 'people.csv'?",
        "none/people.csv": "there is no folder",
        "folder.csv": "is not a file",
        "people.cvs": "names no known format; got .cvs. Hint: did you mean '.csv'?",
        "people": "names no known format; got none",
    }.items():
        with pytest.raises(TableError) as caught:
            read_file(tmp_path / name)
        assert said in str(caught.value)


@pytest.mark.parametrize("ending", sorted(set(FORMATS) - {".csv", ".tsv", ".txt", ".data"}))
@pytest.mark.parametrize(
    "content", [b"a,b\n1,2\n", b"\x01garbage" * 60, b"PAR1" * 9, b"ARROW1\0\0" * 9, b"PK\x03\x04" * 9]
)
def test_corrupt_files(read: Read, ending: str, content: bytes) -> None:
    with pytest.raises(TableError, match=f"cannot be read as {FORMATS[ending]}"):
        read(content, f"t{ending}")


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".xlsx"])
def test_files_cut_short(tmp_path: Path, ending: str) -> None:
    path, frame = tmp_path / f"t{ending}", pl.DataFrame({"a": ["x" * 40] * 200})
    {".parquet": frame.write_parquet, ".feather": frame.write_ipc, ".xlsx": frame.write_excel}[ending](path)
    data = path.read_bytes()
    for share in (0.2, 0.5, 0.9):
        path.write_bytes(data[: int(len(data) * share)])
        with pytest.raises(TableError, match="cannot be read"):
            read_file(path)


@pytest.mark.parametrize(
    "text", ['[{"a": 1}]', "1\n2\n", '{"a": 1}\n{"a":\n', '{"a": NaN}', "null", "\n\n", '{"a": 1}\n{"a": [2]}']
)
def test_bad_json_lines(read: Read, text: str) -> None:
    with pytest.raises(TableError, match="cannot be read as jsonl"):
        read(text, "t.jsonl")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.binary(max_size=60))
def test_whatever_the_bytes_there_is_a_table_or_a_table_error(data: bytes) -> None:
    try:
        frame = read_csv(data, "t")
    except TableError:
        return
    assert frame.width >= 1


def test_a_long_cell_is_read(read: Read) -> None:
    assert read(f'a,b\n1,2\n"{"x" * 200_000}",3\n')["a"].to_list() == ["1", "x" * 200_000]


@settings(max_examples=2_000, deadline=None)
@given(
    st.text(alphabet='ab,"\n \ufeff;é', min_size=1, max_size=60),
    st.sampled_from(["a,b\n", '"a",b\n', "a,b,c\n", '"a,b",c\n', "", "\n", 'a"b,c\n', 'a,"b\n']),
)
def test_lines_read_at_once_are_the_rows_read_one_by_one(body: str, header: str) -> None:
    text = (header + body).encode()

    def read(is_quoted: bool | None) -> list[Any]:
        try:
            dialect = Dialect.detect(text, "", AS_WRITTEN)
            frame = (dialect if is_quoted is None else replace(dialect, is_quoted=is_quoted)).read()
        except TableError as error:
            return [str(error)]
        return [frame.columns, *([cell or None for cell in row] for row in frame.rows())]

    with mock.patch.object(delimited, "well_formed", return_value=None):  # no line is taken for a row by itself
        one_by_one = read(is_quoted=True)
    assert read(is_quoted=None) == one_by_one
    assert read(is_quoted=True) == one_by_one


def test_quoted_lines_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release with ranges is such a file: reading it back must not take ten times as long as writing it."""
    one_by_one: list[list[str]] = []
    honest = Dialect.reader

    def reader(self: Dialect, lines: Any) -> Any:
        return Rows(honest(self, lines))

    class Rows:
        def __init__(self, rows: Any) -> None:
            self.rows = rows

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> list[str]:
            one_by_one.append(next(self.rows))
            return one_by_one[-1]

        @property
        def line_num(self) -> int:
            return int(self.rows.line_num)

    monkeypatch.setattr(Dialect, "reader", reader)
    path = tmp_path / "release.csv"
    path.write_text('age,note\r\n"[20, 29]","he said ""no"""\r\n"[30, 39]",\r\n')
    assert files.read_file(path, AS_WRITTEN).rows() == [("[20, 29]", 'he said "no"'), ("[30, 39]", None)]
    assert one_by_one == [["age", "note"]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "": 2}\n', "a column has no name; got column 2 of 2, beside 'a'"),
        ('\ufeff{"a": 1, "b": {"a": 2}, "a": 3}\n{"a": null}\n', "column names occur twice; got 'a'"),
    ],
)
def test_names_in_json_lines(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=said):
        read_file(tmp_path / "t.jsonl")
