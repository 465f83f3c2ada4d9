"""Tables with many columns: what others may know of a person is told from what was measured, and what each costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.engines.treatments import treat
from shoal.errors import ShoalError
from shoal.pipeline.solve import solve
from shoal.policy import Policy
from shoal.profiling.persons import measure_candidate
from shoal.profiling.profile import Meaning, Profile
from shoal.profiling.role_rules import FEW, RoleSuggestion
from shoal.utility.certainty_penalty import CertaintyPenalty

_LooksLike = Callable[[Profile], bool]
MANY = 12
"""With more quasi-identifiers each of them costs the others much of their detail."""
_DEGREES = 6
"""More columns than this are no coordinates, whatever their values look like."""
_FEW_ALIKE = 3
"""With more columns that look like an age none of them is known to be one."""
_FEW_LASTING = 6
"""With more columns that stay the same they are what was found once: each would cost the others their detail."""
_RECORDS = 400
"""Records of a trial: enough to compare choices, too few to tell what a release will lose."""


def separate_measurements(
    frame: pl.DataFrame, profiles: Mapping[str, Profile], decisions: Mapping[str, RoleSuggestion]
) -> dict[str, RoleSuggestion]:
    """Return the roles; where many columns could be known to others, those that were measured are sensitive.

    Only columns of which nothing is known are looked at: what is called a date, a place or a visible fact stays, what
    looks like an age or a sex where nothing is called so, and what stays the same in all records of a person.
    """
    known = [name for name, decision in decisions.items() if decision.role == "quasi_identifiers"]
    if len(known) <= MANY:
        return dict(decisions)
    guessed = [name for name in known if decisions[name].guessed]
    degrees = [name for name in guessed if _is_degree(profiles[name])]
    unseen = degrees if len(degrees) > _DEGREES else []  # a table has few places
    seen = {*_find_unnamed(profiles, guessed, ("age", "birth"), _may_be_age)}
    coded = _find_unnamed(profiles, guessed, ("sex",), _is_one_or_two)
    seen |= {*(coded or _find_unnamed(profiles, guessed, ("sex",), _is_flag))}
    seen |= {*_find_lasting(frame, profiles, decisions)}
    measured = {
        name: why for name in guessed if name not in seen and (why := _measured(profiles[name], name in unseen))
    }
    if len(measured) == len(known):
        return dict(decisions)
    return {
        name: replace(decision, role="sensitive", reason=measured[name], spec={}, measured=True)
        if name in measured
        else decision
        for name, decision in decisions.items()
    }


def _find_lasting(
    frame: pl.DataFrame, profiles: Mapping[str, Profile], decisions: Mapping[str, RoleSuggestion]
) -> list[str]:
    """Return the few columns of codes and whole numbers that a person has one value of: a state, a month of birth."""
    subject = next((name for name, decision in decisions.items() if decision.role == "subject"), None)
    if subject is None:
        return []
    constant = measure_candidate(frame, profiles, subject).constant
    lasting = [name for name in constant if decisions[name].guessed and profiles[name].whole]
    return lasting if len(lasting) <= _FEW_LASTING else []


def _measured(column: Profile, is_no_place: bool) -> str:
    """Return why nobody outside knows the values of a column, or nothing."""
    back = "a quasi-identifier, if others may know it"
    if _is_code(column) or (_is_degree(column) and not is_no_place):
        return ""
    if _is_flag(column):
        return f"a flag of two values, which is not seen of a person; {back}"
    if column.numeric and column.distinct > FEW:
        return f"a measurement: who looks for a person does not know it; {back}"
    if column.numeric:
        return f"an answer or a grade of few values: who looks for a person does not know it; {back}"
    return ""


def _find_unnamed(
    profiles: Mapping[str, Profile], guessed: Sequence[str], called: tuple[Meaning, ...], looks_like: _LooksLike
) -> list[str]:
    """Return the few columns that look like the age or the sex of a person, where none is called so in a language that
    is known here: nearly each table of persons has one, and others know it."""
    if any(column.means(meaning) for column in profiles.values() for meaning in called):
        return []
    alike = [name for name in guessed if looks_like(profiles[name])]
    return alike if len(alike) <= _FEW_ALIKE else []


def _may_be_age(column: Profile) -> bool:
    return column.whole and 0 <= column.low <= column.high <= 120 and column.distinct >= 30 and column.span >= 40


def _is_one_or_two(column: Profile) -> bool:
    return column.numeric and column.distinct == 2 and (column.low, column.high) == (1, 2)


def _is_flag(column: Profile) -> bool:
    return column.kind == "boolean" or (column.distinct <= 2 and column.numeric)


def _is_code(column: Profile) -> bool:
    """Whether values may be years or codes of places, whatever the column is called: others know these."""
    return column.whole and column.shortest == column.longest >= 4


def _is_degree(column: Profile) -> bool:
    """Whether values may be coordinates, whatever the column is called: others know these."""
    is_number = column.kind == "float" and not column.whole and -180 <= column.low <= column.high <= 180
    return is_number and column.longest >= 2 and column.near_unique and column.span <= 30


def try_out(frame: pl.DataFrame, policy: Policy) -> str:
    """Return what a policy loses on a part of a table, without effort, as people read it."""
    sample = _sample(frame, policy.subject)
    trial = policy.replace(algorithm=policy.algorithm.trial())
    try:
        table = CountedTable(sample)
        loss = CertaintyPenalty().measure(solve(TableDictionary(treat(table, trial), trial)).outcome()).total
    except ShoalError:
        return "cannot be kept"
    return f"{loss:.0%} of the detail of {len(policy.quasi_identifiers)} columns is lost"


def _sample(frame: pl.DataFrame, subject: str | None) -> pl.DataFrame:
    """Return some records, of persons all of theirs."""
    share = max(frame.height // _RECORDS, 1)
    if subject is None:
        return frame.gather_every(share)
    return frame[(frame[subject].alias("person").hash(seed=18) % share == 0).arg_true()]
