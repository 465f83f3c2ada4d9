"""The command line: what a person and a script see; no traceback for a mistake, nothing half-written."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import polars as pl
import pytest
from tests.command import run, run_afresh
from tests.strategies import SEARCHES

import shoal
from shoal.policy.presets import PRESETS

CSV = "age,zip,illness\n" + "".join(
    f"{20 + i % 10},{1000 + i % 4},{['flu', 'cold', 'hiv'][i % 3]}\n" for i in range(60)
)
YAML = """\
quasi_identifiers:
  age: {hierarchy: intervals, widths: [5, 10]}
  zip: {hierarchy: mask, keep: [3, 2]}
sensitive: [illness]
models:
  - {name: k-anonymity, k: 5}
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text(CSV)
    (tmp_path / "policy.yaml").write_text(YAML)
    return tmp_path


@pytest.mark.slow
def test_anonymize_writes_four_files_and_says_what_it_did(case: Path) -> None:
    asked = ("anonymize", case / "data.csv", "--policy", case / "policy.yaml", "--out", case / "out")
    done = run_afresh(*asked, check=0)
    assert sorted(path.name for path in (case / "out").iterdir()) == [
        "audit.json",
        "manifest.json",
        "release.csv",
        "report.html",
    ]
    for words in ("every promise holds", "k-anonymity: asked 5", "suppressed", "loss", "risk", "release.csv"):
        assert words in done.stdout, words
    run("audit", case / "out" / "release.csv", "-p", case / "policy.yaml", "--original", case / "data.csv", check=0)


def test_json_is_what_the_audit_file_holds(case: Path) -> None:
    done = run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "out", "--json", check=0)
    printed = json.loads(done.stdout)
    written = json.loads((case / "out" / "audit.json").read_text())
    assert {key: printed[key] for key in written} == written


def test_the_door_gives_the_same_bytes_as_python(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.fingerprint.STRETCH", 2**14)  # as in the other process
    run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "a", check=0)
    shoal.anonymize(case / "data.csv", shoal.Policy.read(case / "policy.yaml")).write(case / "b")
    for name in ("release.csv", "audit.json", "report.html", "manifest.json"):
        assert (case / "a" / name).read_bytes() == (case / "b" / name).read_bytes(), name


def test_quiet_prints_nothing(case: Path) -> None:
    done = run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "out", "--quiet", check=0)
    assert done.stdout == done.stderr == ""


def test_audit_of_the_raw_table_ends_with_1(case: Path) -> None:
    done = run("audit", case / "data.csv", "-p", case / "policy.yaml", check=1)
    assert "k-anonymity does not hold" in done.stdout
    assert json.loads(run("audit", case / "data.csv", "-p", case / "policy.yaml", "--json").stdout)["holds"] is False


def test_check_and_suggest(case: Path) -> None:
    assert "fits" in run("check", case / "data.csv", "-p", case / "policy.yaml", check=0).stdout
    draft = run("suggest", case / "data.csv", check=0).stdout
    (case / "draft.yaml").write_text(draft)
    assert "k-anonymity" in draft
    run("check", case / "data.csv", "-p", case / "draft.yaml", check=0)


def test_lattice_json_is_the_contract(case: Path) -> None:
    done = run("lattice", case / "data.csv", "-p", case / "policy.yaml", "--json", "-o", case / "lattice", check=0)
    nodes = json.loads(done.stdout)["nodes"]
    assert len(nodes) == 4 * 4
    assert set(nodes[0]) >= {"levels", "k", "suppressed", "losses"}
    top = next(node for node in nodes if node["levels"] == {"age": 3, "zip": 3})
    assert (top["k"], top["suppressed"], top["losses"]["certainty-penalty"]) == (60, 0, 1.0)
    assert pl.read_csv(case / "lattice" / "lattice.csv").height == 16


