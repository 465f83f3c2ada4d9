"""READ: the only folder that knows dataframe libraries and files."""

from shoal.tables.read import read
from shoal.tables.source import Source, open_table
from shoal.tables.suggest import suggest

__all__ = ["Source", "open_table", "read", "suggest"]
