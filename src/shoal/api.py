"""The verbs: everything that a door needs, in one place.

``read``, ``suggest``, ``check``, ``anonymize``, ``audit``, ``report``; and the names that some of them had before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.auditing import Audit
from shoal.engines.files.budget import default_memory
from shoal.engines.memory.source import read
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.audit import audit
from shoal.pipeline.check import check
from shoal.pipeline.release import Release
from shoal.pipeline.write import write_release
from shoal.policy import Policy
from shoal.reporting import report

__all__ = ["anonymize", "anonymize_file", "audit", "audit_file", "check", "read", "report"]


def anonymize_file(
    path: str | Path,
    policy: Policy | Mapping[str, Any] | str | Path,
    out: str | Path,
    *,
    memory: str | int | None = None,
    format: str | None = None,
    statistics: bool = True,
    **options: Any,
) -> Release:
    """Anonymize a table that may be larger than memory, from files to files: ``anonymize(memory=…)`` and ``write``.

    The older name: it will go in the version after next.

    Parameters
    ----------
    path, policy, memory, options
        As for :func:`anonymize`; half of the machine's memory by default.
    out, format, statistics
        As for :meth:`Release.write`.

    Examples
    --------
    >>> import shoal, tempfile
    >>> table, policy = shoal.datasets.load("patients")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.write_parquet(f"{folder}/patients.parquet")
    ...     release = shoal.anonymize_file(f"{folder}/patients.parquet", policy, f"{folder}/out", memory="1GB")
    ...     print(release, release.files["release"].name)
    <Release k-anonymity=2; 0.0% of records suppressed; loss 0.2917> release.parquet
    """
    release = anonymize(path, policy, memory=default_memory() if memory is None else memory, **options)
    checked, files = write_release(release, out, format, statistics=statistics)
    return replace(release, audit=checked, files=files)


def audit_file(
    path: str | Path,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    memory: str | int | None = None,
    **asked: Any,
) -> Audit:
    """Count a published table in files again: ``audit(memory=…)``; half of the machine's memory by default.

    The older name: it will go in the version after next.

    Examples
    --------
    >>> import shoal, tempfile
    >>> table, policy = shoal.datasets.load("patients")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.write_parquet(f"{folder}/patients.parquet")
    ...     shoal.audit_file(f"{folder}/patients.parquet", policy).models[0].attained
    1
    """
    return audit(path, policy, memory=default_memory() if memory is None else memory, **asked)