def test_lattice_draws_and_says_where(case: Path) -> None:
    done = run("lattice", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "drawn", check=0)
    assert "Pareto front of k and certainty-penalty" in done.stdout
    for name in ("lattice.html", "lattice.svg", "lattice.csv", "lattice.json"):
        assert str(case / "drawn" / name) in done.stdout
        assert (case / "drawn" / name).stat().st_size > 0
    assert (case / "drawn" / "lattice.svg").read_text(encoding="utf-8").count('class="node ') == 16


def test_compare_puts_algorithms_side_by_side(case: Path) -> None:
    done = run("compare", case / "data.csv", "-p", case / "policy.yaml", "--k", "2,5,99", "--json", check=0)
    rows = json.loads(done.stdout)
    assert {(row["algorithm"], row["k"]) for row in rows} == {(name, k) for name in SEARCHES for k in (2, 5, 99)}
    assert all(("infeasible" in row) == (row["k"] == 99) for row in rows)


@pytest.mark.parametrize("family", shoal.registry.FAMILIES)
def test_list_json_is_the_contract(family: str) -> None:
    rows = json.loads(run("list", family, "--json", check=0).stdout)
    assert [row["name"] for row in rows] == list(shoal.registry.names(family))
    notes = {
        "models": {"protects_from", "leaves_open"},
        "risk": {"needs", "means"},
        "utility": {"aliases", "direction", "searched"},
    }
    more = notes.get(family, set())
    assert all(set(row) == {"name", "class", "summary", "parameters", *more} for row in rows)
    assert all(row[key] != "" for row in rows for key in more)


def test_hierarchy_build_draw_check(case: Path) -> None:
    data, column = case / "data.csv", ("--column", "age", "--method", "intervals", "--widths", "5,10")
    levels = json.loads(run("hierarchy", "build", data, *column, "--json", check=0).stdout)["levels"]
    assert [level["level"] for level in levels] == [0, 1, 2, 3]
    assert set(levels[1]["nodes"][0]) >= {"label", "records", "low", "high", "distortion"}
    assert sum(node["records"] for node in levels[1]["nodes"]) == 60
    assert "[20, 24] (30)" in run("hierarchy", "draw", data, *column, check=0).stdout
    run("hierarchy", "check", data, *column, check=0)
    text = run("hierarchy", "check", data, "-c", "illness", "-m", "intervals", "--widths", "5", check=1).stdout
    assert "intervals need a column of numbers" in text
    run("hierarchy", "build", data, *column, "--out", case / "age.csv", check=0)
    assert (case / "age.csv").read_text().splitlines()[0] == "20;[20, 24];[20, 29];*"
    tree = run("hierarchy", "check", data, "-c", "age", "-m", "tree", "--file", case / "age.csv", check=0).stdout
    assert "fits" in tree


def test_policy_schema_is_a_json_schema() -> None:
    schema = json.loads(run("policy", "schema", check=0).stdout)
    assert schema["properties"]["max_suppressed"]["maximum"] == 1
    branches = [branch["properties"] for branch in schema["properties"]["models"]["items"]["oneOf"]]
    names = {branch["name"]["const"] for branch in branches if "name" in branch}
    assert {"preset": {"enum": sorted(PRESETS)}} in branches
    assert names == set(shoal.registry.names("models"))


def test_presets_are_listed_with_their_sources_and_drafted(case: Path) -> None:
    rows = json.loads(run("list", "presets", "--json", check=0).stdout)
    assert {row["name"]: row["models"] for row in rows}["ema-0070"] == [{"name": "k-anonymity", "k": 11}]
    assert all(row["source"] for row in rows)
    assert "45 CFR 164.514(b)(2)" in run("list", "presets", check=0).stdout
    draft = run("suggest", case / "data.csv", "--preset", "ihsn-3", check=0).stdout
    assert "- {preset: ihsn-3}" in draft
    assert "did you mean 'ema-0070'" in run("suggest", case / "data.csv", "--preset", "ema-70", check=1).stderr


