"""What people have: marks of numbers, dates, missing values and layouts of many lands; read as said."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.encoding.read_options import ReadOptions
from shoal.engines.detection import read_with_detected
from shoal.engines.files.budget import MemoryBudget
from shoal.engines.files.count import count
from shoal.engines.files.scan import open_scan
from shoal.engines.layout import find_layout_fault
from shoal.errors import PolicyError, TableError

GERMAN = (
    "Name;Geb.;Gewicht;Kosten;Aufnahme;PLZ;Diagnose\n"
    "Anna;31.12.1950;72,5;1.234,50;2020-01-02;01069;Grippe\n"
    "Bernd;1.2.1961;n/a;2.000,00;03.04.2020;80331;Asthma\n"
    "Carla;5.6.1970;61,0;980,25;2021-05-06;10115;Grippe\n"
    "Dora;7.8.1981;80,1;k.A.;04.05.2020;01069;?\n"
)
SAID: dict[str, Any] = {
    "decimal": ",",
    "missing": ["n/a", "k.A.", "?"],
    "dates": {"format": "%d.%m.%Y"},
    "columns": {"Kosten": {"thousands": "."}, "Aufnahme": {"dates": ["%Y-%m-%d", "%d.%m.%Y"]}},
}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str | bytes, name: str = "t.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def in_parts(path: Path, **said: Any) -> pl.DataFrame:
    """Return a table as the engine for large files reads it, one record at a time."""

    class Narrow(MemoryBudget):
        def rows(self, columns: int) -> int:
            return 1

    counted, _ = count(open_scan(path, ReadOptions.of(None, said)), Narrow(10**9))
    return counted.expand()


def both_ways(path: Path, **said: Any) -> pl.DataFrame:
    """Return a table that both engines read alike."""
    whole = shoal.read(path, **said)
    assert_frame_equal(in_parts(path, **said), whole, check_row_order=False)
    return whole


def refusal(path: Path, **said: Any) -> str:
    """Return the one error of both engines."""
    with pytest.raises(TableError) as whole:
        shoal.read(path, **said)
    with pytest.raises(TableError) as parts:
        in_parts(path, **said)
    assert str(whole.value) == str(parts.value)
    return str(whole.value)


# ------------------------------------------------------------------------------------------------- what is said


def test_a_file_is_read_as_is_said(write: Write) -> None:
    table = both_ways(write(GERMAN), **SAID)
    day = dt.date
    assert table["Geb."].to_list() == [day(1950, 12, 31), day(1961, 2, 1), day(1970, 6, 5), day(1981, 8, 7)]
    assert table["Gewicht"].to_list() == [72.5, None, 61.0, 80.1]
    assert table["Kosten"].to_list() == [1234.5, 2000.0, 980.25, None]
    assert table["Aufnahme"].to_list() == [day(2020, 1, 2), day(2020, 4, 3), day(2021, 5, 6), day(2020, 5, 4)]
    assert table["PLZ"].to_list()[0] == "01069"
    assert table["Diagnose"].to_list()[-1] is None


def test_the_same_is_found(write: Write) -> None:
    path = write(GERMAN)
    found = read_with_detected(path)[1]
    assert (found.delimiter, found.decimal, found.dates) == (";", ",", ("%d.%m.%Y",))
    assert_frame_equal(shoal.read(path, **found.to_dict()), shoal.read(path, **SAID))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,b\n1,x\n2,y\n", {}),
        ('a,b\n"1,234",x\n"2,345",y\n', {}),  # a thousand, or one and a bit: nobody knows
        ('a,b\n"1,234.5",x\n"2,345.0",y\n', {"decimal": ".", "thousands": ","}),
        ("a,b\n01/02/2020,x\n03/04/2020,y\n", {}),  # the second of January, or the first of February
        ("a,b\n13/02/2020,x\n03/04/2020,y\n", {"dates": {"format": "%d/%m/%Y"}}),
        ("a,b\n02/13/2020,x\n03/04/2020,y\n", {"dates": {"format": "%m/%d/%Y"}}),
        ("land,b\nNA,1\nDE,2\nFR,3\n", {}),  # Namibia
        ("a,b\nNA,1\n5,2\n7,3\n", {"missing": ["NA"]}),
        ("a,b\n 1 ,x\n2,y\n", {"strip": True}),
        ("age,nyha\n34,1\n36,-1\n999,3\n", {"columns": {"age": {"missing": ["999"]}, "nyha": {"missing": ["-1"]}}}),
        ("age,n\nNA,0\n36,-1\n999,1\n", {"missing": ["NA"], "columns": {"age": {"missing": ["NA", "999"]}}}),
        ("change\n-3\n-1\n0\n60\n99\n", {}),
    ],
)
def test_nothing_is_found_that_may_be_meant_in_two_ways(write: Write, text: str, found: dict[str, Any]) -> None:
    assert read_with_detected(write(text))[1].to_dict() == found


@pytest.mark.parametrize(
    ("cells", "own"),
    [
        (("873", "5.890", "12.000"), {"decimal": ",", "thousands": "."}),  # who writes 72,5 writes 5.890 for thousands
        (("0.5", "1.25", "3.141"), {"decimal": "."}),
    ],
)
def test_points_beside_decimal_commas(write: Write, cells: tuple[str, ...], own: dict[str, str]) -> None:
    path = write("kg;x\n" + "".join(f"{70 + i},5;{cell}\n" for i, cell in enumerate(cells)))
    found = read_with_detected(path)[1]
    assert found.to_dict() == {"decimal": ",", "delimiter": ";", "columns": {"x": own}}
    values = both_ways(path, **found.to_dict())["x"].to_list()
    assert values == [float(cell.replace(".", "") if "thousands" in own else cell) for cell in cells]
    told = refusal(path, decimal=",")
    assert ("thousands" in told) == ("thousands" in own)
    assert 'columns: {x: {decimal: "."}}' in told


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Пол;Диагноз;Район\nм;Грипп;Север\nж;Астма;Юг\n", "cp1251"),
        ("Φύλο;Διάγνωση;Νομός\nΑ;Γρίπη;Κρήτη\n", "cp1253"),
        ("גיל;מין;אבחנה;עיר\n34;זכר;שפעת;ירושלים\n", "cp1255"),
        ("性别;诊断;城市\n男性;高血压;北京市\n", "gb18030"),
    ],
)
def test_letters_of_another_alphabet_are_not_guessed(write: Write, text: str, encoding: str) -> None:
    path = write(text.encode(encoding))
    told = refusal(path)
    assert "words of no language" in told
    assert encoding in told
    assert both_ways(path, encoding=encoding).columns == text.split("\n", maxsplit=1)[0].split(";")


@pytest.mark.parametrize("text", ["Größe;Näyttö;ação;äöäöß\n1;2;3;4\n", "naïve;œuvre;“x”\n1;2;3\n", "a;b\n€…–;½\n"])
def test_western_letters_are_read(write: Write, text: str) -> None:
    assert both_ways(write(text.encode("cp1252"))).columns == text.split("\n", maxsplit=1)[0].split(";")


def test_moments_stay_the_moment_that_they_are(write: Write) -> None:
    table = both_ways(write("at,n\n2020-01-01T10:00:00+02:00,1\n2020-01-01 08:00:00Z,2\n2020-01-01T03:00:00-05:00,3\n"))
    moment = dt.datetime(2020, 1, 1, 8, tzinfo=dt.UTC)
    assert table["at"].to_list() == [moment] * 3


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("thousands", [None, "'", " "])
def test_numbers_are_the_same_whatever_their_marks(write: Write, decimal: str, thousands: str | None) -> None:
    cells = [f"1{thousands or ''}234{decimal}5", f"-0{decimal}25", "7"]
    path = write("a;b\n" + "".join(f"{cell};x\n" for cell in cells))
    assert both_ways(path, decimal=decimal, thousands=thousands)["a"].to_list() == [1234.5, -0.25, 7.0]


def test_a_number_stands_for_a_missing_value_in_its_column_only(write: Write) -> None:
    path = write("age,weight\n34,999\n999,70\n")
    table = both_ways(path, columns={"weight": {"missing": 999}})
    assert table.rows() == [(34, None), (999, 70)]


def test_compressed_files_are_files(write: Write) -> None:
    expected = shoal.read(write(GERMAN), **SAID)
    zipped = write(gzip.compress(GERMAN.encode()), "t.csv.gz")
    stream = pyarrow.compress(GERMAN.encode(), codec="zstd", asbytes=True)
    for path in (zipped, write(stream, "t.csv.zst")):
        assert_frame_equal(both_ways(path, **SAID), expected)


def test_a_file_without_a_header_is_read_when_it_is_said(write: Write) -> None:
    path = write("\ufeffAnna,34,flu\nBob,36,flu\nCy,47,cold\n")
    assert both_ways(path, header=False).rows()[0] == ("Anna", 34, "flu")
    quoted = write('"Anna",34,"flu"\n"Bob",36,"a\nb"\n"Cy",47,"cold"\n', "q.csv")
    assert both_ways(quoted, header=False).columns == ["column_1", "column_2", "column_3"]
    assert both_ways(path, header=True).height == 2


@pytest.mark.parametrize("quote", ["", '"'])
def test_lines_above_the_names_and_totals_below_are_left_out(write: Write, quote: str) -> None:
    text = f"Report\n\nward,age\n{quote}a{quote},34\nb,36\nc,36\nTotal,106\n\n"
    assert both_ways(write(text), header=3, totals=True).rows() == [("a", 34), ("b", 36), ("c", 36)]


# ------------------------------------------------------------------------------------------- what is not readable


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Anna,34,flu\nBob,36,flu\nCy,47,cold\n", ["looks like a record", "header: false", "--no-header"]),
        ("P001,f\nP002,m\nP003,f\n", ["looks like a record"]),
        ("31.12.1950;x\n1.2.1961;y\n3.4.1970;z\n", ["looks like a record"]),
        ("Report\n\nname;age;sex\nAnn;34;f\nBob;36;m\nCy;47;m\n", ["line 3", "header: 3"]),
        ("name,age,kg\n,years,mass\nAnn,34,70\nBob,36,80\nCy,47,81\n", ["line 2", "second line of names", "header: 2"]),
        ("ward,age\na,34\nb,36\nc,47\nTotal,117\n", ["totals", "totals: true"]),
        ("Station;Alter\na;34\nb;36\nc;47\nSumme:\n", ["totals", "Summe"]),
        ("ward,age,cost\na,34,1.5\nb,36,2\nc,47,0.25\n,117,3.75\n", ["sums", "totals: true", "totals: false"]),
        ("Station;Alter;Kosten\na;34;1.234,50\nb;36;2,5\nc;47;0\n;;1.237,00\n", ["sums", "--totals"]),
        (
            "name,born,won\n" + "".join(f"p{i},1970-01-{i % 28 + 1:02},{i - 500}\n" for i in range(999)) + ",,-999\n",
            ["sums"],
        ),
        ("a,b,c\n1,5,2\n3,1,2\n2,2,2\n6,8,6\n", ["sums", "'6', '8', '6'"]),
        ("age,weight\n34,72,5\n36,80,1\n", ["line 2 has 3 cells", "decimal commas"]),
        ("age,kind\n34,NA\n36,?\n", ["kind: holds nothing but", "'NA' (row 2)", "'?' (row 3)", "missing: ["]),
        ("n,born\n1,13/02/1980\n2,01/02/1981\n3,02/13/1981\n", ["contradict", "(row 2)", "(row 4)", "dates: "]),
    ],
)
def test_what_may_be_wrong_is_refused_with_what_to_say(write: Write, text: str, said: list[str]) -> None:
    told = refusal(write(text))
    assert all(part in told for part in said), told


def test_whoever_said_it_is_not_asked_again(write: Write) -> None:
    assert both_ways(write("2019,2020\n1,2\n3,4\n"), header=True).columns == ["2019", "2020"]
    assert both_ways(write("ward,n\na,1\nb,2\nTotal,3\n"), totals=False).height == 3
    nameless = write("ward,n\na,1\nb,2\nc,4\n,7\n")
    assert both_ways(nameless, totals=False).height == 4
    assert both_ways(nameless, totals=True).rows() == [("a", 1), ("b", 2), ("c", 4)]


@pytest.mark.parametrize(
    "text",
    [
        "ward,n\na,1\nb,2\nc,4\n,8\n",  # of a ward that is not known
        "ward,n\na,1\nb,2\nc,4\nd,7\n",  # has a name
        "ward,n\na,0\nb,0\nc,0\n,0\n",
        "ward,n\na,0\nb,0\nc,4\n,4\n",
        "a,b\n1,1\n2,2\n3,3\n",
        "a,b\n1,5\n2,1\n3,1\n6,6\n",  # the sum of one column only
    ],
)
def test_a_last_record_is_no_line_of_totals(write: Write, text: str) -> None:
    assert both_ways(write(text)).height == text.count("\n") - 1
    assert both_ways(write("n,kind\n1,NA\n2,?\n"), missing=[])["kind"].to_list() == ["NA", "?"]
    assert both_ways(write("n,born\n1,13/02/1980\n2,02/13/1981\n"), dates=[])["born"].dtype == pl.String


def test_all_that_cannot_be_read_is_told_at_once(write: Write) -> None:
    text = "born;weight\n" + "1.2.1960;70,5\n" * 3 + "31.2.1961;heavy\n3.4.1962;71,0\n5.6.1963;70.25\n"
    told = refusal(write(text), decimal=",", dates="%d.%m.%Y", columns={"born": {"dates": "%d.%m.%Y"}})
    assert "'31.2.1961' (row 5)" in told and "'heavy' (row 5)" not in told.split("weight")[0]
    assert refusal(write(text), columns={"weight": {"decimal": ","}}).count("row") == 2


def test_a_date_that_two_formats_read_otherwise_is_refused(write: Write) -> None:
    told = refusal(write("n,born\n1,1/2/1980\n2,13/1/1981\n"), dates=["%d/%m/%Y", "%m/%d/%Y"])
    assert "two formats" in told and "'1/2/1980' (row 2)" in told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"decimel": ","}, "decimel: is not a known key. Hint: did you mean 'decimal'"),
        ({"decimal": ";"}, "decimal: must be one of"),
        ({"dates": "%d.%m"}, "is no format of dates"),
        ({"dates": "%Q %d %m %Y"}, "is no format of dates"),
        ({"thousands": "."}, "must differ"),
        ({"header": -1}, "header"),
        ({"columns": {"agee": {"missing": ["?"]}}}, "no such column in the table. Hint: did you mean 'age'"),
    ],
)
def test_mistakes_in_what_is_said(write: Write, said: dict[str, Any], told: str) -> None:
    assert told in refusal(write("age,sex\n21,f\n"), **said)


def test_a_parquet_file_has_no_delimiter(tmp_path: Path) -> None:
    pl.DataFrame({"age": ["21", "?"]}).write_parquet(tmp_path / "a.parquet")
    assert "delimiter: for CSV files" in refusal(tmp_path / "a.parquet", delimiter=";")
    assert both_ways(tmp_path / "a.parquet", missing=["?"])["age"].to_list() == ["21", None]


# ----------------------------------------------------------------------------------------------- policy and release


POLICY: dict[str, Any] = {
    "read": {**SAID, "delimiter": ";"},
    "quasi_identifiers": {"Gewicht": {"hierarchy": "intervals", "widths": [20, 100]}, "Geb.": {"hierarchy": "dates"}},
    "sensitive": ["Diagnose"],
    "others": "drop",
    "models": [{"name": "k-anonymity", "k": 2}],
    "max_suppressed": 1,
}


def test_a_policy_says_how_its_table_is_read(write: Write, tmp_path: Path) -> None:
    policy = shoal.Policy(**POLICY)
    assert shoal.Policy.from_yaml(policy.to_yaml()) == policy
    path = write(GERMAN)
    released = [shoal.anonymize(path, policy, **engine) for engine in ({}, {"memory": "1GB"})]
    files = [release.write(tmp_path / f"out{n}")["release"] for n, release in enumerate(released)]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].read_text().splitlines()[0] == "Geb.;Gewicht;Diagnose"
    assert shoal.audit(files[0], policy, original=path).holds
    assert shoal.audit(files[1], policy, original=path, memory="1GB").holds


def test_what_a_call_says_has_the_last_word(write: Write) -> None:
    policy = shoal.Policy(**POLICY)
    with pytest.raises(TableError, match="Gewicht: some cells cannot be read as numbers; got 'n/a'") as told:
        shoal.check(write(GERMAN), policy, missing=[])
    assert len(told.value.faults) == 2


def test_a_policy_that_says_nothing_has_the_hash_that_it_had() -> None:
    asked = {"quasi_identifiers": ["age"], "others": "keep", "models": [{"name": "k-anonymity", "k": 2}]}
    plain, read = shoal.Policy(**asked), shoal.Policy(read={"header": False}, **asked)
    assert plain.hash != read.hash
    assert "read" not in plain.effective() and read.effective()["read"] == {"header": False}
    with pytest.raises(PolicyError, match=r"read\.delimeter: is not a known key"):
        shoal.Policy(read={"delimeter": ";"}, **asked)


def test_a_draft_says_how_its_file_is_read(write: Write) -> None:
    path = write(GERMAN.replace("Dora", "Dora\u00e9"), "d.csv")
    policy = shoal.Policy.from_yaml(shoal.suggest(path, k=2))
    assert policy.reading is not None and policy.reading.decimal == ","
    assert shoal.read(path, **policy.reading.to_dict())["Gewicht"].dtype == pl.Float64


def test_what_stands_above_and_below_a_table_is_told(tmp_path: Path) -> None:
    """Also where a title has the delimiter of another file, or a note has none."""
    body = "nr;age;town\n" + "".join(f"{i};{20 + i};Bonn\n" for i in range(30))
    path = tmp_path / "export.csv"
    path.write_text(f"Hospital North, export\nas of today\n{body}")
    with pytest.raises(shoal.TableError, match=r"seem to stand in line 3.*header: 3"):
        shoal.suggest(path)
    assert list(shoal.read(path, header=3).columns) == ["nr", "age", "town"]
    path.write_text(f"{body}Source: the hospital, all rights reserved\n")
    with pytest.raises(shoal.TableError, match=r"a note below the table.*totals: true"):
        shoal.suggest(path)
    assert shoal.read(path, totals=True).height == 30


def test_a_text_in_two_spellings_of_blanks_is_stripped(tmp_path: Path) -> None:
    path = tmp_path / "towns.csv"
    path.write_text("nr;town\n" + "".join(f"{i};{['Bonn', 'Bonn ', 'Aix'][i % 3]}\n" for i in range(30)))
    assert shoal.suggest(path).policy.to_dict()["read"]["strip"] is True


HEADERLESS = [
    ["Okafor", "03.05.1961", "80331"],
    *[[name, f"1{n}.04.198{n}", f"8{n}331"] for n, name in enumerate("AABBCC")],
]


def test_an_unseen_name_does_not_outweigh_a_date() -> None:
    """The first person would become the names of the columns, though her birth is written as those below."""
    fault = find_layout_fault(list(enumerate(HEADERLESS, 1)))
    assert fault is not None and "looks like a record" in fault.what


@pytest.mark.parametrize(
    "first", [["city", "2019", "2020"], ["name", "born", "zip"], ["city", "2019-01", "2019-02"], ["sex", "1", "age"]]
)
def test_names_of_columns_are_names(first: list[str]) -> None:
    below = [[name, f"{n}7", f"{n}3"] for n, name in enumerate("AABBCC", 1)]
    assert find_layout_fault(list(enumerate([first, *below], 1))) is None
