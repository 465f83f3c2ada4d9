"""Names and values on a terminal: shown, never obeyed."""

from __future__ import annotations

import ast
import io
import json
from pathlib import Path

import polars as pl
import pytest
from tests.command import run

import shoal
from shoal.cli import show, terminal
from shoal.encoding import yaml
from shoal.encoding.progress import Lines
from shoal.encoding.terminal import escape_line, escape_text

CLI = Path(terminal.__file__).parent
HOSTILE = "\x1b]0;owned\x07\x1b[2J[/red]"
TURNED = "age\u202egnp.exe"
DOCTORED = "\x9b31mward\u2066"


def is_tame(text: str) -> bool:
    return escape_text(text) == text


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {
            HOSTILE: [f"{DOCTORED}{i % 3}" for i in range(60)],
            TURNED: [20 + i % 7 for i in range(60)],
            "illness": [("flu\x1b[31m", "cold\u202e")[i % 2] for i in range(60)],
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    policy = shoal.Policy(
        quasi_identifiers={HOSTILE: {}, TURNED: {}}, sensitive=["illness"], models=[{"name": "k-anonymity", "k": 3}]
    )
    policy.write(tmp_path / "policy.yaml")
    return tmp_path


def test_no_command_prints_what_a_terminal_obeys(hostile: Path) -> None:
    data, policy = hostile / "people.csv", hostile / "policy.yaml"
    assert shoal.Policy.read(policy).quasi_identifiers.keys() == {HOSTILE, TURNED}  # the file is escaped, and the same
    assert is_tame(policy.read_text(encoding="utf-8"))
    (hostile / "misfit.yaml").write_text(
        policy.read_text(encoding="utf-8").replace("illness", '"ill\\u202eness"'), encoding="utf-8"
    )
    draft = run("suggest", data, check=0)
    (hostile / "draft.yaml").write_text(draft.stdout, encoding="utf-8")
    assert {HOSTILE, TURNED} <= {*shoal.Policy.read(hostile / "draft.yaml").quasi_identifiers} | {"illness"} | {
        *shoal.Policy.read(hostile / "draft.yaml").sensitive
    }
    done = [
        draft,
        run("check", data, "--policy", policy),
        run("check", data, "--policy", hostile / "misfit.yaml", check=1),
        run("anonymize", data, "--policy", hostile / "misfit.yaml", "--out", hostile / "none", check=1),
        run("anonymize", data, "--policy", policy, "--out", hostile / "out", check=0),
        run("audit", hostile / "out" / "release.csv", "--policy", policy, "--original", data, "--statistics", check=0),
        run("policy", "show", policy, check=0),
        run("hierarchy", "draw", data, "--column", HOSTILE, "--method", "suppress", check=0),
        run("hierarchy", "build", data, "--column", HOSTILE, "--method", "suppress", check=0),
        run("check", hostile / f"no\x1b[2J{TURNED}.csv", "--policy", policy, check=1),
    ]
    for one in done:
        assert is_tame(one.stdout) and is_tame(one.stderr), one.args


def test_json_is_the_same_json(hostile: Path) -> None:
    data, policy = hostile / "people.csv", hostile / "policy.yaml"
    told = run("anonymize", data, "--policy", policy, "--out", hostile / "out", "--json", check=0).stdout
    assert is_tame(told)
    assert {HOSTILE, TURNED} <= {*json.loads(told)["columns"]}


def test_colours_of_our_own_and_nobody_elses() -> None:
    screen = io.StringIO()
    console = terminal.open_console(file=screen, force_terminal=True, color_system="standard")
    console.print("[bold red]wrong[/]")
    console.print(f"name {HOSTILE}{TURNED}", markup=False)
    ours, theirs = screen.getvalue().splitlines()
    assert "\x1b[1;31mwrong" in ours
    assert is_tame(theirs)


def test_a_table_has_one_line_for_each_record(capsys: pytest.CaptureFixture[str]) -> None:
    show.print_table([HOSTILE, "b\nwarning: none"], [["a\nb", "[/red]\r"], [1.5, None]], title="[/x]\x1b[2J")
    shown = capsys.readouterr().out
    assert is_tame(shown)
    assert len(shown.splitlines()) == 4
    assert "[/red]" in shown and "[/x]" in shown


def test_progress_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    Lines(patience=0)(f"counting {HOSTILE}\n", 1, 2)
    assert is_tame(capsys.readouterr().err.rstrip("\n"))


def test_what_is_escaped() -> None:
    for code in [*range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x202A, 0x202E, 0x2028, 0x2066, 0x2069, 0xD800]:
        assert escape_line(chr(code)) == f"\\u{code:04x}"
    assert escape_text("\n\t") == "\n\t"
    assert escape_text("Zoë 東京 שלום 👩‍⚕️ §") == "Zoë 東京 שלום 👩‍⚕️ §"


def test_yaml_is_the_same_yaml() -> None:
    for text in (HOSTILE, TURNED, DOCTORED, f"'{TURNED}\" \\ :", "two\nlines", "é"):
        written = yaml.dump({text: [text], "a": text * 50})
        assert is_tame(written)
        assert yaml.parse(written) == {text: [text], "a": text * 50}


def test_commands_print_from_one_place() -> None:
    for path in CLI.glob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        names = {getattr(call, "id", getattr(call, "attr", "")) for call in calls if getattr(call, "id", "") != ""}
        assert path.name == "terminal.py" or not names & {"print", "Console"}, path.name
