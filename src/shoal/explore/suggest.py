"""suggest(): a draft policy from the data, with the reasons as comments."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from itertools import combinations
from typing import Any

import polars as pl

from shoal.engines.columns import to_plain
from shoal.engines.detection import draft_read_block, read_with_detected
from shoal.errors import TableError
from shoal.explore.draft import Draft
from shoal.explore.draft_text import Notes, write_lines
from shoal.explore.draft_weights import weigh_columns
from shoal.explore.known import separate_measurements, try_out
from shoal.policy import presets
from shoal.policy.presets import SAFE_HARBOR
from shoal.profiling.amounts import round_amounts
from shoal.profiling.profile import Profile, profile_column
from shoal.profiling.repeated_persons import doubt_records
from shoal.profiling.role_rules import RoleSuggestion, names_persons, suggest_hierarchy, suggest_roles
from shoal.profiling.safe_harbor import apply_safe_harbor, find_kind
from shoal.profiling.subjects import decide_subject, deny_subject

_STRAYS = 0.1
"""So many of a column's cells at most are slips, or marks of missing values; with more it is a column of texts."""


def suggest(
    table: object,
    *,
    k: int = 5,
    preset: str | None = None,
    target: str | None = None,
    weigh: str | None = None,
    **options: Any,
) -> Draft:
    """Return a draft policy for a table: its YAML, with the reason of each decision as a comment.

    The draft knows names in several languages, usual patterns, check digits and counts; whom a record is about it finds
    by what stays the same within the values of a column. It does not know what outsiders know. No value of the table is
    quoted, so that the draft can be sent to whoever has to sign it.

    Parameters
    ----------
    table
        A pandas, polars, pyarrow or DuckDB table, or a path; it is not changed.
    k
        The k to ask for; lowered to the number of records, or persons, of a smaller table.
    preset
        A published rule to follow (:mod:`shoal.policy.presets`): its models are asked for instead of k, and
        ``hipaa-safe-harbor`` treats or leaves out what it calls identifiers.
    target
        The column that readers want to explain: quasi-identifiers are weighed by how much they tell about it, and keep
        their detail accordingly. Without it the draft has no weights.
    weigh
        ``"identifying"``: weigh quasi-identifiers by how identifying they are measured to be, for a service that
        answers requests up to a threshold. In a release these are the columns that then keep most detail.
    options
        How to read a file (:class:`shoal.policy.ReadOptions`). What is not said is detected, and written into the
        draft's ``read`` block.

    Raises
    ------
    TableError
        No column of the table has values that can be published, or there is no such target.

    Examples
    --------
    >>> ages = {"name": ["Ann", "Bob", "Cy", "Di"], "age": [21, 24, 36, 47], "illness": ["flu", "flu", "cold", "flu"]}
    >>> draft = suggest(pl.DataFrame(ages), k=2)
    >>> print("\\n".join(line for line in draft.splitlines() if not line.strip().startswith("#")))
    identifiers:
      - name
    quasi_identifiers:
      age: {hierarchy: intervals, widths: [5, 10, 20]}
    sensitive:
      - illness
    models:
      - {name: k-anonymity, k: 2}
      - {name: distinct-l-diversity, on: illness, l: 2}
    algorithm: {name: shoal}
    max_suppressed: 0.02
    >>> draft.reasons["illness"][:32]
    'the name speaks of health, belie'
    """
    rule = None if preset is None else presets.find_preset(preset)
    frame, reading = read_with_detected(table, **options)
    profiles = {name: profile_column(frame[name]) for name in frame.columns}
    decisions, free = decide_subject(frame, profiles, suggest_roles(profiles)), dict(profiles)
    if preset == SAFE_HARBOR:
        decisions = apply_safe_harbor(frame, profiles, decisions)
        free = {name: column for name, column in profiles.items() if find_kind(column) is None}
    decisions = _one_quasi_identifier(separate_measurements(frame, profiles, decisions), free)
    decisions = round_amounts(frame, profiles, decisions, max(k, 2))
    decisions = {name: _tell_strays(frame[name], decision) for name, decision in decisions.items()}
    if doubt := doubt_records(frame, profiles, decisions):
        decisions = {name: _doubt_subject(decision) for name, decision in decisions.items()}
    specs = {name: decision.spec for name, decision in decisions.items() if decision.role == "quasi_identifiers"}
    notes = Notes(
        twins=_twins(frame, profiles, decisions),
        rule=rule,
        weights=weigh_columns(frame, specs, target, weigh),
        denial=deny_subject(profiles, decisions),
        doubt=doubt,
        reading=reading,
    )
    draft = _write(frame.height, profiles, decisions, notes, k)
    costs = _try_choices(frame, profiles, decisions, draft)
    return _write(frame.height, profiles, decisions, replace(notes, costs=costs), k) if costs else draft


