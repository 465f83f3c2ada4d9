"""decide_subject(): whom a record is about, and which columns stand for that person; by names and by the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import polars as pl

from shoal.engines.columns import to_plain, to_texts
from shoal.profiling.persons import SubjectCandidate, find_subject, is_public, measure_candidate, speaks_of_event
from shoal.profiling.profile import Profile, profile_column, split_words
from shoal.profiling.role_rules import RoleSuggestion

_ONE_TO_ONE = 0.9
"""A column with so many values for each value of an identifier stands for it."""
_LONG = 4
"""Shorter values are the same in two columns by chance."""
_MEMBERS = 100
"""A household has fewer."""
_DEVICES = frozenset(["ip", "ipaddress", "mac", "url", "latitude", "longitude", "gps"])
"""What reaches or locates somebody, and is another one in each record of a person."""
_MEMBERS_EACH = 5
"""A mother or a household has no more persons on average; a ward or a school has."""
_APART = 0.99
"""So many records for each name and birth are of different persons."""

_FEWEST = {"subject": 5, "identifiers": 20}
"""An identifier with fewer values may be determined by chance."""

Decisions = dict[str, RoleSuggestion]


def decide_subject(frame: pl.DataFrame, profiles: Mapping[str, Profile], decisions: Decisions) -> Decisions:
    """Return the roles with at most one subject; what stands for a person, as the subject does, is an identifier."""
    found = find_subject(frame, profiles)
    chosen = found.subject if _outranks(found.subject, profiles, decisions) else None
    if chosen is None or chosen.is_doubtful:
        named = _by_name(frame, profiles, decisions)
        chosen = min((one for one in (named, chosen) if one), key=lambda one: one.profile.distinct, default=None)
    elif not chosen.profile.means("person"):
        chosen = _within_groups(frame, profiles, decisions, chosen)
    if chosen is None:
        return dict(_close_identifiers(frame, profiles, decisions))
    if chosen.shared and chosen.numbers and not chosen.members:
        members = (name for name in profiles if name != chosen.name and _may_number_members(profiles[name]))
        chosen = replace(chosen, members=next(members, ""))
    also = [other for other in found.others if other.profile.distinct >= chosen.profile.distinct]
    decided = {name: _beside(decision) for name, decision in decisions.items()}
    decided |= {other.name: RoleSuggestion("identifiers", f"could number persons too: {other}") for other in also}
    if chosen.members and _numbers_members(profiles[chosen.members], decisions):
        decided[chosen.members] = RoleSuggestion("identifiers", f"numbers persons within {chosen.name}")
    decided |= {chosen.name: RoleSuggestion("subject", _explain(chosen, also, profiles.get(chosen.members)))}
    return dict(_close_identifiers(frame, profiles, decided))


def _within_groups(
    frame: pl.DataFrame, profiles: Mapping[str, Profile], decisions: Decisions, chosen: SubjectCandidate
) -> SubjectCandidate:
    """Return the number that stands for a person together with a group, where the one that was found is of an event."""
    named = _by_name(frame, profiles, decisions)
    coarser = named is not None and named.members and named.name in chosen.constant
    return named if coarser and named.profile.distinct < chosen.profile.distinct else chosen  # type: ignore[union-attr,return-value]


def _outranks(found: SubjectCandidate | None, profiles: Mapping[str, Profile], decisions: Decisions) -> bool:
    """Whether the data tell more than names of columns: a number does, a name of persons where no number has a name."""
    if found is None:
        return False
    named = (name for name, decision in decisions.items() if decision.role == "subject" and name != found.name)
    return found.numbers or all(speaks_of_event(name) for name in named)


def _beside(decision: RoleSuggestion) -> RoleSuggestion:
    if decision.role != "subject":
        return decision
    return replace(decision, role="identifiers", reason="names a person, as the subject does")


def _explain(chosen: SubjectCandidate, also: list[SubjectCandidate], members: Profile | None) -> str:
    if chosen.members or (chosen.shared and chosen.numbers):
        return _explain_group(chosen, members)
    doubt = f". {', '.join(other.name for other in also)} could be the person as well: is this the right one?"
    stands = ". Nothing else tells persons apart: with a column that numbers them this one could be published"
    return (
        f"says whom a record is about: {chosen}. Counts are then of persons, not of records, and the column is never "
        f"published{doubt if also else ''}{stands if chosen.is_doubtful else ''}"
    )


def _may_number_members(column: Profile) -> bool:
    """Whether a column is called a person and counts from one again and again."""
    return column.means("person") and column.kind == "integer" and 0 <= column.low <= 1 and column.high < _MEMBERS


def _numbers_members(column: Profile, decisions: Decisions) -> bool:
    """Whether a column numbers persons within groups, and is no group of which others know who is in it."""
    return decisions[column.name].role in ("identifiers", "subject") or _may_number_members(column)


def _explain_group(chosen: SubjectCandidate, members: Profile | None) -> str:
    again = members is not None and members.kind == "integer" and members.low <= 1
    how = (
        f"numbered by {chosen.members}, which starts again in each" if again else f"told apart by {chosen.members} only"
    )
    numbered = f", {how}" if members is not None else ""
    return (
        f"says which household, or other group, a record belongs to: {chosen}. Several persons stand under one value"
        f"{numbered}. Households are counted, not persons: nothing here is another number for each person of the "
        "table, and k households are k persons or more, so that nobody is less protected, at the price of some "
        "detail. With a column that numbers persons over the whole table (both numbers as one), name that one here. "
        "Never published"
    )


def _by_name(frame: pl.DataFrame, profiles: Mapping[str, Profile], decisions: Decisions) -> SubjectCandidate | None:
    """Return the column with the most values of those that are called persons, or are identifiers and repeat.

    Counting by any of them is safe: persons have one name, though several may share it. Nobody is chosen where another
    identifier tells all records apart by persons, or where the name and the birth together do.
    """
    called = [name for name, decision in decisions.items() if decision.role == "subject"]
    repeating = _repeating(profiles, decisions)
    names = called or [name for name in repeating if _names_somebody(profiles[name])]
    names = names or [name for name in repeating if _looks_like_names(frame, profiles, name)]
    if not names:
        return None
    chosen = max(names, key=lambda name: profiles[name].distinct)
    if not called and _has_persons_apart(profiles, decisions) and not _returns(frame, profiles, chosen):
        return None
    if (group := _find_group(frame, profiles, chosen)) is not None:
        return group
    born = [name for name, column in profiles.items() if column.means("birth") and column.distinct > 1]
    if not called and not profiles[chosen].keys and _tell_apart(frame, [chosen, *born]):
        return None
    return measure_candidate(frame, profiles, chosen)


def _find_group(frame: pl.DataFrame, profiles: Mapping[str, Profile], name: str) -> SubjectCandidate | None:
    """Return what tells a person together with a number that several persons share, or that number where it is finer.

    So are persons numbered within a household, or within each of some places. Counting by either is safe: records of k
    groups are about k persons at least; by the finer one fewest are taken for one.
    """
    person = measure_candidate(frame, profiles, name)
    if person.constant or not person.shared:
        return None
    for group in sorted((one for one in profiles.values() if one.name != name), key=lambda one: one.distinct):
        if is_public(group) or group.kind not in ("text", "integer") or not 1 < group.distinct < group.present:
            continue
        both = [to_texts(frame[group.name]), to_texts(frame[name])]
        joined = pl.select(pl.concat_str(both, separator=" ").alias(f"{group.name}, {name}")).to_series()
        numbers = group.keys and group.distinct > profiles[name].distinct
        together = frame.with_columns(joined)
        persons = measure_candidate(together, {**profiles, joined.name: profile_column(joined)}, joined.name)
        if (persons.personal and not persons.shared) or (numbers and joined.n_unique() == frame.height):
            finer = measure_candidate(frame, profiles, group.name) if numbers else person
            return replace(finer, members=name if numbers else group.name)
    return None


def _tell_apart(frame: pl.DataFrame, names: list[str]) -> bool:
    """Whether a name and a birth are another person in nearly each record: then only the name is shared."""
    table = pl.DataFrame([to_texts(frame[name]).alias(str(index)) for index, name in enumerate(names)]).drop_nulls()
    return len(names) > 1 and table.n_unique() >= _APART * table.height


def _repeating(profiles: Mapping[str, Profile], decisions: Decisions) -> list[str]:
    columns = ((name, profiles[name]) for name, decision in decisions.items() if decision.role == "identifiers")
    return [name for name, column in columns if column.distinct < column.present]


def _names_somebody(column: Profile) -> bool:
    called = column.means("identifier") or column.means("person") or column.means("label")
    return column.kind != "other" and (called or bool(column.scheme or column.pattern))


def _looks_like_names(frame: pl.DataFrame, profiles: Mapping[str, Profile], name: str) -> bool:
    """Whether a column holds names of persons of whom something stays the same; of a doctor's patients nothing does."""
    column = profiles[name]
    return column.named and not column.means("staff") and bool(measure_candidate(frame, profiles, name).constant)


