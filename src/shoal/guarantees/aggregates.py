"""Aggregates: each class of records shows the mean, median or mode of its values, and has at least k records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl

from shoal.encoding.types import Bools, Floats, Ints
from shoal.guarantees.base import (
    NO_RECORDS,
    NO_SUCH_RECORDS,
    JointGuarantee,
    PerturbedView,
    PromiseTest,
    number_classes,
)
from shoal.models.base import PrivacyModel
from shoal.registry import OneOf

Center = Literal["mean", "median", "mode"]
_CLOSE = 1e-9
"""How far a mean may be from the one that is computed again, as a share of the largest value of its class."""


class Aggregates(JointGuarantee):
    """Records that show the same in all columns are a class: each of at least k, and shows what its values give.

    A class may be several of those that a search made: where these show the same, so do they together (the mean of two
    equal means is that mean, a lower median of both is one of both together, and so is a mode).
    """

    broken: ClassVar[str] = "published values that are not the mean, median or mode of their class"
    bounded: ClassVar[str] = "sse"
    k: int
    """How many records at least show the same."""
    by: Mapping[str, Center] = {}
    """What a class shows of a column; where it is not said the mean of numbers and dates, the mode of all else."""
    weighted: bool = False
    """Whether records count by their survey weight."""
    models: tuple[Annotated[PrivacyModel, OneOf("models")], ...] = ()
    """What holds of the sensitive values of each class."""

    @property
    def class_models(self) -> tuple[PrivacyModel, ...]:
        """Those."""
        return self.models

    def test(self, view: PerturbedView) -> Iterator[PromiseTest]:
        """Yield whether each class is large enough, and shows what it must."""
        classes = number_classes(view.published)
        least = int(np.bincount(classes).min()) if len(classes) else 0
        yield PromiseTest(
            name="k-anonymity",
            asks=f"Do at least {self.k} records show the same in all of these columns?",
            holds=least >= self.k,
            got=f"a class of {least}",
            asked=self.k,
            attained=least,
        )
        asks = "Does each class show the mean, median or mode of its original values?"
        if view.original is None or (self.weighted and view.weights is None):
            yield PromiseTest(name="recomputed", asks=asks, not_run=NO_RECORDS)
            yield from self._compare_sums(view)
            return
        weights = view.weights.cast(pl.Float64).to_numpy() if self.weighted and view.weights is not None else None
        false = {name: int(self._find_false(name, view, classes, weights).sum()) for name in self.columns}
        got = ", ".join(f"{name}: {count:,} records" for name, count in false.items() if count)
        yield PromiseTest(name="recomputed", asks=asks, holds=not got, got=got)

    def _compare_sums(self, view: PerturbedView) -> Iterator[PromiseTest]:
        """Yield whether columns of means kept their sums: what is left to ask where records cannot be matched."""
        held = view.before
        if held is None:
            return
        averaged = [name for name in self.columns if self._center(name, held[name]) == "mean"]
        if not averaged:
            return
        asks = f"Have the means of the classes the sum that the original has ({', '.join(averaged)})?"
        if held.height != view.published.height or self.weighted:
            yield PromiseTest(name="sums", asks=asks, not_run=NO_RECORDS if self.weighted else NO_SUCH_RECORDS)
            return
        wrong = [name for name in averaged if not _has_same_sum(view.published[name], held[name])]
        yield PromiseTest(name="sums", asks=asks, holds=not wrong, got=", ".join(wrong))

    def _center(self, name: str, held: pl.Series) -> Center:
        """Return what a class shows of a column."""
        return self.by.get(name, "mean" if _is_number(held) else "mode")

    def _find_false(self, name: str, view: PerturbedView, classes: Ints, weights: Floats | None) -> Bools:
        """Return which records show something else than what their class gives; a missing value shows as missing."""
        assert view.original is not None
        shown, held = view.published[name], view.original[name]
        missing = held.is_null().to_numpy()
        false: Bools = shown.is_null().to_numpy() != missing
        known = ~false & ~missing
        amounts = np.ones(len(held)) if weights is None else weights
        is_number, center = _is_number(held), self._center(name, held)
        values = _as_numbers(held) if is_number else held
        texts = _as_numbers(shown) if is_number else shown
        keep = pl.Series(known)
        find, rounded = _TESTS[center], held.dtype.is_temporal()
        false[known] = find(texts.filter(keep), values.filter(keep), classes[known], amounts[known], rounded)
        return false

    def measure(self, view: PerturbedView) -> dict[str, float]:
        """Return the squared errors of the columns of numbers and dates, each by its variance; and their share of the
        squared distances from the mean."""
        if view.original is None:
            return {}
        lost, whole = 0.0, 0.0
        for name in self.columns:
            held = view.original[name]
            if not _is_number(held):
                continue
            before, after = _as_numbers(held).to_numpy(), _as_numbers(view.published[name]).to_numpy()
            known = ~(np.isnan(before) | np.isnan(after))
            if (known.sum() > 1) and np.var(before[known]) > 0:
                lost += float(((before - after)[known] ** 2).sum() / np.var(before[known], ddof=1))
                whole += float(known.sum() - 1)
        return {"sse": lost, "share": lost / whole} if whole else {}


def _is_number(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype.is_temporal()


def _has_same_sum(shown: pl.Series, held: pl.Series) -> bool:
    """Whether two columns have the same sum, and as many values; of dates, each may be off by half a day."""
    after, before = (column.filter(column.is_not_nan()) for column in (_as_numbers(shown), _as_numbers(held)))
    room = _CLOSE * float(before.abs().sum()) + (0.5 * len(before) if held.dtype.is_temporal() else 0.0)
    return len(after) == len(before) and abs(float(after.sum()) - float(before.sum())) <= room


def _as_numbers(column: pl.Series) -> pl.Series:
    """Return numbers as they are, dates as days and moments as microseconds."""
    plain = column.alias("values")
    return (
        (plain.to_physical() if plain.dtype.is_temporal() else plain).cast(pl.Float64, strict=False).fill_null(np.nan)
    )


def _far_from_mean(shown: pl.Series, held: pl.Series, classes: Ints, amounts: Floats, rounded: bool) -> Bools:
    """Return where something else than the mean of the class is shown; of dates the nearest day or microsecond."""
    values = held.to_numpy()
    size = int(classes.max(initial=-1)) + 1
    total = np.bincount(classes, amounts, size)
    largest = np.zeros(size)
    np.maximum.at(largest, classes, np.abs(values))
    with np.errstate(invalid="ignore"):
        means = np.bincount(classes, amounts * values, size) / total
    room = _CLOSE * largest + (0.5 if rounded else 0.0)
    far: Bools = ~(np.abs(shown.to_numpy() - means[classes]) <= room[classes])
    return far


def _no_median(shown: pl.Series, held: pl.Series, classes: Ints, amounts: Floats, rounded: bool) -> Bools:
    """Return where no lower median is shown: less than half of the class is below it, and at least half not above."""
    size = int(classes.max(initial=-1)) + 1
    half = np.bincount(classes, amounts, size)[classes] / 2
    below = np.bincount(classes, amounts * (held < shown).to_numpy(), size)[classes]
    upto = np.bincount(classes, amounts * (held <= shown).to_numpy(), size)[classes]
    none: Bools = ~((below < half * (1 + _CLOSE)) & (upto >= half * (1 - _CLOSE)))
    return none


def _no_mode(shown: pl.Series, held: pl.Series, classes: Ints, amounts: Floats, rounded: bool) -> Bools:
    """Return where a value is shown that is not one of the most frequent of the class."""
    size = int(classes.max(initial=-1)) + 1
    texts = held.alias("values").cast(pl.String)
    table = pl.DataFrame([pl.Series("class", classes), texts, pl.Series("amount", amounts)])
    most = table.group_by("class", "values").agg(pl.col("amount").sum()).group_by("class").agg(pl.col("amount").max())
    reached = np.zeros(size)
    reached[most["class"].to_numpy()] = most["amount"].to_numpy()
    same = (texts == shown.alias("values").cast(pl.String)).to_numpy()
    got = np.bincount(classes, amounts * same, size)
    none: Bools = ~(got >= reached * (1 - _CLOSE))[classes]
    return none


_TESTS: Mapping[Center, Callable[[pl.Series, pl.Series, Ints, Floats, bool], Bools]] = {
    "mean": _far_from_mean,
    "median": _no_median,
    "mode": _no_mode,
}
