"""beside_the_owner(): what attackers are tried with that only the owner can tell: weights, households, originals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing.owner import OwnerView
from shoal.auditing.texts import read_texts
from shoal.encoding.types import Floats, Ints
from shoal.engines.columns import to_plain
from shoal.policy import Policy
from shoal.risk.base import PublishedClasses, RecordPairs


def beside_the_owner(
    frame: pl.DataFrame, raw: pl.DataFrame | None, policy: Policy, owner: OwnerView, release: PublishedClasses
) -> dict[str, Any]:
    """Return the fields of the evidence that follow from the owner's view, as far as it fits the release."""
    rows = _known_rows(owner.rows, frame, raw)
    before = None if raw is None or rows is None else raw.select(pl.all().gather(rows))

    def held(name: str) -> Ints | None:
        table = frame if name in frame.columns else before
        if table is None or name not in table.columns:
            return None
        ranks = to_plain(table[name]).rank("dense").cast(pl.Int64) - 1
        return ranks.fill_null(-1).to_numpy()

    return {
        "weights": _add_weights(frame, policy, owner, release),
        "held": held,
        "pairs": None if before is None else pair_columns(before, frame, policy),
    }


def _known_rows(rows: pl.Series | None, frame: pl.DataFrame, raw: pl.DataFrame | None) -> pl.Series | None:
    """Return which original record each published one was, where that is known of all."""
    if rows is None or raw is None or len(rows) != frame.height or rows.null_count():
        return None
    if frame.height and (int(rows.min()) < 0 or int(rows.max()) >= raw.height):  # type: ignore[arg-type]
        return None
    return rows


def _add_weights(frame: pl.DataFrame, policy: Policy, owner: OwnerView, release: PublishedClasses) -> Floats | None:
    """Return the survey weights of each class, added up; ``None`` where they are not known of all records."""
    name = policy.survey_weight
    if name is None:
        return None
    column = owner.weights if owner.weights is not None else frame[name] if name in frame.columns else None
    if column is None or len(column) != frame.height:
        return None
    weights = column.alias("weights").cast(pl.Float64, strict=False)
    if weights.null_count():
        return None
    return np.bincount(release.classes, weights.to_numpy(), len(release.sizes)).astype(np.float64)


def pair_columns(before: pl.DataFrame, after: pl.DataFrame, policy: Policy) -> RecordPairs:
    """Return the columns of both tables that are published as values, but not all of them as they were.

    Labels, ranges and sets are none: what they may stand for is another question (``downcoding``, ``linking``).
    """
    numbers, categories = {}, {}
    for name, one, other in _changed(before, after, policy):
        values = one.cast(pl.Float64, strict=False), other.cast(pl.Float64, strict=False)
        if all(value.null_count() == text.null_count() for value, text in zip(values, (one, other), strict=True)):
            numbers[name] = (values[0].fill_null(np.nan).to_numpy(), values[1].fill_null(np.nan).to_numpy())
        elif not set(other.drop_nulls().unique().to_list()) - set(one.drop_nulls().unique().to_list()):
            codes = pl.concat([one, other]).rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
            categories[name] = (codes[: len(one)], codes[len(one) :])
    return RecordPairs(numbers, categories)


def _changed(before: pl.DataFrame, after: pl.DataFrame, policy: Policy) -> Iterator[tuple[str, pl.Series, pl.Series]]:
    """Yield the columns that both tables have, as texts, where some record shows something else than it had."""
    for name in after.columns:
        if name in before.columns and name not in policy.hidden:
            one, other = (read_texts(to_plain(table[name])).alias("values") for table in (before, after))
            if not one.eq_missing(other).all():
                yield name, one, other
