"""Holding: one owner's table; read once per version, anonymized once per version and recoding."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.auditing import audit
from shoal.encoding.domains import STAR
from shoal.encoding.types import Ints
from shoal.engines.columns import kind_of, plain
from shoal.engines.memory.source import open_table
from shoal.engines.treatments import faults, treated
from shoal.errors import AuditFailed, HierarchyError, Infeasible, Misfit, PolicyError, Refused, TableError, Unavailable
from shoal.gateway.answering import Remembered, Shown, combined
from shoal.gateway.config import Joined, Owner, Table
from shoal.gateway.labels import Meanings
from shoal.gateway.sources import DataSource, DuckDB, Files, PostgreSQL
from shoal.models.k_anonymity import KAnonymity
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.publish import published_columns
from shoal.pipeline.release import Release
from shoal.policy import Policy, QuasiIdentifier, Sensitive
from shoal.policy.disclosure_weights import Weighed

_RECORD = "shoal: number of the record"
_NO_FIT, _LOOK = "the policy does not fit the table", "the owner has to look at it: shoal check"
_TRIES = 5
"""How often a table is read again that changed meanwhile."""
_KEPT = 64
"""Recodings of single requests that are kept for a version."""
_REMEMBERED = 64_000_000
"""Bytes of the answers that all of these remember."""


@dataclass(frozen=True)
class Made:
    """A release of a table, or of some of its columns, ready to be asked."""

    shown: Shown
    attained: dict[str, Any]
    steps: tuple[dict[str, Any], ...]
    """The columns that were raised, in their order; not how many records broke a model before."""
    columns: tuple[str, ...]
    """The quasi-identifiers in it."""
    units: Ints | None
    """With a recoding for each request: the person of each published record."""
    people: int = 0
    rows: Ints = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    """The original record of each published one."""

    def groups(self, matched: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        """Return the group of each person among the records of an answer, -1 for who is not in it."""
        assert self.units is not None
        classes, _ = combined([self.shown.coded(name)[1] for name in self.columns], self.shown.frame.height)
        held: dict[int, set[int]] = {}
        for person, group in zip(self.units[matched].tolist(), classes[matched].tolist(), strict=True):
            held.setdefault(person, set()).add(group)
        numbers: dict[frozenset[int], int] = {}
        found = np.full(self.people, -1, np.int32)
        for person, groups in held.items():
            found[person] = numbers.setdefault(frozenset(groups), len(numbers))
        return found


@dataclass
class Version:
    """A table as it is now, and what was made of it."""

    name: str
    frame: pl.DataFrame
    policy: Policy
    made: dict[frozenset[str] | None, Made | Refused] = field(default_factory=dict)
    weighed: dict[tuple[Any, ...], tuple[Weighed, dict[str, float]]] = field(default_factory=dict)
    """Columns of a request and what the client has as it is → what they weigh together."""
    laid_over: dict[frozenset[str], bool] = field(default_factory=dict)
    """Columns as they are → whether the one recoding keeps its promises beside them."""

    @cached_property
    def raw(self) -> Shown:
        """The table as it is, to be asked; of a column with a treatment nobody sees more than that leaves."""
        for name, column in self.policy.quasi_identifiers.items():
            if column.treatment and (name not in self.frame.columns or faults(self.frame[name], column.treatment, "")):
                raise Refused(_NO_FIT, where=name, hint=_LOOK)
        frame = _canonical(treated(open_table(self.frame), self.policy).frame)
        return Shown(frame, {name: Meanings(kind_of(frame[name]), exact=True) for name in frame.columns})


class Holding:
    """One owner's table, or a join of two."""

    def __init__(
        self, owner: str, name: str, said: Table, source: DataSource, parts: tuple[tuple[str, str], ...]
    ) -> None:
        self.owner, self.name, self.said, self.source = owner, name, said, source
        self.parts = parts
        """The logical tables that it is made of, each with what the database calls it."""
        self.family = f"{owner}/{name}"
        self.tables = frozenset(table for table, _ in parts)
        """The owner's tables that are no join."""
        self.relatives: tuple[Holding, ...] = (self,)
        """The owner's tables and joins about the same persons, this one among them."""
        self.bases: dict[str, str] = {}
        """Column → ``table.column`` of the table that it comes from."""
        self.seal: Callable[[str], str] = str
        """Makes a version's name of a source's: clients see it, and must not test guesses about the data with it."""
        self._lock = RLock()
        self._now: Version | None = None

    @property
    def policy(self) -> Policy:
        """What is promised of the table."""
        return self.said.policy

    @property
    def is_join(self) -> bool:
        """Whether it joins two tables."""
        return isinstance(self.said, Joined)

    def now(self) -> Version:
        """Return the table as it is now; it is read again only if it changed."""
        version = self._version()
        with self._lock:
            for _ in range(_TRIES):
                if self._now is not None and self._now.name == version:
                    return self._now
                try:
                    frame = _canonical(_offered(self._read(), self.policy))
                except TableError:  # lists, infinite numbers and the like; its text is for the owner
                    raise Unavailable("the table holds values that cannot be published", where=self.name) from None
                before, version = version, self._version()
                if before == version:  # else it changed while it was read
                    self._now = Version(version, frame, self.policy)
        raise Unavailable("the table changes faster than it can be read", where=self.name)

    def reachable(self) -> bool:
        """Return whether the owner's database answers, without reading a record."""
        return all(self.source.reachable(stored) for _, stored in self.parts)

    def _version(self) -> str:
        return self.seal(" ".join(self.source.version(stored) for _, stored in self.parts))

    def _read(self) -> pl.DataFrame:
        frames = {table: self.source.read(stored) for table, stored in self.parts}
        for table, frame in frames.items():
            self.bases |= {name: f"{table}.{name}" for name in frame.columns if name not in self.bases}
        if not isinstance(self.said, Joined):
            return frames[self.name]
        (left, key), (right, other) = self.said.left, self.said.right
        twice = (set(frames[left].columns) & set(frames[right].columns)) - ({key} if key == other else set())
        if twice or key not in frames[left].columns or other not in frames[right].columns:
            raise Unavailable("the tables of the join have other columns than it needs", where=self.name)
        return _joined(frames[left], key, frames[right], other)

    def weighed(self, columns: Iterable[str], weights: dict[str, float]) -> dict[str, float]:
        """Return the weights of columns under the names that all tables of the family know."""
        return {self.bases.get(name, f"{self.name}.{name}"): weights[name] for name in columns}

    def declared(self) -> dict[str, float]:
        """Return the weights that the policy gives, under the names that all tables of the family know."""
        roles: dict[str, QuasiIdentifier | Sensitive] = {**self.policy.quasi_identifiers, **self.policy.sensitive}
        return self.weighed(roles, {name: role.weight for name, role in roles.items()})

    def whole(self, version: Version) -> Made:
        """Return the one recoding of the whole table."""
        return self._made(version, None)

    def part(self, version: Version, columns: Iterable[str]) -> Made:
        """Return a recoding of some columns only, as the paper does it."""
        return self._made(version, frozenset(columns))

    def linking(self, raw: Iterable[str], published: Iterable[str], *, joined: bool = False) -> frozenset[str]:
        """Return the columns that answers as they are would add to anonymized ones of this table, record by record.

        Both kinds of answers are given as ``table.column``. A column that both show as it is (a sensitive one) tells
        which record is which. Without one, quasi-identifiers as they are tell what any attacker of k-anonymity is
        thought to know anyway. Columns of other tables come in only with a join that was answered as it is
        (``joined``), or if this is one.
        """
        known = set(raw)
        own = {self.bases.get(name, f"{self.name}.{name}"): name for name in (*self.bases, *self._columns())}
        changed = {*self.policy.quasi_identifiers, *self.policy.hidden}
        exact = {base for base, name in own.items() if name not in changed}
        if not known & exact & set(published):
            return frozenset()
        parts = tuple(f"{table}." for table, _ in self.parts)
        elsewhere = {base for base in known - own.keys() if joined or base.startswith(parts)}
        return frozenset({own[base] for base in (known & own.keys()) - exact} | elsewhere)

    def _columns(self) -> tuple[str, ...]:
        return () if self._now is None else tuple(self._now.frame.columns)

    def keeps_beside(self, version: Version, columns: frozenset[str]) -> bool:
        """Return whether the one recoding keeps every promise for a reader who knows some columns as they are.

        Such a reader splits each class by them: what must hold is counted again on the parts. Where that cannot be
        counted (columns that the table lacks or never publishes, models that ask the population), it does not.
        """
        if not columns <= self.policy.quasi_identifiers.keys():
            return False
        made = self.whole(version)
        with self._lock:
            if columns not in version.laid_over:
                try:
                    version.laid_over[columns] = _holds_beside(made, version.frame, self.policy, columns)
                except PolicyError:
                    version.laid_over[columns] = False
            return version.laid_over[columns]

    def _made(self, version: Version, columns: frozenset[str] | None) -> Made:
        with self._lock:
            if columns not in version.made:
                if len(version.made) >= _KEPT:
                    version.made.pop(next(iter(version.made)))
                try:
                    version.made[columns] = _make(version.frame.clone(), self.policy, columns)  # it is shared
                except (Infeasible, Misfit, HierarchyError, PolicyError, TableError, AuditFailed) as error:
                    version.made[columns] = _reason(error, self.name)
            found = version.made[columns]
        if isinstance(found, Refused):
            raise Refused(found.faults)
        return found


