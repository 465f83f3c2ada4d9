"""audit_file(): a published table that may be larger than memory, counted again from its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.auditing import Audit, audit
from shoal.auditing.fidelity import Fidelity
from shoal.auditing.roles import promised
from shoal.encoding.types import Progress, silent
from shoal.engines.files.budget import Budget
from shoal.engines.files.count import count
from shoal.engines.files.refused import require_tallied
from shoal.engines.files.scan import open_scan
from shoal.engines.files.verify import HEAD, audited, fitting
from shoal.engines.memory.source import open_table
from shoal.engines.treatments import treated
from shoal.policy import Policy


def audit_file(
    path: str | Path,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    original: str | Path | None = None,
    memory: str | int | None = None,
    statistics: Fidelity | bool = False,
    progress: Progress = silent,
    **options: Any,
) -> Audit:
    """Count a published table in files again and say what holds, as :func:`shoal.audit` does.

    Parameters
    ----------
    path
        A Parquet or CSV file, a folder of them, or a pattern.
    policy
        What was promised, or only what the columns are.
    original
        The original table, in files too.
    memory
        How much memory the data may take, as for :func:`shoal.anonymize_file`.
    statistics
        Whether to compare the distributions of both tables, and how, as for :func:`shoal.audit`; on as many records as
        the memory allows.
    progress
        Called with what is being done, how much is done, and how much there is.
    options
        How to read a CSV of the original: ``delimiter``, ``quote``, ``encoding``.

    Examples
    --------
    >>> import shoal, tempfile
    >>> table, policy = shoal.datasets.load("patients")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.write_parquet(f"{folder}/patients.parquet")
    ...     shoal.audit_file(f"{folder}/patients.parquet", policy).models[0].attained
    1
    """
    policy, budget = promised(policy), Budget.of(memory)
    require_tallied(policy)
    watched = budget.watch(progress)
    scan = open_scan(path)
    published = count(scan, budget, types=False, head=HEAD, progress=watched)
    if original is None:
        return audit(published.table, policy, statistics=statistics)
    given = open_scan(original, **options)
    whole = count(given, budget, names=scan.columns, head=HEAD, progress=watched, what="counting the original")
    watched("auditing", 0, 0)
    source, asked = treated(open_table(whole.table), policy), fitting(statistics, budget, published)
    return audited(scan.paths, published, policy, source, whole.head, asked)
