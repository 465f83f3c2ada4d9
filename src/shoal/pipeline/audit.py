"""audit(): any published table, opened and counted again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.auditing import AttackPlan, Audit, CompanionTable, Fidelity, OriginalTable, OwnerView, audit_table
from shoal.auditing.attacks import Asked
from shoal.auditing.audit_policy import read_audit_policy
from shoal.auditing.checks import make_check
from shoal.auditing.hygiene import blocks_faults
from shoal.encoding.progress import choose_progress
from shoal.encoding.read_options import ReadOptions
from shoal.encoding.types import Progress
from shoal.engines import open_engine
from shoal.engines.base import TableEngine
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.engines.formulas import read_published
from shoal.engines.keys import Key
from shoal.engines.limits import BOTH_TABLES
from shoal.engines.locations import Location
from shoal.engines.memory.source import open_in_memory
from shoal.engines.treatments import treat
from shoal.errors import Misfit
from shoal.pipeline.check import word_faults
from shoal.pipeline.verify import check_order
from shoal.policy import Policy
from shoal.policy.published_columns import needed_columns

_READING = tuple(ReadOptions.model_fields)


def audit(  # noqa: PLR0913 - the options of a verb, by name
    table: object,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    original: object = None,
    owner: OwnerView | None = None,
    statistics: Fidelity | bool = False,
    attacks: Asked = None,
    external: object = None,
    earlier: Sequence[object] = (),
    beside: object = None,
    memory: str | int | None = None,
    key: Key | None = None,
    progress: Progress | None = None,
    **known: Any,
) -> Audit:
    """Count a published table again and say what holds.

    Parameters
    ----------
    table
        The published table, or the path of its file.
    policy
        What was promised. Without models (``{"quasi_identifiers": […], "sensitive": […]}``) the table is only measured:
        it may be anybody's.
    original
        The original table; losses, the risk before, and records that were left out need it.
    owner
        What only the owner knows of each published record, in order (:class:`~shoal.auditing.owner.OwnerView`). Without
        ``subjects`` the least possible number of persons is counted from the original, without ``requested_k`` the most
        that the original allows is taken, without ``rows`` a table is found to be possible, not to be true; or the
        audit does not hold.
    statistics
        Whether to compare the distributions of both tables, and how (:class:`~shoal.auditing.fidelity.Fidelity`); for
        the owner, since it needs the original.
    attacks
        Which attacks to run: ``True`` for all, or names (:mod:`shoal.risk`), also with parameters. Without it those
        that cost next to nothing; all where ``external`` or ``earlier`` is given.
    external
        A table of persons that an attacker may hold, with some of the quasi-identifiers.
    earlier
        Earlier releases about the same people, or their paths.
    beside
        The second table of a release that has two (statistics, anatomy), or the path of its file; the file that lies
        beside the first by default.
    memory
        For files that may be larger than memory, as for :func:`shoal.anonymize`.
    key
        The owner's key, where the policy shifts dates and the original is given: ``SHOAL_KEY`` of the environment by
        default.
    progress
        Called with what is being done, how much is done, and how much there is; by default
        nothing is, but a line in a notebook.
    known
        The fields of ``owner``, for short: ``subjects``, ``requested_k`` (or ``asks``), ``weights``, ``rows``. And how
        to read the file of the original, over what the policy says (:class:`shoal.policy.ReadOptions`).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.audit(table, policy).models[0].attained  # the raw table: everyone stands alone
    1
    >>> shoal.audit(table, {"quasi_identifiers": ["age", "sex"], "sensitive": []}).measured.k
    1
    """
    how = {name: known.pop(name) for name in _READING if name in known}
    view, policy = _owner_view(owner, known), read_audit_policy(policy)
    compared = Fidelity() if statistics is True else statistics or None
    if compared is not None and original is None:
        raise Misfit([BOTH_TABLES])
    found = open_published(table, policy, memory)
    with found.watch(choose_progress() if progress is None else progress) as told:
        published = found.telling(told).count()
        source = None if original is None else open_original(original, policy, memory, how).telling(told)
        before = None if source is None else look_at(source, found.columns, policy, key)
        checked = audit_table(
            published,
            policy,
            original=before,
            owner=view,
            companion=CompanionTable.of(beside, table, policy),
            statistics=_within_memory(compared, found),
            attacks=_plan_attacks(attacks, external, earlier, policy, key),
            progress=told,
            path=Path(table) if isinstance(table, (str, Path)) and memory is None else None,
        )
        if source is None or before is None or not published.is_counted or not checked.is_counted:
            return checked
        # a table that was handed over may be a part of what the files hold that it is read from
        files = found.sources if isinstance(table, (str, Path)) else ()
        return _add_what_counts_lose(checked, published, found, before, source, files, key=key)


def _add_what_counts_lose(
    checked: Audit,
    published: CountedTable,
    found: TableEngine,
    original: OriginalTable,
    source: TableEngine,
    files: Sequence[Location],
    *,
    key: Key | None,
) -> Audit:
    """Return an audit of a counted table with what counts do not tell: its order and its bytes."""
    checks = [check_order(found, published, source, original, key)]
    for path in files:
        blocks = found.raw_bytes(path)
        shown, raw = published.frame, original.frame
        faults = blocks_faults(blocks, found.default_format, shown, raw, delimiter=found.delimiter)
        checks.append(make_check("bytes", faults))
    for check in checks:
        checked = checked.having(check)
    return checked


def _plan_attacks(
    chosen: Asked, external: object, earlier: Sequence[object], policy: Policy, key: Key | None
) -> AttackPlan:
    return AttackPlan(
        chosen=chosen,
        external=None if external is None else treat(open_in_memory(external).table, policy, key).frame,
        earlier=tuple(read_published(open_published(one, policy).count().frame, policy) for one in earlier),
    )


def _owner_view(owner: OwnerView | None, known: dict[str, Any]) -> OwnerView:
    if not known:
        return owner or OwnerView()
    if owner is not None:
        raise TypeError(f"audit() got owner and its fields: {', '.join(known)}")
    if "asks" in known:  # what it was called until version 0.2
        known["requested_k"] = known.pop("asks")
    return OwnerView.of(**known)


def _within_memory(statistics: Fidelity | None, found: TableEngine) -> Fidelity | None:
    """Return which statistics to make: of no more records than the memory allows."""
    most = found.sample_size(len(found.columns))
    if statistics is None or most is None:
        return statistics
    return statistics.replace(sample=min(statistics.sample, most))


def open_published(table: object, policy: Policy, memory: str | int | None = None) -> TableEngine:
    """Return a published table; a file is audited as it is written: its texts, not what they might be read as."""
    as_texts = {"types": False} if isinstance(table, (str, Path)) else {}
    return open_engine(table, policy, memory=memory, **as_texts).name_all_columns()


def open_original(table: object, policy: Policy, memory: str | int | None, how: Mapping[str, Any]) -> TableEngine:
    """Return the original table; one in memory may lie beside a release in files."""
    in_files = isinstance(table, (str, Path))
    return open_engine(
        table, policy, memory=memory if in_files else None, **(how if in_files else {})
    ).name_all_columns()


def look_at(source: TableEngine, shown: Sequence[str], policy: Policy, key: Key | None = None) -> OriginalTable:
    """Return an original table, treated as the policy says; one that losses cannot be measured against is refused."""
    names = [name for name in source.columns if name in {*shown, *needed_columns(source.columns, policy)}]
    words = TableDictionary(treat(source.count(names, "counting the original"), policy, key), policy)
    roles = ("quasi_identifiers", "sensitive", "subject", *(f"models[{n}].on" for n in range(len(policy.models))))
    misfits = [fault for fault in word_faults(words) if fault.kind == "fault" and fault.where.startswith(roles)]
    if misfits:
        raise Misfit(misfits)
    return OriginalTable(words)
