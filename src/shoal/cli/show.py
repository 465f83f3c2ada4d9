"""What commands print: tables and summaries for people, JSON for scripts, progress on the side."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.errors import Infeasible, ShoalError

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.algorithms.base import Progress
    from shoal.auditing import Audit


def as_json(data: Any) -> None:
    """Print plain data as JSON."""
    print(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def complain(error: ShoalError, *, as_json: bool) -> None:
    """Print an error: to people on stderr, to scripts as JSON on stdout."""
    if as_json:
        data: dict[str, Any] = {"error": type(error).__name__, "faults": [f.to_dict() for f in error.faults]}
        if isinstance(error, Infeasible):
            data |= {
                "blocking": list(error.blocking),
                "attainable": error.attainable,
                "relaxations": [{"change": r.text, "loss": r.loss} for r in error.relaxations],
            }
        print(json.dumps(data, indent=2, ensure_ascii=False, default=str))
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[bold red]{error.title}[/]")
    console.print(error.render(), markup=False)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
    """Print a table for people; numbers on the right."""
    from rich.console import Console
    from rich.table import Table

    shown = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        numeric = all(isinstance(row[place], (int, float)) or row[place] is None for row in rows)
        shown.add_column(name, justify="right" if numeric and rows else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(_cell(value) for value in row))
    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(shown)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    return text.replace("[", "\\[")


def summary(audit: Audit, files: dict[str, Path]) -> None:
    """Print what a person wants to know of a release."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    verdict = "[bold green]every promise holds[/]" if audit.holds else "[bold red]it does not hold[/]"
    console.print(f"Audit of the written file: {verdict}")
    for entry in audit.models:
        about = f" on {', '.join(entry.model.sensitive_columns)}" if entry.model.sensitive_columns else ""
        console.print(f"  {entry.model.key()}{about}: asked {entry.model.asked}, attained {entry.attained}")
    share = audit.suppressed / audit.records if audit.records else 0.0
    console.print(
        f"  records: {audit.records:,} in {audit.classes:,} classes; suppressed {audit.suppressed:,} ({share:.1%})"
    )
    if "certainty-penalty" in audit.utility:
        lost = audit.utility["certainty-penalty"].total
        console.print(f"  loss: {lost:.1%} of the detail in the quasi-identifiers (certainty penalty {lost:.4f})")
    if audit.risk_before and audit.risk:
        before, after = audit.risk_before["prosecutor"], audit.risk["prosecutor"]
        console.print(
            f"  risk of being found, worst record: {before['max']:.1%} before, {after['max']:.1%} after; "
            f"on average {before['mean']:.1%} before, {after['mean']:.1%} after"
        )
        console.print(f"  records that stood alone: {before['unique']:.1%} before, {after['unique']:.1%} after")
    for name, path in files.items():
        console.print(f"  {name + ':':<10}{path}", markup=False)


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """Show progress on stderr while work is done, if someone looks."""
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("reading", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total or None)
