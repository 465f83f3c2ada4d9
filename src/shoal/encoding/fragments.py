"""Pieces of HTML that notebooks show of our values: no script, no network, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_MOST = 4000
"""A text is shown up to so many characters."""


def write_heading(text: str) -> str:
    """Return a line in bold."""
    return f"<p><strong>{escape(text)}</strong></p>"


def write_list(items: Iterable[object]) -> str:
    """Return a list; nothing where there is nothing to list."""
    rows = "".join(f"<li>{escape(str(item))}</li>" for item in items)
    return f"<ul>{rows}</ul>" if rows else ""


def write_text(text: str) -> str:
    """Return a text as it is written, shortened where it is long.

    Examples
    --------
    >>> write_text("age: <18")
    '<pre>age: &lt;18</pre>'
    """
    return f"<pre>{escape(text if len(text) <= _MOST else text[:_MOST] + ' …')}</pre>"


def write_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{'' if cell is None else escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
