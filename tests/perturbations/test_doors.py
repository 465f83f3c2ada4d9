"""Policies that perturb, at every door: the report, the printed summary, audits from outside, and clear errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import PolicyError
from shoal.explore.compare import compare
from shoal.explore.lattice import lattice
from shoal.policy import Policy
from shoal.reporting import render
from tests.command import run
from tests.perturbations.tables import people
from tests.reporting.test_html import text_of

MDAV = {"name": "mdav", "columns": ["income", "day"], "k": 5}
PRAM = {"name": "pram", "columns": ["job"], "retain": 0.8}
SWAP = {"name": "rank-swapping", "columns": ["hours"], "window": 0.037}
ALONE = Policy(others="drop", perturb=[MDAV, PRAM, SWAP], seed=2**100)
MIXED = Policy(
    quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [10, 20]}},
    models=[{"name": "k-anonymity", "k": 5}],
    others="drop",
    perturb=[SWAP],
    seed=2**100,
)
YAML = """\
others: drop
perturb:
  - {name: mdav, columns: [income], k: 5}
  - {name: rank-swapping, columns: [hours], window: 0.037}
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    people().write_csv(tmp_path / "data.csv")
    (tmp_path / "policy.yaml").write_text(YAML)
    return tmp_path


def test_the_report_tells_of_each_perturbation() -> None:
    release = shoal.anonymize(people(), ALONE)
    page = text_of(render(release.audit, release.manifest))
    one = release.audit.perturbations[0]
    assert "Perturbed columns" in page and "Holds: the table keeps its policy" in page and "of the 3 promises" in page
    for words in ("income and day", "k 5", "retain 0.8", "passed : Did no value go farther in rank than the window?"):
        assert words in page.replace("passed:", "passed :"), words
    assert one.claimed_bound is not None and f"{one.measured['sse'] / one.claimed_bound:.2f} times that" in page
    assert f"{100 * one.measured['share']:.1f} % of the squared distances" in page


def test_without_quasi_identifiers_nothing_is_said_of_classes() -> None:
    page = text_of(render(shoal.anonymize(people(), ALONE).audit))
    for words in (
        "Residual risk",
        "Losses were not measured",
        "no classes to show",
        "nothing was promised",
        "0 classes",
    ):
        assert words not in page, words
    assert "there are no classes to count" in page and "8 in the original, 4 published" in page


def test_with_quasi_identifiers_both_are_told() -> None:
    page = text_of(render(shoal.anonymize(people(), MIXED).audit))
    for words in ("Residual risk", "Perturbed columns", "k-anonymity", "of the 2 promises"):
        assert words in page, words


def test_the_external_report_keeps_bounds_and_windows_back() -> None:
    audit = shoal.anonymize(people(), ALONE).audit
    page = text_of(render(audit, external=True))
    assert "Perturbed columns" in page and "retain 0.8" in page
    assert "Bound:" not in page and "0.037" not in page and "in the original," not in page


def test_an_audit_without_anything_tells_what_is_undecided() -> None:
    table = shoal.anonymize(people(), ALONE).table
    page = text_of(render(shoal.audit(table, ALONE)))
    assert "Undecided" in page and "holds, as far as tested" in page and "not run" in page


def test_the_summary_tells_of_each_perturbation(case: Path) -> None:
    asked = ("anonymize", case / "data.csv", "--policy", case / "policy.yaml", "--out", case / "out")
    printed = run(*asked, check=0).stdout
    for words in ("every promise holds", "mdav of income: aggregates (k 5), holds", "lost:", "bound:", "400"):
        assert words in printed, words
    assert "0 classes" not in printed and "0.037" not in printed and "nothing was promised" not in printed


def test_a_shifted_mean_is_caught_from_outside() -> None:
    chosen = Policy(others="drop", perturb=[MDAV])
    table = shoal.anonymize(people(), chosen).table
    assert shoal.audit(table, chosen, original=people()).holds
    shifted = table.with_columns(pl.col("income") * (1 + 1e-6))
    assert shoal.audit(shifted, chosen).holds, "nobody knows without the original"
    found = shoal.audit(shifted, chosen, original=people())
    assert not found.holds and any("sums" in str(fault) and "income" in fault.got for fault in found.faults)
    later = table.with_columns(pl.col("day").cast(pl.Date) + pl.duration(days=1))
    assert not shoal.audit(later, chosen, original=people()).holds


def test_sums_are_not_asked_where_they_say_nothing() -> None:
    for one, original in (
        ({**MDAV, "by": {"income": "median", "day": "median"}}, people()),
        (MDAV, people().vstack(people().head(3))),
    ):
        chosen = Policy(others="drop", perturb=[one])
        table = shoal.anonymize(people(), chosen).table
        tests = shoal.audit(table, chosen, original=original).perturbations[0].tests
        assert all(test.outcome == "not run" for test in tests if test.name in ("sums", "recomputed"))
        assert "recomputed" in [test.name for test in tests]


