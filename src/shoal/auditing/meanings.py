"""meanings_of(): what the published texts of a column leave open, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.auditing.reading import Reader, numbered
from shoal.auditing.readings import Readings
from shoal.encoding.domains import STAR
from shoal.encoding.types import Floats, Ints
from shoal.errors import Fault, examples


@dataclass(frozen=True, kw_only=True)
class Meanings:
    """What the published texts of a column say, one entry per class."""

    penalties: Floats
    """The share of the domain that the text leaves open."""
    climbs: Floats
    """The lowest level of the hierarchy that is as wide as the text, as a share of its height."""
    stands_for: Floats
    """Records of the original whose value the text could stand for."""
    log_value_counts: float
    """log2 of the original records with the same value, summed over the original."""
    distinct: int
    """Values of the domain."""
    height: int
    """The number of the hierarchy's top level."""
    values: Floats
    """Values of the domain that the text could stand for."""
    original: Floats
    """Records of the original with each value; the missing one is the last, where it is a value."""
    implied: Floats
    """The same for the classes' records, those of a text spread evenly over the values that it could stand for."""


def meanings_of(texts: pl.Series, sizes: Ints, reader: Reader) -> tuple[Meanings, list[Fault]]:
    """Return what the text of each class says, classes having these sizes, and what is wrong with the texts."""
    distinct, indices = numbered(texts)
    readings = reader.read(distinct)
    # what nobody can read tells nothing
    silent = reader.shows_nothing(distinct, readings)
    covers = readings.covers(blank=reader.blank, open_=silent)
    original = np.append(reader.records, [reader.missing] * reader.blank).astype(np.float64)
    records = np.bincount(indices, sizes, minlength=len(distinct)).astype(np.float64)
    return Meanings(
        penalties=np.where(readings.is_read, readings.penalties, 1.0)[indices],
        climbs=np.where(silent, reader.climb(STAR), readings.climbs)[indices],
        stands_for=covers.sums(original)[indices],
        log_value_counts=reader.log_value_counts,
        distinct=reader.size,
        height=reader.height,
        values=np.maximum(covers.sizes, 1).astype(np.float64)[indices],
        original=original,
        implied=covers.spread(records),
    ), _text_faults(distinct, readings, reader)


def _text_faults(texts: Sequence[str | None], readings: Readings, reader: Reader) -> list[Fault]:
    unread = sorted(str(texts[index]) for index in np.flatnonzero(~readings.is_read).tolist())
    beyond = sorted(text for text in texts if text is not None and reader.is_beyond(text)) if reader.bounds else []
    faults = []
    if unread:
        what = "published values that are no value, label, range or set of the column"
        # where nothing is promised a text that we cannot read breaks nothing: k and the like were counted from texts
        hint = (
            "they count as if they showed nothing; give the hierarchy that they are labels of" if reader.foreign else ""
        )
        faults.append(Fault(what, reader.name, examples(unread), hint, kind="note" if reader.foreign else "fault"))
    if beyond:
        faults.append(Fault("published above a boundary", where=reader.name, got=examples(beyond)))
    return faults
