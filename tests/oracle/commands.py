"""The command line: the same bytes as in Python, the right exit code, never a traceback."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

import shoal
from tests.command import run as run_command

from .cases import draw_case
from .results import Result, shorten
from .setting import Case, Setting, build_table


def draw_command(seed: int) -> Case:
    """Draw a case and whether it is streamed."""
    draw = Random(f"commands {seed}")
    case = draw_case(seed, "tiny")
    case.pop("population", None)
    policy = case["policy"]
    policy["models"] = [one for one in policy["models"] if one["name"] not in ("k-map", "delta-presence")] or [
        {"name": "k-anonymity", "k": 2}
    ]
    policy.pop("survey_weight", None)
    policy.setdefault("others", "drop")
    return {**case, "family": "commands", "input": draw.choice(["csv", "parquet"]), "memory": draw.random() < 0.4}


def run_line(case: Case) -> Result:
    """Check, anonymize and audit on the command line, and compare with Python."""
    started = time.perf_counter()
    result, setting = Result(case), Setting(case)
    with tempfile.TemporaryDirectory() as folder:
        _run(result, setting, Path(folder))
    if result.findings:
        result.outcome = "finding"
    result.seconds = time.perf_counter() - started
    return result


def _call(result: Result, *arguments: object) -> Any:
    try:
        done = run_command(*arguments)
    except AssertionError as error:  # a traceback, or a command that hangs
        result.find("crash", f"{' '.join(map(str, arguments[:1]))}: {shorten(error)}")
        return None
    if done.returncode not in (0, 1, 2):
        result.find("crash", f"{arguments[0]} ends with {done.returncode}: {shorten(done.stderr)}")
        return None
    return done


def _run(result: Result, setting: Setting, folder: Path) -> None:
    case = setting.case
    table, path = build_table(case["columns"]), folder / f"table.{case['input']}"
    if case["input"] == "csv":
        table.write_csv(path)
    else:
        table.write_parquet(path)
    policy = folder / "policy.yaml"
    try:
        shoal.Policy.model_validate(case["policy"]).write(policy)
    except shoal.PolicyError:
        result.outcome = "refused: PolicyError"
        return
    checked = _call(result, "check", path, "--policy", policy, "--quiet")
    memory = ["--memory", "1GB"] if case["memory"] else []
    done = _call(result, "anonymize", path, "--policy", policy, "--out", folder / "out", "--no-statistics", *memory)
    if checked is None or done is None:
        return
    expected = _in_python(case, path, policy, folder / "ours")
    if done.returncode != (0 if expected is None else 1):
        result.find("command", f"ends with {done.returncode}, in Python: {shorten(expected)}")
        return
    if expected is not None:
        check_refused(result, expected, done, folder / "out")
        return
    check_released(result, setting, checked, folder)
    if setting.policy.get("subject") or any(one.get("name") == "personal-k" for one in setting.models):
        return  # an audit without what only the owner knows may be unsure
    release = folder / "out" / f"release.{case['input']}"
    audited = _call(result, "audit", release, "--policy", policy, "--original", path, "--json")
    if audited is not None and audited.returncode != 0:
        result.find(
            "true-release-refused", f"shoal audit ends with {audited.returncode}: {shorten(audited.stdout, 400)}"
        )
    result.checks["command audited"] += 1


def _in_python(case: Case, path: Path, policy: Path, out: Path) -> shoal.ShoalError | None:
    """Do the same in Python; a refusal is returned."""
    try:
        if case["memory"]:
            shoal.anonymize_file(path, policy, out, memory="1GB", statistics=False)
        else:
            shoal.anonymize(path, policy).write(out, statistics=False)
    except shoal.ShoalError as error:
        return error
    return None


def check_refused(result: Result, expected: shoal.ShoalError, done: Any, out: Path) -> None:
    """A refusal says why and leaves nothing."""
    result.outcome = "infeasible" if isinstance(expected, shoal.Infeasible) else "refused"
    if not (done.stderr + done.stdout).strip():
        result.find("command", "a refusal without a word")
    if out.exists() and any(out.iterdir()):
        result.find("command", f"a refusal leaves {[one.name for one in out.iterdir()]}")
    result.checks["command refused"] += 1


def check_released(result: Result, setting: Setting, checked: Any, folder: Path) -> None:
    """The release has the bytes that Python writes, and ``check`` had nothing against it."""
    case = setting.case
    if checked.returncode != 0:
        result.find(
            "command", f"check ends with {checked.returncode}, yet there is a release: {shorten(checked.stdout)}"
        )
    release = folder / "out" / f"release.{case['input']}"
    ours = folder / "ours" / release.name
    same = release.read_bytes() == ours.read_bytes() if case["input"] == "csv" else _alike(release, ours)
    if not same:
        result.find("command", "the release of the command line is another one than that of Python")
    told = json.loads((folder / "out" / "audit.json").read_text())
    if told["holds"] is not True or told["records"] != len(setting.records):
        result.find("command", f"audit.json: holds {told['holds']}, records {told['records']}")
    result.checks["command released"] += 1


def _alike(first: Path, second: Path) -> bool:
    return pl.read_parquet(first).equals(pl.read_parquet(second))
