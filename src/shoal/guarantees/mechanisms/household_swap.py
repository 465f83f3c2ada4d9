"""Household swap: just so many households show the region of another one of the same make-up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

import polars as pl

from shoal.guarantees.base import NO_RECORDS, NO_SUCH_RECORDS, PerturbedView, PromiseTest


def test(view: PerturbedView, *, household: str, similar: Sequence[str], rate: float) -> Iterator[PromiseTest]:
    """Yield whether regions have as many records as before, and households of each make-up; and how many moved."""
    asks = "Has each region as many records as before?"
    names = view.published.columns
    if view.before is None or view.before.height != view.published.height:
        yield PromiseTest(name="same regions", asks=asks, not_run=NO_SUCH_RECORDS)
    else:
        before, after = (_count_rows(frame, names) for frame in (view.before, view.published))
        got = f"{len((before - after) | (after - before)):,} regions" if before != after else ""
        yield PromiseTest(name="same regions", asks=asks, holds=not got, got=got)
    whole = "Does each household live in one region?"
    alike = "Has each region as many households of each make-up as before?"
    moved = "Did as many households move as the rate says?"
    if view.original is None:
        for name, asks in (("whole households", whole), ("make-up", alike), ("rate", moved)):
            yield PromiseTest(name=name, asks=asks, not_run=NO_RECORDS)
        return
    homes = _collect(view.original[household], _as_rows(view.original, similar))
    held, shown = (
        _collect(view.original[household], _as_rows(frame, names)) for frame in (view.original, view.published)
    )
    torn = sum(len(set(regions)) > 1 for regions in shown.values())
    yield PromiseTest(name="whole households", asks=whole, holds=not torn, got=f"{torn:,} in several" if torn else "")
    make_up = {home: tuple(sorted(values, key=repr)) for home, values in homes.items()}
    kept = Counter((make_up[home], held[home][0]) for home in homes) == Counter(
        (make_up[home], shown[home][0]) for home in homes
    )
    yield PromiseTest(name="make-up", asks=alike, holds=kept, got="" if kept else "others than before")
    changed = sum(held[home][0] != shown[home][0] for home in homes)
    asked = 2 * round(rate * len(homes) / 2)
    yield PromiseTest(name="rate", asks=moved, holds=changed == asked, got="" if changed == asked else "other ones")


test.__test__ = False  # type: ignore[attr-defined]  # pytest: it is none


def _as_rows(frame: pl.DataFrame, names: Sequence[str]) -> list[Hashable]:
    if not names:
        return [()] * frame.height
    return list(zip(*(frame[name].to_list() for name in names), strict=True))


def _count_rows(frame: pl.DataFrame, names: Sequence[str]) -> Counter[Hashable]:
    return Counter(_as_rows(frame, names))


def _collect(homes: pl.Series, rows: Sequence[Hashable]) -> dict[Hashable, list[Hashable]]:
    """Return what the members of each household hold."""
    found: dict[Hashable, list[Hashable]] = {}
    for home, row in zip(homes.to_list(), rows, strict=True):
        found.setdefault(home, []).append(row)
    return found
