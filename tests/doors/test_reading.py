"""Every way of reading a file means the same on every command, in every verb and in a policy's ``read`` block."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import fastexcel  # noqa: F401 - the extra that reads Excel
import polars as pl
import pyarrow
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app

NAMES = ["ward", "age", "cost", "born", "sex"]
Row = tuple[str, int | None, float, str, str]
POLICY: dict[str, Any] = {
    "quasi_identifiers": {
        "age": {"hierarchy": "intervals", "widths": [10, 50]},
        "cost": {"hierarchy": "intervals", "widths": [1000, 5000]},
        "born": {"hierarchy": "dates", "levels": ["year", "decade"]},
    },
    "sensitive": ["ward"],
    "others": "drop",
    "models": [{"name": "k-anonymity", "k": 2}],
    "max_suppressed": 1,
}


def make_rows() -> list[Row]:
    draw = random.Random(8)
    wards = ["Łódź", "Süd", "Nord, alt"]
    return [
        (
            draw.choice(wards),
            None if place == 4 else draw.randrange(20, 60),
            draw.randrange(900, 4000) + 0.5,
            f"{draw.randrange(1950, 1990)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}",
            draw.choice("fm"),
        )
        for place in range(30)
    ]


ROWS = make_rows()


def write_rows(
    rows: Sequence[Sequence[Any]],
    *,
    names: Sequence[str] = NAMES,
    delimiter: str = ",",
    quote: str = '"',
    pad: str = "",
) -> str:
    """Return a text whose cells are quoted where they need it."""

    def cell(value: Any) -> str:
        text = "" if value is None else str(value)
        return f"{quote}{text}{quote}" if delimiter in text else f"{pad}{text}{pad}"

    return "".join(delimiter.join(map(cell, row)) + "\n" for row in [*([names] if names else []), *rows])


def change(place: int, how: Callable[[Any], str]) -> list[list[Any]]:
    return [[how(cell) if index == place else cell for index, cell in enumerate(row)] for row in ROWS]


def german(iso: str) -> str:
    year, month, day = iso.split("-")
    return f"{day}.{month}.{year}"


WAYS: dict[str, tuple[str | bytes, dict[str, Any]]] = {
    "header": ("A study\n,,\n" + write_rows(ROWS), {"header": 3}),
    "delimiter": (write_rows(ROWS, delimiter="~"), {"delimiter": "~"}),
    "quote": (write_rows(ROWS, quote="`"), {"quote": "`"}),
    "encoding": (write_rows(ROWS).encode("cp1250"), {"encoding": "cp1250"}),
    "strip": (write_rows(ROWS, delimiter=";", pad="  "), {"strip": True}),
    "totals": (write_rows(ROWS) + "Total,,7,,\n", {"totals": True}),
    "decimal": (write_rows(change(2, lambda cost: f"{cost}".replace(".", ",")), delimiter=";"), {"decimal": ","}),
    "thousands": (write_rows(change(2, lambda cost: f"{cost:,}".replace(",", "'"))), {"thousands": "'"}),
    "missing": (write_rows(change(1, lambda age: "k.A." if age is None else age)), {"missing": ["k.A.", "?"]}),
    "dates": (write_rows(change(3, german)), {"dates": ["%d.%m.%Y"]}),
}


@cache
def _policy_text(reading: str) -> str:
    return shoal.Policy(**({"read": json.loads(reading)} if reading != "{}" else {}), **POLICY).to_yaml()


def call(*arguments: object, exits: int = 0) -> str:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == exits, (arguments, done.output, done.exception)
    return done.stdout


def as_options(said: dict[str, Any]) -> list[str]:
    """Return what is said as options of a command."""
    options: list[str] = []
    for name, value in said.items():
        if value is True:
            options.append(f"--{name}")
        elif value is False:
            options.append(f"--no-{name}")
        else:
            for one in value if isinstance(value, list) else [value]:
                options += [f"--{name}", str(one)]
    return options


_TIMED = {"seconds": 0, "bound": 0}
"""What a comparison tells that depends on the machine."""


def every_command(data: object, folder: Path, said: dict[str, Any], *, in_policy: bool) -> dict[str, Any]:
    """Return what each command that reads answers, without what depends on time and on how the file is written."""
    folder.mkdir()
    policy = folder / "p.yaml"
    policy.write_text(_policy_text(json.dumps(said if in_policy else {})))
    other = folder / "q.yaml"
    other.write_text(policy.read_text().replace("k: 2", "k: 3"))
    options = [] if in_policy else as_options(said)
    ours = ["--policy", policy]
    found: dict[str, Any] = {}
    if not in_policy:
        drafted = shoal.Policy.from_yaml(call("suggest", data, *options))
        assert drafted.reading is None or drafted.check(data) == drafted.check(data, **said)
        found["suggest"] = drafted.replace(read=None)
    found["check"] = call("check", data, *ours, *options, "--json")
    for engine, how in {"memory": [], "files": ["--memory", "1GB"]}.items():
        if "sheet" in said and how:
            continue
        out = folder / engine
        told = call("anonymize", data, *ours, *options, *how, "--out", out, "--format", "csv", "--json", "--bound", 0)
        found[f"anonymize, {engine}"] = [
            json.loads(told)[name] for name in ("records", "suppressed", "classes", "models")
        ]
        found[f"release, {engine}"] = shoal.read(out / "release.csv")
        told = call("audit", out / "release.csv", *ours, "--original", data, *options, "--json")
        found[f"audit, {engine}"] = [json.loads(told)[name] for name in ("models", "utility", "risk_before")]
    compared = json.loads(call("compare", policy, other, data, *options, "--json"))
    found["compare"] = [{**one, **_TIMED} for one in compared["policies"]]
    rows = json.loads(call("compare", data, *ours, *options, "--k", 2, "--algorithms", "mondrian,datafly", "--json"))
    found["compare algorithms"] = [{**row, **_TIMED} for row in rows]
    found["lattice"] = json.loads(call("lattice", data, *ours, *options, "--json"))
    column = ["--column", "age"]
    chosen = ours if in_policy else ["--method", "intervals", "--widths", "10,50"]
    found["build"] = call("hierarchy", "build", data, *column, *chosen, *options, "--json")
    found["draw"] = call("hierarchy", "draw", data, *column, *chosen, *options)
    found["hierarchy check"] = call("hierarchy", "check", data, *column, *chosen, *options, "--json")
    found["hierarchy compare"] = call(
        "hierarchy", "compare", data, *column, *(ours if in_policy else []), *options, "--json"
    )
    return found


def require_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, answer in found.items():
        if isinstance(answer, pl.DataFrame):
            assert_frame_equal(answer, expected[name])
        else:
            assert answer == expected[name], name


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool], dict[str, Any]]:
    """Return what every command answers of the same records, written as usual."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "plain.csv").write_text(write_rows(ROWS))
    answers: dict[bool, dict[str, Any]] = {}

    def answer(in_policy: bool) -> dict[str, Any]:
        if in_policy not in answers:
            answers[in_policy] = every_command(folder / "plain.csv", folder / f"{in_policy}", {}, in_policy=in_policy)
        return answers[in_policy]

    return answer


