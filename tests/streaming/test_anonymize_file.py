"""A release that is written part by part is the ordinary one: the same records, and as CSV the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.engines.counted import CountedTable
from shoal.engines.files import engine as module
from shoal.engines.files import write
from shoal.engines.files.budget import MemoryBudget
from shoal.errors import AuditFailed, Infeasible, Misfit, ShoalError, TableError, WriteError


def people(records: int = 400, seed: int = 0) -> pl.DataFrame:
    """Return a table with numbers, texts, dates and missing values; some records occur many times."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(20, 60, records)
    frame = pl.DataFrame(
        {
            "name": [f"person {n}" for n in range(records)],
            "age": ages,
            "^sex$": rng.choice(["female", "male"], records),
            "*": rng.choice(["02138", "02139", "10001", "10002", "94110"], records),
            "job title": rng.choice(["clerk", "cook, chef", 'the "boss"', "nurse"], records),
            "illness": rng.choice(["flu", "cold", "broken leg", "none at all"], records),
            "visits": rng.integers(0, 3, records) / 2,
            "day": pl.Series(rng.integers(9000, 9004, records)).cast(pl.Int32).cast(pl.Date),
            "seen": rng.choice([True, False], records),
        }
    )
    missing = {name: rng.random(records) < 0.05 for name in ("age", "job title", "illness", "visits", "day", "seen")}
    return pl.DataFrame(  # by way of a dict: polars reads "*" and "^…$" in a name as a pattern
        {
            column.name: column.zip_with(~pl.Series(missing[column.name]), column.clear(records))
            if column.name in missing
            else column
            for column in frame
        }
    )


