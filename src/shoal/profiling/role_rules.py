"""Roles: what each column probably is, and how it may be generalized; the rules that a draft policy follows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import floor, log10
from typing import Any, Literal

from shoal.profiling.profile import Profile, split_words

Role = Literal["identifiers", "subject", "quasi_identifiers", "sensitive"]

FEW = 6
"""Up to so many values are suppressed rather than grouped."""
LISTED = 100
"""Up to so many values a set of some of them is still read by people."""
_NARROW = 500.0
"""Numbers over a wider range than this have no widths that suit both their ends."""


@dataclass(frozen=True)
class RoleSuggestion:
    """The role of a column, and why."""

    role: Role
    reason: str
    spec: dict[str, Any] = field(default_factory=dict)
    """The hierarchy of a quasi-identifier and its parameters."""
    plausible: int = 0
    """Which column is made the quasi-identifier where none looks like one: the greatest."""
    guessed: bool = False
    """Whether nothing but caution gives it its role."""
    measured: bool = False
    """Whether it is published exactly because nobody outside knows what was measured."""


def suggest_roles(profiles: dict[str, Profile]) -> dict[str, RoleSuggestion]:
    """Ask the rules in turn; several columns may be called what says who a record is about."""
    return {
        name: next(suggestion for rule in _RULES if (suggestion := rule(column)) is not None)
        for name, column in profiles.items()
    }


def names_persons(column: Profile, decision: RoleSuggestion) -> bool:
    """Return whether a column may never be published, not even as ranges or sets: its values are persons or lead to
    them."""
    if column.kind == "other" or decision.role == "subject":
        return True
    if decision.role != "identifiers" or not column.distinct:
        return False
    reaches = bool(column.scheme or column.pattern) or column.means("identifier")
    return reaches or column.kind == "text" or (column.whole and column.shortest >= 8)


def _unpublishable(column: Profile) -> RoleSuggestion | None:
    if column.kind == "other":
        return RoleSuggestion("identifiers", "holds values that cannot be published", plausible=-1)
    if not column.distinct:
        return RoleSuggestion("identifiers", "has no values: nothing to publish", plausible=3)
    return None


def _subject(column: Profile) -> RoleSuggestion | None:
    """A number of a person that returns: many records are about one person."""
    words = split_words(column.name)
    numbered = column.means("label") or bool({"no", "num", "number", "code"} & set(words))
    named = column.means("person") and (numbered or len(words) == 1)
    named = named or bool(re.search(r"patient\w*nummer|^mrn$|^(?:pat|p)id$", " ".join(words)))
    if not named or column.kind not in ("text", "integer"):
        return None
    if column.distinct == column.present:
        return RoleSuggestion("identifiers", "the name says that it numbers persons") if numbered else None
    # a school subject or a type of client returns far more often than a person
    if not numbered and column.uniqueness < 0.05:
        return None
    return RoleSuggestion(
        "subject",
        f"numbers persons, and {column.distinct:,} of them fill {column.present:,} records: counts are then of "
        "persons, not of records, and the column is never published",
    )


def _named_identifier(column: Profile) -> RoleSuggestion | None:
    # has_email and the like tell yes from no; they name nobody
    tells_little = column.kind == "boolean" or (column.distinct <= 2 and column.present >= 20)
    if tells_little or column.kind in ("date", "datetime") or not column.means("identifier"):
        return None
    return RoleSuggestion("identifiers", "the column's name says that it names, reaches or locates a person")


def _checked(column: Profile) -> RoleSuggestion | None:
    if not column.scheme:
        return None
    return RoleSuggestion("identifiers", f"nearly all values are {column.scheme}, by their check digits")


def _date(column: Profile) -> RoleSuggestion | None:
    birth = column.means("birth")
    why = "a date of birth is widely known" if birth else "dates of events are known to those who took part"
    if column.kind in ("date", "datetime"):
        return RoleSuggestion("quasi_identifiers", why, {"hierarchy": "dates", "levels": _granularities(column)})
    if column.calendar:
        advice = f"{why}; YYYYMMDD as numbers: months, years, decades. As real dates they could use dates"
        return RoleSuggestion("quasi_identifiers", advice, {"hierarchy": "intervals", "widths": [100, 10_000, 100_000]})
    if not column.written:
        return None
    last = column.written != "year-month-day"
    keep = [4] if column.written == "…/…/year" else [7, 4]
    kept = "the year stays" if keep == [4] else "month and year stay, then the year"
    spec = {"hierarchy": "mask", "keep": keep, **({"side": "suffix"} if last else {})}
    advice = f"{why}; written as text, so {kept}: write them as YYYY-MM-DD to use dates"
    return RoleSuggestion("quasi_identifiers", advice, spec)


def _patterned(column: Profile) -> RoleSuggestion | None:
    if not column.pattern or column.means("postal"):
        return None
    # eight digits may be a code of a product or place, as long as there are few of them
    if column.pattern == "long numbers" and column.distinct <= LISTED and column.uniqueness < 0.5:
        return None
    return RoleSuggestion("identifiers", f"nearly all values look like {column.pattern}", plausible=1)


def _free_text(column: Profile) -> RoleSuggestion | None:
    if column.kind != "text" or column.distinct <= 1:
        return None
    long = column.words >= 5 and column.uniqueness > 0.5
    if long or (column.means("text") and column.uniqueness > 0.1 and column.words > 1):
        return RoleSuggestion("identifiers", "free text: names and places may stand in it, and no rule finds them all")
    return None


def _sensitive(column: Profile) -> RoleSuggestion | None:
    if not column.means("sensitive") or column.means("origin"):
        return None
    numbered = column.whole and column.shortest == column.longest >= 6
    if column.near_unique and (not column.numeric or column.means("label") or numbered):
        return RoleSuggestion("identifiers", "sensitive by its name, but nearly unique: published, it would single out")
    if column.kind == "text" and column.words >= 1.8 and column.distinct > LISTED:
        return RoleSuggestion("identifiers", "many texts of several words, in which names may stand")
    reason = "the name speaks of health, beliefs, money or the like: nobody should learn it about a person"
    if column.distinct < 2:
        reason += "; all have the same value, so the release tells it about everyone: is that meant?"
    return RoleSuggestion("sensitive", reason, plausible=4)


def _postal(column: Profile) -> RoleSuggestion | None:
    named = column.means("postal") and column.longest >= 3
    if not named or column.kind not in ("text", "integer", "float"):
        return None
    reason = "a postal code tells where a person lives: its last characters go first"
    if column.numeric and column.shortest != column.longest:
        reason += "; read as numbers of different lengths: was a leading zero lost? Read them as text"
    return RoleSuggestion("quasi_identifiers", reason, {"hierarchy": "mask", "keep": _kept_lengths(column.longest)})


def _known(column: Profile) -> RoleSuggestion | None:
    if column.means("origin"):
        reason = "a special category (GDPR Art. 9), yet mostly visible to others: move it to sensitive if it is not"
    elif column.means("age") and column.numeric:
        reason = "an age is widely known or easily guessed"
    elif column.means("known") or column.means("sex"):
        reason = "commonly known about a person"
    else:
        return None
    return suggest_hierarchy(column, reason)


def _person_names(column: Profile) -> RoleSuggestion | None:
    """Names of doctors, teachers or relatives, whatever the column is called; places and jobs are said to be some."""
    few = column.distinct <= 20 and column.uniqueness <= 0.9
    if not column.named or (few and not column.means("staff")):
        return None
    return RoleSuggestion("identifiers", "nearly all values look like first and last names of persons")


def _label(column: Profile) -> RoleSuggestion | None:
    """``name`` and ``id`` mean a person when they stand alone or tell many apart; ``country name`` does not."""
    if column.kind not in ("text", "integer") or not column.means("label"):
        return None
    alone = len(split_words(column.name)) == 1
    few_each = column.uniqueness > (0.2 if column.keys and column.distinct > 20 else 0.5)
    if alone or (few_each and column.distinct > 2) or column.distinct > LISTED:
        return RoleSuggestion("identifiers", "the column's name says that it names or numbers persons or records")
    return None


def _near_unique(column: Profile) -> RoleSuggestion | None:
    if column.means("weight") and column.numeric:
        reason = "a survey weight follows from other columns and singles people out: round it before publishing"
        return RoleSuggestion("identifiers", reason, plausible=5)
    if column.near_unique and (column.kind in ("text", "integer") or column.whole):
        reason = "nearly unique, so it singles people out; a measured quantity may be a quasi-identifier instead"
        return RoleSuggestion("identifiers", reason, plausible=6)
    return None


def _code(column: Profile) -> RoleSuggestion | None:
    """Codes and long numbers of one length, of which most records have their own."""
    alike = column.shortest == column.longest >= 6 and column.keys
    if not alike or column.uniqueness <= 0.5 or column.distinct <= LISTED:
        return None
    return RoleSuggestion("identifiers", "a code of which most records have one of their own", plausible=6)


def _constant(column: Profile) -> RoleSuggestion | None:
    if column.distinct > 1:
        return None
    # others would publish it as well, but unseen where a later delivery holds a second value
    reason = "the same value for all who have one: it tells nobody apart"
    return RoleSuggestion("quasi_identifiers", reason, {"hierarchy": "suppress"})


def _rest(column: Profile) -> RoleSuggestion:
    return replace(suggest_hierarchy(column, "may be known to someone who looks for a person"), guessed=True)


_RULES: tuple[Callable[[Profile], RoleSuggestion | None], ...] = (
    _unpublishable,
    _subject,
    _checked,
    _named_identifier,
    _date,
    _patterned,
    _free_text,
    _sensitive,
    _constant,
    _postal,
    _known,
    _person_names,
    _label,
    _near_unique,
    _code,
    _rest,
)
"""The first that answers decides: what is certain by its values comes before what is likely by its name."""


def suggest_hierarchy(column: Profile, reason: str) -> RoleSuggestion:
    """Give a quasi-identifier the hierarchy that its values allow."""
    if column.numeric:
        spec, how = _number(column)
    elif column.kind in ("date", "datetime"):
        spec, how = {"hierarchy": "dates", "levels": _granularities(column)}, "from days to longer periods"
    elif column.kind == "boolean" or column.distinct <= FEW:
        spec, how = {"hierarchy": "suppress"}, "few values: as it is, or *"
    elif column.coded:
        keep = _kept_lengths(column.longest)
        spec, how = {"hierarchy": "mask", "keep": keep}, "codes of one length: the last characters go first"
    elif column.commas:
        spec, how = {"hierarchy": "suppress"}, "numbers with a decimal comma, read as text: a point allows intervals"
    elif column.distinct <= LISTED:
        spec, how = {}, "published as sets of values; a tree would give groups that people know"
    else:
        spec, how = {"hierarchy": "suppress"}, "too many values for sets to be read: a tree would keep far more"
    return RoleSuggestion("quasi_identifiers", f"{reason}; {how}", spec)


def _number(column: Profile) -> tuple[dict[str, Any], str]:
    narrow = column.span <= _NARROW
    if column.distinct <= FEW and column.span <= 10 and not column.means("age"):
        return {"hierarchy": "suppress"}, "few values: as it is, or *"
    if column.means("age") and narrow and _are_distinct(column, 5):
        return {"hierarchy": "intervals", "widths": [5, 10, 20]}, "the usual age groups"
    widths = choose_widths(column.span, whole=column.kind == "integer") if narrow else []
    if widths and _are_distinct(column, widths[0]):
        return {"hierarchy": "intervals", "widths": widths}, "widths that fit the range"
    # kept exactly, an unusual amount finds its owner; left out, it is of no use: ranges are between the two
    return {}, "a wide range, where exact amounts single people out: published as ranges"


def _are_distinct(column: Profile, width: float) -> bool:
    """Return whether the ends of neighbouring ranges are different floats, so that each range has its own label."""
    return column.kind == "integer" or max(abs(column.low), abs(column.high), 1e6) < width * 1e14


def choose_widths(span: float, *, whole: bool) -> list[Any]:
    """Return widths of 1, 2 or 5 times a power of ten for a range, each a multiple of the one before.

    The narrowest cuts the range into about twenty, the widest into at least two.

    Examples
    --------
    >>> choose_widths(73, whole=True), choose_widths(0.9, whole=False), choose_widths(1, whole=True)
    ([5, 10, 20], [0.05, 0.1, 0.2], [])
    """
    if not 1e-6 <= span <= 1e15:
        return []
    start = floor(log10(span / 20))
    nice = [Decimal(digit).scaleb(power) for power in range(start, start + 4) for digit in (1, 2, 5)]
    widths: list[Decimal] = []
    for width in nice:
        wide_enough = width >= Decimal(repr(span)) / 20 and (not whole or width >= 2)
        if wide_enough and width < Decimal(repr(span)) and (not widths or width % widths[-1] == 0):
            widths.append(width)
    return [int(width) if width == width.to_integral_value() else float(width) for width in widths[:4]]


def _kept_lengths(length: int) -> list[int]:
    """Return how many characters of a code stay: one less each time, four steps at most."""
    steps = min(length - 1, 4)
    return sorted({length * step // (steps + 1) for step in range(1, steps + 1)} - {0}, reverse=True) or [0]


def _granularities(column: Profile) -> list[str]:
    if column.means("birth") or column.span > 5 * 365:
        return ["month", "year", "5-years", "decade"]
    clock = ["day"] if column.kind == "datetime" else []
    return [*clock, "month", "quarter", "year"] if column.span > 365 else [*clock, "week", "month", "quarter"]
