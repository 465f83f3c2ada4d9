"""reread_columns(): the columns that original and published table share, as numbers that statistics can be made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.auditing.original import OriginalTable
from shoal.auditing.reading import Reader
from shoal.auditing.readings import Readings
from shoal.auditing.texts import read_texts
from shoal.encoding.domains import STAR, Domain
from shoal.encoding.types import Floats
from shoal.engines.columns import codes_of
from shoal.policy import Policy
from shoal.utility.statistics.columns import ColumnPair
from shoal.utility.statistics.covers import CoveredValues
from shoal.utility.statistics.standing import Standing, place_records


@dataclass(frozen=True)
class Reread:
    """One column as both tables have it."""

    column: ColumnPair
    domain: Domain
    unreadable: int
    """Published records whose text is no value, label, range or set of the column."""

    def label(self, index: int) -> str | None:
        """Return the value at a place; ``None`` is the missing one."""
        return self.domain.texts[index] if index < len(self.domain) else None


def reread_columns(
    published: pl.DataFrame, sample: pl.DataFrame, original: OriginalTable, standing: Standing
) -> dict[str, Reread]:
    """Return each column that both tables have: quasi-identifiers read by their policy, all others as they are.

    ``sample`` are the records of the original that statistics are made of, all or some of them: a published value may
    be none of these.
    """
    names = list_shared_columns(published, sample, original.policy)
    return {name: _reread(read_texts(published[name]), sample[name], name, original, standing) for name in names}


def list_shared_columns(frame: pl.DataFrame, raw: pl.DataFrame, policy: Policy) -> list[str]:
    """Return the names of the columns that both tables have and show."""
    return [name for name in raw.columns if name in frame.columns and name not in policy.hidden]


def _reread(texts: pl.Series, held: pl.Series, name: str, original: OriginalTable, standing: Standing) -> Reread:
    kinds = texts.unique(maintain_order=True)
    numbers = texts.replace_strict(kinds, np.arange(len(kinds)), return_dtype=pl.Int64).to_numpy()
    if name in original.readers:
        reader = original.readers[name]
        domain, size = reader.domain, reader.size
        covers = _read_only(reader.read(kinds.to_list()), reader)
        spans = _spans(reader, kinds.to_list())
    else:
        domain = original.words.occurring(name)
        size = len(domain) + bool(original.words.values(name).null_count())
        indices = {text: range(index, index + 1) for index, text in enumerate(domain.texts)}
        blank = range(len(domain), size)
        values = [blank if text is None else indices.get(text, range(0)) for text in kinds.to_list()]
        covers, spans = CoveredValues.of(values, size), _new_numbers(kinds, indices, domain)
    codes = codes_of(held, domain)
    column = ColumnPair(name, np.where(codes < size, codes, -1), numbers, covers, domain.ordered)
    if domain.ordered and len(domain):
        column = replace(column, numbers=_numbers(column, domain, spans, kinds.to_list(), standing))
    unread = (covers.sizes == 0) & ~kinds.is_in(list(spans)).fill_null(False).to_numpy()
    return Reread(column, domain, int(unread[numbers].sum()) if len(covers) else 0)


def _new_numbers(texts: pl.Series, known: Mapping[str, range], domain: Domain) -> dict[str, tuple[float, float]]:
    """Return the published numbers of a column that are none of the original: means, and numbers with noise."""
    if domain.kind not in ("integer", "float"):
        return {}
    held = zip(texts.to_list(), texts.cast(pl.Float64, strict=False).to_list(), strict=True)
    return {text: (number, number) for text, number in held if number is not None and text not in known}


def _read_only(readings: Readings, reader: Reader) -> CoveredValues:
    """Return the values of each text; none where nobody can read it."""
    unread = ~readings.is_read
    covers = readings.covers(blank=reader.blank)
    listed = ~unread[covers.owners]
    return replace(
        covers,
        first=np.where(unread, 0, covers.first),
        stop=np.where(unread, 0, covers.stop),
        owners=covers.owners[listed],
        places=covers.places[listed],
    )


def _spans(reader: Reader, texts: list[str | None]) -> dict[str, tuple[float, float]]:
    """Return what labels say that they cover, where they are intervals."""
    spans: dict[str, tuple[float, float]] = {}
    for step in reader.steps:
        if step.lows is not None and step.highs is not None:
            ends = zip(step.lows.tolist(), step.highs.tolist(), strict=True)
            spans |= {name: span for name, span in zip(step.names, ends, strict=True) if name not in spans}
    return {text: spans[text] for text in texts if text in spans and text not in reader.place}


def _numbers(
    column: ColumnPair,
    domain: Domain,
    spans: dict[str, tuple[float, float]],
    texts: list[str | None],
    standing: Standing,
) -> tuple[Floats, Floats]:
    """Return each original number and what stands for each published one."""
    count, values = len(domain), domain.values.astype(np.float64)
    given = np.append(values, np.nan)[np.where(column.values < count, column.values, -1)]
    lows, highs = _ends(column.covers, values)
    for number, text in enumerate(texts):
        if text in spans and text != STAR and np.isfinite(spans[text]).all():
            lows[number], highs[number] = spans[text]
    if standing == "class":
        known = np.append(column.counts[:count], np.zeros(column.covers.size - count))
        sums = column.covers.sums(known * np.append(values, np.zeros(column.covers.size - count)))
        held = column.covers.sums(known)
        lows = highs = np.where((held > 0) & ~np.isnan(lows), sums / np.maximum(held, 1.0), (lows + highs) / 2)
    elif domain.kind in ("integer", "date"):  # 20 to 29 in whole numbers is as wide as 19.5 to 29.5
        lows, highs = lows - 0.5 * (lows < highs), highs + 0.5 * (lows < highs)
    return given, place_records(lows[column.texts], highs[column.texts], column.texts.astype(np.intp), standing)


def _ends(covers: CoveredValues, values: Floats) -> tuple[Floats, Floats]:
    """Return the least and the greatest value that each text covers; the missing value is none."""
    count = len(values)
    first, last = covers.first.copy(), np.minimum(covers.stop, count) - 1
    for owner in np.unique(covers.owners).tolist():
        indices = covers.places[covers.owners == owner]
        first[owner], last[owner] = indices[0], indices[indices < count].max(initial=-1)
    known = (last >= first) & (covers.sizes > 0)
    safe = np.clip(first, 0, max(count - 1, 0)), np.clip(last, 0, max(count - 1, 0))
    return np.where(known, values[safe[0]], np.nan), np.where(known, values[safe[1]], np.nan)