def _doubt_subject(decision: RoleSuggestion) -> RoleSuggestion:
    return replace(decision, role="identifiers") if decision.role == "subject" else decision


def _write(
    records: int, profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion], notes: Notes, k: int
) -> Draft:
    lines = [*draft_read_block(notes.reading), *write_lines(records, profiles, decisions, notes, k)]
    text = "\n".join(lines) + "\n"
    draft = Draft(text, {name: decision.reason for name, decision in decisions.items()})
    assert draft.policy  # a k below 2 is told here, in the policy's own words
    return draft


def _try_choices(
    frame: pl.DataFrame, profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion], draft: Draft
) -> tuple[str, ...]:
    """Return what the draft loses, and what it would lose if all that was measured could be known as well."""
    measured = [name for name, decision in decisions.items() if decision.measured]
    if not measured:
        return ()
    specs = {name: suggest_hierarchy(profiles[name], "").spec for name in measured}
    policy = draft.policy
    if policy.subject not in frame.columns:
        policy = policy.replace(subject=None)
    sensitive = {name: role for name, role in policy.sensitive.items() if name not in specs}
    every = policy.replace(quasi_identifiers={**policy.quasi_identifiers, **specs}, sensitive=sensitive)
    return (try_out(frame, policy), try_out(frame, every))


def _one_quasi_identifier(
    decisions: dict[str, RoleSuggestion], profiles: dict[str, Profile]
) -> dict[str, RoleSuggestion]:
    """Make the most plausible column a quasi-identifier where none looks like one: a policy needs one."""
    if any(decision.role == "quasi_identifiers" for decision in decisions.values()):
        return decisions
    free = [name for name, column in profiles.items() if not names_persons(column, decisions[name])]
    name = max(free, key=lambda name: decisions[name].plausible, default=None)
    if name is None:
        got = "; ".join(f"{name}: {decision.reason}" for name, decision in decisions.items())
        hint = "add what may be published of these persons, or write a policy by hand"
        raise TableError("no column has values that can be published", got=textwrap.shorten(got, 300), hint=hint)
    was = decisions[name]
    reason = f"no column looks like a quasi-identifier and a policy needs one: check this choice ({was.reason})"
    return {**decisions, name: replace(suggest_hierarchy(profiles[name], reason), reason=reason)}


def _tell_strays(column: pl.Series, decision: RoleSuggestion) -> RoleSuggestion:
    """Say in which rows a text stands where all others are numbers: one of them makes a column of texts."""
    if column.dtype != pl.String:
        return decision
    numbers = (
        column.alias("values").str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    )
    strays = (numbers.is_null() & column.is_not_null()).arg_true() + 1
    if not 0 < len(strays) <= _STRAYS * (len(column) - column.null_count()):
        return decision
    rows = ", ".join(map(str, strays.head(5).to_list())) + (" and more" if len(strays) > 5 else "")
    stray = f"all but {len(strays):,} are numbers: correct row {rows}, or list these texts under missing in read"
    return replace(decision, reason=f"{decision.reason}; {stray}")


def _twins(frame: pl.DataFrame, profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion]) -> dict[str, str]:
    """Return the columns whose values stand one to one for those of an earlier column."""
    twins: dict[str, str] = {}
    known = [n for n, d in decisions.items() if d.role == "quasi_identifiers" and profiles[n].distinct > 2]
    for first, second in combinations(known, 2):
        ours, theirs = profiles[first], profiles[second]
        if ours.distinct == theirs.distinct and ours.uniqueness < 0.5 and second not in twins:
            pairs = pl.DataFrame([to_plain(frame[first]).alias("1"), to_plain(frame[second]).alias("2")]).drop_nulls()
            # most pairs are told from their first records; the rest is looked at only where those agree
            if pairs.head(1000).n_unique() <= ours.distinct == pairs.n_unique():
                twins[second] = first
    return twins
