"""Statistics of several columns together: eigenvalues, regressions, propensity scores, how far records were moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from shoal.encoding.types import Floats, Ints
from shoal.utility.statistics.columns import ColumnPair, features
from shoal.utility.statistics.deviations import measure_deviations
from shoal.utility.statistics.eigenvalues import compare_eigenvalues
from shoal.utility.statistics.propensity import RECORDS, measure_propensity
from shoal.utility.statistics.regressions import compare_regressions


def compare_shapes(columns: Sequence[ColumnPair], seed: int) -> dict[str, Any]:
    """Return what can be said of two tables whose records need not belong together."""
    names, original, published = _stack(columns)
    whole = [table[~np.isnan(table).any(axis=1)] for table in (original, published)]
    change = compare_eigenvalues(whole[0], whole[1])
    told = [
        {
            "column": one.column,
            "explained": {"before": one.explained[0], "after": one.explained[1]},
            "overlap": one.overlap,
        }
        for one in compare_regressions(names, whole[0], whole[1])
    ]
    return {
        "eigenvalues": None if change is None else {"columns": names, **asdict(change)},
        "regressions": told,
        "propensity": _measure_propensity(columns, seed),
    }


def _measure_propensity(columns: Sequence[ColumnPair], seed: int) -> dict[str, Any] | None:
    chance = np.random.default_rng(seed)
    drawn = [_draw(chance, len(held)) for held in (columns[0].values, columns[0].texts)] if columns else []
    if not drawn:
        return None
    found = measure_propensity(
        features(columns, drawn[0], published=False), features(columns, drawn[1], published=True)
    )
    return None if found is None else {**asdict(found), "ratio": found.ratio}


def _draw(chance: np.random.Generator, records: int) -> Ints:
    """Return some of the records, in their order."""
    if records <= RECORDS:
        return np.arange(records)
    return np.sort(chance.choice(records, RECORDS, replace=False)).astype(np.int64)


def compare_records(columns: Sequence[ColumnPair], rows: pl.Series) -> dict[str, Any] | None:
    """Return how far records were moved; ``rows``: which original record each published one is."""
    names, original, published = _stack(columns)
    places = rows.to_numpy()
    if len(places) != len(published) or (len(places) and int(places.max()) >= len(original)):
        return None
    before = original[places]
    whole = ~(np.isnan(before) | np.isnan(published)).any(axis=1)
    found = measure_deviations(before[whole], published[whole])
    return None if found is None else {**asdict(found), "records": int(whole.sum()), "names": names}


def _stack(columns: Sequence[ColumnPair]) -> tuple[list[str], Floats, Floats]:
    """Return the names of the number columns, and the numbers of both tables, ``[record, column]``."""
    held = [(column.name, column.numbers) for column in columns if column.numbers is not None]
    if not held:
        return [], np.zeros((0, 0)), np.zeros((0, 0))
    tables = [np.stack([numbers[index] for _, numbers in held], axis=1) for index in (0, 1)]
    return [name for name, _ in held], tables[0], tables[1]
