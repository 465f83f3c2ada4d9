"""shoal turns a table about people into a table that can be published.

*Policy in, Release out*: a :class:`Policy` says what is promised, :func:`anonymize` searches and recodes, an
independent :func:`audit` counts the published table again, and nothing leaves that does not hold.

The way data goes: ``read → roles → encode & count → search → recode → publish → audit → report``.

======================  ===============================================================
``tables``              READ: dataframes and files in and out, counting and applying
``hierarchies``         GENERALIZE: one file per way to build levels
``models``              PROMISE: one file per condition on equivalence classes
``algorithms``          SEARCH: one file per paper
``recodings``           DECISION: what a search may answer
``bounds``              what no local recoding can go below (``sharing`` finds it, over ``ladders``)
``outputs``             what a release is made of: generalized, statistics, anatomy (``anatomy`` makes its groups)
``weighing``            may a request be answered with the data as they are?
``utility``, ``risk``   what is lost, what an attacker can do
``release``, ``auditing``  RELEASE and AUDIT
``reporting``           the audit, told to people
``streaming``           tables in files that are larger than memory
``cli``                 the command line
``spark``               tables that lie in Apache Spark
``gateway``             requests in SQL, answered by policy: a service, its client, and the library
``datasets``            the embedded Adult table and the papers' small ones
======================  ===============================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import algorithms, catalog, datasets, errors, hierarchies, models, risk, utility
    from shoal.auditing import Audit, audit
    from shoal.errors import AuditFailed, Infeasible, Misfit, NotFound, PolicyError, ShoalError, TableError
    from shoal.pipeline import anonymize
    from shoal.policy import Policy
    from shoal.release import Release
    from shoal.reporting import report
    from shoal.streaming import anonymize_file, audit_file
    from shoal.tables import read
    from shoal.tables.suggest import suggest
    from shoal.tables.tallied import Tallied

__version__ = "0.1.0"

_WHERE = {
    "Audit": "shoal.auditing",
    "AuditFailed": "shoal.errors",
    "Infeasible": "shoal.errors",
    "Misfit": "shoal.errors",
    "NotFound": "shoal.errors",
    "Policy": "shoal.policy",
    "PolicyError": "shoal.errors",
    "Release": "shoal.release",
    "ShoalError": "shoal.errors",
    "TableError": "shoal.errors",
    "Tallied": "shoal.tables.tallied",
    "anonymize": "shoal.pipeline",
    "anonymize_file": "shoal.streaming",
    "audit": "shoal.auditing",
    "audit_file": "shoal.streaming",
    "read": "shoal.tables",
    "report": "shoal.reporting",
    "suggest": "shoal.tables",
}
_FOLDERS = ("algorithms", "catalog", "datasets", "errors", "hierarchies", "models", "risk", "utility")

__all__ = [
    "Audit",
    "AuditFailed",
    "Infeasible",
    "Misfit",
    "NotFound",
    "Policy",
    "PolicyError",
    "Release",
    "ShoalError",
    "TableError",
    "Tallied",
    "algorithms",
    "anonymize",
    "anonymize_file",
    "audit",
    "audit_file",
    "catalog",
    "datasets",
    "errors",
    "hierarchies",
    "models",
    "read",
    "report",
    "risk",
    "suggest",
    "utility",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        found = getattr(import_module(_WHERE[name]), name)
        globals()[name] = found
        return found
    if name in _FOLDERS:
        return import_module(f"shoal.{name}")
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
