"""A door: the same policy and the same release for tables that lie in Apache Spark.

``engine`` does every stage once, in order; ``columns`` lays a table out, ``tally`` counts it, ``lookup`` brings what
was decided back to its records, ``recount`` audits what Spark holds, ``release`` writes it. ``marginals``, ``cutting``,
``searching`` and ``blocks`` are for tables whose combinations do not fit the driver. ``sessions``, ``progress`` and
``reading`` are about Spark itself, ``job`` is for ``spark-submit``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.engines.spark.engine import anonymize, audit
    from shoal.engines.spark.sessions import session

_WHERE = {
    "anonymize": "shoal.engines.spark.engine",
    "audit": "shoal.engines.spark.engine",
    "session": "shoal.engines.spark.sessions",
}

__all__ = ["anonymize", "audit", "session"]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for: without pyspark a door can still say what is missing."""
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'shoal.spark' has no attribute {name!r}")