def policy(algorithm: str, **more: object) -> shoal.Policy:
    return shoal.Policy(
        **{
            "identifiers": ["name"],
            "subject": "none",
            "quasi_identifiers": {
                "age": {"hierarchy": "intervals", "widths": [5, 10, 20]},
                "*": {"hierarchy": "mask", "keep": [4, 3, 0]},
                "^sex$": "suppress",
                "job title": {"hierarchy": "suppress", "missing": "wildcard"},
            },
            "sensitive": ["illness"],
            "others": "keep",
            "models": [{"name": "k-anonymity", "k": 4}, {"name": "distinct-l-diversity", "on": "illness", "l": 2}],
            "algorithm": {"name": algorithm},
            "max_suppressed": 0.1,
            **more,
        }
    )


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 37 records: every boundary between parts is crossed."""
    monkeypatch.setattr(MemoryBudget, "rows", lambda self, columns: 37)


def both(
    tmp_path: Path, table: pl.DataFrame, asked: shoal.Policy, given: str, format: str, **options: str
) -> tuple[Path, Path]:
    """Return the folders of the ordinary release and of the one that is written part by part."""
    path = tmp_path / f"data.{given}"
    table.write_csv(path) if given == "csv" else table.write_parquet(path, row_group_size=100)
    shoal.anonymize(path, asked, **options).write(tmp_path / "whole", format=format, statistics=False)
    how: dict[str, Any] = {"memory": "1GB", "format": format, "statistics": False}
    shoal.anonymize_file(path, asked, tmp_path / "parts", **how, **options)
    return tmp_path / "whole", tmp_path / "parts"


ALGORITHMS = ["optimal", "samarati", "mondrian", "shoal", "k-member", "top-down-specialization"]


@pytest.mark.parametrize("given", ["csv", "parquet"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_as_csv_it_is_the_same_bytes(algorithm: str, given: str, tmp_path: Path) -> None:
    whole, parts = both(tmp_path, people(), policy(algorithm), given, "csv")
    assert (parts / "release.csv").read_bytes() == (whole / "release.csv").read_bytes()
    first, second = (json.loads((folder / "audit.json").read_text()) for folder in (whole, parts))
    assert first == second


def test_statistics_are_those_of_the_whole_table(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    people().write_csv(path)
    shoal.anonymize(path, policy("mondrian")).write(tmp_path / "whole")
    written = shoal.anonymize_file(path, policy("mondrian"), tmp_path / "parts", memory="1GB")
    whole, parts = (
        json.loads((tmp_path / name / "audit.json").read_text())["statistics"] for name in ("whole", "parts")
    )
    assert parts["records"] == whole["records"]
    assert parts["columns"].keys() == whole["columns"].keys()
    for name, told in whole["columns"].items():
        assert parts["columns"][name]["histogram"] == told["histogram"]
        assert parts["columns"][name].get("mean") == pytest.approx(told.get("mean"))
    again = shoal.audit_file(written.files["release"], policy("mondrian"), original=path, statistics=True)
    assert json.loads(json.dumps(again.statistics)) == parts
    assert shoal.audit_file(written.files["release"], policy("mondrian"), original=path).statistics is None


MOMENT = datetime(2021, 10, 31, 0, 30)
TYPES: dict[str, pl.Series] = {
    "seconds": pl.Series([MOMENT, None, MOMENT + timedelta(hours=1)]),
    "milliseconds": pl.Series([MOMENT, None, MOMENT + timedelta(milliseconds=1)], dtype=pl.Datetime("ms")),
    "microseconds": pl.Series([MOMENT, None, MOMENT + timedelta(microseconds=1)]),
    "nanoseconds": pl.Series([1, None, 10**18 + 1], dtype=pl.Int64).cast(pl.Datetime("ns")),
    "zone": pl.Series([MOMENT, None, MOMENT + timedelta(hours=3)]).dt.replace_time_zone("Europe/Berlin"),
    "time": pl.Series([time(1, 2, 3), None, time(1, 2, 3, 500_000)]),
    "duration": pl.Series([timedelta(1), None, timedelta(microseconds=5)]),
    "decimal": pl.Series([Decimal("1.10"), None, Decimal("2.50")]),
    "long decimal": pl.Series([Decimal("0.12345678901234567"), None, Decimal(1)], dtype=pl.Decimal(38, 17)),
    "category": pl.Series(["a", None, "b"], dtype=pl.Categorical),
}


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_is_written_as_it_is_at_once(kind: str, tmp_path: Path) -> None:
    column = pl.concat([TYPES[kind]] * 30).alias("x")
    table = pl.DataFrame([column.alias("y"), column.alias("z"), column, pl.Series("sex", ["f", "m"] * 45)])
    roles = {"quasi_identifiers": {"sex": {}, "x": {}}, "sensitive": ["y"], "others": "keep"}
    asked = shoal.Policy(**roles, models=[{"name": "k-anonymity", "k": 2}])
    for given, format in (("parquet", "csv"), ("csv", "csv"), ("parquet", "parquet")):
        folder = tmp_path / f"{given} {format}"
        folder.mkdir()
        if given == "csv" and kind == "duration":  # polars writes none
            continue
        whole, parts = both(folder, table, asked, given, format)
        shown, streamed = (one / f"release.{format}" for one in (whole, parts))
        if format == "csv":
            assert shown.read_bytes() == streamed.read_bytes()
        assert shoal.audit_file(streamed, asked, original=folder / f"data.{given}", memory="1GB").holds
        assert pl.concat([shoal.read(one).unique() for one in (shown, streamed)]).n_unique() == 6


UNUSUAL = {
    "inf": pl.Series([1.0, float("inf")]),
    "nan": pl.Series([1.0, float("nan")]),
    "never": pl.Series([1, 2**31 - 1], dtype=pl.Int32).cast(pl.Date),
    "list": pl.Series([[1], [2]]),
    "bytes": pl.Series([b"a", b"b"]),
}


@pytest.mark.parametrize("values", UNUSUAL)
def test_what_cannot_be_published_stops_a_release_only_where_it_would_be(values: str, tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pl.DataFrame({"q": ["a"] * 8, "x": pl.concat([UNUSUAL[values]] * 4)}).write_parquet(path)
    roads = (
        lambda asked: shoal.anonymize(path, asked),
        lambda asked: shoal.anonymize_file(path, asked, tmp_path / "out"),
    )
    models = [{"name": "k-anonymity", "k": 2}]
    for more in ({"others": "drop"}, {"identifiers": ["x"], "subject": "none"}):
        for road in roads:
            road(shoal.Policy(quasi_identifiers=["q"], models=models, **more))
    for more in ({"others": "keep"}, {"sensitive": ["x"]}, {"quasi_identifiers": ["q", "x"]}):
        told = []
        for road in roads:
            try:
                road(shoal.Policy(**{"quasi_identifiers": ["q"], "models": models, **more}))
                told.append("")
            except Misfit as error:
                told.append(str(error))
        assert told[0] == told[1]
        assert (told[0] == "") is (values == "nan")


def test_a_number_that_many_records_have_numbers_no_record(tmp_path: Path) -> None:
    asked = {"quasi_identifiers": ["q"], "others": "keep", "models": [{"name": "k-anonymity", "k": 2}]}
    wards = pl.DataFrame({"q": ["a", "b", "c"] * 4, "ward": [1, 2, 3] * 4}).sort("ward")
    rows = wards.with_columns(ward=pl.Series(range(1, 13)))
    for table, faults in ((wards, []), (rows, ["a row number is published"])):
        table.write_csv(tmp_path / "published.csv")
        for audit in (shoal.audit, shoal.audit_file):
            assert [fault.what for fault in audit(tmp_path / "published.csv", asked).faults] == faults


@pytest.mark.parametrize("role", ["quasi_identifiers", "sensitive"])
def test_missing_values_are_counted_in_records(role: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("q,r\n" + ",a\n" * 5 + "x,b\n" * 3)
    roles = {"quasi_identifiers": {"r": {}}, "sensitive": {}}
    roles[role] = {**roles[role], "q": {"missing": "error"}}
    asked = shoal.Policy(**roles, models=[{"name": "k-anonymity", "k": 2}])
    for road in (lambda: shoal.anonymize(path, asked), lambda: shoal.anonymize_file(path, asked, tmp_path / "out")):
        with pytest.raises(Misfit, match=rf"{role}\.q: missing values, which the policy forbids; got 5 records"):
            road()


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_as_parquet_it_is_the_same_records_in_the_same_order(algorithm: str, tmp_path: Path) -> None:
    whole, parts = both(tmp_path, people(), policy(algorithm), "csv", "parquet")
    assert_frame_equal(pl.read_parquet(parts / "release.parquet"), pl.read_parquet(whole / "release.parquet"))


@pytest.mark.parametrize(
    "more",
    [
        {"others": "drop"},
        {"publish": "ranges"},
        {"publish": "sets"},
        {"suppressed": "drop", "models": [{"name": "k-anonymity", "k": 9}]},
        {"models": [{"name": "t-closeness", "on": "illness", "t": 0.5}, {"name": "k-anonymity", "k": 3}]},
        {"seed": 7},
    ],
    ids=str,
)
@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_whatever_the_policy_says(algorithm: str, more: dict[str, object], tmp_path: Path) -> None:
    whole, parts = both(tmp_path, people(), policy(algorithm, **more), "csv", "csv")
    assert (parts / "release.csv").read_bytes() == (whole / "release.csv").read_bytes()


def test_the_form_of_the_file_does_not_matter(tmp_path: Path) -> None:
    table, asked = people(), policy("mondrian")
    for name, options in {
        "semi": {"separator": ";"},
        "quoted": {"quote_style": "always"},
        "bom": {"include_bom": True},
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        table.write_csv(folder / "data.csv", **options)
        shoal.anonymize_file(folder / "data.csv", asked, folder / "out", memory="1GB")
    semi, quoted, bom = (tmp_path / name / "out" / "release.csv" for name in ("semi", "quoted", "bom"))
    whole, _ = both(tmp_path, table, asked, "csv", "csv")
    assert quoted.read_bytes() == bom.read_bytes() == (whole / "release.csv").read_bytes()
    read: dict[str, Any] = {"infer_schema": False}
    same = pl.read_csv(whole / "release.csv", **read)
    assert pl.read_csv(semi, separator=";", **read).equals(same)  # what came with ";" goes with ";"


def test_the_order_and_the_files_of_the_records_do_not_matter(tmp_path: Path) -> None:
    table, asked = people(), policy("mondrian")
    for index, piece in enumerate(table.sample(fraction=1, shuffle=True, seed=1).iter_slices(90)):
        piece.write_parquet(tmp_path / f"part-{index}.parquet")
    shoal.anonymize_file(tmp_path / "part-*.parquet", asked, tmp_path / "out", memory="1GB", format="csv")
    whole, _ = both(tmp_path, table, asked, "parquet", "csv")
    assert (tmp_path / "out" / "release.csv").read_bytes() == (whole / "release.csv").read_bytes()


def test_the_manifest_vouches_for_the_files(tmp_path: Path) -> None:
    import hashlib

    people().write_parquet(tmp_path / "data.parquet")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "release.csv").write_text("an earlier release")
    written = shoal.anonymize_file(tmp_path / "data.parquet", policy("mondrian"), tmp_path / "out", memory="1GB")
    manifest = json.loads(written.files["manifest"].read_text())
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "audit.json", "manifest.json", "release.parquet", "report.html",
    ]  # fmt: skip
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == digest
    assert manifest["records"] == written.audit.records == 400
    outcomes = {check.name: check.outcome for check in written.audit.checks}
    assert set(outcomes.values()) == {"passed"}
    assert {"order", "bytes"} <= set(outcomes)


def test_identifiers_are_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    count = module.count
    monkeypatch.setattr(module, "count", lambda *a, **how: asked.append(how.get("names")) or count(*a, **how))
    people().write_parquet(tmp_path / "data.parquet")
    shoal.anonymize_file(tmp_path / "data.parquet", policy("mondrian"), tmp_path / "out", memory="1GB")
    assert asked == [[name for name in people().columns if name != "name"], None]  # the second is the release


def nothing_left(tmp_path: Path) -> bool:
    return not (tmp_path / "out").exists()


def attempt(tmp_path: Path, asked: shoal.Policy | None = None, format: str = "parquet", **options: object) -> object:
    path = tmp_path / "data.parquet"
    if not path.exists():
        people().write_parquet(path)
    options = {"memory": "1GB", **options}
    return shoal.anonymize_file(path, asked or policy("mondrian"), tmp_path / "out", format=format, **options)


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (lambda piece: piece.slice(1), "the file does not hold the released records"),
        (lambda piece: pl.concat([piece, piece.head(1)]), "the file does not hold the released records"),
        (lambda piece: piece.with_columns(illness=piece["illness"].shift(1).fill_null("flu")), "does not hold"),
        (
            lambda piece: piece.with_columns(age=piece["age"].scatter(0, "[40, 59]")),
            "does not hold the released records",
        ),
        (lambda piece: piece.with_columns(visits=piece["visits"] + 1e-9), "does not hold the released records"),
    ],
    ids=["a record is dropped", "a record is doubled", "values are moved", "a label is another", "numbers"],
)
def test_a_broken_writer_is_caught(
    broken: Callable[[pl.DataFrame], pl.DataFrame],
    what: str,
    format: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pieces = write.pieces

    def wrong(table: CountedTable, rows: int) -> Iterator[pl.DataFrame]:
        for index, piece in enumerate(pieces(table, rows)):
            yield broken(piece) if index == 2 else piece

    monkeypatch.setattr(write, "pieces", wrong)
    with pytest.raises(AuditFailed, match=what):
        attempt(tmp_path, format=format)
    assert nothing_left(tmp_path)


def test_a_writer_that_moves_columns_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = write.pieces

    def moved(table: CountedTable, rows: int) -> Iterator[pl.DataFrame]:
        yield from (pl.DataFrame(piece.get_columns()[::-1]) for piece in pieces(table, rows))

    monkeypatch.setattr(write, "pieces", moved)
    with pytest.raises(AuditFailed, match="the file's columns are not the release's"):
        attempt(tmp_path, format="csv")
    assert nothing_left(tmp_path)


def test_a_writer_that_leaks_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the head and the columns of a Parquet file may stand anything, and no reader of records sees it."""
    real = module.write

    def leaking(table: object, path: Path, kind: str, rows: int, progress: object, **how: str) -> None:
        real(table, path, kind, rows, progress)  # type: ignore[arg-type]
        data = path.read_bytes()
        footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        path.write_bytes(data[:footer] + b"cook, chef" + data[footer:])

    monkeypatch.setattr(module, "write", leaking)
    asked = policy(
        "optimal",
        others="drop",
        quasi_identifiers={"job title": "suppress"},
        models=[{"name": "k-anonymity", "k": 300}],
        max_suppressed=0.0,
    )
    with pytest.raises(ShoalError, match="raw values that are not published"):
        attempt(tmp_path, asked)
    assert nothing_left(tmp_path)


