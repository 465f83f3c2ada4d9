"""Suppressed records and missing cells: which there are, and how the table writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing.original import OriginalTable
from shoal.encoding.domains import STAR
from shoal.encoding.labels import SIGNS
from shoal.engines.counted import CountedTable
from shoal.errors import Fault
from shoal.policy import Policy

EMPTY, MIXED = "empty", "mixed"
SHOWS_NOTHING = Fault(
    "the table shows nothing: every record is * in every quasi-identifier",
    hint="ask for less, allow more records to be suppressed, or leave out the columns that block",
    kind="note",
)


def stars_everywhere(columns: Iterable[pl.Series]) -> pl.Series:
    """Return which rows show ``*`` in every one of some columns of texts.

    Examples
    --------
    >>> stars_everywhere([pl.Series(["*", "*", None]), pl.Series(["*", "20", "*"])]).to_list()
    [True, False, False]
    """
    stars = [(column == STAR).fill_null(False).to_numpy() for column in columns]
    return pl.Series(np.logical_and.reduce(stars))


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
    return bool(stars_everywhere(classes[f"q{index}"] for index in range(len(policy.quasi_identifiers))).all())


def find_forced(original: OriginalTable, policy: Policy) -> pl.Series:
    """Return which original records no generalization may publish as ``*``: if they show it, they are suppressed.

    They have a missing value that is to be suppressed, or a value whose boundary is below the top.
    """
    words, readers = original.words, original.readers
    forced = np.zeros(original.frame.height, bool)
    for name, column in policy.quasi_identifiers.items():
        if column.missing == "suppress":
            forced |= words.values(name).is_null().to_numpy()
        forced |= readers[name].bounded[words.codes(name)]
    for name, role in policy.sensitive.items():
        if role.missing == "suppress" and name in original.frame.columns:
            forced |= words.values(name).is_null().to_numpy()
    return pl.Series(forced)


def count_suppressed(
    published: CountedTable, original: OriginalTable | None, policy: Policy, rows: pl.Series | None
) -> int:
    """Return how many records are suppressed where all show ``*``: at least, if nobody tells which they are."""
    if original is None or original.table.apart:
        return 0
    forced = find_forced(original, policy)
    if rows is not None and len(rows) and rows.max() < len(forced):  # type: ignore[operator]
        return published.count_where(forced.gather(rows))
    left_out = max(original.table.records - published.records, 0)
    return max(original.table.count_where(forced) - left_out, 0)


def suppression_faults(policy: Policy, records: int, suppressed: int) -> list[Fault]:
    """Return a fault where more records are suppressed than the policy allows."""
    allowed = policy.may_suppress(records)
    if suppressed <= allowed:
        return []
    return [Fault("more records are suppressed than the policy allows", got=f"{suppressed}, allowed {allowed}")]


def count_signs(classes: pl.DataFrame, suppressed: pl.Series, columns: int) -> dict[str, int]:
    """Return how suppressed records are written → how many are.

    Examples
    --------
    >>> classes = pl.DataFrame({"q0": ["*", None, "20"], "q1": ["*", None, "*"], "records": [2, 3, 9]})
    >>> count_signs(classes, pl.Series([True, True, False]), 2)
    {'*': 2, 'empty': 3}
    """
    counts: dict[str, int] = {}
    gone = classes.filter(suppressed)
    for row in gone.select(*(f"q{index}" for index in range(columns)), "records").iter_rows():
        signs = {EMPTY if text is None else text for text in row[:-1]}
        sign = signs.pop() if len(signs) == 1 else MIXED
        counts[sign] = counts.get(sign, 0) + int(row[-1])
    return dict(sorted(counts.items()))


def describe_missing(
    classes: pl.DataFrame, published: CountedTable, original: CountedTable | None, policy: Policy
) -> dict[str, dict[str, Any]]:
    """Return for each column with a role what a missing value is, and how many cells show nothing, before and after."""
    described: dict[str, dict[str, Any]] = {}
    for index, (name, column) in enumerate(policy.quasi_identifiers.items()):
        key = pl.col(f"q{index}")
        empty, starred = (classes.filter(test)["records"].sum() for test in (key.is_null(), key == STAR))
        described[name] = {"role": "quasi-identifier", "missing": column.missing, "empty": empty, "starred": starred}
    for name, sensitive in policy.sensitive.items():
        if name in published.frame.columns:
            empty = _count_empty(published, name)
            described[name] = {"role": "sensitive", "missing": sensitive.missing, "empty": empty}
    for name, cells in described.items():
        if original is not None and name in original.frame.columns:
            cells["empty_before"] = _count_empty(original, name)
    return described


def _count_empty(table: CountedTable, name: str) -> int:
    column = table.frame[name].alias("values")
    empty = column.is_null()
    if column.dtype == pl.String:
        empty |= (column == "").fill_null(False)
    if column.dtype.is_float():
        empty |= column.is_nan().fill_null(False)
    return table.count_where(empty)
