"""Labels against the original: none of another level than was fixed, none more often than it has records under it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from shoal.auditing.reading import Reader
from shoal.auditing.suppression import stars_everywhere
from shoal.auditing.texts import number_texts
from shoal.encoding.domains import STAR
from shoal.encoding.types import Ints
from shoal.errors import Fault, examples
from shoal.policy import Policy


def level_faults(classes: pl.DataFrame, policy: Policy, readers: Mapping[str, Reader]) -> list[Fault]:
    """Return a fault for each column with texts of other levels than the policy fixes.

    A level that follows the data would tell of them: differential privacy rests on levels that do not. Suppressed
    records show ``*`` everywhere, but where a sample is drawn they are left out.
    """
    levels = policy.algorithm.fixed_levels or {}
    keys = [f"q{index}" for index in range(len(readers))]
    if not any(model.draws for model in policy.models):
        classes = classes.filter(~stars_everywhere(classes[key] for key in keys))
    faults = []
    for key, (name, reader) in zip(keys, readers.items(), strict=True):
        shown = reader.shown_at(levels.get(name, 0))
        others = {text for text in classes[key].unique().to_list() if text is not None and text not in shown}
        stars = int(classes.filter((pl.col(key) == STAR).fill_null(False))["records"].sum())
        if reader.wild and stars <= reader.missing:
            others.discard(STAR)  # so a missing value shows itself, if it may be any
        if others:
            faults.append(Fault("published at another level than the policy fixes", name, examples(sorted(others))))
    return faults


_NESTED = 300_000_000
"""So many triples of two texts and a value are compared in a column, at most; each text alone is always counted."""


def supply_faults(classes: pl.DataFrame, readers: Mapping[str, Reader]) -> list[Fault]:
    """Return a fault for each column where more is published than the original has.

    All records whose text says no more than that they are under a label stand under it in the original too, so they
    cannot be more than that has. Labels that were moved between records, or made up, break this. It is a necessary
    condition for each column by itself, from the counts of the published ``classes`` alone.

    Cost: for each column its texts squared.
    """
    records = classes["records"].cast(pl.Int64).to_numpy()
    faults = []
    for index, (name, reader) in enumerate(readers.items()):
        overdrawn = _find_overdrawn(classes[f"q{index}"], records, reader)
        if overdrawn:
            what = "labels are published more often than the original has records under them"
            faults.append(Fault(what, where=name, got=examples(overdrawn)))
    return faults


def _find_overdrawn(column: pl.Series, records: Ints, reader: Reader) -> list[str]:
    texts, of_class = number_texts(column)
    under = np.bincount(of_class, records, minlength=len(texts))
    held = np.append(reader.records, reader.missing)
    if len(texts) ** 2 * len(held) <= _NESTED:
        table = reader.covering(texts)
        outside = table.astype(np.float32) @ (~table).astype(np.float32).T
        under = under @ (outside == 0)  # texts that say at least as much
    available = reader.codes(texts).sums(held.astype(np.float64))
    return sorted(str(text) for text, more in zip(texts, under > available, strict=True) if more)
