"""READ: the only folder that knows dataframe libraries and files."""

from shoal.tables.source import Source, open_table, read
from shoal.tables.suggest import suggest

__all__ = ["Source", "open_table", "read", "suggest"]
