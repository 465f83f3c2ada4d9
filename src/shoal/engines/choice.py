"""engine_of(): who counts a table where it lies, for libraries whose tables are larger than memory."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_ENGINES = {"pyspark": "shoal.engines.spark.engine"}


def engine_of(*tables: object) -> Any:
    """Return the folder with ``anonymize`` and ``audit`` for tables of another engine, ``None`` where none is one.

    It is imported when such a table is first seen: nobody else pays for its library.

    Examples
    --------
    >>> engine_of([1, 2]) is None
    True
    """
    for table in tables:
        for base in type(table).__mro__:
            library = base.__module__.partition(".")[0]
            if base.__name__ == "DataFrame" and library in _ENGINES:
                return import_module(_ENGINES[library])
    return None
