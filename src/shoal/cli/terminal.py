"""The one place from which commands print: what comes from a table, a policy or a server is shown and never obeyed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from shoal.encoding.terminal import escape_text

if TYPE_CHECKING:
    from rich.console import Console


def print_text(text: str = "", *, end: str = "\n", on_stderr: bool = False) -> None:
    """Print a text."""
    print(escape_text(text), end=end, file=sys.stderr if on_stderr else sys.stdout)


def print_bytes(data: bytes) -> None:
    """Print what may be no text: as it is into a pipe or a file, escaped on a screen."""
    if sys.stdout.isatty():
        print_text(data.decode("utf-8", "replace"), end="")
        return
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def open_console(*, on_stderr: bool = False, **options: Any) -> Console:
    """Return what prints tables, trees and colours of our own; no text in them brings its own."""
    from rich.console import Console

    from shoal.cli.escaping import EscapeTexts

    console = Console(stderr=on_stderr, highlight=False, **options)
    console.push_render_hook(EscapeTexts())
    return console


def print_wide(shown: Any) -> None:
    """Print a table or a tree: as wide as the screen, or wide enough for a file."""
    open_console(width=None if sys.stdout.isatty() else 160).print(shown)
