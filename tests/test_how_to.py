"""Each how-to is run from its first line to its last, in a folder that has its two tables."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import run

ROOT = Path(__file__).parents[1]
PAGES = sorted(page for page in (ROOT / "docs" / "how-to").glob("*.md") if page.stem != "index")
BLOCK = re.compile(r"```(\w+)(?: ([^\n]*))?\n(.*?)```", re.S)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_how_to_does_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for table in (ROOT / "examples" / "data").glob("*.csv"):
        shutil.copy(table, tmp_path)
    for kind, said, content in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title := re.search(r'title="(.+?)"', said):
            (tmp_path / title[1]).write_text(content, encoding="utf-8")
        elif kind == "sh":
            for line in content.splitlines():
                follow(line, 1 if "exit=1" in said else 0)
        elif kind == "python":
            exec(compile(content, str(page), "exec"), {})


def follow(line: str, expected: int) -> None:
    """Do what a line of a shell says; what it prints may go to a file."""
    words, _, target = line.partition(" > ")
    program, *arguments = shlex.split(words)
    if program == "shoal":
        done = run(*arguments, check=expected)
    else:
        assert program == "python"
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    if target:
        Path(target).write_text(done.stdout, encoding="utf-8")


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "how-to" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"\(([\w-]+)\.md\)", index) != []
    assert set(re.findall(r"\(([\w-]+)\.md\)", index)) == {page.stem for page in PAGES}
