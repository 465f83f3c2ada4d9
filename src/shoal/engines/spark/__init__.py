"""Tables that lie in Apache Spark.

``engine`` is the table engine; ``columns`` lays a table out, ``counting`` counts it, ``lookup`` brings what was decided
back to its records, ``recount`` compares what Spark holds with what was decided. ``binning`` and ``blocks``
are for tables whose combinations do not fit the driver. ``sessions``, ``progress``, ``reading``, ``files``
and ``hadoop`` are about Spark itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.engines import is_foreign
from shoal.engines.limits import SPARK_CONNECT
from shoal.errors import TableError

if TYPE_CHECKING:
    from shoal.engines.spark.engine import SparkTable
    from shoal.policy import Policy


def claims(table: object, options: dict[str, Any]) -> bool:
    """Return whether a table is one of Spark."""
    return is_foreign(table, "pyspark")


def open_table(table: Any, policy: Policy, *, reading: object, types: bool, **options: Any) -> SparkTable:
    """Return a table of Spark; one of Spark Connect is refused, whose records no Java of ours reaches."""
    kind = type(table)
    if any(base.__module__.startswith("pyspark.sql.connect") for base in kind.__mro__):
        raise TableError(replace(SPARK_CONNECT, got=f"{kind.__module__}.{kind.__name__}"))
    from shoal.engines.spark.engine import SparkTable

    return SparkTable.open(table, policy, **options)
