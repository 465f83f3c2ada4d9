"""anonymize(): every stage once, in order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.algorithms.bounds.lower_bound import LowerBound
from shoal.auditing import audit
from shoal.encoding.types import Progress, silent
from shoal.engines.choice import engine_of
from shoal.engines.memory.source import Source, open_table
from shoal.engines.treatments import treated
from shoal.errors import AuditFailed, Infeasible, Misfit
from shoal.pipeline.anatomy import anatomized
from shoal.pipeline.check import check
from shoal.pipeline.manifest import manifest_of
from shoal.pipeline.output_forms import formed
from shoal.pipeline.pseudonyms import Key, pseudonymized
from shoal.pipeline.publish import apply
from shoal.pipeline.relaxations import explained
from shoal.pipeline.release import Release, attained_by, disagreements
from shoal.pipeline.solve import limits, solve
from shoal.policy import Policy
from shoal.policy.outputs import Anatomy


def _loss_of(source: Source, policy: Policy) -> float:
    """Return what a policy would lose, or raise why it cannot be met."""
    trial = policy.replace(algorithm=policy.algorithm.trial())
    return solve(source.frame, trial, times=source.times).loss


def anonymize(
    table: object,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    progress: Progress = silent,
    bound: LowerBound | None = None,
    key: Key | None = None,
    **options: Any,
) -> Release:
    """Turn a table about people into one that can be published.

    Parameters
    ----------
    table
        A pandas, polars, pyarrow, DuckDB or Spark table, a :class:`~shoal.engines.counted.CountedTable` one, or a path;
        it is not changed.
    policy
        Roles, hierarchies, promises, and how to keep them; also as a mapping, or the path of a YAML file.
    progress
        Called with what is being done, how much is done, and how much there is.
    bound
        How to find what no local recoding can go below, which is told with a local release; by default in about a
        tenth of the time that the release takes. ``LowerBound(effort=10)`` spends about ten seconds on it.
    key
        Where the policy asks for pseudonyms: the key, as bytes or as the path of its file; by default it is taken from
        the environment (``SHOAL_KEY``). It is written nowhere.
    options
        How to read a file: ``delimiter``, ``quote``, ``encoding``, ``sheet``; for a Spark table ``fits`` and ``block``
        (:func:`shoal.spark.anonymize`).

    Raises
    ------
    Misfit
        Policy and table do not fit each other.
    Infeasible
        The promises cannot be kept; says what blocks and what would work.
    AuditFailed
        The published table, counted again, does not keep the promises: a bug, and nothing leaves.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.anonymize(table, policy)
    <Release k-anonymity=2; 0.0% of records suppressed; loss 0.2917>
    """
    if engine := engine_of(table):
        release: Release = engine.anonymize(table, policy, progress=progress, bound=bound, key=key, **options)
        return release
    policy = Policy.of(policy)
    given = open_table(table, **options)
    source = treated(given, policy)
    misfits = [fault for fault in check(given, policy) if fault.kind == "fault"]
    if misfits:
        raise Misfit(misfits)
    named = pseudonymized(source.frame, policy, key)
    if isinstance(policy.output, Anatomy):
        return _in_two(source, named, policy, progress)
    try:
        decision = solve(source.frame, policy, progress, source.times).bounded(bound, progress)
    except Infeasible as error:
        known = limits(source.frame, policy, source.times)
        raise explained(error, policy, lambda other: _loss_of(source, other), known) from None
    applied = apply(named, policy, decision.encoded, decision.publication, source.times)
    made = formed(applied, source.frame, policy)
    # the caller's own: what they do to it does not reach the release
    published = source.restore(made.frame.clone(), applied.times)
    progress("auditing", 0, 0)
    checked = audit(
        published,
        policy,
        original=source,
        subjects=applied.subjects,
        requested_k=applied.requested_k,
        weights=applied.weights,
        beside=next(iter(made.parts.values()), None),
        rows=applied.rows,
    ).claiming(decision.bound)
    faults = [*checked.failures(), *disagreements(checked, decision.attained)]
    if faults:
        raise AuditFailed(faults)
    return Release(
        published,
        policy,
        decision.recoding,
        attained_by(checked),
        checked,
        manifest_of(source, policy, decision.recoding),
        source,
        made.frame,
        applied.subjects,
        applied.requested_k,
        applied.weights,
        decision.loss,
        made.parts,
        applied.rows,
        applied.times,
    )


def _in_two(source: Source, named: pl.DataFrame, policy: Policy, progress: Progress) -> Release:
    """Return an anatomy: nothing is generalized, and no search is needed."""
    progress("grouping", 0, 0)
    made = anatomized(named, policy)
    published = source.restore(made.frame.clone())
    progress("auditing", 0, 0)
    checked = audit(published, policy, original=source, beside=made.sensitive, rows=made.rows).require()
    return Release(
        published,
        policy,
        made.groups,
        attained_by(checked),
        checked,
        manifest_of(source, policy, made.groups),
        source,
        made.frame,
        parts={"sensitive": made.sensitive},
        rows=made.rows,
    )
