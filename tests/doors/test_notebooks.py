"""What notebooks and pipes show: values as tables, every text escaped, and how work goes."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.encoding.progress import Lines, NotebookLine, choose_progress
from shoal.hierarchies import Intervals

TABLE = pl.DataFrame({"<Alter>": [20, 21, 30, 31], "Ort": ["<b>", "<b>", "Köln", "Köln"]})
POLICY = shoal.Policy(quasi_identifiers=["<Alter>", "Ort"], models=[{"name": "k-anonymity", "k": 2}])


def test_each_value_shows_itself_and_escapes_every_text() -> None:
    release = shoal.anonymize(TABLE, POLICY)
    for value in (release, release.audit, POLICY, Intervals(widths=[5]), release.prepared.words.levels("Ort")):
        shown = value._repr_html_()
        assert shown.startswith("<")
        assert "<b>" not in shown
        assert "<Alter>" not in shown
    assert "[20, 21]" in release._repr_html_()
    assert "Köln" in release._repr_html_()


def test_an_audit_is_a_few_lines() -> None:
    release = shoal.anonymize(TABLE, POLICY)
    assert repr(release.audit) == (
        "<Audit: every promise holds; 4 records in 2 classes>\n  k-anonymity: asked 2, attained 2"
    )
    broken = shoal.audit(TABLE, POLICY)
    assert repr(broken).startswith("<Audit: it does not hold; 4 records in 4 classes>")
    assert len(repr(broken).splitlines()) <= 8


def test_pipes_are_told_by_lines_and_not_too_often(capsys: pytest.CaptureFixture[str]) -> None:
    told = Lines(patience=0)
    told("counting", 1, 2)
    told("searching", 0, 0)
    Lines(patience=60)("counting", 1, 2)
    assert capsys.readouterr().err == "shoal: counting 50%\nshoal: searching\n"


def test_a_notebook_has_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []

    def display(line: Any, display_id: bool) -> Any:
        lines.append(line)
        return SimpleNamespace(update=lambda new: lines.append(f"changed {new}"))

    shell = SimpleNamespace(kernel=object())
    fake = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display, HTML=str))
    assert not isinstance(choose_progress(), NotebookLine)
    monkeypatch.setitem(sys.modules, "IPython", fake)
    assert isinstance(choose_progress(), NotebookLine)
    shoal.anonymize(TABLE, POLICY)
    cell = NotebookLine(patience=0)
    cell("<counting>", 0, 0)
    cell("writing", 1, 4)
    assert lines[-2:] == ["<small>shoal: &lt;counting&gt;</small>", "changed <small>shoal: writing 25%</small>"]
