"""OwnedTable: one owner's table; answers are cut from records that stand, and from one release of them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from threading import RLock

import polars as pl

from shoal.errors import AuditFailed, HierarchyError, Infeasible, Misfit, PolicyError, Refused, TableError, Unavailable
from shoal.gateway.client_history import ClientHistory
from shoal.gateway.config import JoinConfig, TableConfig
from shoal.gateway.known_records import KnownRecords
from shoal.gateway.ledger import Ledger
from shoal.gateway.queryable_release import (
    QueryableRelease,
    cut_part,
    open_release,
    release_part,
    restrict_policy,
    select_restricted,
)
from shoal.gateway.sources import DataSource
from shoal.gateway.standing import ReleasedPart, StandingRecords, find_new_persons
from shoal.gateway.table_version import LOOK, NO_FIT, TableVersion, sort_records
from shoal.policy import Policy, QuasiIdentifier, Sensitive
from shoal.policy.published_columns import published_columns

_UNFIT = (Misfit, HierarchyError, PolicyError, TableError, AuditFailed)
_RECORD = "shoal: number of the record"
"""A column that is none of the owner's."""
_TRIES = 5
"""How often a table is read again that changed meanwhile."""


class OwnedTable:
    """One owner's table, or a join of two."""

    def __init__(
        self, owner: str, name: str, config: TableConfig, source: DataSource, parts: tuple[tuple[str, str], ...]
    ) -> None:
        self.owner, self.name, self.config, self.source = owner, name, config, source
        self.parts = parts
        """The logical tables that it is made of, each with what the database calls it."""
        self.identity = f"{owner}/{name}"
        """What it is to the ledger, whatever owner and table are called: its source, or those of a join."""
        self.part_sources: dict[str, str] = {}
        """Logical table → its source."""
        self.related_sources: frozenset[str] = frozenset()
        """The sources that are or were about the same persons, its own among them."""
        self.origin = ""
        """What the ledger keeps to know it again."""
        self.related_tables: tuple[OwnedTable, ...] = (self,)
        """The owner's tables and joins about the same persons, this one among them."""
        self.earlier_tables: tuple[OwnedTable, ...] = ()
        """Those that are configured before it: of two that hold the same records the first is answered from."""
        self.qualified_names: dict[str, str] = {}
        """Column → ``source.column`` of the table that it comes from."""
        self.ledger: Ledger
        self.standing: StandingRecords
        self._lock = RLock()
        self.known_records: KnownRecords
        self._current: TableVersion | None = None
        self._seen, self._due = "", float("inf")

    @property
    def policy(self) -> Policy:
        """What is promised of the table."""
        return self.config.policy

    @property
    def is_join(self) -> bool:
        """Whether it joins two tables."""
        return isinstance(self.config, JoinConfig)

    def read_current(self) -> TableVersion:
        """Return the records that answers are cut from; the table is read again only if it changed."""
        version = self._read_version()
        with self._lock:
            for _ in range(_TRIES):
                if self._current is not None and self._seen == version and time.monotonic() < self._due:
                    self._check_doubles()
                    return self._current
                try:
                    frame = sort_records(_select_offered(self._read(), self.policy))
                except TableError:  # lists, infinite numbers and the like; its text is for the owner
                    raise Unavailable("the table holds values that cannot be published", where=self.name) from None
                before, version = version, self._read_version()
                if before == version:  # else it changed while it was read
                    self.known_records.note(self.owner, self.name, frame)
                    for earlier in self.earlier_tables:
                        with suppress(Refused, Unavailable):  # what nobody can read cannot be compared
                            earlier.read_current()
                    self._check_doubles()
                    self._seen, self._current = version, self._renew(frame)
        raise Unavailable("the table changes faster than it can be read", where=self.name)

    def _check_doubles(self) -> None:
        double = self.known_records.find_double(self.owner, self.name)
        if double is not None:
            what = "the same records are offered as another table"
            raise Refused(what, where=self.name, hint=f"ask for {double}; the owner has to leave one of them out")

    def _renew(self, frame: pl.DataFrame) -> TableVersion:
        """Return the records that stand, with a group of new persons where enough have come."""
        generations = self.standing.read()
        if not generations:
            self.standing.add(0, frame)
            generations = self.standing.read()
        new = _select_alike(frame, generations[0])
        new = new if new is None else find_new_persons(new, generations, self.policy)
        self._due = float("inf")
        if new is not None and _count_persons(new, self.policy) >= self.policy.renewed_from:
            days = 0 if self.policy.renew is None else self.policy.renew.days
            wait = self.standing.wait(len(generations) - 1, days)
            if wait > 0:
                self._due = time.monotonic() + wait
            else:
                self.standing.add(len(generations), new)
                generations = self.standing.read()
        if self._current is not None and len(self._current.generations) == len(generations):
            return self._current
        return TableVersion(tuple(generations), self.policy, self.ledger, self.standing)

    def is_reachable(self) -> bool:
        """Return whether the owner's database answers, without reading a record."""
        return all(self.source.is_reachable(stored) for _, stored in self.parts)

    def _read_version(self) -> str:
        return " ".join(self.source.version(stored) for _, stored in self.parts)

    def _read(self) -> pl.DataFrame:
        frames = {table: self.source.read(stored) for table, stored in self.parts}
        for table, frame in frames.items():
            source = self.part_sources[table]
            new = {name: f"{source}.{name}" for name in frame.columns if name not in self.qualified_names}
            self.qualified_names |= new
        if not isinstance(self.config, JoinConfig):
            return frames[self.name]
        (left, key), (right, other) = self.config.left, self.config.right
        twice = (set(frames[left].columns) & set(frames[right].columns)) - ({key} if key == other else set())
        if twice or key not in frames[left].columns or other not in frames[right].columns:
            raise Unavailable("the tables of the join have other columns than it needs", where=self.name)
        return _join(frames[left], key, frames[right], other)

    def read_history(self, client: str, *, cached: bool) -> ClientHistory:
        """Return what a client already has of the same persons."""
        return self.ledger.read_history(client, cached=cached).within(self.related_sources)

    def qualify(self, name: str) -> str:
        """Return the name by which all tables of the same persons know a column."""
        return self.qualified_names.get(name, f"{self.identity}.{name}")

    def tell(self, qualified: str) -> str:
        """Return a qualified name as ``table.column`` of a table that clients know, where there still is one."""
        for table in self.related_tables:
            for part, source in table.part_sources.items():
                if qualified.startswith(f"{source}."):
                    return part + qualified.removeprefix(source)
        return qualified

    def qualify_weights(self, columns: Iterable[str], weights: dict[str, float]) -> dict[str, float]:
        """Return the weights of columns under the names that all tables of the same persons know."""
        return {self.qualify(name): weights[name] for name in columns}

    def list_declared_weights(self) -> dict[str, float]:
        """Return the weights that the policy gives, under the names that all tables of the same persons know."""
        roles: dict[str, QuasiIdentifier | Sensitive] = {**self.policy.quasi_identifiers, **self.policy.sensitive}
        return self.qualify_weights(roles, {name: role.weight for name, role in roles.items()})

    def find_linking_columns(
        self, raw: Iterable[str], published: Iterable[str], *, joined: bool = False
    ) -> frozenset[str]:
        """Return the columns that answers as they are would add to anonymized ones of this table, record by record.

        Both kinds of answers are given by their qualified names. A column that both show as it is (a sensitive one)
        tells which record is which. Without one, quasi-identifiers as they are tell what any attacker of k-anonymity is
        thought to know anyway. Columns of other tables come in only with a join that was answered as it is
        (``joined``), or if this is one.
        """
        known = set(raw)
        columns = () if self._current is None else tuple(self._current.first.columns)
        own = {self.qualify(name): name for name in (*self.qualified_names, *columns)}
        changed = {*self.policy.quasi_identifiers, *self.policy.hidden}
        exact = {base for base, name in own.items() if name not in changed}
        if not known & exact & set(published):
            return frozenset()
        parts = tuple(f"{source}." for source in self.part_sources.values())
        elsewhere = {base for base in known - own.keys() if joined or base.startswith(parts)}
        return frozenset({own[base] for base in (known & own.keys()) - exact} | elsewhere)

    def choose_columns(self, version: TableVersion, touched: Collection[str]) -> frozenset[str] | None:
        """Return the columns to recode on their own for whoever asked for some first; ``None`` for all.

        All where there is no quasi-identifier among them: nothing would be generalized.
        """
        names = frozenset(name for name in version.first.columns if self.qualify(name) in touched)
        return names.difference(self.policy.hidden) if names & self.policy.quasi_identifiers.keys() else None

    def release(self, version: TableVersion, columns: frozenset[str] | None = None, *, client: str) -> QueryableRelease:
        """Return the one release of the whole table; or that of some columns only, as the paper does it.

        Each client waits for its own release of some columns, which is the same: else it would be told by the time that
        it takes what others asked for.
        """
        key = None if columns is None else (client, columns)
        with self._lock:
            release = version.releases.get(key)
            if release is None:
                release = self._anonymize(version, client, columns)
                version.releases.put(key, release)
        if isinstance(release, Refused):
            raise Refused(release.faults)
        return release

    def _anonymize(
        self, version: TableVersion, client: str, columns: frozenset[str] | None
    ) -> QueryableRelease | Refused:
        """Return a release; or why there is none, without what the error tells the owner about the data."""
        try:
            parts = self._release_parts([frame.clone() for frame in version.generations])  # they are shared
            policy = self.policy
            if columns is not None:
                policy = restrict_policy(policy, columns)
                parts = self._release_columns(version, name_release(policy, client, columns), policy, columns, parts)
            return open_release(list(parts.values()), version.first, policy)
        except Infeasible:
            return Refused("the promises of the policy cannot be kept within its boundaries", where=self.name)
        except _UNFIT:
            return Refused(NO_FIT, where=self.name, hint=LOOK)

    def _release_parts(self, frames: list[pl.DataFrame]) -> dict[int, ReleasedPart]:
        """Return what was published of each generation; what could not be waits for the next one."""
        name = name_release(self.policy)
        parts = self._read_parts(name, len(frames))
        newest = max(parts, default=-1)
        for number in range(newest + 1, len(frames)):
            try:
                part = release_part(pl.concat(frames[newest + 1 : number + 1]), self.policy, list(parts.values()))
            except (Infeasible, AuditFailed):
                if not parts and number == len(frames) - 1:
                    raise
                continue
            parts[number] = self.standing.keep_release(name, number, part)
            newest = number
        return parts

    def _release_columns(
        self,
        version: TableVersion,
        name: str,
        policy: Policy,
        columns: frozenset[str],
        whole: dict[int, ReleasedPart],
    ) -> dict[int, ReleasedPart]:
        """Return what was published of some columns, of the same generations as of the whole table.

        Where these columns alone cannot be recoded they are cut from the release of all: that there was no recoding
        of some columns would tell something of the data.
        """
        parts = self._read_parts(name, max(whole) + 1)
        before = max(parts, default=-1)
        for number in (number for number in whole if number > before):
            frames = [
                select_restricted(frame, policy, columns) for frame in version.generations[before + 1 : number + 1]
            ]
            known = list(parts.values())
            try:
                part = release_part(pl.concat(frames), policy, known)
            except (Infeasible, AuditFailed):
                part = cut_part(whole[number], policy, columns, known)
            parts[number] = self.standing.keep_release(name, number, part)
            before = number
        return parts

    def _read_parts(self, name: str, count: int) -> dict[int, ReleasedPart]:
        kept = {number: self.standing.read_release(name, number) for number in range(count)}
        return {number: part for number, part in kept.items() if part is not None}