def write_way(way: str, folder: Path) -> tuple[Path | str, dict[str, Any]]:
    """Write the same records in one of the ways; return where, and what has to be said."""
    if way == "sheet":
        import xlsxwriter

        path = folder / "t.xlsx"
        with xlsxwriter.Workbook(path) as book:
            pl.DataFrame({"about": ["nothing"]}).write_excel(book, worksheet="notes")
            frame = pl.DataFrame(ROWS, schema=NAMES, orient="row").with_columns(pl.col("born").str.to_date())
            frame.write_excel(book, worksheet="data")
        return path, {"sheet": "data"}
    if way in ("gzip", "zstd", "zst"):
        path = folder / {"gzip": "t.csv.gz", "zstd": "t.csv.zstd", "zst": "t.csv.zst"}[way]
        data = write_rows(ROWS, delimiter="~").encode()
        path.write_bytes(gzip.compress(data) if way == "gzip" else pyarrow.compress(data, "zstd", asbytes=True))
        return path, {"delimiter": "~"}
    if way in ("folder", "pattern"):
        parts = folder / "parts"
        parts.mkdir()
        for number in range(3):
            rows = change(1, lambda age: "k.A." if age is None else age)[number * 10 : number * 10 + 10]
            (parts / f"p{number}.csv").write_text(write_rows(rows, delimiter="~"))
        return (parts if way == "folder" else f"{parts}/p*.csv"), {"delimiter": "~", "missing": ["k.A."]}
    text, said = WAYS[way]
    path = folder / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path, said


EVERY = [*WAYS, "sheet", "gzip", "zstd", "folder"]


@pytest.mark.parametrize("in_policy", [False, True], ids=["options", "read block"])
@pytest.mark.parametrize("way", EVERY)
def test_every_command_reads_as_is_said(
    way: str, in_policy: bool, tmp_path: Path, plain: Callable[[bool], dict[str, Any]]
) -> None:
    data, said = write_way(way, tmp_path)
    require_same(every_command(data, tmp_path / "out", said, in_policy=in_policy), plain(in_policy))


@pytest.mark.parametrize("way", [*EVERY, "zst", "pattern"])
def test_every_verb_reads_as_is_said(way: str, tmp_path: Path) -> None:
    data, said = write_way(way, tmp_path)
    policy = shoal.Policy(**POLICY)
    usual = pl.DataFrame(ROWS, schema=NAMES, orient="row").with_columns(pl.col("born").str.to_date())
    expected = shoal.anonymize(usual, policy).table
    shown = shoal.read(shoal.anonymize(usual, policy).write(tmp_path / "usual")["release"])
    told = policy.replace(read=said)
    assert shoal.read(data, **said).equals(usual)
    assert shoal.suggest(data, **said).policy.replace(read=None) == shoal.suggest(usual).policy
    assert shoal.check(data, policy, **said) == shoal.check(data, told) == shoal.check(usual, policy)
    for how in [{}] if way == "sheet" else [{}, {"memory": "1GB"}]:
        for release in (shoal.anonymize(data, policy, **said, **how), shoal.anonymize(data, told, **how)):
            assert_frame_equal(shoal.read(release.write(tmp_path / "out", format="csv")["release"]), shown)
    audits = [
        shoal.audit(expected, policy, original=data, **said),
        shoal.audit(expected, told, original=data),
        shoal.audit(expected, policy, original=usual),
    ]
    assert audits[0].to_dict()["utility"] == audits[1].to_dict()["utility"] == audits[2].to_dict()["utility"]
