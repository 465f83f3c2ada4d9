"""What a group of values is called."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 4


def group_label(texts: Sequence[str]) -> str:
    """Return the name of a group: its values, or the first and the last of many.

    Groups of a level are disjoint, so the names of two groups differ.

    Examples
    --------
    >>> group_label(["S"]), group_label(["S", "M"]), group_label(list("abcdefg"))
    ('S', '{S, M}', '{a, … 5 …, g}')
    """
    if len(texts) == 1:
        return texts[0]
    if len(texts) <= _SHOWN:
        return "{" + ", ".join(texts) + "}"
    return f"{{{texts[0]}, … {len(texts) - 2} …, {texts[-1]}}}"
