"""Peers: other tools, run in a virtual environment of their own, so that their pins never meet ours.

A peer script (``benchmarks/peer_code``) reads its input from a folder and prints JSON with its figures.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks import data
from benchmarks.results import ROOT

PACKAGES = ("anjana", "pycanon")
_VENV = ROOT / "build" / "bench-venv"
_CODE = Path(__file__).parent / "peer_code"


@functools.cache
def python() -> Path | None:
    """Return the peers' interpreter, made on first use; ``None``, with a message, where that fails."""
    ready = _VENV / ".ready"
    interpreter = _VENV / "bin" / "python"
    if ready.exists() and ready.read_text(encoding="utf-8") == " ".join(PACKAGES):
        return interpreter
    _say(f"making {_VENV.relative_to(ROOT)} with {', '.join(PACKAGES)} (once)")
    try:
        _quietly(sys.executable, "-m", "venv", "--clear", str(_VENV))
        _quietly(str(interpreter), "-m", "pip", "install", "--disable-pip-version-check", *PACKAGES)
    except (OSError, subprocess.CalledProcessError) as error:
        why = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1:]
        _say(f"the peers cannot be installed, only our own figures follow: {' '.join(why)}")
        return None
    ready.write_text(" ".join(PACKAGES), encoding="utf-8")
    return interpreter


def run(script: str, tables: Mapping[str, pl.DataFrame], question: Mapping[str, Any]) -> PeerAnswer | None:
    """Run a peer script on tables (as CSV) and a question (as JSON); ``None`` where there is no peer."""
    interpreter = python()
    if interpreter is None:
        return None
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as name:
        folder = Path(name)
        for stem, table in tables.items():
            table.write_csv(folder / f"{stem}.csv")
        (folder / "question.json").write_text(json.dumps(question), encoding="utf-8")
        answer = subprocess.run(
            [str(interpreter), str(_CODE / f"{script}.py"), name], capture_output=True, text=True, check=False
        )
        if answer.returncode:
            _say(f"{script} failed: {answer.stderr.strip().splitlines()[-1]}")
            return None
        return PeerAnswer(json.loads(answer.stdout.splitlines()[-1]), _published(folder))


class PeerAnswer(dict[str, Any]):
    """The figures of a peer, and the table that it published, if any."""

    def __init__(self, figures: dict[str, Any], published: pl.DataFrame | None) -> None:
        super().__init__(figures)
        self.published = published


@functools.cache
def anjana(suppression: int = 0) -> PeerAnswer | None:
    """Run anjana's k-anonymity (k = 10) on complete Adult with our eight columns and hierarchies."""
    table, policy = data.complete_adult(), data.eight_column_policy()
    question = {
        "columns": list(data.EIGHT),
        "k": 10,
        "suppression": suppression,
        "hierarchies": data.hierarchies_as_columns(table, policy),
        "runs": 3,
    }
    return run("anjana_k", {"table": table.select(*data.EIGHT, "income")}, question)


def _published(folder: Path) -> pl.DataFrame | None:
    path = folder / "published.csv"
    return pl.read_csv(path, infer_schema=False) if path.exists() else None


def _quietly(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)
