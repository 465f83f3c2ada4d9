"""QueryableRelease: a release of a table, or of some of its columns, ready to be asked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.encoding.domains import STAR
from shoal.encoding.types import Bools, Codes, Ints
from shoal.engines.columns import kind_of, plain
from shoal.gateway.answer_source import AnswerCache, AnswerSource
from shoal.gateway.evaluation import QueryableTable, combine_codes
from shoal.gateway.labels import Meanings
from shoal.gateway.verification import AnswerVerifier
from shoal.models.k_anonymity import KAnonymity
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.audit import audit
from shoal.pipeline.release import Release
from shoal.policy import Policy

RECORD = "shoal: number of the record"
"""A column that is none of the owner's."""
MAX_RELEASES = 64
"""Releases of single requests' columns that are kept for a version of a table."""
_CACHED = 64_000_000
"""Bytes of the answers that all of these keep."""


@dataclass(frozen=True, kw_only=True)
class QueryableRelease:
    """A release of a table, or of some of its columns, ready to be asked."""

    source: AnswerSource
    attained: dict[str, object]
    steps: tuple[dict[str, object], ...]
    """The columns that were raised, in their order; not how many records broke a model before."""
    columns: tuple[str, ...]
    """The quasi-identifiers in it."""
    persons: Ints | None
    """The person of each published record, where the policy names one or records are followed."""
    person_count: int
    rows: Ints
    """The original record of each published one."""

    def group_persons(self, matched: Bools) -> Codes:
        """Return the group of each person among the records of an answer, -1 for who is not in it."""
        assert self.persons is not None
        table = self.source.table
        classes, _ = combine_codes([table.encode(name)[1] for name in self.columns], table.frame.height)
        classes_of: dict[int, set[int]] = {}
        for person, number in zip(self.persons[matched].tolist(), classes[matched].tolist(), strict=True):
            classes_of.setdefault(person, set()).add(number)
        numbers: dict[frozenset[int], int] = {}
        groups = np.full(self.person_count, -1, np.int32)
        for person, own in classes_of.items():
            groups[person] = numbers.setdefault(frozenset(own), len(numbers))
        return groups


def release_table(frame: pl.DataFrame, policy: Policy) -> QueryableRelease:
    """Anonymize a whole table."""
    return _to_queryable(anonymize(frame, policy), frame, policy)


def release_columns(frame: pl.DataFrame, policy: Policy, columns: frozenset[str]) -> QueryableRelease:
    """Anonymize some columns of a table on their own, as the paper does it."""
    shown = tuple(name for name in policy.quasi_identifiers if name in columns)
    if not shown:  # nothing to generalize: cut from the release of all, of which nothing else is shown
        columns |= set(policy.quasi_identifiers)
    restricted = _restrict(policy, columns)
    kept = [name for name in frame.columns if name in columns and name not in policy.identifiers]
    hidden = [name for name in restricted.hidden if name not in kept and name in frame.columns]
    part = pl.DataFrame([frame[name] for name in (*kept, *hidden)])
    if policy.subject is None:
        part = part.with_columns(pl.Series(RECORD, np.arange(frame.height)))
    release = _to_queryable(anonymize(part, restricted), frame, restricted)
    return replace(release, columns=shown, source=replace(release.source, cache=AnswerCache(_CACHED // MAX_RELEASES)))


def _restrict(policy: Policy, columns: frozenset[str]) -> Policy:
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
        subject=policy.subject or RECORD,
    )


def _to_queryable(release: Release, frame: pl.DataFrame, policy: Policy) -> QueryableRelease:
    """Return a release as a table that can be asked; columns that are never given out show ``*``."""
    subjects = release.subjects
    person_count, persons = (0, None) if subjects is None else _number_persons(subjects, frame, policy)
    return QueryableRelease(
        source=_open_source(release, frame, policy, persons),
        attained=dict(release.attained),
        steps=_list_steps(release),
        columns=tuple(policy.quasi_identifiers),
        persons=persons,
        person_count=person_count,
        rows=np.zeros(0, np.int64) if release.rows is None else release.rows.to_numpy().astype(np.int64),
    )


def _open_source(release: Release, frame: pl.DataFrame, policy: Policy, persons: Ints | None) -> AnswerSource:
    published = {name: release.frame[name] for name in release.frame.columns}
    stars = pl.Series([STAR], dtype=pl.String).new_from_index(0, release.frame.height)
    shown = pl.DataFrame({name: published.get(name, stars) for name in frame.columns})
    readers = {name: _reader_of(name, frame, policy, name in published) for name in frame.columns}
    k = max(policy.k, 2)
    if policy.subject in (None, RECORD):
        table = QueryableTable(shown, readers, None, k, _derive_seed(policy))
        return AnswerSource(table, AnswerVerifier(release.frame, readers, k))
    table = QueryableTable(shown, readers, persons, k, _derive_seed(policy))
    return AnswerSource(table, AnswerVerifier(release.frame, readers, k, release.subjects))


def _list_steps(release: Release) -> tuple[dict[str, object], ...]:
    return tuple(
        {"column": step.column, "weight": step.weight, "level": step.level}
        for step in getattr(release.recoding, "rounds", ())
        if step.column is not None
    )


def models_hold_beside(release: QueryableRelease, frame: pl.DataFrame, policy: Policy, columns: frozenset[str]) -> bool:
    """Whether the classes of a release, each split by some original columns, keep every model of its policy.

    A column that is known as it is shows both, what is published and what it was, so that models which think of
    attackers with some of the columns only count it where these know it.
    """
    shown = release.source.table.frame
    published = {name: shown[name] for name in (*policy.quasi_identifiers, *policy.sensitive)}
    exact = {name: _pair(published[name], frame[name].gather(release.rows)) for name in columns}
    split = Policy(
        quasi_identifiers=list(policy.quasi_identifiers),
        sensitive=policy.sensitive,
        models=policy.models,
        subject=policy.subject,
    )
    subjects = None if policy.subject is None else plain(frame[policy.subject]).gather(release.rows)
    audited = audit(pl.DataFrame({**published, **exact}), split, subjects=subjects)
    return all(model.holds for model in audited.models)


def _pair(published: pl.Series, original: pl.Series) -> pl.Series:
    pairs = zip(published.to_list(), original.to_list(), strict=True)
    return pl.Series([repr(pair) for pair in pairs], dtype=pl.String)


def _derive_seed(policy: Policy) -> int:
    """Return a seed for the order of records that tells nothing of the policy's own, which may be secret."""
    return int.from_bytes(hashlib.blake2b(f"order {policy.seed}".encode(), digest_size=8).digest(), "little")


def _reader_of(name: str, frame: pl.DataFrame, policy: Policy, published: bool) -> Meanings:
    kind = kind_of(frame[name])
    if name in policy.quasi_identifiers:
        return Meanings.published(kind, policy.quasi_identifiers[name].hierarchy)
    return Meanings(kind, exact=published)


def _number_persons(subjects: pl.Series, frame: pl.DataFrame, policy: Policy) -> tuple[int, Ints]:
    """Return how many persons the table has, and the number of each published record's."""
    if policy.subject == RECORD:
        return frame.height, subjects.cast(pl.Int64).to_numpy()
    everybody = plain(frame[str(policy.subject)]).unique().sort().to_list()
    index = {person: number for number, person in enumerate(everybody)}
    return len(everybody), np.array([index[person] for person in subjects.to_list()], np.int64)