def test_the_steps_of_a_search_and_what_blocks_it_are_told(case: Path) -> None:
    table, policy = shoal.datasets.load("employees")
    table.write_csv(case / "staff.csv")
    policy.write(case / "staff.yaml")
    told = run("anonymize", case / "staff.csv", "-p", case / "staff.yaml", "-o", case / "staff", check=0).stdout
    assert "request: weight 20 (name 6, marital_status 3, age 5, race 4, sex 2, salary 0), threshold 6" in told
    assert "age (weight 5) to level 1: k-anonymity 2, distinct-l-diversity 2; records that break a model: 0" in told
    policy.replace(models=[{"name": "k-anonymity", "k": 4}]).write(case / "strict.yaml")
    failed = run("anonymize", case / "staff.csv", "-p", case / "strict.yaml", "-o", case / "no", "--json", check=1)
    assert json.loads(failed.stdout)["boundaries"]["age"] == {"20 - 30": 2, "30 - 40": 2, "40 - 50": 2}


def test_help_and_usage_errors() -> None:
    assert "anonymize" in run("--help", check=0).stdout
    assert shoal.__version__ in run("--version", check=0).stdout
    run("anonymise", check=2)
    run("anonymize", "x.csv", check=2)
    run("list", "nothing", check=2)
    run("compare", "x.csv", "-p", "y", "--k", "two", check=2)


BAD_POLICIES = {
    "unknown key": (YAML + "quasi_identifer: {}\n", "did you mean 'quasi_identifiers'?"),
    "unknown role": (YAML + "sensitives: [illness]\n", "did you mean 'sensitive'?"),
    "k = 0": (YAML.replace("k: 5", "k: 0"), "models[0].k: must be at least 2; got 0"),
    "k = 1": (YAML.replace("k: 5", "k: 1"), "models[0].k: must be at least 2; got 1"),
    "k = 2.5": (YAML.replace("k: 5", "k: 2.5"), "models[0].k: must be a whole number; got 2.5"),
    "k larger than n": (YAML.replace("k: 5", "k: 61"), "asks for 61, the whole table attains 60"),
    "no model": (YAML.replace("  - {name: k-anonymity, k: 5}\n", "  []\n"), "models: must not be empty"),
    "models left out": (YAML.split("models", maxsplit=1)[0], "models: is required"),
    "a model nobody knows": (YAML.replace("k-anonymity", "k-anonimity"), "did you mean 'k-anonymity'?"),
    "a typo in a parameter": (YAML.replace("widths", "widht"), "did you mean 'widths'?"),
    "a typo in a column": (YAML.replace("  zip:", "  zap:"), "did you mean 'zip'?"),
    "not YAML": ("a: [", "is not YAML"),
    "a list": ("- a\n", "must be a mapping"),
    "a column without a role": (YAML.replace("sensitive: [illness]\n", ""), "columns without a role; got 'illness'"),
    "a missing value in a tree": (
        YAML.replace("{hierarchy: mask, keep: [3, 2]}", "{hierarchy: tree, nodes: {x: [1000, 1001]}}"),
        "2 of 4 values are missing from the tree; got '1002', '1003'",
    ),
    "a value with two parents": (
        YAML.replace("{hierarchy: mask, keep: [3, 2]}", "{hierarchy: tree, nodes: {x: {a: [1000], b: [1000]}}}"),
        "the value '1000' has two parents: 'a' and 'b'",
    ),
    "a hierarchy file that is not there": (
        YAML.replace("{hierarchy: mask, keep: [3, 2]}", "{hierarchy: tree, file: nowhere.csv}"),
        "cannot read the hierarchy file",
    ),
}


@pytest.mark.parametrize("name", BAD_POLICIES)
def test_a_bad_policy_gets_one_clear_error_and_leaves_nothing(case: Path, name: str) -> None:
    text, words = BAD_POLICIES[name]
    (case / "policy.yaml").write_text(text)
    done = run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "out", check=1)
    assert words in " ".join(done.stderr.split()), done.stderr
    assert not (case / "out").exists()
    as_json = run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "out", "--json", check=1)
    assert json.loads(as_json.stdout)["faults"]


