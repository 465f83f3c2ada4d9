"""suggest(): a draft policy from the data, with the reasons as comments."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from typing import Any

import polars as pl

from shoal.engines.columns import plain
from shoal.engines.memory.source import open_table
from shoal.engines.treatments import treat_columns
from shoal.errors import TableError
from shoal.policy import Policy, presets
from shoal.policy.presets import SAFE_HARBOR, Preset
from shoal.profiling.identifying import HEAVIEST, Identifying, measure_identifying
from shoal.profiling.profile import Profile, profile_column
from shoal.profiling.role_rules import FEW, Role, RoleSuggestion, suggest_hierarchy, suggest_roles
from shoal.profiling.safe_harbor import apply_safe_harbor, find_kind


def suggest(table: object, *, k: int = 5, preset: str | None = None, **options: Any) -> str:
    """Return a draft policy for a table, as YAML with the reason of each decision as a comment.

    The draft knows names in several languages, usual patterns and counts; it does not know what outsiders know.
    No value of the table is quoted, so that the draft can be sent to whoever has to sign it.

    Parameters
    ----------
    table
        A pandas, polars, pyarrow or DuckDB table, or a path; it is not changed.
    k
        The k to ask for; lowered to the number of records, or persons, of a smaller table.
    preset
        A published rule to follow (:mod:`shoal.policy.presets`): its models are asked for instead of k, and
        ``hipaa-safe-harbor`` treats or leaves out what it calls identifiers.
    options
        How to read a file: ``delimiter``, ``quote``, ``encoding``, ``sheet``.

    Raises
    ------
    TableError
        No column of the table has values that can be published.

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
    """
    rule = None if preset is None else presets.find_preset(preset)
    frame = open_table(table, **options).frame
    profiles = {name: profile_column(frame[name]) for name in frame.columns}
    decisions = suggest_roles(profiles)
    free = dict(profiles)
    if preset == SAFE_HARBOR:
        decisions = apply_safe_harbor(frame, profiles, decisions)
        free = {name: column for name, column in profiles.items() if find_kind(column) is None}
    decisions = _one_quasi_identifier(decisions, free)
    notes = _notes(frame, profiles, decisions, rule)
    text = "\n".join(_lines(frame.height, profiles, decisions, notes, k)) + "\n"
    Policy.from_yaml(text)  # a k below 2 is told here, in the policy's own words
    return text


def _one_quasi_identifier(
    decisions: dict[str, RoleSuggestion], profiles: dict[str, Profile]
) -> dict[str, RoleSuggestion]:
    """Make the most plausible column a quasi-identifier where none looks like one: a policy needs one."""
    if any(decision.role == "quasi_identifiers" for decision in decisions.values()):
        return decisions
    name = max(profiles, key=lambda name: decisions[name].plausible, default=None)
    if name is None or profiles[name].kind == "other":
        raise TableError("no column has values that can be published", got=f"{len(decisions)} columns")
    was = decisions[name]
    reason = f"no column looks like a quasi-identifier and a policy needs one: check this choice ({was.reason})"
    return {**decisions, name: replace(suggest_hierarchy(profiles[name], reason), reason=reason)}


def _twins(frame: pl.DataFrame, profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion]) -> dict[str, str]:
    """Return the columns whose values stand one to one for those of an earlier column."""
    twins: dict[str, str] = {}
    known = [n for n, d in decisions.items() if d.role == "quasi_identifiers" and profiles[n].distinct > 2]
    for first, second in combinations(known, 2):
        ours, theirs = profiles[first], profiles[second]
        if ours.distinct == theirs.distinct and ours.uniqueness < 0.5 and second not in twins:
            pairs = pl.DataFrame([plain(frame[first]).alias("1"), plain(frame[second]).alias("2")]).drop_nulls()
            # most pairs are told from their first records; the rest is looked at only where those agree
            if pairs.head(1000).n_unique() <= ours.distinct == pairs.n_unique():
                twins[second] = first
    return twins


@dataclass(frozen=True)
class Notes:
    """What is told of the quasi-identifiers beside their roles."""

    twins: dict[str, str]
    """The columns whose values stand one to one for those of an earlier column."""
    weights: dict[str, Identifying]
    """How identifying each was measured to be; nothing of a single one."""
    rule: Preset | None
    """The published rule that is followed."""


def _notes(
    frame: pl.DataFrame, profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion], rule: Preset | None
) -> Notes:
    specs = {name: decision.spec for name, decision in decisions.items() if decision.role == "quasi_identifiers"}
    left = treat_columns(frame, {name: spec["treatment"] for name, spec in specs.items() if "treatment" in spec})
    weights = measure_identifying(left, list(specs)) if len(specs) > 1 else {}
    return Notes(_twins(frame, profiles, decisions), weights, rule)


def _lines(
    records: int, profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion], notes: Notes, k: int
) -> Iterator[str]:
    yield from _comment(
        f"A draft that shoal made from the data: {records:,} records, {len(profiles):,} columns. Read every line, "
        "correct it, sign it. The reasons are names, patterns and counts; no value of the data is quoted. Every "
        "column has a role: one that turns up later is an error, not published unseen."
    )
    yield from _identifiers(profiles, decisions)
    yield from _quasi_identifiers(profiles, decisions, notes)
    exact = "published as they are; nobody should learn them about a person"
    yield from _list_role("sensitive", exact, profiles, decisions)
    yield from _models(records, profiles, decisions, notes.rule, k)
    yield "algorithm: {name: shoal}"
    yield from _comment("At most this share of the records may be starred out, where that saves the others detail.")
    yield "max_suppressed: 0.02"
    if notes.weights:
        yield from _comment(
            "For a service that answers requests: with this threshold, those whose columns weigh no more together may "
            "get the data as they are (identifiers weigh the threshold, and are never given out). Without it none may."
        )
        yield f"# threshold: {HEAVIEST + 1}"


def _identifiers(profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion]) -> Iterator[str]:
    yield from _list_role("identifiers", "never published", profiles, decisions)
    for name, decision in decisions.items():
        if decision.role == "subject":
            yield ""
            yield from _comment(f"{profiles[name].facts()}: {decision.reason}")
            yield f"subject: {format_scalar(name)}"


def _list_role(
    role: Role, meaning: str, profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion]
) -> Iterator[str]:
    names = [name for name, decision in decisions.items() if decision.role == role]
    yield ""
    yield f"# {role}: {meaning}." if names else f"# {role}: {meaning}. No column looks like one."
    yield f"{role}:" if names else f"{role}: []"
    for name in names:
        yield from _comment(f"{profiles[name].facts()}: {decisions[name].reason}", "  ")
        yield f"  - {format_scalar(name)}"


def _quasi_identifiers(
    profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion], notes: Notes
) -> Iterator[str]:
    yield ""
    yield "# quasi_identifiers: what others may know; generalized until the models hold."
    if notes.weights:
        yield from _comment(
            f"Weights, 1 to {HEAVIEST}: how identifying the column was measured to be, by the pairs of records that it "
            "tells apart and its distinct values, alone and with up to two others (Motwani and Xu 2007). A heavy "
            "column keeps its detail: a loss in it counts more, and weighted-boundaries generalizes it last. Raise "
            "what readers need most."
        )
    names = [name for name, decision in decisions.items() if decision.role == "quasi_identifiers"]
    if len(names) > 8:
        yield f"# {len(names)} are many: each costs the others detail. Make those identifiers that nobody needs."
    if any(_wants_tree(profiles[name], decisions[name]) for name in names):
        yield '# A tree is written as {hierarchy: tree, nodes: {"*": {Group: [value, value], Other group: [value]}}}'
        yield "# or kept in a file of its own: {hierarchy: tree, file: column.csv}"
    if any(profiles[name].missing for name in names):
        yield "# A missing value counts as a value of its own; missing: wildcard or missing: suppress changes that."
    if any(profiles[name].numeric and not decisions[name].spec for name in names):
        yield "# Ranges of amounts: sensitive keeps them exact, if nobody outside can know them; identifiers leaves"
        yield "# them out, if nobody needs them."
    yield "quasi_identifiers:"
    for name in names:
        twins, weights = notes.twins, notes.weights
        twin = f". One to one with {format_scalar(twins[name])}: one of the two is enough" if name in twins else ""
        weighs = f"; {weights[name]}" if name in weights else ""
        yield from _comment(f"{profiles[name].facts()}: {decisions[name].reason}{weighs}{twin}", "  ")
        weight = {"weight": weights[name].weight} if name in weights else {}
        yield from _entry(name, _flow({**decisions[name].spec, **weight}))


def _wants_tree(column: Profile, decision: RoleSuggestion) -> bool:
    ungrouped = decision.spec.get("hierarchy", "suppress") == "suppress"
    return column.kind == "text" and column.distinct > FEW and ungrouped


def _models(
    records: int, profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion], rule: Preset | None, k: int
) -> Iterator[str]:
    subject = next((profiles[name] for name, decision in decisions.items() if decision.role == "subject"), None)
    most, unit = (subject.distinct, "persons") if subject else (records, "records")
    yield ""
    yield "models:"
    if rule is not None:
        yield from _comment(f"{rule.says} Source: {rule.source}", "  ")
        yield f"  - {{preset: {rule.name}}}"
    if rule is None or not rule.models:
        lowered = f" Lowered from {k}: the table has no more {unit}." if 2 <= most < k else ""
        yield from _comment(f"Every person looks like at least k - 1 others.{lowered}", "  ")
        yield f"  - {{name: k-anonymity, k: {max(2, min(k, most)) if k >= 2 else k}}}"
    diverse = [n for n, d in decisions.items() if d.role == "sensitive" and profiles[n].distinct >= 2]
    if diverse:
        yield from _comment("No group of persons who look alike shares one sensitive value.", "  ")
    for name in diverse:
        yield f"  - {{name: distinct-l-diversity, on: {format_scalar(name)}, l: 2}}"
    yield ""


def _comment(text: str, indent: str = "") -> list[str]:
    lead = f"{indent}# "
    # a long word stays whole: a column's name may be one
    return textwrap.wrap(
        text[0].upper() + text[1:],
        110,
        initial_indent=lead,
        subsequent_indent=lead,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _entry(name: str, value: str) -> list[str]:
    key = format_scalar(name)
    # YAML reads a key on one line only up to 1024 characters
    return [f"  {key}: {value}"] if len(key) < 1000 else [f"  ? {key}", f"  : {value}"]


def _flow(spec: dict[str, Any]) -> str:
    parts = []
    for key, value in spec.items():
        shown = f"[{', '.join(map(_number_text, value))}]" if isinstance(value, list) else value
        parts.append(f"{key}: {shown}")
    return "{" + ", ".join(parts) + "}"


def _number_text(item: object) -> str:
    return f"{Decimal(repr(item)):f}" if isinstance(item, float) else str(item)


def format_scalar(text: str) -> str:
    """Return a text as YAML that every reader takes for that text, on one line.

    Examples
    --------
    >>> print(format_scalar("zip code"), format_scalar("no"), format_scalar("a: b"), format_scalar("two\\nlines"))
    zip code "no" "a: b" "two\\x0alines"
    """
    simple = re.fullmatch(r"[A-Za-z_](?:[\w.-]| (?=[\w.-]))*", text)
    if simple and text.isprintable() and text.lower() not in _TAKEN:
        return text
    return '"' + "".join(_escape(character) for character in text) + '"'


_TAKEN = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""Words that some reader of YAML takes for something else than text."""


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