@pytest.mark.parametrize("ask", [lambda t: lattice(t, ALONE), lambda t: compare(t, ALONE, [2])], ids=["lattice", "k"])
def test_what_is_about_quasi_identifiers_asks_for_some(ask: Any) -> None:
    with pytest.raises(PolicyError, match=r"quasi_identifiers: there are none.*mdav, pram.*Hint"):
        ask(people())


@pytest.mark.parametrize(
    "command",
    [
        ("lattice", "data.csv", "--policy", "policy.yaml"),
        ("compare", "data.csv", "--policy", "policy.yaml"),
        ("hierarchy", "build", "data.csv", "--column", "hours", "--policy", "policy.yaml"),
        ("hierarchy", "draw", "data.csv", "--column", "hours", "--policy", "policy.yaml"),
    ],
    ids=" ".join,
)
def test_doors_that_do_not_fit_refuse_it(case: Path, command: tuple[str, ...]) -> None:
    done = run(*(case / word if "." in word or word == "out" else word for word in command))
    assert done.returncode != 0 and "Traceback" not in done.stderr and "Hint" in done.stderr
    assert not (case / "out").exists()


def test_a_gateway_refuses_it() -> None:
    from shoal.gateway.config import TableConfig

    with pytest.raises(PolicyError, match=r"policy.perturb.*not from perturbed"):
        TableConfig(policy=ALONE)


@pytest.mark.parametrize("memory", [(), ("--memory", "1GB")], ids=["in memory", "in files"])
@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{name: rank-swapping, columns: [hours], window: 0}", "window"),
        ("{name: pram, columns: [job], matrix: {a: {a: 0.5}}}", "not one together"),
        ("{name: noise, columns: [income, twice], share: 0.1, method: correlated}", "singular"),
        ("{name: record-swapping, columns: [still], household: age, rate: 0.5}", "in another region to swap with"),
        ("{name: mdav, columns: [income], k: 500}", "more records than there are"),
    ],
)
def test_bad_input_writes_nothing(case: Path, entry: str, words: str, memory: tuple[str, ...]) -> None:
    people().with_columns(twice=pl.col("income") * 2, still=pl.lit("x")).write_csv(case / "data.csv")
    (case / "policy.yaml").write_text(f"others: drop\nperturb: [{entry}]\n")
    done = run("anonymize", case / "data.csv", "--policy", case / "policy.yaml", "--out", case / "out", *memory)
    assert done.returncode != 0 and words in done.stderr and "Traceback" not in done.stderr
    assert sorted(path.name for path in case.iterdir()) == ["data.csv", "policy.yaml"]


def test_doors_that_fit_take_it(case: Path) -> None:
    run("check", case / "data.csv", "--policy", case / "policy.yaml", check=0)
    (case / "other.yaml").write_text(YAML.replace("k: 5", "k: 3"))
    done = run("compare", case / "policy.yaml", case / "other.yaml", case / "data.csv", "-o", case / "c", check=0)
    assert "policy: perturbs: mdav of income; perturbs: rank-swapping of hours" in done.stdout
    assert "mdav of income" in (case / "c" / "compare.html").read_text()


BAD = [
    ("{name: mdav, columns: [income], k: 401}", "needs more records than there are"),
    ("{name: optimal-univariate, columns: [still], k: 3}", "no variance to standardize by"),
    ("{name: shoal-microaggregation, columns: [gap], k: 3}", "missing values"),
    ("{name: class-means, columns: [gap], k: 3}", "missing values"),
    (
        "{name: mdav, columns: [income], k: 3, models: [{name: distinct-l-diversity, on: job, l: 9}]}",
        "does not even hold",
    ),
]


@pytest.mark.parametrize(("entry", "message"), BAD)
def test_bad_input_is_told_on_the_command_line_and_nothing_is_written(tmp_path: Path, entry: str, message: str) -> None:
    table = people().with_columns(still=pl.lit(3), gap=pl.when(pl.int_range(pl.len()) % 5 > 0).then("hours"))
    table.write_csv(tmp_path / "data.csv")
    (tmp_path / "policy.yaml").write_text(f"others: drop\nsensitive: [job]\nperturb: [{entry}]\n")
    out = tmp_path / "out"
    done = run("anonymize", tmp_path / "data.csv", "--policy", tmp_path / "policy.yaml", "--out", out)
    assert done.returncode != 0 and message in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr and not out.exists()
