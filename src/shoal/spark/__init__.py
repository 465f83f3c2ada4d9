"""A door: tables that lie in Apache Spark.

:func:`shoal.anonymize` and :func:`shoal.audit` take them like any other table; here are the session, and the job for
``spark-submit``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.audit import audit

if TYPE_CHECKING:
    from shoal.engines.spark.sessions import session

__all__ = ["anonymize", "audit", "session"]


def __getattr__(name: str) -> Any:
    """Import what needs pyspark when it is first asked for: without it a door can still say what is missing."""
    if name == "session":
        from shoal.engines.spark.sessions import session

        return session
    raise AttributeError(f"module 'shoal.spark' has no attribute {name!r}")
