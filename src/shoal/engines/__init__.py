"""ENGINES: where a table lies (memory, files larger than memory, Spark), and what can be done with it there.

The folder is the registry: each engine is a folder whose ``__init__`` says which tables it claims and how it opens
them; its libraries are imported only then. ``base`` is the protocol, ``counted`` a table by its distinct records,
``dictionary`` what the values of its columns are, ``limits`` what follows from counts and what does not.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.engines.base import TableEngine
    from shoal.policy import Policy


def open_engine(table: object, policy: Policy, *, types: bool = True, **options: Any) -> TableEngine:
    """Return a table where it lies.

    Parameters
    ----------
    table
        A path, a table of a dataframe library, or one of Spark.
    policy
        Says which columns matter, and how much memory the search takes.
    types
        Whether texts of a file become values. A published file is read without: its texts are what it shows, and what
        the policy says of reading is about the original.
    options
        ``memory``: read a file within so much memory; for a table of Spark ``fits`` and ``block``. And how to read a
        file, over what the policy's ``read`` block says (:class:`~shoal.policy.ReadOptions`).
    """
    from shoal.encoding.read_options import PUBLISHED, ReadOptions
    from shoal.engines.memory.source import open_in_memory

    said = {name: options.pop(name) for name in [*options] if name not in ("memory", "fits", "block")}
    asked = {name: value for name, value in options.items() if value is not None}
    reading = ReadOptions.of(policy.reading if types else PUBLISHED, said)
    for module in iter_modules(__path__):
        if module.ispkg:
            engine = import_module(f"{__name__}.{module.name}")
            if engine.claims(table, asked):
                opened: TableEngine = engine.open_table(table, policy, reading=reading, types=types, **asked)
                return opened
    return open_in_memory(table, reading, types=types)


def is_foreign(table: object, library: str) -> bool:
    """Return whether a table is a data frame of a library; the library is not imported to find out.

    Examples
    --------
    >>> is_foreign([1, 2], "pyspark")
    False
    """
    return any(
        base.__name__ == "DataFrame" and base.__module__.partition(".")[0] == library for base in type(table).__mro__
    )
