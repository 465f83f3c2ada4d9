"""QueryableRelease: a release of a table, or of some of its columns, ready to be asked."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from shoal.encoding.domains import STAR
from shoal.engines.columns import kind_of
from shoal.errors import AuditFailed
from shoal.gateway.answer_source import AnswerSource
from shoal.gateway.evaluation import QueryableTable, hash_records
from shoal.gateway.labels import LabelReader
from shoal.gateway.standing import ReleasedPart
from shoal.gateway.union import stack_tables
from shoal.gateway.verification import AnswerVerifier
from shoal.models.k_anonymity import KAnonymity
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.audit import audit
from shoal.pipeline.release import Release
from shoal.policy import Policy


@dataclass(frozen=True, kw_only=True)
class QueryableRelease:
    """A release of a table, or of some of its columns, ready to be asked."""

    source: AnswerSource
    content_hash: bytes
    """A hash of what was published first."""
    attained: dict[str, Any]
    steps: tuple[dict[str, Any], ...]
    """The columns that were raised, in their order; not how many records broke a model before."""


def release_part(frame: pl.DataFrame, policy: Policy, before: Sequence[ReleasedPart] = ()) -> ReleasedPart:
    """Anonymize records among themselves, to be published beside what was published before.

    Raises
    ------
    AuditFailed
        All of it together does not keep the models.
    """
    release = anonymize(frame, policy)
    subjects = None if policy.subject is None else release.subjects
    part = ReleasedPart(
        frame=release.values.frame, subjects=subjects, attained=_to_plain(release.attained), steps=_list_steps(release)
    )
    return _audit_together(part, policy, before) if before else part


def cut_part(
    whole: ReleasedPart, policy: Policy, columns: frozenset[str], before: Sequence[ReleasedPart]
) -> ReleasedPart:
    """Return some columns of what was published, which keep every promise that the whole keeps.

    Raises
    ------
    AuditFailed
        They do not.
    """
    shown = pl.DataFrame([whole.frame[name] for name in whole.frame.columns if name in columns])
    return _audit_together(replace(whole, frame=shown), policy, before)


def _audit_together(part: ReleasedPart, policy: Policy, before: Sequence[ReleasedPart]) -> ReleasedPart:
    """Return what is to be published with what it attains beside what was published before, if it keeps the models."""
    parts = (*before, part)
    people = None if part.subjects is None else stack_tables([_one_column(item.subjects) for item in parts]).to_series()
    together = audit(stack_tables([item.frame for item in parts]), policy, subjects=people)
    if not all(model.holds for model in together.models):  # what may be suppressed was counted in each part
        raise AuditFailed("new records do not keep the models beside those before", where="generation")
    return replace(part, attained=_to_plain(together.attained))


def restrict_policy(policy: Policy, columns: frozenset[str]) -> Policy:
    """Return a policy for some of its columns, as the paper recodes the columns of a request."""
    sensitive = {name: column for name, column in policy.sensitive.items() if name in columns}
    models = [
        model
        for model in policy.models
        if set(model.sensitive_columns) <= {*sensitive, *policy.hidden}  # what is not shown needs no protection
    ]
    return policy.replace(
        quasi_identifiers={name: column for name, column in policy.quasi_identifiers.items() if name in columns},
        sensitive=sensitive,
        models=models or [KAnonymity(k=max(policy.k, 2))],
        presets=(),
    )


def select_restricted(frame: pl.DataFrame, policy: Policy, columns: frozenset[str]) -> pl.DataFrame:
    """Return the columns of a table that a restricted policy publishes, and those that it only reads."""
    kept = {*columns, *policy.quasi_identifiers, *policy.hidden}
    return pl.DataFrame([frame[name] for name in frame.columns if name in kept])


def open_release(parts: Sequence[ReleasedPart], frame: pl.DataFrame, policy: Policy) -> QueryableRelease:
    """Return what was published as a table that can be asked; columns that are never given out show ``*``.

    No answer leaves a small group out: whoever may ask may read every record of it.
    """
    published = stack_tables([part.frame for part in parts])
    stars = pl.Series([STAR], dtype=pl.String).new_from_index(0, published.height)
    known = set(published.columns)
    shown = pl.DataFrame({name: published[name] if name in known else stars for name in frame.columns})
    readers = {name: _reader_of(name, frame, policy, name in known) for name in frame.columns}
    table = QueryableTable(shown, readers, _derive_seed(policy))
    return QueryableRelease(
        source=AnswerSource(table, AnswerVerifier(published, readers), policy.hygiene.prefixes).prepare(),
        content_hash=hash_records(parts[0].frame),
        attained=parts[-1].attained,
        steps=parts[0].steps,
    )


def _one_column(subjects: pl.Series | None) -> pl.DataFrame:
    assert subjects is not None
    return pl.DataFrame([subjects.alias("subject")])


def _list_steps(release: Release) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"column": step.column, "weight": step.weight, "level": step.level}
        for step in getattr(release.recoding, "rounds", ())
        if step.column is not None
    )


def _derive_seed(policy: Policy) -> int:
    """Return a seed for the order of records that tells nothing of the policy's own, which may be secret."""
    return int.from_bytes(hashlib.blake2b(f"order {policy.seed}".encode(), digest_size=8).digest(), "little")


def _reader_of(name: str, frame: pl.DataFrame, policy: Policy, published: bool) -> LabelReader:
    kind = kind_of(frame[name])
    if name in policy.quasi_identifiers:
        return LabelReader.published(kind, policy.quasi_identifiers[name].hierarchy)
    return LabelReader(kind, exact=published)


def _to_plain(attained: Any) -> dict[str, Any]:
    plain = (int, float, str, bool, type(None))
    return {name: value if isinstance(value, plain) else str(value) for name, value in attained.items()}
