"""Suppressed records and missing cells: which there are, and how the table writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing.notations import SIGNS
from shoal.auditing.reading import Reader
from shoal.encoding.domains import STAR
from shoal.engines.columns import codes_of, plain
from shoal.engines.counted import Times
from shoal.policy import Policy

EMPTY, MIXED = "empty", "mixed"


def suppressed_classes(classes: pl.DataFrame, policy: Policy) -> pl.Series:
    """Return which classes show nothing in any quasi-identifier.

    A policy's own release writes ``*``. Of anybody's table an empty cell or a sign such as ``NULL`` is taken for the
    same. Where all records show nothing, none was singled out.
    """
    keys = [f"q{index}" for index in range(len(policy.quasi_identifiers))]
    if classes.height == 1:
        return pl.Series(np.zeros(1, bool))
    signs = [STAR] if policy.models else sorted(SIGNS)
    shown = (pl.col(key).is_in(signs).fill_null(not policy.models) for key in keys)
    return classes.select(pl.all_horizontal(shown)).to_series()


def shows_nothing(classes: pl.DataFrame, policy: Policy) -> bool:
    """Return whether there are records, and every one shows ``*`` in every quasi-identifier.

    Examples
    --------
    >>> policy = Policy(quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": 2}])
    >>> shows_nothing(pl.DataFrame({"q0": ["*"], "records": [7]}), policy)
    True
    """
    if classes.height != 1 or not policy.models:
        return False
    return all(classes[f"q{index}"][0] == STAR for index in range(len(policy.quasi_identifiers)))


def forced_suppression(raw: pl.DataFrame, policy: Policy, readers: Mapping[str, Reader]) -> pl.Series:
    """Return which original records no generalization may publish as ``*``: if they show it, they are suppressed.

    They have a missing value that is to be suppressed, or a value whose boundary is below the top.
    """
    forced = np.zeros(raw.height, bool)
    for name, column in policy.quasi_identifiers.items():
        if column.missing == "suppress":
            forced |= plain(raw[name]).is_null().to_numpy()
        forced |= readers[name].bounded[codes_of(plain(raw[name]), readers[name].domain)]
    for name, role in policy.sensitive.items():
        if role.missing == "suppress" and name in raw.columns:
            forced |= plain(raw[name]).is_null().to_numpy()
    return pl.Series(forced)


def written_as(classes: pl.DataFrame, suppressed: pl.Series, columns: int) -> dict[str, int]:
    """Return how suppressed records are written → how many are.

    Examples
    --------
    >>> classes = pl.DataFrame({"q0": ["*", None, "20"], "q1": ["*", None, "*"], "records": [2, 3, 9]})
    >>> written_as(classes, pl.Series([True, True, False]), 2)
    {'*': 2, 'empty': 3}
    """
    counts: dict[str, int] = {}
    gone = classes.filter(suppressed)
    for row in gone.select(*(f"q{index}" for index in range(columns)), "records").iter_rows():
        signs = {EMPTY if text is None else text for text in row[:-1]}
        sign = signs.pop() if len(signs) == 1 else MIXED
        counts[sign] = counts.get(sign, 0) + int(row[-1])
    return dict(sorted(counts.items()))


def missing_values(
    classes: pl.DataFrame,
    frame: pl.DataFrame,
    raw: pl.DataFrame | None,
    policy: Policy,
    times: Times = None,
    raw_times: Times = None,
) -> dict[str, dict[str, Any]]:
    """Return for each column with a role what a missing value is, and how many cells show nothing, before and after."""
    told: dict[str, dict[str, Any]] = {}
    for index, (name, column) in enumerate(policy.quasi_identifiers.items()):
        key = pl.col(f"q{index}")
        empty, starred = (classes.filter(test)["records"].sum() for test in (key.is_null(), key == STAR))
        told[name] = {"role": "quasi-identifier", "missing": column.missing, "empty": empty, "starred": starred}
    for name, sensitive in policy.sensitive.items():
        if name in frame.columns:
            told[name] = {"role": "sensitive", "missing": sensitive.missing, "empty": _empty(frame[name], times)}
    for name, said in told.items():
        if raw is not None and name in raw.columns:
            said["empty_before"] = _empty(raw[name], raw_times)
    return told


def _empty(column: pl.Series, times: Times) -> int:
    column = column.alias("values")
    empty = column.is_null()
    if column.dtype == pl.String:
        empty |= (column == "").fill_null(False)
    if column.dtype.is_float():
        empty |= column.is_nan().fill_null(False)
    return int(empty.sum()) if times is None else int(times.filter(empty).sum())
