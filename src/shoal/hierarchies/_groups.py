"""What a group of values is called."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.encoding.label_writing import write_set, write_shortened_set

_SHOWN = 4


def group_label(texts: Sequence[str]) -> str:
    """Return the name of a group: its values, written as in any set, or the first and the last of many.

    Groups of a level are disjoint, so the names of two groups differ.

    Examples
    --------
    >>> group_label(["S"]), group_label(["S", "M"]), group_label(list("abcdefg"))
    ('S', '{S, M}', '{a, … 5 …, g}')
    >>> group_label(["a, b", "c"]), group_label(["a", "b, c"])
    ('{"a, b", c}', '{a, "b, c"}')
    """
    if len(texts) == 1:
        return texts[0]
    return write_set(texts) if len(texts) <= _SHOWN else write_shortened_set(texts)
