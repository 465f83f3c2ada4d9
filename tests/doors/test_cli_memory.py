"""--memory: the command line for tables that are larger than memory."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import polars as pl
import pytest
from tests.command import CODE, run, run_afresh

pytestmark = pytest.mark.slow

POLICY = """\
quasi_identifiers:
  age: {hierarchy: intervals, widths: [5, 10, 20]}
  zip: {hierarchy: mask, keep: [3, 2, 0]}
sensitive: [illness]
models:
  - {name: k-anonymity, k: 5}
algorithm: {name: mondrian}
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(POLICY)
    table = pl.DataFrame(
        {
            "age": [20 + n * 7 % 40 for n in range(200)],
            "zip": [f"02{n % 5}{n % 3}8" for n in range(200)],
            "illness": [("flu", "cold", "broken leg")[n % 3] for n in range(200)],
        }
    )
    table.write_csv(tmp_path / "data.csv")
    (tmp_path / "parts").mkdir()
    for index, piece in enumerate(table.iter_slices(60)):
        piece.write_parquet(tmp_path / "parts" / f"{index}.parquet")
    return tmp_path


def test_it_writes_the_same_release(case: Path) -> None:
    asked = ("--policy", case / "policy.yaml")
    run("anonymize", case / "data.csv", *asked, "--out", case / "whole", "--quiet", check=0)
    done = run("anonymize", case / "data.csv", *asked, "--out", case / "out", "--memory", "1GB", check=0)
    assert "every promise holds" in done.stdout
    assert (case / "out" / "release.csv").read_bytes() == (case / "whole" / "release.csv").read_bytes()
    told = run(
        "anonymize", case / "parts" / "*.parquet", *asked, "--out", case / "out", "--memory", "1GB", "--json", check=0
    )
    assert json.loads(told.stdout)["files"]["release"].endswith("release.parquet")
    assert not (case / "out" / "release.csv").exists()


def test_an_audit_counts_both_tables_in_parts(case: Path) -> None:
    asked = ("--policy", case / "policy.yaml", "--json")
    run("anonymize", case / "parts", *asked, "--out", case / "out", "--memory", "1GB", "--format", "csv", check=0)
    release, original = case / "out" / "release.csv", ("--original", case / "data.csv")
    parts = run("audit", release, *asked, *original, "--memory", "1GB", check=0)
    whole = run("audit", release, *asked, *original, check=0)
    assert json.loads(parts.stdout)["utility"] == json.loads(whole.stdout)["utility"]
    assert {one["outcome"] for one in json.loads(parts.stdout)["hygiene"]} == {"passed"}
    run("audit", release, *asked, "--memory", "1GB", check=0)
    run("audit", case / "data.csv", *asked, *original, "--memory", "1GB", check=1)
    measured = run("audit", release, "--quasi-identifiers", "age,zip", "--memory", "1GB", check=0)
    assert "k: " in measured.stdout


def test_an_audit_looks_at_the_order_and_the_bytes(case: Path) -> None:
    """The original, each age made a range: the records stand as they stood, and a note holds what is not shown."""
    table = pl.read_csv(case / "data.csv", infer_schema=False)
    table = table.with_columns(age=pl.lit("[20, 59]"), zip=pl.lit("*"))
    table.write_csv(case / "sorted.csv")
    done = run(
        "audit", case / "sorted.csv", "-p", case / "policy.yaml", "--original", case / "data.csv", "--memory", "1GB",
        "--json", check=1,
    )  # fmt: skip
    outcomes = {one["check"]: one["outcome"] for one in json.loads(done.stdout)["hygiene"]}
    assert outcomes["order"] == "failed"
    assert outcomes["bytes"] == "passed"


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (["--memory", "some"], 1, "is no size"),
        (["--memory", "1KB"], 1, "too little to work with"),
        (["--memory", "1GB", "--format", "excel"], 1, "the files engine does not write it"),
        (["--memory", "1GB", "--subjects", "x.csv"], 1, "the policy counts records, not persons"),
        (["--memory", "1GB", "--sheet", "x"], 2, "needs the records one by one"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_told(more: list[str], code: int, words: str, case: Path) -> None:
    asked = ("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "out")
    done = run(*asked, *more, check=code)
    assert words in " ".join((done.stdout + done.stderr).replace("│", " ").split())
    assert not (case / "out").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_while_it_reads_back_leaves_nothing(how: signal.Signals, case: Path) -> None:
    stopping = (
        "import os, pathlib, shoal.pipeline.verify as v; from shoal.cli import run\n"
        "def stop(*_, **__):\n"
        f"    assert list(pathlib.Path({str(case)!r}).rglob('.shoal-*/release.csv'))\n"
        f"    os.kill(os.getpid(), {int(how)})\n"
        "v.check_order = stop\n"
        "run()"
    )
    asked = ("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "out", "--memory", "1GB")
    run_afresh(*asked, check=128 + int(how), code=stopping)
    assert not (case / "out").exists()


def test_too_many_distinct_records_are_told(case: Path) -> None:
    wide = pl.DataFrame({"age": range(40_000), "zip": [f"{n:05}" for n in range(40_000)], "illness": ["flu"] * 40_000})
    wide.write_csv(case / "wide.csv")
    tight = "import shoal.engines.files.budget as b; b._DISTINCT_CELL = 10**6\n" + CODE
    asked = ("anonymize", case / "wide.csv", "-p", case / "policy.yaml", "-o", case / "out", "--memory", "64MB")
    done = run_afresh(*asked, check=1, code=tight)
    assert "The table does not fit into the memory" in done.stderr
    assert "the distinct records do not fit into the memory" in " ".join(done.stderr.split())
    assert not (case / "out").exists()