def name_release(policy: Policy, client: str = "", columns: frozenset[str] | None = None) -> str:
    """Return the name under which the release by a policy is kept; of some columns that of a client."""
    asked = policy.hash + ("" if columns is None else json.dumps([client, sorted(columns)]))
    return hashlib.sha256(asked.encode()).hexdigest()[:16]


def _select_alike(frame: pl.DataFrame, first: pl.DataFrame) -> pl.DataFrame | None:
    """Return the columns of a table that it has had from the beginning; ``None`` where they are not what they were."""
    if not set(first.columns) <= set(frame.columns):
        return None
    same = frame.select(first.columns) if first.columns else frame
    return same if same.schema == first.schema else None


def _count_persons(frame: pl.DataFrame, policy: Policy) -> int:
    return frame.height if policy.subject is None else frame[policy.subject].n_unique()


def _select_offered(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the columns that may be asked for: not the row index that pandas wrote into a file."""
    if policy.others != "keep":
        return frame
    offered = {*published_columns(frame.columns, policy), *policy.hidden}
    return pl.DataFrame([frame[name] for name in frame.columns if name in offered])


def _join(left: pl.DataFrame, key: str, right: pl.DataFrame, other: str) -> pl.DataFrame:
    """Return the inner join; records without a key join nothing."""
    sides = [frame.clone() for frame in (left, right)]
    sides[0].columns = [f"l{index}" for index in range(left.width)]
    sides[1].columns = [f"r{index}" for index in range(right.width)]
    keys = f"l{left.columns.index(key)}", f"r{right.columns.index(other)}"
    both = sides[0].join(sides[1], left_on=keys[0], right_on=keys[1], how="inner", coalesce=False)
    both.columns = [*left.columns, *(name if name != key else _RECORD for name in right.columns)]
    return both.drop(_RECORD) if _RECORD in both.columns else both
