"""anonymize(): every stage once, in order, whatever engine holds the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.algorithms.bounds.lower_bound import LowerBound
from shoal.encoding.types import Progress, silent
from shoal.engines import open_engine
from shoal.engines.base import RowMapping
from shoal.engines.blocks import can_cut
from shoal.engines.dictionary import TableDictionary
from shoal.errors import Infeasible, OverBudget
from shoal.pipeline.anatomy import publish_in_two
from shoal.pipeline.blocks import release_in_blocks
from shoal.pipeline.manifest import describe_release
from shoal.pipeline.output_forms import add_form
from shoal.pipeline.prepare import Prepared, prepare
from shoal.pipeline.pseudonyms import Key
from shoal.pipeline.publish import Published, publish
from shoal.pipeline.relaxations import explained
from shoal.pipeline.release import Release
from shoal.pipeline.solve import Solution, find_limits, solve
from shoal.pipeline.verify import Claims, verify_published
from shoal.policy import Policy


def anonymize(
    table: object,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    memory: str | int | None = None,
    progress: Progress = silent,
    bound: LowerBound | None = None,
    key: Key | None = None,
    **options: Any,
) -> Release:
    """Turn a table about people into one that can be published.

    Parameters
    ----------
    table
        A pandas, polars, pyarrow, DuckDB or Spark table, a :class:`~shoal.engines.counted.CountedTable`, or a path; it
        is not changed.
    policy
        Roles, hierarchies, promises, and how to keep them; also as a mapping, or the path of a YAML file.
    memory
        For files that may be larger than memory: how much the data may take, for example ``"4GB"``, on top of the
        program itself (about 0.3 GB). A Parquet or CSV file, a folder of them, or a pattern such as
        ``data/*.parquet`` is then counted part by part, and :meth:`Release.write` writes part by part. Distinct
        records that do not fit are an error before the memory is used up.
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
        (:mod:`shoal.engines.spark`).

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
    policy = Policy.of(policy)
    engine = open_engine(table, policy, memory=memory, **options)
    with engine.watch(progress) as told:
        engine = engine.telling(told)
        try:
            prepared = prepare(engine, policy, key)
        except OverBudget:
            if not can_cut(engine):
                raise
            return release_in_blocks(engine, policy, told)
        return release_counted(prepared, told, bound)


def release_counted(prepared: Prepared, progress: Progress = silent, bound: LowerBound | None = None) -> Release:
    """Search, publish and verify a table that was counted."""
    if not prepared.policy.output.generalizes:
        progress("grouping", 0, 0)
        published, groups = publish_in_two(prepared.named, prepared.policy)
        return release_verified(prepared, published, Claims(recoding=groups), progress)
    solution = _solve(prepared, progress, bound)
    classes = publish(prepared.named, prepared.policy, solution.encoded, solution.publication)
    published = add_form(classes, prepared.words)
    claims = Claims(recoding=solution.recoding, attained=solution.attained, loss=solution.loss, bound=solution.bound)
    return release_verified(prepared, published, claims, progress)


def release_verified(prepared: Prepared, published: Published, claims: Claims, progress: Progress) -> Release:
    """Let the engine hold what is published, verify it, and return the release; nothing leaves otherwise."""
    mapping = RowMapping(
        original=prepared.given, published=published.table, rows=published.rows, subjects=published.owner.subjects
    )
    held = prepared.engine.publish(mapping)
    progress("auditing", 0, 0)
    return Release(
        policy=prepared.policy,
        audit=verify_published(prepared, published, claims, held),
        recoding=claims.recoding,
        manifest=describe_release(prepared.words, claims.recoding, prepared.engine),
        published=held,
        details=published,
        prepared=prepared,
        claimed_loss=claims.loss,
    )


def _solve(prepared: Prepared, progress: Progress, bound: LowerBound | None) -> Solution:
    """Return what a search finds, or say what stands in its way."""
    try:
        return solve(prepared.words, progress).bounded(bound, progress)
    except Infeasible as error:
        known = find_limits(prepared.words)
        raise explained(error, prepared.policy, lambda other: _try(prepared.words, other), known) from None


def _try(words: TableDictionary, policy: Policy) -> float:
    """Return what a policy would lose, or raise why it cannot be met."""
    trial = policy.replace(algorithm=policy.algorithm.trial())
    return solve(replace(words, policy=trial)).loss
