"""Rank window: values were exchanged between records, and none went farther in rank than it may."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.guarantees.base import NO_RECORDS, NO_SUCH_RECORDS, PerturbedView, PromiseTest


def test(view: PerturbedView, *, window: float) -> Iterator[PromiseTest]:
    """Yield whether all values are still there, each within its window, and not all where they were."""
    whole = "Is each value published just as often as it was there?"
    if view.before is None or view.before.height != view.published.height:
        yield PromiseTest(name="same values", asks=whole, not_run=NO_SUCH_RECORDS)
    else:
        wrong = [
            name for name in view.published.columns if not _same(view.published[name].sort(), view.before[name].sort())
        ]
        yield PromiseTest(name="same values", asks=whole, holds=not wrong, got=", ".join(wrong))
    near = "Did no value go farther in rank than the window?"
    moved = "Did values move at all?"
    if view.original is None:
        yield PromiseTest(name="window", asks=near, not_run=NO_RECORDS)
        yield PromiseTest(name="effect", asks=moved, not_run=NO_RECORDS)
        return
    far, still = [], []
    for name in view.published.columns:
        held, shown = (frame[name].to_physical().to_numpy() for frame in (view.original, view.published))
        ordered = np.sort(held)
        reach = int(window * len(held))
        # equal values share their ranks: what counts is how near two of them lie
        first = np.searchsorted(ordered, shown, "left") - (np.searchsorted(ordered, held, "right") - 1)
        last = np.searchsorted(ordered, held, "left") - (np.searchsorted(ordered, shown, "right") - 1)
        beyond = int((np.maximum(first, last) > reach).sum())
        far += [f"{name}: {beyond:,} records"] if beyond else []
        still += [name] if (held == shown).all() else []
    yield PromiseTest(name="window", asks=near, holds=not far, got="; ".join(far))
    yield PromiseTest(name="effect", asks=moved, holds=not still, got=", ".join(still))


test.__test__ = False  # type: ignore[attr-defined]  # pytest: it is none


def _same(one: object, other: object) -> bool:
    return bool(one.equals(other, check_dtypes=False))  # type: ignore[attr-defined]
