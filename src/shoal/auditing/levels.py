"""level_faults(): where levels were fixed before anybody saw the data, no column shows labels of another."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from shoal.auditing.reading import Reader
from shoal.auditing.suppression import stars_everywhere
from shoal.encoding.domains import STAR
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
