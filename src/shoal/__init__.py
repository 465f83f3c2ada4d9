"""shoal turns a table about people into a table that can be published.

*Policy in, Release out*: a :class:`Policy` says what is promised, :func:`anonymize` searches and recodes, an
independent :func:`audit` counts the published table again, and nothing leaves that does not hold.

The way data goes: ``read → roles → encode & count → search → recode → publish → audit → report``.

==================================  =======================================================================
``cli``, ``gateway``, ``studio``,   the doors: policy in, release out
``sklearn``, ``spark``
``serving``                         what services that listen share
``explore``, ``importers``          lattices, comparisons, hierarchies, draft policies; other tools' policies
``pipeline``                        the road: prepare, encode, solve, publish, verify, write
``reporting``                       an audit, told to people
``auditing``                        a published table counted again
``profiling``                       what a column probably is
``engines``                         where a table lies: in memory, in files, in Spark
``guarantees``                      what is promised of each published column
``policy``                          what the owner decides
``algorithms``                      SEARCH: one file per paper; proven bounds
``perturbations``                   columns published as other values, under a declared guarantee
``utility``, ``risk``               what is lost, what an attacker can do
``recodings``                       what a search may answer
``models``, ``hierarchies``         PROMISE and GENERALIZE: one file per model, one per way to build levels
``frequencies``, ``kernels``        combinations and how often each occurs; hot loops
``encoding``                        values as codes, labels as text
``datasets``                        the embedded Adult table and the papers' small ones
==================================  =======================================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import algorithms, datasets, errors, hierarchies, models, perturbations, risk, utility
    from shoal import registry as catalog
    from shoal.api import anonymize_file, audit_file
    from shoal.auditing import Audit
    from shoal.engines.counted import CountedTable
    from shoal.engines.memory.source import read
    from shoal.errors import AuditFailed, Infeasible, Misfit, NotFound, PolicyError, ShoalError, TableError
    from shoal.explore.suggest import suggest
    from shoal.pipeline.anonymize import anonymize
    from shoal.pipeline.audit import audit
    from shoal.pipeline.check import check
    from shoal.pipeline.release import Release
    from shoal.policy import Policy
    from shoal.reporting import report

__version__ = "0.2.0"

_WHERE = {
    "Audit": "shoal.auditing",
    "AuditFailed": "shoal.errors",
    "CountedTable": "shoal.engines.counted",
    "Infeasible": "shoal.errors",
    "Misfit": "shoal.errors",
    "NotFound": "shoal.errors",
    "Policy": "shoal.policy",
    "PolicyError": "shoal.errors",
    "Release": "shoal.pipeline.release",
    "ShoalError": "shoal.errors",
    "TableError": "shoal.errors",
    "anonymize": "shoal.pipeline.anonymize",
    "anonymize_file": "shoal.api",
    "audit": "shoal.pipeline.audit",
    "audit_file": "shoal.api",
    "check": "shoal.pipeline.check",
    "read": "shoal.engines.memory.source",
    "report": "shoal.reporting",
    "suggest": "shoal.explore.suggest",
}
_FOLDERS = ("algorithms", "datasets", "errors", "hierarchies", "models", "perturbations", "risk", "utility")

__all__ = [
    "Audit",
    "AuditFailed",
    "CountedTable",
    "Infeasible",
    "Misfit",
    "NotFound",
    "Policy",
    "PolicyError",
    "Release",
    "ShoalError",
    "TableError",
    "Tallied",  # noqa: F822 - an older name, looked up when it is used
    "algorithms",
    "anonymize",
    "anonymize_file",
    "audit",
    "audit_file",
    "catalog",
    "check",
    "datasets",
    "errors",
    "hierarchies",
    "models",
    "perturbations",
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
    if name == "Tallied":  # what it was called until version 0.2
        return __getattr__("CountedTable")
    if name == "catalog":  # what the registry of entries is called outside
        return import_module("shoal.registry")
    if name in _FOLDERS:
        return import_module(f"shoal.{name}")
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
