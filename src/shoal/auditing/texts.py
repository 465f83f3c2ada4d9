"""texts_of(): what a column of a published table shows."""

from __future__ import annotations

import polars as pl

from shoal.engines.columns import to_texts


def texts_of(column: pl.Series) -> pl.Series:
    """Return what a column shows; an empty text is a missing value."""
    if column.dtype.is_temporal():  # a cast would write the same moment in as many ways as there are units of time
        return to_texts(column)
    # under a name of our own: polars reads "^…$" in a name as a pattern
    return column.alias("values").cast(pl.String).replace("", None)