BAD_TABLES: dict[str, tuple[bytes | None, str]] = {
    "missing file": (None, "no such file"),
    "empty file": (b"", "the file is empty"),
    "unreadable encoding": (b"age,zip,illness\n\x81\x8d,1,\x00\n", "the text cannot be decoded"),
    "ragged": (b"age,zip,illness\n1,2,3\n1,2\n", "line 3 has 2 cells where the header has 3"),
    "duplicate names": (b"age,age,illness\n1,2,3\n", "column names occur twice; got 'age'"),
    "header only": (b"age,zip,illness\n", "the table has no records"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_gets_one_clear_error_and_leaves_nothing(case: Path, name: str) -> None:
    data, words = BAD_TABLES[name]
    (case / "data.csv").unlink()
    if data is not None:
        (case / "data.csv").write_bytes(data)
    done = run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "out", check=1)
    assert words in " ".join(done.stderr.split()), done.stderr
    assert not (case / "out").exists()


def test_an_output_folder_that_cannot_be_written(case: Path) -> None:
    (case / "blocked").write_text("a file, not a folder")
    done = run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "blocked" / "out", check=1)
    assert "cannot write" in done.stderr
    assert (case / "blocked").read_text() == "a file, not a folder"


def test_disk_full_in_the_middle_of_writing(case: Path) -> None:
    """A real limit on the size of files stops the write half-way; earlier files stay as they were."""
    out = case / "out"
    run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", out, check=0)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def small_files() -> None:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    asked = ("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", out)
    done = run_afresh(*asked, check=1, preexec_fn=small_files)
    assert "nothing was left behind" in done.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_an_earlier_release_of_another_format_does_not_stay(case: Path) -> None:
    run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "out", check=0)
    run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "out", "--format", "parquet", check=0)
    assert sorted(path.suffix for path in (case / "out").glob("release.*")) == [".parquet"]


@pytest.mark.slow
def test_the_demo_makes_a_release_of_real_data(tmp_path: Path) -> None:
    done = run("demo", "--out", tmp_path / "demo", check=0)
    assert "k-anonymity: asked 10, attained 10" in done.stdout
    audit = json.loads((tmp_path / "demo" / "audit.json").read_text())
    assert (audit["records"], audit["holds"]) == (48_842, True)
    released = pl.read_csv(tmp_path / "demo" / "release.csv", infer_schema=False)
    keys = list(shoal.datasets.policy("adult").quasi_identifiers)
    assert released.group_by(keys).len()["len"].min() >= 10


def test_the_original_is_never_overwritten(case: Path) -> None:
    (case / "data.csv").rename(case / "release.csv")
    before = (case / "release.csv").read_bytes()
    for format in ("csv", "parquet"):
        done = run(
            "anonymize", case / "release.csv", "-p", case / "policy.yaml", "-o", case, "--format", format, check=1
        )
        assert "the original table would be replaced" in done.stderr
    assert (case / "release.csv").read_bytes() == before


def test_persons_can_be_audited_again_by_the_owner(case: Path) -> None:
    rows = "".join(f"{20 + i % 4},{1000},{['flu', 'cold'][i % 2]},{i // 3}\n" for i in range(120))
    (case / "data.csv").write_text("age,zip,illness,person\n" + rows)
    (case / "policy.yaml").write_text(YAML + "subject: person\n")
    data, policy, owner = case / "data.csv", case / "policy.yaml", case / "owner.csv"
    run("anonymize", data, "-p", policy, "-o", case / "out", "--subjects", owner, check=0)
    release = case / "out" / "release.csv"
    run("audit", release, "-p", policy, "--subjects", owner, check=0)
    run("audit", release, "-p", policy, "--original", data, "--subjects", owner, check=0)
    outside = run("audit", release, "-p", policy, check=3).stdout
    assert outside.index("undecided") < outside.index("persons cannot be counted") < outside.index("--subjects")
    assert "does not hold" not in outside
    run("audit", release, "-p", policy, "--original", data, check=0)  # it holds with the least persons there can be
    larger = case / "larger.yaml"
    larger.write_text(policy.read_text().replace("k: 5", "k: 20"))
    told = run("audit", release, "-p", larger, "--original", data, check=3).stdout
    assert "whether k-anonymity holds in persons cannot be counted from outside; got at most 30" in told
    assert json.loads(run("audit", release, "-p", policy, "--json", check=3).stdout)["decided"] is False
    strict = case / "strict.yaml"  # what fails with as many persons as records fails
    strict.write_text(policy.read_text().replace("k: 5", "k: 130"))
    assert "does not hold" in run("audit", release, "-p", strict, check=1).stdout
    assert b"person" not in release.read_bytes()