def _returns(frame: pl.DataFrame, profiles: Mapping[str, Profile], name: str) -> bool:
    """Whether an address or a number of persons has facts that stay the same: they return, whatever is unique."""
    reaches = bool(profiles[name].pattern or profiles[name].scheme)
    return reaches and bool(measure_candidate(frame, profiles, name).constant)


def _has_persons_apart(profiles: Mapping[str, Profile], decisions: Decisions) -> bool:
    """Whether an identifier that numbers persons, not records, is another one in each record."""
    unique = (profiles[name] for name, one in decisions.items() if one.role == "identifiers")
    unique = (column for column in unique if column.distinct == column.present == column.records)
    unique = (column for column in unique if not _DEVICES & set(split_words(column.name)))
    return any(column.means("person") or column.means("identifier") or column.scheme for column in unique)


def deny_subject(profiles: Mapping[str, Profile], decisions: Decisions) -> str:
    """Return why each record is taken to be about another person, where an identifier repeats and nobody is chosen."""
    repeating = _repeating(profiles, decisions)
    if not repeating or any(decision.role == "subject" for decision in decisions.values()):
        return ""
    return (
        f"{', '.join(repeating)}: values repeat, and nothing says that they stand for one person, so that each record "
        "is taken to be about another one. If a column tells persons apart, name it here"
    )