def test_records_in_their_original_order_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The released records, all of them, but each where its original stands."""
    real = module.write

    def unsorted(table: object, path: Path, kind: str, rows: int, progress: object, **how: str) -> None:
        real(table, path, kind, rows, progress)  # type: ignore[arg-type]
        frame = pl.read_parquet(path)
        rank = pl.read_parquet(tmp_path / "data.parquet").with_row_index("row").sort("visits", "day", "seen", "illness")
        frame = frame.sort("visits", "day", "seen", "illness").with_columns(rank["row"]).sort("row").drop("row")
        frame.write_parquet(path, compression="uncompressed", statistics=False)

    table = people().drop_nulls().with_columns(visits=pl.Series(np.arange(len(people().drop_nulls())) % 97 / 2))
    table.sample(fraction=1, shuffle=True, seed=3).write_parquet(tmp_path / "data.parquet")
    monkeypatch.setattr(module, "write", unsorted)
    with pytest.raises(AuditFailed, match="stand in their original order"):
        attempt(tmp_path)
    assert nothing_left(tmp_path)


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("phase", ["counting", "writing", "reading back", "auditing"])
def test_whoever_stops_it_finds_nothing(phase: str, format: str, tmp_path: Path) -> None:
    def stop(what: str, done: int, total: int) -> None:
        if what == phase and (done or phase == "auditing"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(tmp_path, format=format, progress=stop)
    assert nothing_left(tmp_path)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_full_disk_is_told(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = module.write
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    monkeypatch.setattr(module, "write", lambda table, path, *rest, **how: real(table, full, *rest, **how))
    with pytest.raises(WriteError, match="disk is full"):
        attempt(tmp_path, format=format)
    assert nothing_left(tmp_path)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"identifiers": ["nam"], "others": "drop"}, "no such column in the table"),
        ({"others": None}, "columns without a role"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_before_anything_is_counted(
    more: dict[str, object], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "count", None)
    with pytest.raises(Misfit, match=what):
        attempt(tmp_path, policy("mondrian", **more))
    assert nothing_left(tmp_path)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_without_a_name_is_told_the_same_way(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"data.{ending}"
    table = pl.DataFrame({"": [0, 1], "age": [21, 21]})
    table.write_csv(path) if ending == "csv" else table.write_parquet(path)
    asked = {"quasi_identifiers": ["age"], "others": "drop", "models": [{"name": "k-anonymity", "k": 2}]}
    words = "a column has no name; got column 1 of 2, beside 'age'. Hint: name it, or leave it out: pandas"
    for road in (lambda: shoal.anonymize(path, asked), lambda: shoal.anonymize_file(path, asked, tmp_path / "out")):
        with pytest.raises(TableError, match=words):
            road()
    assert nothing_left(tmp_path)


def test_bad_tables_leave_nothing(tmp_path: Path) -> None:
    (tmp_path / "ragged.csv").write_text("age,sex\n21,f\n24\n")
    asked = {"quasi_identifiers": ["age", "sex"], "models": [{"name": "k-anonymity", "k": 2}]}
    with pytest.raises(TableError, match="line 3 has 1 cells"):
        shoal.anonymize_file(tmp_path / "ragged.csv", asked, tmp_path / "out", memory="1GB")
    (tmp_path / "none.csv").write_text("age,sex\n")
    with pytest.raises(Infeasible, match="no records"):
        shoal.anonymize_file(tmp_path / "none.csv", asked, tmp_path / "out", memory="1GB")
    (tmp_path / "few.csv").write_text("age,sex\n1,f\n")
    with pytest.raises(Infeasible, match="cannot hold"):
        shoal.anonymize_file(tmp_path / "few.csv", asked, tmp_path / "out", memory="1GB")
    pl.DataFrame({"age": [1.0, float("inf")], "sex": ["f", "m"]}).write_parquet(tmp_path / "inf.parquet")
    with pytest.raises(Misfit, match="infinite"):
        shoal.anonymize_file(tmp_path / "inf.parquet", asked, tmp_path / "out", memory="1GB")
    assert nothing_left(tmp_path)


def test_formats_that_cannot_be_written_in_parts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="the files engine does not write it; got 'excel'"):
        attempt(tmp_path, format="excel")


def test_the_original_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "release.parquet"
    people().write_parquet(path)
    with pytest.raises(WriteError, match="would be replaced"):
        shoal.anonymize_file(path, policy("mondrian"), tmp_path, memory="1GB")
    assert_frame_equal(pl.read_parquet(path), people())


def test_the_read_back_reads_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the search and the audit of the counts found: a file that does not hold is none."""
    read: list[Path] = []
    opened = module.open_scan
    monkeypatch.setattr(module, "open_scan", lambda path, *rest, **how: read.append(path) or opened(path, *rest, **how))
    attempt(tmp_path)
    assert [path.name for path in read] == ["data.parquet", "release.parquet"]


