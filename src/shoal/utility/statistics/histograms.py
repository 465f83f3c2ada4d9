"""Histograms before and after, in bins that give nobody away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Floats, Ints

BINS = 30
"""About how many bins of numbers there are at most."""


@dataclass(frozen=True)
class BinShares:
    """The shares of records in each bin, original and published.

    *Why it is safe*: no bin holds fewer than ``least`` original records, edges are round numbers and never a
    record's value, and the outer bins are open: how far they reach would tell the least and the greatest value of all.
    Still it is for the owner: original less published is what the suppressed records have, however few they are.
    """

    edges: tuple[float, ...]
    """Numbers: where one bin ends and the next, which holds the edge, begins; one fewer than bins."""
    places: tuple[tuple[int, ...], ...]
    """Categories: the values in each bin."""
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def reached(self) -> tuple[list[float], list[float]]:
        """The distribution functions before and after, at each edge: the share of records below it."""
        one, other = (np.cumsum(shares)[: len(self.edges)].tolist() for shares in (self.before, self.after))
        return one, other


def of_numbers(
    original: Floats, published: Floats, *, least: int = 1, bins: int = BINS, unit: int | None = None
) -> BinShares:
    """Return the histograms of numbers, in bins of one round width that are joined where they hold too few.

    ``unit`` says how long a day is where the numbers are dates: bins then are years, quarters, months or days.

    Examples
    --------
    >>> found = of_numbers(np.array([1.0, 2, 3, 11, 12, 37]), np.array([5.0, 5, 5, 15, 15, 35]), least=2, bins=5)
    >>> found.edges, [round(share, 2) for share in found.before], [round(share, 2) for share in found.after]
    ((10.0,), [0.5, 0.5], [0.5, 0.5])
    """
    low, high = float(original.min()), float(original.max())
    edges = _round_edges(low, high, bins) if unit is None else _calendar_edges(low, high, bins, unit)
    held = np.bincount(np.searchsorted(edges, original, side="right"), minlength=len(edges) + 1)
    edges = edges[_kept_edges(held, least)]
    before, after = (
        np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1) / max(len(values), 1)
        for values in (original, published)
    )
    return BinShares(tuple(edges.tolist()), (), tuple(before.tolist()), tuple(after.tolist()))


def _round_edges(low: float, high: float, bins: int) -> Floats:
    """Return the round numbers between which there are at most about so many bins; none where nothing varies."""
    if not high > low:
        return np.zeros(0)
    wide = (high - low) / bins
    unit = 10.0 ** np.floor(np.log10(wide))
    width = next(unit * step for step in (1, 2, 5, 10) if unit * step >= wide * (1 - 1e-9))
    first, last = int(np.floor(low / width)) + 1, int(np.floor(high / width))
    digits = max(0, -int(np.floor(np.log10(width))))
    return np.asarray(np.round(np.arange(first, last + 1) * width, digits), np.float64)


def _calendar_edges(low: float, high: float, bins: int, unit: int) -> Floats:
    """Return the moments at which calendars turn; a column of days has none between two of them."""
    days = round_dates(low / unit, high / unit, bins)
    return days * unit if unit > 1 else days[days == np.floor(days)]


_SPANS = (*((days, "D") for days in (1, 7)), *((months, "M") for months in (1, 3)), (1, "Y"))


def round_dates(low: float, high: float, bins: int) -> Floats:
    """Return the days since 1970, between which there are at most about so many bins, at which calendars turn.

    A day and less is cut into parts of hours, minutes or seconds.

    Examples
    --------
    >>> days = round_dates(18_000, 18_365, 6)  # 2019-04-14 and a year on
    >>> days.astype("datetime64[D]").astype(str).tolist()
    ['2019-07-01', '2019-10-01', '2020-01-01', '2020-04-01']
    """
    if not high > low:
        return np.zeros(0)
    seconds = next((one for one in _SECONDS if (high - low) * 86_400 / one <= bins), None)
    if seconds is not None:
        return np.arange(np.floor(low * 86_400 / seconds) + 1, np.floor(high * 86_400 / seconds) + 1) * seconds / 86_400
    first, last = (np.datetime64(int(np.floor(day)), "D") for day in (low, high))
    for count, span in _SPANS:
        marks = np.arange(first.astype(f"M8[{span}]"), last.astype(f"M8[{span}]") + 1)
        numbers = marks.astype(np.int64)
        edges = marks[numbers % count == 0].astype("M8[D]").astype(np.float64)
        edges = edges[(edges > low) & (edges <= high)]
        if len(edges) <= bins:
            return np.asarray(edges)
    years = marks.astype(np.int64) + 1970
    width = next(each for each in (2, 5, 10, 20, 50, 100, 200, 500, 1000) if len(edges) / each <= bins or each == 1000)
    edges = marks[years % width == 0].astype("M8[D]").astype(np.float64)
    return np.asarray(edges[(edges > low) & (edges <= high)])


_SECONDS = (1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600)


def _kept_edges(held: Ints, least: int) -> Ints:
    """Return the edges that leave at least so many records on both sides, up to the next kept edge."""
    kept: list[int] = []
    inside = 0
    for number, count in enumerate(held[:-1].tolist()):
        inside += count
        if inside >= least:
            kept.append(number)
            inside = 0
    inside += int(held[-1])
    while kept and inside < least:  # the last bin takes the one before it
        end = kept.pop()
        inside += int(held[(kept[-1] + 1 if kept else 0) : end + 1].sum())
    return np.array(kept, np.int64)


def of_categories(original: Floats, published: Floats, *, least: int = 1, bins: int = BINS) -> BinShares:
    """Return the histograms of categories, given the records of each value, published ones as they are spread.

    The frequent values have a bin each, the most frequent first; all others share the last one.

    Examples
    --------
    >>> found = of_categories(np.array([2.0, 5, 1]), np.array([3.0, 4.5, 0.5]), least=2)
    >>> found.places, found.before, found.after
    (((1,), (0, 2)), (0.625, 0.375), (0.5625, 0.4375))
    """
    order = np.argsort(-original, kind="stable")
    alone = int(min((original >= least).sum(), bins))
    rest = float(original[order[alone:]].sum())
    while alone and alone < len(order) and 0 < rest < least:  # too few are left to be shown together
        alone -= 1
        rest += float(original[order[alone]])
    indices = [(int(index),) for index in order[:alone]]
    if alone < len(order):
        indices.append(tuple(sorted(order[alone:].tolist())))
    before, after = (
        tuple(float(held[list(bin_)].sum() / max(held.sum(), 1.0)) for bin_ in indices)
        for held in (original, published)
    )
    return BinShares((), tuple(indices), before, after)
