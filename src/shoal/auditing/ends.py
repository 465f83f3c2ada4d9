"""Ends: columns of low and high ends say what the texts beside them say, and no more."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from shoal.auditing.original import OriginalTable
from shoal.auditing.reading import Reader
from shoal.auditing.texts import read_texts
from shoal.encoding.domains import Kind
from shoal.encoding.labels import read_label
from shoal.engines.columns import kind_of
from shoal.errors import Fault, examples
from shoal.policy import Policy


def ends_faults(frame: pl.DataFrame, original: OriginalTable | None, policy: Policy) -> Iterator[Fault]:
    """Yield columns of ends that are missing, that differ from their texts, or that leave out a value."""
    for name in policy.quasi_identifiers:
        sides = [f"{name}.low", f"{name}.high"]
        there = [side in frame.columns for side in sides]
        ordered = None
        if original is not None and name in original.frame.columns:
            ordered = kind_of(original.words.values(name)) not in _UNORDERED
        if any(there) != all(there) or (ordered is not None and ordered != all(there)):
            what = "ends are missing" if ordered in (None, True) else "ends of a column that has no order"
            yield Fault(what, where=name)
        if not all(there):
            continue
        shown = pl.DataFrame(
            [read_texts(frame[side]).alias(key) for side, key in zip([name, *sides], "tlh", strict=True)]
        ).unique()
        reader = None if original is None or not ordered else original.readers[name]
        wrong = [f"{text}: {low} to {high}" for text, low, high in shown.rows() if not _agree(text, low, high, reader)]
        if wrong:
            yield Fault("ends that are not those of the text", name, examples(sorted(wrong)))


_UNORDERED = ("text", "boolean")


def _agree(text: str | None, low: str | None, high: str | None, reader: Reader | None) -> bool:
    if low is None and high is None:
        return True  # nothing is told
    if low is None or high is None or text is None:
        return False
    kind: Kind = "float" if read_label(low, "float").form == "value" else "datetime"
    shown, first, last = (read_label(each, kind) for each in (text, low, high))
    if None in shown.items or not all(math.isfinite(end) for end in (shown.least, shown.greatest)):
        return False
    if (shown.least, shown.greatest) != (first.least, last.greatest):
        return False
    return reader is None or _holds_all(reader, text, shown.least, shown.greatest)


def _holds_all(reader: Reader, text: str, least: float, most: float) -> bool:
    values, _ = reader.values_of(text)
    scale = 86_400_000_000 if reader.domain.kind == "date" else 1
    numbers = np.asarray(reader.domain.values)[list(values)].astype(np.float64) * scale
    return bool(((numbers >= least) & (numbers <= most)).all())