def _reason(error: Exception, table: str) -> Refused:
    """Return why a table cannot be anonymized, without what the error tells the owner about the data."""
    if isinstance(error, Infeasible):
        return Refused("the promises of the policy cannot be kept within its boundaries", where=table)
    return Refused(_NO_FIT, where=table, hint=_LOOK)


def _offered(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the columns that may be asked for: not the row index that pandas wrote into a file."""
    if policy.others != "keep":
        return frame
    known = {*published_columns(frame, policy), *policy.hidden}
    return pl.DataFrame([frame[name] for name in frame.columns if name in known])


def _canonical(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the records in an order that follows from what they hold, not from where they lay."""
    columns = [plain(frame[name]).alias(f"c{index}") for index, name in enumerate(frame.columns)]
    ordered = pl.DataFrame(columns).sort([column.name for column in columns], nulls_last=False)
    ordered.columns = frame.columns
    return ordered


def _joined(left: pl.DataFrame, key: str, right: pl.DataFrame, other: str) -> pl.DataFrame:
    """Return the inner join; records without a key join nothing."""
    sides = [frame.clone() for frame in (left, right)]
    sides[0].columns = [f"l{index}" for index in range(left.width)]
    sides[1].columns = [f"r{index}" for index in range(right.width)]
    keys = f"l{left.columns.index(key)}", f"r{right.columns.index(other)}"
    both = sides[0].join(sides[1], left_on=keys[0], right_on=keys[1], how="inner", coalesce=False)
    both.columns = [*left.columns, *(name if name != key else _RECORD for name in right.columns)]
    return both.drop(_RECORD) if _RECORD in both.columns else both


def _make(frame: pl.DataFrame, policy: Policy, columns: frozenset[str] | None) -> Made:
    if columns is None:
        return _asked(anonymize(frame, policy), frame, policy)
    shows = tuple(name for name in policy.quasi_identifiers if name in columns)
    if not shows:  # nothing to generalize: cut from the release of all, of which nothing else is shown
        columns |= set(policy.quasi_identifiers)
    restricted = _restricted(policy, columns)
    kept = [name for name in frame.columns if name in columns and name not in policy.identifiers]
    hidden = [name for name in restricted.hidden if name not in kept and name in frame.columns]
    part = pl.DataFrame([frame[name] for name in (*kept, *hidden)])
    if policy.subject is None:
        part = part.with_columns(pl.Series(_RECORD, np.arange(frame.height)))
    made = _asked(anonymize(part, restricted), frame, restricted)
    return replace(made, columns=shows, shown=replace(made.shown, remembered=Remembered(_REMEMBERED // _KEPT)))


def _restricted(policy: Policy, columns: frozenset[str]) -> Policy:
    """Return a policy for some of its columns; every record is followed as a person of its own, if none is named."""
    sensitive = {name: column for name, column in policy.sensitive.items() if name in columns}
    models = [
        model
        for model in policy.models
        if set(model.sensitive_columns) <= {*sensitive, *policy.hidden}  # what is not shown needs no protection
    ]
    return policy.replace(
        identifiers={},
        quasi_identifiers={name: column for name, column in policy.quasi_identifiers.items() if name in columns},
        sensitive=sensitive,
        models=models or [KAnonymity(k=max(policy.k, 2))],
        presets=(),
        subject=policy.subject or _RECORD,
    )


def _asked(release: Release, frame: pl.DataFrame, policy: Policy) -> Made:
    """Return a release as a table that can be asked; columns that are never given out show ``*``."""
    published = {name: release.frame[name] for name in release.frame.columns}
    stars = pl.Series([STAR], dtype=pl.String).new_from_index(0, release.frame.height)
    shown = pl.DataFrame({name: published.get(name, stars) for name in frame.columns})
    meanings = {name: _reader(name, frame, policy, name in published) for name in frame.columns}
    subjects = release.subjects
    people, codes = (0, None) if subjects is None else _numbered(subjects, frame, policy)
    rounds = getattr(release.recoding, "rounds", ())
    steps = tuple(
        {"column": step.column, "weight": step.weight, "level": step.level}
        for step in rounds
        if step.column is not None
    )
    persons = codes if policy.subject not in (None, _RECORD) else None
    asked = Shown(shown, meanings, persons, max(policy.k, 2), _order_seed(policy))
    rows = np.zeros(0, np.int64) if release.rows is None else release.rows.to_numpy().astype(np.int64)
    return Made(asked, dict(release.attained), steps, tuple(policy.quasi_identifiers), codes, people, rows)


def _holds_beside(made: Made, frame: pl.DataFrame, policy: Policy, columns: frozenset[str]) -> bool:
    """Whether the classes of a release, each split by some original columns, keep every model of its policy.

    A column that is known as it is shows both, what is published and what it was, so that models which think of
    attackers with some of the columns only count it where these know it.
    """
    published = {name: made.shown.frame[name] for name in (*policy.quasi_identifiers, *policy.sensitive)}
    exact = {name: _both(published[name], frame[name].gather(made.rows)) for name in columns}
    split = Policy(
        quasi_identifiers=list(policy.quasi_identifiers),
        sensitive=policy.sensitive,
        models=policy.models,
        subject=policy.subject,
    )
    subjects = None if policy.subject is None else plain(frame[policy.subject]).gather(made.rows)
    counted = audit(pl.DataFrame({**published, **exact}), split, subjects=subjects)
    return all(model.holds for model in counted.models)


def _both(published: pl.Series, original: pl.Series) -> pl.Series:
    pairs = zip(published.to_list(), original.to_list(), strict=True)
    return pl.Series([repr(pair) for pair in pairs], dtype=pl.String)


def _order_seed(policy: Policy) -> int:
    """Return a seed for the order of records that tells nothing of the policy's own, which may be secret."""
    return int.from_bytes(hashlib.blake2b(f"order {policy.seed}".encode(), digest_size=8).digest(), "little")


def _reader(name: str, frame: pl.DataFrame, policy: Policy, published: bool) -> Meanings:
    kind = kind_of(frame[name])
    if name in policy.quasi_identifiers:
        return Meanings.published(kind, policy.quasi_identifiers[name].hierarchy)
    return Meanings(kind, exact=published)


def _numbered(subjects: pl.Series, frame: pl.DataFrame, policy: Policy) -> tuple[int, Ints]:
    """Return how many persons the table has, and the number of each published record's."""
    if policy.subject == _RECORD:
        return frame.height, subjects.cast(pl.Int64).to_numpy()
    everybody = plain(frame[str(policy.subject)]).unique().sort().to_list()
    index = {person: number for number, person in enumerate(everybody)}
    return len(everybody), np.array([index[person] for person in subjects.to_list()], np.int64)


def holdings_of(name: str, owner: Owner, source: DataSource | None = None) -> list[Holding]:
    """Return what an owner holds."""
    source = source or _source(owner)
    stored = {table: said.source or table for table, said in owner.tables.items()}
    found = [Holding(name, table, said, source, ((table, stored[table]),)) for table, said in owner.tables.items()]
    family = {table: f"{name}/{table}" for table in owner.tables}
    for join, said in owner.joins.items():
        tables = said.left[0], said.right[0]
        found.append(Holding(name, join, said, source, tuple((table, stored[table]) for table in tables)))
        old, new = family[tables[1]], family[tables[0]]
        family = {table: new if group == old else group for table, group in family.items()}
    for holding in found:
        holding.family = family[holding.parts[0][0]]
        holding.tables = frozenset(owner.tables)
    for holding in found:
        holding.relatives = tuple(one for one in found if one.family == holding.family)
    return found


def _source(owner: Owner) -> DataSource:
    database = owner.database
    if database.files is not None:
        return Files({table: Path(file) for table, file in database.files.items()})
    return DuckDB(Path(database.duckdb)) if database.duckdb is not None else PostgreSQL(database.url())
