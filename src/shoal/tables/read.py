"""read(): a file or a table of another library, as a polars table."""

from __future__ import annotations

from typing import Any

import polars as pl

from shoal.tables.source import open_table


def read(table: object, **options: Any) -> pl.DataFrame:
    """Read a file, or take a table of another library, as a polars table.

    Parameters
    ----------
    table
        A path of CSV, Parquet, Feather, Excel or JSON lines, or a pandas, polars, pyarrow or DuckDB table.
    options
        For files: ``delimiter``, ``quote`` and ``encoding`` of a CSV where they should not be detected,
        ``sheet`` of an Excel file.

    Examples
    --------
    >>> read(pl.DataFrame({"age": [21, 24]})).shape
    (2, 1)
    """
    return open_table(table, **options).frame