def test_values_that_apply_moves_to_other_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of a counted table are compared one by one too: each value is there as often, beside somebody else."""
    from dataclasses import replace

    from shoal.pipeline import anonymize as pipeline

    table = pl.DataFrame({"age": [20, 21, 40, 41] * 10, "illness": ["flu", "cold", "gout", "none"] * 10})
    table.write_parquet(tmp_path / "table.parquet")
    policy = shoal.Policy(quasi_identifiers=["age"], sensitive=["illness"], models=[{"name": "k-anonymity", "k": 2}])
    assert shoal.anonymize_file(tmp_path / "table.parquet", policy, tmp_path / "good", memory="1GB").audit.holds
    honest = pipeline.publish

    def moving(*given: Any) -> Any:
        published = honest(*given)
        frame = published.table.frame
        values = frame["illness"].to_list()
        moved = frame.with_columns(pl.Series("illness", [*values[1:], values[0]]))
        return replace(published, table=published.table.with_frame(moved))

    monkeypatch.setattr(pipeline, "publish", moving)
    with pytest.raises(AuditFailed, match="illness: published values that are not those of their records"):
        shoal.anonymize_file(tmp_path / "table.parquet", policy, tmp_path / "out", memory="1GB")
    assert not (tmp_path / "out").exists()