def test_a_run_that_is_stopped_while_it_writes_leaves_nothing(case: Path) -> None:
    """SIGTERM comes when the release is on the disk and its bytes are about to be searched."""
    slow = (
        "import os, pathlib, signal, shoal.pipeline.verify as r; from shoal.cli import run\n"
        "def stop(*_):\n"
        "    assert list(pathlib.Path('out').rglob('release.csv'))\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "r.blocks_faults = stop\n"
        "run()"
    )
    run_afresh("anonymize", "data.csv", "-p", "policy.yaml", "-o", "out", check=143, code=slow, cwd=case)
    assert not (case / "out").exists()


def test_the_next_run_sweeps_what_a_killed_one_left(case: Path) -> None:
    stale = case / "out" / ".shoal-dead"
    stale.mkdir(parents=True)
    (stale / "release.csv").write_text("nobody audited this")
    run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "out", check=0)
    assert not stale.exists()


def test_an_unknown_format_is_a_usage_error(case: Path) -> None:
    run("anonymize", case / "data.csv", "-p", case / "policy.yaml", "-o", case / "out", "--format", "xml", check=2)
    assert not (case / "out").exists()


@pytest.mark.parametrize("extra", [["-m", "interval"], ["-m", "intervals", "--width", "5"], ["-m", "intervals"]])
def test_mistakes_in_a_hierarchy_are_told_in_words(case: Path, extra: list[str]) -> None:
    done = run("hierarchy", "build", case / "data.csv", "-c", "age", *extra, check=1)
    assert "The hierarchy is not valid" in done.stderr
    assert any(
        words in done.stderr for words in ("did you mean 'intervals'?", "did you mean 'widths'?", "widths or breaks")
    )


def test_a_delimiter_reaches_the_audit(case: Path) -> None:
    (case / "data.csv").write_text(CSV.replace(",", "~"))
    options = ["-p", case / "policy.yaml", "--delimiter", "~"]
    run("anonymize", case / "data.csv", *options, "-o", case / "out", check=0)
    run("audit", case / "out" / "release.csv", *options, "--original", case / "data.csv", check=0)
    run("lattice", case / "data.csv", *options, "--quiet", check=0)


def test_attacks_are_run_and_told(tmp_path: Path) -> None:
    table, policy = shoal.datasets.load("patients")
    raw, rules, voters = tmp_path / "raw.csv", tmp_path / "policy.yaml", tmp_path / "voters.csv"
    table.write_csv(raw)
    policy.write(rules)
    shoal.datasets.voters().write_csv(voters)
    release = shoal.anonymize(table, policy).write(tmp_path / "out")["release"]
    told = run("audit", release, "-p", rules, "--external-table", voters, "--earlier", raw, check=0).stdout
    for words in ("linking", "LEAK", "complementary-release", "not run: downcoding: needs the original"):
        assert words in told
    data = json.loads(run("audit", release, "-p", rules, "--external-table", voters, "--json", check=0).stdout)
    linking = next(row for row in data["attacks"] if row["name"] == "linking")
    assert (linking["found"], linking["measured"]["max"]) == (False, 0.5)
    assert {"name": "composition", "reason": "needs an earlier release"} in data["attacks_not_run"]
    some = json.loads(run("audit", release, "-p", rules, "--attack", "homogeneity", "--json", check=0).stdout)
    assert [row["name"] for row in some["attacks"]] == ["homogeneity"]
    assert "linking" not in run("audit", release, "-p", rules, check=0).stdout

    raw.write_text("a,b\n1,2\n")
    assert (
        "external: has none of the quasi-identifiers"
        in run("audit", release, "-p", rules, "--external-table", raw, check=1).stderr
    )
