"""watch_progress(): how work goes, as whoever looks can see it: a bar, a line in a notebook, lines in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from shoal.encoding.terminal import escape_line
from shoal.encoding.types import Progress, silent

_PATIENCE = 3.0
"""Seconds until a pipe is told the first line, and between two lines."""


@contextmanager
def watch_progress(quiet: bool = False) -> Iterator[Progress]:
    """Show progress on stderr while work is done: a bar on a terminal, lines elsewhere, none of what is soon done.

    In a notebook: one line that changes (:func:`choose_progress`).

    Examples
    --------
    >>> with watch_progress(quiet=True) as progress:
    ...     progress("counting", 1, 2)
    """
    if quiet:
        yield silent
    elif sys.stderr.isatty():
        yield from _bar()
    else:
        yield Lines() if choose_progress() is silent else choose_progress()


def choose_progress() -> Progress:
    """Return what shows progress in a notebook; silence elsewhere, where nobody asked for it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return NotebookLine() if shell is not None and hasattr(shell, "kernel") else silent


class Lines:
    """Tells progress by lines: the first after some seconds, then no more than one in as many."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self.patience, self.told = patience, time.monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Tell it, if it is time."""
        if time.monotonic() - self.told >= self.patience:
            self.told = time.monotonic()
            print(f"shoal: {_describe(what, done, total)}", file=sys.stderr, flush=True)


class NotebookLine:
    """Tells progress in one line of a notebook, written anew."""

    def __init__(self, patience: float = 0.2) -> None:
        self.patience, self.told = patience, 0.0
        self.shown: Any = None

    def __call__(self, what: str, done: int, total: int) -> None:
        """Tell it, if it is time."""
        if time.monotonic() - self.told < self.patience:
            return
        self.told = time.monotonic()
        display, kind = sys.modules["IPython"].display.display, sys.modules["IPython"].display.HTML
        line = kind(f"<small>shoal: {escape(_describe(what, done, total))}</small>")
        if self.shown is None:
            self.shown = display(line, display_id=True)
        else:
            self.shown.update(line)


def _describe(what: str, done: int, total: int) -> str:
    return escape_line(f"{what} {done / total:.0%}" if total else what)


def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    with Bars(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda what, done, total: bar.update(
            task, description=escape_line(what), completed=done, total=total or None
        )
