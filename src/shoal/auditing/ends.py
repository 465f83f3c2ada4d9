"""Ends: columns of low and high ends say what the texts beside them say, and no more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from shoal.auditing.census import texts_of
from shoal.auditing.reading import Reader, named
from shoal.encoding.domains import STAR
from shoal.engines.columns import kind_of, plain
from shoal.errors import Fault, examples
from shoal.policy import Policy

Pair = tuple[float, float]


def ends_columns(frame: pl.DataFrame, policy: Policy) -> list[str]:
    """Return the columns of a published table that are the ends of quasi-identifiers."""
    if not policy.output.has_ends:
        return []
    names = [f"{name}.{end}" for name in policy.quasi_identifiers for end in ("low", "high")]
    return [name for name in names if name in frame.columns]


def ends_faults(frame: pl.DataFrame, raw: pl.DataFrame | None, policy: Policy) -> Iterator[Fault]:
    """Yield columns of ends that are missing, that differ from their texts, or that leave out a value."""
    for name in policy.quasi_identifiers:
        sides = [f"{name}.low", f"{name}.high"]
        there = [side in frame.columns for side in sides]
        ordered = None if raw is None or name not in raw.columns else kind_of(plain(raw[name])) not in _UNORDERED
        if any(there) != all(there) or (ordered is not None and ordered != all(there)):
            what = "ends are missing" if ordered in (None, True) else "ends of a column that has no order"
            yield Fault(what, where=name)
        if not all(there):
            continue
        shown = pl.DataFrame(
            [texts_of(frame[side]).alias(key) for side, key in zip([name, *sides], "tlh", strict=True)]
        ).unique()
        reader = None if raw is None or not ordered else Reader(raw, name, policy)
        wrong = [f"{text}: {low} to {high}" for text, low, high in shown.rows() if not _agree(text, low, high, reader)]
        if wrong:
            yield Fault("ends that are not those of the text", name, examples(sorted(wrong)))


_UNORDERED = ("text", "boolean")


def _agree(text: str | None, low: str | None, high: str | None, reader: Reader | None) -> bool:
    if low is None and high is None:
        return True  # nothing is told
    if low is None or high is None or text is None or text == STAR:
        return False
    # the end of a half-open range is named as that of a closed one is
    parts = [] if "(missing)" in text else named(text[:-1] + "]" if text.endswith(")") else text)
    read = [_number(part) if _number(low) else _period(part) for part in parts]
    told = [_number(end) or _period(end) for end in (low, high)]
    spans, ends = [span for span in read if span], [span for span in told if span]
    if not spans or len(spans) < len(parts) or len(ends) < 2:
        return False
    least, most = min(span[0] for span in spans), max(span[1] for span in spans)
    if (least, most) != (ends[0][0], ends[1][1]):
        return False
    return reader is None or _holds_all(reader, text, least, most)


def _holds_all(reader: Reader, text: str, least: float, most: float) -> bool:
    """Whether all values that a text may stand for lie between its ends."""
    values, _ = reader.values_of(text)
    scale = 86_400_000_000 if reader.domain.kind == "date" else 1
    numbers = np.asarray(reader.domain.values)[list(values)].astype(np.float64) * scale
    return bool(((numbers >= least) & (numbers <= most)).all())


def _number(text: str) -> Pair | None:
    try:
        return float(text), float(text)
    except ValueError:
        return None


def _period(text: str) -> Pair | None:
    """Return the first and the last microsecond of a date, a month, a quarter or a year; of a moment, itself."""
    try:
        if len(text) == 7 and text[5] == "Q":
            first = np.datetime64(f"{text[:4]}-{3 * int(text[6]) - 2:02d}", "M")
            following = first + 3
        else:
            first = np.datetime64(text)
            following = first + 1
            if np.datetime_data(first.dtype)[0] not in ("Y", "M", "D"):
                return _microseconds(first), _microseconds(first)
    except ValueError:
        return None
    return _microseconds(first), _microseconds(following) - 1


def _microseconds(moment: np.datetime64) -> float:
    return float(moment.astype("datetime64[us]").astype(np.int64))
