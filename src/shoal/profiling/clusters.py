"""measure_clustering(): whether records come in clusters of one age, as those of persons who return do."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import numpy as np
import polars as pl

from shoal.encoding.types import Floats, Ints
from shoal.engines.columns import to_plain
from shoal.profiling.profile import Profile
from shoal.profiling.role_rules import RoleSuggestion

_YEARS = 10
"""Ages are compared with those so many years apart: who rounds an age rounds that one as well."""
_DENSE = 30
"""With more records for each age, what is true of a generation is told from chance too."""
_SPARSE = 100
"""Fewer records tell nothing."""
_LUMPS = 0.05
"""So many ages may be usual ones, as the hours of a working week are."""
_CLUSTERED = 2.2
"""Records of different persons come to about 1, and somewhat more where generations differ in number."""


def find_clustered(
    frame: pl.DataFrame, profiles: Mapping[str, Profile], decisions: Mapping[str, RoleSuggestion]
) -> str:
    """Return the age or the year of birth by which records come in clusters, or nothing."""
    known = [name for name, one in decisions.items() if one.role in ("quasi_identifiers", "sensitive")]
    called = [name for name in known if profiles[name].means("age") or profiles[name].means("birth")]
    sexes = [name for name in known if profiles[name].distinct == 2]
    sexes = sorted(sexes, key=lambda name: not profiles[name].means("sex"))[:1]
    for name in called or [name for name in known if profiles[name].whole and not profiles[name].calendar]:
        if (years := _read_years(frame[name], profiles[name])) is None:
            continue
        sex = frame[sexes[0]] if sexes else pl.Series([0] * frame.height)
        if measure_clustering(years, sex) >= _CLUSTERED:
            return name
    return ""


def measure_clustering(years: pl.Series, strata: pl.Series) -> float:
    """Return how many records come together: the variance of the records of each age by what chance allows.

    Of different persons the records of an age are about as many as those of ages ten years younger and older, and
    differ from their mean as counts do: the quotient is 1. Where each person has r records it is r, however many
    persons there are, and however other facts depend on each other. Nothing is told (0) where records are too few, or
    so many that generations differ more than chance lets them.

    References
    ----------
    Cox, D. R. (1983). Some remarks on overdispersion. Biometrika 70(1), 269-274.

    Examples
    --------
    >>> ages = pl.Series([20 + i * i * 7 % 61 for i in range(400)])
    >>> once = pl.Series(np.random.default_rng(1).integers(20, 90, 400))
    >>> sex = pl.Series([0] * 400)
    >>> measure_clustering(once, sex) < 1.5, measure_clustering(pl.concat([once[:80]] * 5), sex) > 3
    (True, True)
    """
    counts = _count_years(years, strata)
    if counts.shape[1] <= 2 * _YEARS:
        return 0.0
    here, before, after = counts[:, _YEARS:-_YEARS], counts[:, : -2 * _YEARS], counts[:, 2 * _YEARS :]
    expected = ((here + before + after) / 2).ravel()
    if 2 / 3 * expected.sum() < _SPARSE or expected.mean() > 1.5 * _DENSE:
        return 0.0
    squares = ((here - (before + after) / 2) ** 2).ravel()
    usual = np.argsort(squares / np.maximum(expected, 1))[: len(squares) - ceil(_LUMPS * len(squares))]
    return float(squares[usual].sum() / max(expected[usual].sum(), 1.0))


def _read_years(column: pl.Series, profile: Profile) -> pl.Series | None:
    """Return ages or years of birth as whole numbers; nothing of a column that holds neither."""
    values = to_plain(column)
    if profile.kind in ("date", "datetime"):
        return values.dt.year()
    if profile.calendar:
        values = values // 10_000
        return pl.select(pl.when(values.is_between(1850, 2100)).then(values)).to_series()
    ages = profile.whole and profile.low >= 0 and profile.high <= 120 and profile.span >= 40
    years = profile.whole and profile.low >= 1900 and profile.high <= 2030 and profile.span >= 25
    if not (ages or years):
        return None
    whole = values.cast(pl.Int64, strict=False)
    return pl.select(pl.when(whole.is_between(profile.low, profile.high)).then(whole)).to_series()


def _count_years(years: pl.Series, strata: pl.Series) -> Floats:
    """Return how many records there are of each stratum and year."""
    table = pl.DataFrame([years.alias("year").cast(pl.Int64), to_plain(strata).alias("stratum")]).drop_nulls()
    if not table.height:
        return np.zeros((1, 0))
    rows: Ints = table["stratum"].rank("dense").to_numpy().astype(np.int64) - 1
    columns: Ints = (table["year"] - table["year"].min()).to_numpy()
    counts = np.zeros((int(rows.max()) + 1, int(columns.max()) + 1))
    np.add.at(counts, (rows, columns), 1)
    return counts
