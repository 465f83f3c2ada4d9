"""Texts for a terminal: what would move its cursor, colour it or turn its lines around is written as an escape."""

from __future__ import annotations

import re

_CONTROL = r"\x00-\x1f\x7f-\x9f"
_LINES = r"\u2028\u2029"
_DIRECTION = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_SURROGATES = r"\ud800-\udfff"
_UNSAFE_IN_LINE = re.compile(f"[{_CONTROL}{_LINES}{_DIRECTION}{_SURROGATES}]")
_UNSAFE = re.compile(rf"(?![\n\t]){_UNSAFE_IN_LINE.pattern}")


def escape_text(text: str) -> str:
    r"""Return a text of one line or several that a terminal shows and does not obey.

    Control characters (all escape sequences begin with one), marks that turn the direction of writing, and what is no
    Unicode are written as ``\u001b``: a JSON text that was escaped is the same JSON.

    Examples
    --------
    >>> print(escape_text("a\x1b[2Jb\u202ec\n\td"))
    a\u001b[2Jb\u202ec
        d
    """
    return _UNSAFE.sub(_escape, text)


def escape_line(text: str) -> str:
    r"""Return the same for a part of a line: a name or a value cannot begin another.

    Examples
    --------
    >>> print(escape_line("age\nwarning: none"))
    age\u000awarning: none
    """
    return _UNSAFE_IN_LINE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
