"""A door: the same policy and the same release for tables that lie in Apache Spark.

``engine`` does every stage once, in order; ``columns`` lays a table out, ``tally`` counts it, ``lookup`` brings what
was decided back to its records, ``recount`` audits what Spark holds, ``release`` writes it. ``marginals``, ``cutting``,
``searching`` and ``blocks`` are for tables whose combinations do not fit the driver. ``session``, ``progress`` and
``reading`` are about Spark itself, ``job`` is for ``spark-submit``.
"""

from shoal.spark.engine import anonymize, audit
from shoal.spark.session import session

__all__ = ["anonymize", "audit", "session"]
