"""How labels that shoal makes are written; :mod:`shoal.encoding.labels` reads them, and all others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

MISSING = "(missing)"
"""How a missing value is written inside a set of values."""
ELLIPSIS = "…"
"""How a shortened set writes that some of its values are left out."""
OF_TEXTS = re.compile(r"\[(.+), (.+)\]", re.S)
"""A closed range, whatever its ends are."""


def split_ranges(texts: Sequence[str]) -> list[tuple[str, str] | None]:
    """Return the ends of each text that is a closed range as :func:`write_range` writes it, as texts.

    What :func:`read_label` reads in all notations, for the one that a whole column of a release is written in.

    Examples
    --------
    >>> split_ranges(["[20, 24]", "20-24", "*"])
    [('20', '24'), None, None]
    """
    matches = map(OF_TEXTS.fullmatch, texts)
    return [None if match is None else (match[1], match[2]) for match in matches]


def write_range(first: str, last: str, *, closed: bool = True) -> str:
    """Return how a range is published, with or without its last value.

    Examples
    --------
    >>> write_range("20", "24"), write_range("0.2", "0.3", closed=False)
    ('[20, 24]', '[0.2, 0.3)')
    """
    return f"[{first}, {last}{']' if closed else ')'}"


def write_set(texts: Iterable[str | None]) -> str:
    """Return how a set of values is published: those that could be read as something else are quoted.

    Examples
    --------
    >>> print(write_set(["a", "b, c", "(missing)", None]))
    {a, "b, c", "(missing)", (missing)}
    """
    return join_items(map(write_item, texts))


def join_items(items: Iterable[str]) -> str:
    """Return the set of items that :func:`write_item` wrote."""
    return "{" + ", ".join(items) + "}"


def write_shortened_set(texts: Sequence[str]) -> str:
    """Return how a large set is published: its first and its last value, and how many are left out.

    Examples
    --------
    >>> write_shortened_set(list("abcdefg"))
    '{a, … 5 …, g}'
    """
    left_out = f"{ELLIPSIS} {len(texts) - 2} {ELLIPSIS}"
    return f"{{{write_item(texts[0])}, {left_out}, {write_item(texts[-1])}}}"


def write_item(text: str | None) -> str:
    """Return how a value is written in a set."""
    if text is None:
        return MISSING
    is_plain = text.strip() == text != MISSING and not any(mark in text for mark in (*',{}"', ELLIPSIS))
    return text if is_plain else json.dumps(text, ensure_ascii=False)
