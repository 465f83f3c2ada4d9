"""Releases as files: every format says what the table says, and a table that is streamed gives the same bytes."""

from __future__ import annotations

import csv
import json
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

import shoal

from .cases import draw_case
from .definitions import Row
from .meaning import same_value
from .releases import check_safe, check_true
from .results import Result, says_not_found, shorten
from .rows import count_suppressed, give_aside
from .setting import Case, Setting, build_table

FORMATS = ["csv", "parquet", "jsonl", "excel", "feather"]
UNSTREAMED = {"differential-privacy"}


def draw_file(seed: int) -> Case:
    """Draw a case that is handed over as a file, its records several times each."""
    case = draw_case(seed, "tiny")
    draw = Random(f"files {seed}")
    times = draw.choice([1, 2, 3])
    case["columns"] = [{**column, "values": column["values"] * times} for column in case["columns"]]
    if case.get("population"):
        case["population"] = [{**column, "values": column["values"] * times} for column in case["population"]]
    return {**case, "family": "files", "input": draw.choice(["csv", "parquet"]), "output": draw.choice(FORMATS)}


def run_file(case: Case) -> Result:
    """Take a case through memory and through the stream, and read what was written with other means."""
    started = time.perf_counter()
    result, setting = Result(case), Setting(case)
    with tempfile.TemporaryDirectory() as folder:
        _run(result, setting, Path(folder))
    if result.findings:
        result.outcome = "finding"
    result.seconds = time.perf_counter() - started
    return result


def _run(result: Result, setting: Setting, folder: Path) -> None:
    case = setting.case
    table, policy = build_table(case["columns"]), dict(case["policy"])
    if case.get("population"):
        build_table(case["population"]).write_parquet(folder / "population.parquet")
        policy["population"] = str(folder / "population.parquet")
    path = folder / f"table.{case['input']}"
    if case["input"] == "csv":
        table.write_csv(path)
    else:
        table.write_parquet(path)
    release = _outcome(result, lambda: shoal.anonymize(path, policy), "from a file")
    kind = case["output"]
    if isinstance(release, shoal.Release):
        written = _outcome(
            result, lambda: release.write(folder / "out", format=kind, statistics=False), f"write {kind}"
        )
        if isinstance(written, dict):
            check_file(result, setting, release, written["release"], kind)
    elif isinstance(release, shoal.ShoalError):
        result.outcome = "infeasible" if isinstance(release, shoal.Infeasible) else "refused"
    streamed = "parquet" if kind not in ("csv", "parquet") else kind
    other = _outcome(
        result,
        lambda: shoal.anonymize_file(
            path, policy, folder / "streamed", memory="1GB", format=streamed, statistics=False
        ),
        "streamed",
    )
    compare(result, setting, release, other, folder, streamed)


def _outcome(result: Result, call: Any, what: str) -> Any:
    """Call the product; an error of its own is an outcome, a failed audit and anything else a finding."""
    try:
        return call()
    except shoal.AuditFailed as error:
        result.find("audit-failed", f"{what}: {shorten(error)}")
        return None
    except shoal.ShoalError as error:
        return error
    except Exception as error:
        result.find("crash", f"{what}: {type(error).__name__}: {shorten(error)}")
        return None


def compare(result: Result, setting: Setting, release: Any, other: Any, folder: Path, kind: str) -> None:
    """The stream and the memory say the same, where the stream takes the policy at all."""
    if release is None or other is None:
        return
    if any(model.get("name") in UNSTREAMED for model in setting.models):
        if not isinstance(other, shoal.ShoalError):
            result.find("stream", "released what the documentation says it refuses")
        return
    if isinstance(release, shoal.ShoalError) != isinstance(other, shoal.ShoalError):
        result.find("stream", f"memory: {shorten(release, 140)}; streamed: {shorten(other, 140)}")
    elif isinstance(release, shoal.ShoalError):
        both = says_not_found(release) == says_not_found(other)
        if type(release) is not type(other) or not both or str(release).splitlines()[0] != str(other).splitlines()[0]:
            result.find("stream", f"memory says {shorten(release, 140)}; streamed {shorten(other, 140)}")
        result.checks["stream refused alike"] += 1
    else:
        ours = _outcome(result, lambda: release.write(folder / "same", format=kind, statistics=False), "write")
        if not isinstance(ours, dict):
            return
        first, second = ours["release"], Path(other.files["release"])
        same = first.read_bytes() == second.read_bytes() if kind == "csv" else _alike(first, second)
        if not same:
            result.find("stream", f"the streamed {kind} is another one than that of the memory")
        result.checks["stream alike"] += 1


