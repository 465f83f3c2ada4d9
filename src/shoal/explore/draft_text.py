"""write_lines(): the text of a draft, with the reasons as comments."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from shoal.encoding.read_options import ReadOptions
from shoal.explore.draft_weights import Weights
from shoal.policy.policy import NO_SUBJECT, OPEN_SUBJECT
from shoal.policy.presets import Preset
from shoal.profiling.identifying import HEAVIEST
from shoal.profiling.profile import Profile
from shoal.profiling.role_rules import FEW, Role, RoleSuggestion

_LARGE = 300_000
"""With more records a draft asks for a search that takes seconds, not minutes."""


@dataclass(frozen=True, kw_only=True)
class Notes:
    """What is told of the columns beside their roles."""

    twins: dict[str, str]
    """The columns whose values stand one to one for those of an earlier column."""
    rule: Preset | None
    """The published rule that is followed."""
    weights: Weights
    """How much columns weigh, where that was asked for."""
    denial: str
    """Why each record is taken to be about another person, although an identifier repeats."""
    doubt: str
    """Why each record may be about another person or not, where nothing numbers persons."""
    reading: ReadOptions
    """How the file is read, as far as that was found."""
    costs: tuple[str, ...] = ()
    """What the draft loses, and what it would lose with all that was measured as quasi-identifiers."""


def write_lines(
    records: int, profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion], notes: Notes, k: int
) -> Iterator[str]:
    """Yield the lines of a draft."""
    yield from _comment(
        f"A draft that shoal made from the data: {records:,} records, {len(profiles):,} columns. Read every line, "
        "correct it, sign it. The reasons are names, patterns and counts; no value of the data is quoted. Every "
        "column has a role: one that turns up later is an error, not published unseen."
    )
    yield from _identifiers(profiles, decisions, notes)
    yield from _quasi_identifiers(profiles, decisions, notes)
    exact = "published as they are, or as treated; nobody should learn them about a person"
    yield from _list_role("sensitive", exact, profiles, decisions)
    yield from _choices(decisions, notes.costs)
    yield from _models(records, profiles, decisions, notes.rule, k)
    yield from _algorithm(records)
    yield from _comment("At most this share of the records may be starred out, where that saves the others detail.")
    yield "max_suppressed: 0.02"
    if notes.weights.identifying:
        yield from _comment(
            "For a service that answers requests: with this threshold, those whose columns weigh no more together may "
            "get the data as they are (identifiers weigh the threshold, and are never given out). Without it none may."
        )
        yield f"# threshold: {HEAVIEST + 1}"


def _algorithm(records: int) -> Iterator[str]:
    if records <= _LARGE:
        yield "algorithm: {name: shoal}"
        return
    yield from _comment("A fast search, for so many records; {name: shoal} loses less, and takes some times as long.")
    yield "algorithm: {name: mondrian}"


def _identifiers(profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion], notes: Notes) -> Iterator[str]:
    yield from _list_role("identifiers", "never published", profiles, decisions)
    for name, decision in decisions.items():
        if decision.role == "subject":
            yield ""
            yield from _comment(f"{profiles[name].facts()}: {decision.reason}")
            yield f"subject: {format_scalar(name)}"
    for reason, subject in ((notes.doubt, format_scalar(OPEN_SUBJECT)), (notes.denial, NO_SUBJECT)):
        if reason:
            yield ""
            yield from _comment(reason)
            yield f"subject: {subject}"
            return


def _list_role(
    role: Role, meaning: str, profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion]
) -> Iterator[str]:
    names = [name for name, decision in decisions.items() if decision.role == role]
    yield ""
    yield f"# {role}: {meaning}." if names else f"# {role}: {meaning}. No column looks like one."
    yield f"{role}:" if names else f"{role}: []"
    is_list = not any(decisions[name].spec for name in names)
    for name in names:
        yield from _comment(f"{profiles[name].facts()}: {decisions[name].reason}", "  ")
        yield from [f"  - {format_scalar(name)}"] if is_list else _entry(name, _flow(decisions[name].spec))


def _quasi_identifiers(
    profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion], notes: Notes
) -> Iterator[str]:
    yield ""
    yield "# quasi_identifiers: what others may know; generalized until the models hold."
    if notes.weights.explanation:
        yield from _comment(notes.weights.explanation)
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
        weighs = f"; {weights.reasons[name]}" if name in weights.reasons else ""
        yield from _comment(f"{profiles[name].facts()}: {decisions[name].reason}{weighs}{twin}", "  ")
        weight = {"weight": weights.of[name]} if name in weights.of else {}
        yield from _entry(name, _flow({**decisions[name].spec, **weight}))


def _choices(decisions: dict[str, RoleSuggestion], costs: tuple[str, ...]) -> Iterator[str]:
    """Yield what was decided for the columns that were measured, and what another choice would cost."""
    if not costs:
        return
    known = [format_scalar(name) for name, decision in decisions.items() if decision.role == "quasi_identifiers"]
    yield from _comment(
        f"What that choice costs, in a quick trial on few records (all of them lose less): as drafted, {costs[0]}; "
        f"with what was measured among the quasi-identifiers, {costs[1]}. Where others may know a few of these: make "
        "them quasi-identifiers, and promise what those know instead of k-anonymity of all:"
    )
    yield from _comment(f"- {{name: scenarios, known: [[{', '.join(known)}]], k: 5}}")


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
    told = [n for n, d in decisions.items() if d.role == "sensitive" and not d.measured]
    diverse = [n for n in told if profiles[n].distinct >= 2]
    if diverse:
        yield from _comment("No group of persons who look alike shares one sensitive value.", "  ")
    for name in diverse:
        yield f"  - {{name: distinct-l-diversity, on: {format_scalar(name)}, l: 2}}"
    yield ""


def _comment(text: str, indent: str = "") -> list[str]:
    lead = f"{indent}# "
    # a long word stays whole: a column's name may be one
    printable = "".join(one if one.isprintable() else _escape(one) for one in text)
    return textwrap.wrap(
        printable[0].upper() + printable[1:],
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
        shown = f"[{', '.join(map(_number_text, value))}]" if isinstance(value, list) else _number_text(value)
        shown = _flow(value) if isinstance(value, dict) else shown
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
