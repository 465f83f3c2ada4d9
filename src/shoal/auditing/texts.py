"""read_texts(): what a column of a published table shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from shoal.encoding.types import Ints
from shoal.engines.columns import to_texts


def read_texts(column: pl.Series) -> pl.Series:
    """Return what a column shows; an empty text is a missing value."""
    if column.dtype.is_temporal():  # a cast would write the same moment in as many ways as there are units of time
        return to_texts(column)
    # under a name of our own: polars reads "^…$" in a name as a pattern
    return column.alias("values").cast(pl.String).replace("", None)


def read_columns(frame: pl.DataFrame, names: Iterable[str]) -> list[pl.Series]:
    """Return what some columns show, named ``q0``, ``q1``, …: polars reads ``*`` and ``^…$`` in a name as a pattern."""
    return [read_texts(frame[name]).alias(f"q{index}") for index, name in enumerate(names)]


def find_indices(column: pl.Series, texts: Sequence[str | None]) -> Ints:
    """Return where each text of a column stands among some that hold all of them."""
    index = {text: number for number, text in enumerate(texts)}
    return np.array([index[text] for text in column.to_list()], np.int64)


def number_texts(texts: pl.Series) -> tuple[list[str | None], Ints]:
    """Return the distinct texts of a column, and the place of each record's text among them.

    Examples
    --------
    >>> number_texts(pl.Series(["b", None, "a", "b"]))
    (['a', 'b', None], array([1, 2, 0, 1]))
    """
    distinct = texts.drop_nulls().unique().sort().to_list()
    indices = texts.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).fill_null(len(distinct)).to_numpy()
    return [*distinct, *([None] if texts.null_count() else [])], indices
