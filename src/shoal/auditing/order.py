"""order_faults(): whether the published records still stand in the order of the original ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from shoal.auditing.hygiene import write_texts
from shoal.auditing.reading import Reader
from shoal.auditing.texts import number_texts, read_texts
from shoal.encoding.types import Bools, Ints
from shoal.engines.columns import codes_of, to_plain
from shoal.errors import Fault
from shoal.policy import Policy

_FIRST = 1_000
"""So many records from the top are looked at: an order that survived shows there."""
_FEWEST = 10
_TRIALS = 5
_KEPT, _CLEARLY = 0.9, 0.1
"""The share of records that follow the original order, and how far that must be above what chance gives."""


def order_faults(frame: pl.DataFrame, raw: pl.DataFrame, readers: Mapping[str, Reader]) -> list[Fault]:
    """Return a fault where the records stand in their original order, some of them missing or not.

    A reader who knows who comes first in the original would find that person's record. Looked for is the longest
    common subsequence of both tables, a published record fitting an original one if what it shows covers that. The
    measure is the same records in a random order: sorted again if the published ones are sorted, for an order that
    everyone can see tells nothing.

    Cost: a thousand records against about as many.
    """
    top, window = size_windows(frame.height, raw.height)
    if frame.height < _FEWEST or raw.height < frame.height:
        return []
    shown = frame.head(top)
    fits = _fitting(shown, raw.head(window), readers)
    found = _in_order(fits)
    if found < _KEPT * top:
        return []
    ranks = _sorted_by(shown)
    chance = max(_in_order(fits[_shuffled(ranks, seed)]) for seed in range(_TRIALS))
    if found - chance < max(_CLEARLY * top, 1) and not (found == top and chance < top):
        return []
    return [Fault("the records stand in their original order", got=_told(found, top), hint="sort or shuffle them")]


def drop_perturbed(shown: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the columns by which a published record can be compared with an original one."""
    return shown.select(shown.get_column(name) for name in shown.columns if name not in policy.perturbed)


def size_windows(published: int, original: int) -> tuple[int, int]:
    """Return how many of the first records of both tables are looked at."""
    top, left_out = min(published, _FIRST), max(original - published, 0)
    return top, min(original, -(-top * original // max(published, 1)) + min(left_out, 20))


def _told(found: int, top: int) -> str:
    return "" if found == top else f"{found} of the first {top} records"


def _fitting(shown: pl.DataFrame, raw: pl.DataFrame, readers: Mapping[str, Reader]) -> Bools:
    """Return which published record could be which original one."""
    fits = np.ones((shown.height, raw.height), bool)
    for name in shown.columns:
        if name not in raw.columns:
            continue
        if name in readers:
            texts, text_of = number_texts(read_texts(shown[name]))
            codes = codes_of(to_plain(raw[name]), readers[name].domain)
            fits &= readers[name].covering(texts, codes)[text_of]
        else:
            _, index = number_texts(pl.concat([write_texts(shown[name]), write_texts(raw[name])]))
            fits &= index[: shown.height, None] == index[None, shown.height :]
    return fits


def _in_order(fits: Bools) -> int:
    """Return the length of the longest common subsequence."""
    best = np.zeros(fits.shape[1] + 1, np.int64)
    for row in fits:
        best[1:] = np.maximum.accumulate(np.maximum(best[1:], best[:-1] + row))
    return int(best[-1])


def _sorted_by(shown: pl.DataFrame) -> Ints:
    """Return the place of each record in the order by columns that everyone can see; equal where it leaves a choice."""
    ranks = np.zeros(shown.height, np.int64)
    columns = [rank for column in shown for rank in _ranks(column)]
    grown = True
    while grown:
        grown = False
        for rank in columns:
            joined = ranks * shown.height + rank
            if (np.diff(joined) >= 0).all() and len(np.unique(joined)) > len(np.unique(ranks)):
                ranks, grown = np.unique(joined, return_inverse=True)[1].astype(np.int64), True
    return ranks


def _ranks(column: pl.Series) -> list[Ints]:
    """Return the places of the values of a column in each order that a table may be sorted by."""
    texts = write_texts(column)
    numbers = texts.cast(pl.Float64, strict=False)
    kinds = [texts] if numbers.null_count() > texts.null_count() else [texts, numbers]
    up = [kind.rank("dense").fill_null(0).cast(pl.Int64).to_numpy() for kind in kinds]
    up += [np.where(rank == 0, len(column) - 1, rank - 1) for rank in up]  # missing values last
    return [*up, *(len(column) - 1 - rank for rank in up)]


def _shuffled(ranks: Ints, seed: int) -> Ints:
    order = np.random.default_rng(seed).permutation(len(ranks))
    return order[np.argsort(ranks[order], kind="stable")]