def _alike(first: Path, second: Path) -> bool:
    return pl.read_parquet(first).equals(pl.read_parquet(second))


def read_texts(path: Path, kind: str) -> list[dict[str, Any]]:
    """Read a written file by means of its own: the csv module for CSV, json for lines, polars for the rest."""
    if kind == "csv":
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        return [dict(zip(rows[0], row, strict=True)) for row in rows[1:] if row] if len(rows[0]) > 1 else _single(rows)
    if kind == "jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    if kind == "parquet":
        return pl.read_parquet(path).rows(named=True)
    if kind == "feather":
        return pl.read_ipc(path).rows(named=True)
    return _read_excel(path)


def _single(rows: list[list[str]]) -> list[dict[str, Any]]:
    """In a table of one column an empty line is a record that shows nothing."""
    return [{rows[0][0]: row[0] if row else ""} for row in rows[1:]]


def _read_excel(path: Path) -> list[dict[str, Any]]:
    return pl.read_excel(path, infer_schema_length=0, drop_empty_rows=False, drop_empty_cols=False).rows(named=True)


def check_file(result: Result, setting: Setting, release: Any, path: Path, kind: str) -> None:
    """A written file has the records of the release, in its order, and nothing that was to be hidden."""
    rows = read_texts(path, kind)
    table = release.frame.rows(named=True)
    if [list(row) for row in rows[:1]] != [list(row) for row in table[:1]] or len(rows) != len(table):
        result.find("file", f"{kind}: {len(rows)} records of {list(rows[0]) if rows else None}, not {len(table)}")
        return
    kinds = {name: _kind(release.frame[name].dtype) for name in release.frame.columns}
    for index, (row, published) in enumerate(zip(rows, table, strict=True)):
        for name, cell in row.items():
            if not _same_cell(kinds[name], published[name], cell):
                result.find(
                    "file", f"{kind}: record {index}, {name}: {cell!r} in the file, {published[name]!r} released"
                )
                return
    result.checks[f"file {kind}"] += 1
    check_hidden(result, setting, path.read_bytes(), kind)
    if kind == "csv" and setting.case["input"] == "parquet":
        check_texts(result, setting, rows, release)


def _kind(dtype: pl.DataType) -> str:
    if dtype.is_integer():
        return "integer"
    if dtype.is_float():
        return "float"
    named = {pl.Boolean: "boolean", pl.Date: "date", pl.Time: "time"}
    return "datetime" if dtype == pl.Datetime else named.get(type(dtype), "text")


def _same_cell(kind: str, released: Any, cell: Any) -> bool:
    if kind == "date" and hasattr(cell, "date"):
        cell = cell.date()
    if isinstance(cell, str) and kind == "time" and released is not None:
        cell = cell.rstrip("0").rstrip(".") if "." in cell else cell
    if kind == "date" and isinstance(cell, str):
        cell = cell.removesuffix(" 00:00:00")
    if kind in ("integer", "float") and isinstance(cell, str) and released is not None:
        return bool(float(cell) == float(released))
    if kind == "text" and released == "":
        released = None
    return same_value(kind, released, cell)


def check_hidden(result: Result, setting: Setting, data: bytes, kind: str) -> None:
    """No identifier and no value of a column that is dropped is in the bytes."""
    if kind == "excel":
        return  # a zip file: its parts are read above
    shown = {*setting.columns, *setting.kept}
    for name in setting.kinds:
        if name in shown:
            continue
        for value in {record[name] for record in setting.records}:
            text = str(value)
            told = any(text in str(record[other]) for record in setting.records for other in shown)
            if isinstance(value, str) and len(text) >= 6 and not told and text.encode() in data:
                result.find("leak", f"{name}: {text!r} is in the bytes of the {kind}")
                return
    result.checks["hidden"] += 1


def check_texts(result: Result, setting: Setting, rows: list[dict[str, Any]], release: Any) -> None:
    """The texts of the CSV by themselves keep every model and are true of the original."""
    aside = give_aside(setting, release.frame.rows(named=True), release)
    published = []
    for row, known in zip(rows, aside, strict=True):
        cells = dict(known.cells)
        for name in setting.kept:
            cells[name] = next(
                (one[name] for one in setting.records if same_value(setting.kinds[name], one[name], row[name])),
                row[name],
            )
        published.append(Row(tuple(row[name] or None for name in setting.columns), cells))
    check_safe(result, setting, published, release.audit)
    check_true(result, setting, published)
    starred, left_out = count_suppressed(setting, published)
    if release.audit.suppressed != starred + left_out:
        result.find("figure", f"suppressed: {starred + left_out} in the file, told {release.audit.suppressed}")
