"""shift_dates(): the dates of each person moved by one secret number of days."""

from __future__ import annotations

import hashlib
import hmac

import polars as pl

from shoal.engines.columns import to_plain
from shoal.engines.keys import Key, read_owner_key
from shoal.policy import Policy

_PURPOSE = b"shoal: shift of dates\0"
"""Sets shifts apart from all else that follows from the same key."""
_DAY = 86_400_000_000


def shift_dates(frame: pl.DataFrame, policy: Policy, key: Key | None) -> pl.DataFrame:
    """Return a table whose dates are shifted person by person, where its policy asks for that.

    The shift of a person is the HMAC-SHA-256 of who they are, under the key, brought to 1 … ``shift_days`` days back or
    forth. Where nobody knows whose date it is, none is left: :func:`shoal.engines.treatments.faults` tells it before.

    Examples
    --------
    >>> from datetime import date
    >>> table = pl.DataFrame({"who": ["a", "a"], "seen": [date(2020, 1, 1), date(2020, 1, 9)]})
    >>> policy = Policy(quasi_identifiers={"seen": {"treatment": {"shift_days": 90}}}, subject="who",
    ...                 models=[{"name": "k-anonymity", "k": 2}])
    >>> first, second = shift_dates(table, policy, b"a key of at least 16 bytes")["seen"]
    >>> (second - first).days, abs((first - date(2020, 1, 1)).days) in range(1, 91)
    (8, True)
    """
    shifted = {name: days for name, days in policy.shifted.items() if name in frame.columns}
    if not shifted or policy.subject not in frame.columns:
        return frame
    what, where = "the shift of a person's dates follows from a key", f"{next(iter(shifted))}.treatment"
    secret = read_owner_key(key, what=what, where=where)
    persons = to_plain(frame[policy.subject]).cast(pl.String)
    for name, days in shifted.items():
        dates = to_plain(frame[name])
        if not dates.dtype.is_temporal():
            continue
        moved = {text: _shift(text, secret, days) for text in persons.drop_nulls().unique().to_list()}
        by = persons.replace_strict(moved, default=None, return_dtype=pl.Int64)
        column = (dates + (by * _DAY).cast(pl.Duration("us"))).cast(dates.dtype)
        frame = frame.clone().replace_column(frame.columns.index(name), column.alias(name))
    return frame


def _shift(person: str, key: bytes, days: int) -> int:
    """Return the days by which a person's dates are shifted: never none."""
    drawn = int.from_bytes(hmac.new(key, _PURPOSE + person.encode(), hashlib.sha256).digest()) % (2 * days)
    return drawn - days if drawn < days else drawn - days + 1
