"""prepare(): a table as the rest of the road needs it: counted, treated, found to fit its policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from shoal.auditing import OriginalTable
from shoal.engines.base import TableEngine
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.engines.keys import Key
from shoal.engines.treatments import treat
from shoal.errors import AuditFailed, Fault, Misfit
from shoal.pipeline.check import layout_faults, require_fit
from shoal.pipeline.perturb import columns_looked_at
from shoal.pipeline.pseudonyms import pseudonymize
from shoal.pipeline.repeats import repeats_faults
from shoal.policy import Policy
from shoal.policy.published_columns import needed_columns


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A table that fits its policy."""

    engine: TableEngine
    """Where it lies."""
    given: CountedTable
    """As the engine counted it."""
    words: TableDictionary
    """As it is treated, with what its columns hold."""
    named: CountedTable
    """The same with pseudonyms, where the policy asks for them."""
    key: Key | None = field(default=None, repr=False)
    """The owner's key, where one was given."""

    @cached_property
    def original(self) -> OriginalTable:
        """The original as an audit compares with it; who reads its columns is made once for all audits."""
        return OriginalTable(self.words)

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self.words.policy


def prepare(engine: TableEngine, policy: Policy, key: Key | None = None) -> Prepared:
    """Count a table and see that it fits its policy.

    Raises
    ------
    Misfit
        Everything that does not fit, at once; what the names of the columns tell before any record is read.
    """
    faults = [fault for fault in layout_faults(engine.columns, policy) if fault.kind == "fault"]
    faults += engine.uncounted_faults()
    if policy.declared_subject is None and not faults:
        faults += repeats_faults(engine.find_repeating(list(policy.identifiers)))
    if faults and engine.reads_late:
        raise Misfit(faults)
    return prepare_counted(engine, engine.count(needed_columns(engine.columns, policy)), policy, key)


def prepare_counted(engine: TableEngine, given: CountedTable, policy: Policy, key: Key | None = None) -> Prepared:
    """See that a table that was counted is all of it, and fits its policy."""
    require_all_records(engine, given)
    if policy.perturb:
        engine.require_expanded(given.records, len(columns_looked_at(policy)))
    words = look_up(given, policy, key)
    named = words.table.with_frame(pseudonymize(words.table.frame, policy, key))
    return Prepared(engine=engine, given=given, words=words, named=named, key=key)


def require_all_records(engine: TableEngine, given: CountedTable) -> None:
    """Raise where an engine counted other records than there are: what is promised is a matter of how often records
    occur."""
    records = engine.count_records()
    if records not in (None, given.records):
        raise AuditFailed(Fault("the engine counted other records than there are", got=f"{given.records} of {records}"))


def look_up(given: CountedTable, policy: Policy, key: Key | None = None) -> TableDictionary:
    """Return a table treated as the policy says, with what its columns hold; raise where the two do not fit."""
    words = TableDictionary(treat(given, policy, key), policy)
    require_fit(given, words)
    return words
