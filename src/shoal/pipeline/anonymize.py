"""anonymize(): every stage once, in order, whatever engine holds the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.algorithms.bounds.lower_bound import LowerBound
from shoal.encoding.progress import choose_progress
from shoal.encoding.types import Progress, silent
from shoal.engines import open_engine
from shoal.engines.base import RowMapping, TableEngine
from shoal.engines.blocks import can_cut
from shoal.engines.dictionary import TableDictionary
from shoal.engines.formulas import prefix_name
from shoal.engines.keys import Key
from shoal.engines.limits import find_uncuttable
from shoal.engines.series import SeriesState
from shoal.errors import Infeasible, Misfit, OverBudget
from shoal.pipeline.anatomy import publish_in_two
from shoal.pipeline.blocks import release_in_blocks
from shoal.pipeline.ends import list_ended_columns
from shoal.pipeline.formulas import publish_harmless
from shoal.pipeline.output_forms import add_form
from shoal.pipeline.perturb import NoRecoding
from shoal.pipeline.prepare import Prepared, prepare
from shoal.pipeline.publish import Published, publish, publish_perturbed
from shoal.pipeline.relaxations import explain
from shoal.pipeline.release import Release, verify_release
from shoal.pipeline.series import open_series, publish_next
from shoal.pipeline.solve import Solution, find_limits, solve
from shoal.pipeline.verify import Claims, Following
from shoal.policy import Policy
from shoal.policy.outputs import Generalized


def anonymize(
    table: object,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    memory: str | int | None = None,
    progress: Progress | None = None,
    bound: LowerBound | None = None,
    key: Key | None = None,
    after: str | Path | Release | None = None,
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
        ``data/*.parquet`` is then counted part by part, and :meth:`Release.write` writes part by part. Where the
        distinct records do not fit, the table is cut into blocks; what does not fit even so is an error before the
        memory is used up.
    progress
        Called with what is being done, how much is done, and how much there is; by default
        nothing is, but a line in a notebook.
    bound
        How to find what no local recoding can go below, which is told with a local release; by default in about a
        tenth of the time that the release takes. ``LowerBound(effort=10)`` spends about ten seconds on it.
    key
        Where the policy asks for pseudonyms, or for dates that are shifted: the key, as bytes or as the path of its
        file; by default it is taken from the environment (``SHOAL_KEY``). It is written nowhere.
    after
        Where the policy has a ``series``: the release before, or the folder that it was written to. What the owner
        keeps between releases lies there, sealed with the key.
    options
        How to read a file, over what the policy's ``read`` block says: ``header``, ``delimiter``, ``decimal``,
        ``missing``, ``dates``, … (:class:`shoal.policy.ReadOptions`); for a Spark table, or with ``memory``, ``fits``
        and ``block``: how many distinct records are held, and have a block where there are more.

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
    before = open_series(policy, after, key)
    engine = open_engine(table, policy, memory=memory, **options)
    with engine.watch(choose_progress() if progress is None else progress) as told:
        engine = engine.telling(told)
        prepared = _prepare_whole(engine, policy, key)
        if prepared is None:
            assert can_cut(engine)
            return release_in_blocks(engine, policy, told)
        return release_counted(prepared, told, bound) if before is None else release_next(prepared, before, told)


def release_next(prepared: Prepared, before: SeriesState, progress: Progress = silent) -> Release:
    """Publish and verify the next release of a series."""
    made = publish_next(prepared, before, progress)
    return release_verified(prepared, made.published, made.claims, progress, Following(before, made.state))


def _prepare_whole(engine: TableEngine, policy: Policy, key: Key | None) -> Prepared | None:
    """Return a table that is prepared, or nothing where its records do not fit and blocks of them may do.

    What was counted in vain is let go with the error that tells so.
    """
    try:
        return prepare(engine, policy, key)
    except OverBudget as error:
        if not can_cut(engine):
            raise
        if faults := find_uncuttable(policy):
            raise Misfit([*error.faults, *faults]) from None
    return None


def release_counted(prepared: Prepared, progress: Progress = silent, bound: LowerBound | None = None) -> Release:
    """Search, publish and verify a table that was counted."""
    if not prepared.policy.output.generalizes:
        progress("grouping", 0, 0)
        published, groups = publish_in_two(prepared.named, prepared.policy)
        return release_verified(prepared, published, Claims(recoding=groups), progress)
    if not prepared.policy.quasi_identifiers:
        progress("perturbing", 0, 0)
        published = publish_perturbed(prepared.named, prepared.policy, prepared.engine.require_distinct)
        return release_verified(prepared, published, Claims(recoding=NoRecoding(), bounds=published.bounds), progress)
    published, claims = _solve_and_publish(prepared, progress, bound)
    return release_verified(prepared, published, claims, progress)


def _solve_and_publish(prepared: Prepared, progress: Progress, bound: LowerBound | None) -> tuple[Published, Claims]:
    """Return what is published; the encoded table, which nobody needs from here on, makes room for the audit."""
    solution = _solve(prepared, progress, bound)
    room = prepared.engine.require_distinct
    classes = publish(prepared.named, prepared.policy, solution.encoded, solution.publication, room)
    claims = Claims(recoding=solution.recoding, attained=solution.attained, loss=solution.loss, bound=solution.bound)
    claims = replace(claims, bounds=classes.bounds)
    return add_form(classes, prepared.words), claims


def release_verified(
    prepared: Prepared,
    published: Published,
    claims: Claims,
    progress: Progress,
    following: Following | None = None,
) -> Release:
    """Let the engine hold what is published, verify it, and return the release; nothing leaves otherwise."""
    published = publish_harmless(published, prepared.policy)
    mapping = RowMapping(
        typed=tuple(_list_typed(prepared)),
        original=prepared.given,
        published=published.table,
        rows=published.rows,
        subjects=published.owner.subjects,
    )
    held = prepared.engine.publish(mapping)
    progress("auditing", 0, 0)
    return verify_release(prepared, published, claims, held, following)


def _list_typed(prepared: Prepared) -> Iterator[str]:
    """Yield the columns that are given as intervals, by their published names."""
    output = prepared.policy.output
    for name in list_ended_columns(prepared.words) if isinstance(output, Generalized) and output.typed else ():
        yield prefix_name(name) if prepared.policy.hygiene.prefixes else name


def _solve(prepared: Prepared, progress: Progress, bound: LowerBound | None) -> Solution:
    try:
        return solve(prepared.words, progress).bounded(bound, progress)
    except Infeasible as error:
        raise explain_on(prepared.words, error) from None


def explain_on(words: TableDictionary, error: Infeasible) -> Infeasible:
    """Return why a policy cannot be met on a table, with what would work there."""
    return explain(error, words.policy, lambda other: _try(words, other), find_limits(words))


def _try(words: TableDictionary, policy: Policy) -> float:
    """Return what a policy would lose, or raise why it cannot be met."""
    trial = policy.replace(algorithm=policy.algorithm.trial())
    return solve(replace(words, policy=trial)).loss