def _close_identifiers(
    frame: pl.DataFrame, profiles: Mapping[str, Profile], decisions: Decisions
) -> Iterator[tuple[str, RoleSuggestion]]:
    """Yield the roles; a column that stands one to one for an identifier, or determines it, is one too."""
    keys = [name for name, one in decisions.items() if one.role in ("subject", "identifiers")]
    keys = [name for name in keys if _FEWEST[decisions[name].role] <= profiles[name].distinct < profiles[name].present]
    measured = {name: measure_candidate(frame, profiles, name) for name in keys}
    for name, decision in decisions.items():
        if decision.role in ("subject", "identifiers"):
            yield name, decision
        elif owner := _stands_for(frame, profiles, name, measured):
            yield name, RoleSuggestion("identifiers", f"stands for {owner}: who knows the one knows the other")
        elif other := _names_others_of(frame, profiles, name, decisions):
            yield name, RoleSuggestion("identifiers", f"its values are values of {other}: they name the same persons")
        else:
            yield name, decision


def _names_others_of(
    frame: pl.DataFrame, profiles: Mapping[str, Profile], name: str, decisions: Decisions
) -> str | None:
    """Return the identifier whose values another column holds: managers and mothers are in the table, too."""
    column = profiles[name]
    if column.longest < _LONG or column.distinct < 2 or column.kind not in ("text", "integer"):
        return None
    values = to_plain(frame[name].unique()).drop_nulls()
    for other, decision in decisions.items():
        alike = profiles[other].kind == column.kind and profiles[other].distinct >= column.distinct
        if decision.role in ("subject", "identifiers") and other != name and alike:
            within = values.is_in(to_plain(frame[other].unique()).drop_nulls().implode())
            if within.sum() >= _ONE_TO_ONE * len(values):
                return other
    return None


def _stands_for(
    frame: pl.DataFrame, profiles: Mapping[str, Profile], name: str, keys: Mapping[str, SubjectCandidate]
) -> str:
    column = profiles[name]
    dated = column.kind in ("date", "datetime", "boolean") or column.written or column.calendar or column.means("birth")
    if dated or column.means("postal") or column.means("age") or (column.kind == "float" and not column.whole):
        return ""
    for key, candidate in keys.items():
        each = 1 / _MEMBERS_EACH if column.keys and column.means("label") else _ONE_TO_ONE
        if name in candidate.constant and column.distinct >= each * candidate.profile.distinct:
            return key
        finer = candidate.profile.distinct <= column.distinct < column.present
        if finer and column.keys and key in measure_candidate(frame, profiles, name).constant:
            return key
    return ""
