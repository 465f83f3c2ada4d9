"""suggest(): a draft policy from the data, with the reasons as comments."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations
from math import floor, log10
from typing import Any, Literal

import polars as pl

from shoal.errors import TableError
from shoal.policy import Policy
from shoal.tables.columns import plain
from shoal.tables.profile import Profile, profile, words_of
from shoal.tables.source import open_table

Role = Literal["identifiers", "subject", "quasi_identifiers", "sensitive"]

_FEW = 6
"""Up to so many values are suppressed rather than grouped."""
_LISTED = 100
"""Up to so many values a set of some of them is still read by people."""
_NARROW = 500.0
"""Numbers over a wider range than this have no widths that suit both their ends."""


@dataclass(frozen=True)
class Decision:
    """The role of a column, and why."""

    role: Role
    reason: str
    spec: dict[str, Any] = field(default_factory=dict)
    """The hierarchy of a quasi-identifier and its parameters."""
    plausible: int = 0
    """Which column is made the quasi-identifier where none looks like one: the greatest."""


def suggest(table: object, *, k: int = 5, **options: Any) -> str:
    """Return a draft policy for a table, as YAML with the reason of each decision as a comment.

    The draft knows names in several languages, usual patterns and counts; it does not know what outsiders know.
    No value of the table is quoted, so that the draft can be sent to whoever has to sign it.

    Parameters
    ----------
    table
        A pandas, polars, pyarrow or DuckDB table, or a path; it is not changed.
    k
        The k to ask for; lowered to the number of records, or persons, of a smaller table.
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
    algorithm: {name: mondrian}
    max_suppressed: 0.02
    """
    frame = open_table(table, **options).frame
    profiles = {name: profile(frame[name]) for name in frame.columns}
    decisions = _one_quasi_identifier(_decided(profiles), profiles)
    twins = _twins(frame, profiles, decisions)
    text = "\n".join(_lines(frame.height, profiles, decisions, twins, k)) + "\n"
    Policy.from_yaml(text)  # a k below 2 is told here, in the policy's own words
    return text


# ------------------------------------------------------------------------------------------------ one column


def _decided(profiles: dict[str, Profile]) -> dict[str, Decision]:
    """Ask the rules in turn; one column at most says who a record is about."""
    decisions: dict[str, Decision] = {}
    for name, column in profiles.items():
        decision = next(found for rule in _RULES if (found := rule(column)) is not None)
        if decision.role == "subject" and any(other.role == "subject" for other in decisions.values()):
            decision = replace(decision, role="identifiers", reason="names a person, as the subject does")
        decisions[name] = decision
    return decisions


def _unpublishable(column: Profile) -> Decision | None:
    if column.kind == "other":
        return Decision("identifiers", "values of this type cannot be published", plausible=-1)
    if not column.distinct:
        return Decision("identifiers", "has no values: nothing to publish", plausible=3)
    return None


def _subject(column: Profile) -> Decision | None:
    """A number of a person that returns: many records are about one person."""
    words = words_of(column.name)
    numbered = column.means("label") or bool({"no", "num", "number", "code"} & set(words))
    named = column.means("person") and (numbered or len(words) == 1)
    named = named or bool(re.search(r"patient\w*nummer|^mrn$|^(?:pat|p)id$", " ".join(words)))
    if not named or column.kind not in ("text", "integer"):
        return None
    if column.distinct == column.present:
        return Decision("identifiers", "the name says that it numbers persons") if numbered else None
    # a school subject or a type of client returns far more often than a person
    if not numbered and column.uniqueness < 0.05:
        return None
    return Decision(
        "subject",
        f"numbers persons, and {column.distinct:,} of them fill {column.present:,} records: counts are then of "
        "persons, not of records, and the column is never published",
    )


def _named_identifier(column: Profile) -> Decision | None:
    # has_email and the like tell yes from no; they name nobody
    tells_little = column.kind == "boolean" or (column.distinct <= 2 and column.present >= 20)
    if tells_little or column.kind in ("date", "datetime") or not column.means("identifier"):
        return None
    return Decision("identifiers", "the column's name says that it names, reaches or locates a person")


def _date(column: Profile) -> Decision | None:
    birth = column.means("birth")
    why = "a date of birth is widely known" if birth else "dates of events are known to those who took part"
    if column.kind in ("date", "datetime"):
        return Decision("quasi_identifiers", why, {"hierarchy": "dates", "levels": _granularities(column)})
    if column.calendar:
        advice = f"{why}; YYYYMMDD as numbers: months, years, decades. As real dates they could use dates"
        return Decision("quasi_identifiers", advice, {"hierarchy": "intervals", "widths": [100, 10_000, 100_000]})
    if not column.written:
        return None
    last = column.written != "year-month-day"
    keep = [4] if column.written == "…/…/year" else [7, 4]
    kept = "the year stays" if keep == [4] else "month and year stay, then the year"
    spec = {"hierarchy": "mask", "keep": keep, **({"side": "suffix"} if last else {})}
    advice = f"{why}; written as text, so {kept}: write them as YYYY-MM-DD to use dates"
    return Decision("quasi_identifiers", advice, spec)


def _patterned(column: Profile) -> Decision | None:
    if not column.pattern or column.means("postal"):
        return None
    # eight digits may be a code of a product or place, as long as there are few of them
    if column.pattern == "long numbers" and column.distinct <= _LISTED and column.uniqueness < 0.5:
        return None
    return Decision("identifiers", f"nearly all values look like {column.pattern}", plausible=1)


def _free_text(column: Profile) -> Decision | None:
    if column.kind != "text" or column.distinct <= 1:
        return None
    long = column.words >= 5 and column.uniqueness > 0.5
    if long or (column.means("text") and column.uniqueness > 0.1 and column.words > 1):
        return Decision("identifiers", "free text: names and places may stand in it, and no rule finds them all")
    return None


def _sensitive(column: Profile) -> Decision | None:
    if not column.means("sensitive") or column.means("origin"):
        return None
    if column.near_unique and not column.numeric:
        return Decision("identifiers", "sensitive by its name, but nearly unique: published, it would single out")
    reason = "the name speaks of health, beliefs, money or the like: nobody should learn it about a person"
    if column.distinct < 2:
        reason += "; all have the same value, so the release tells it about everyone: is that meant?"
    elif column.numeric and column.distinct > _LISTED:
        reason += "; published exactly: round it first if such amounts are known to others"
    return Decision("sensitive", reason, plausible=4)


def _postal(column: Profile) -> Decision | None:
    named = column.means("postal") and column.longest >= 3
    if not named or column.kind not in ("text", "integer", "float"):
        return None
    reason = "a postal code tells where a person lives: its last characters go first"
    if column.numeric and column.shortest != column.longest:
        reason += "; read as numbers of different lengths: was a leading zero lost? Read them as text"
    return Decision("quasi_identifiers", reason, {"hierarchy": "mask", "keep": _kept(column.longest)})


def _known(column: Profile) -> Decision | None:
    if column.means("origin"):
        reason = "a special category (GDPR Art. 9), yet mostly visible to others: move it to sensitive if it is not"
    elif column.means("age") and column.numeric:
        reason = "an age is widely known or easily guessed"
    elif column.means("known"):
        reason = "commonly known about a person"
    else:
        return None
    return _generalized(column, reason)


def _label(column: Profile) -> Decision | None:
    """``name`` and ``id`` mean a person when they stand alone or tell many apart; ``country name`` does not."""
    if column.kind not in ("text", "integer") or not column.means("label"):
        return None
    alone = len(words_of(column.name)) == 1
    if alone or (column.uniqueness > 0.5 and column.distinct > 2) or column.distinct > _LISTED:
        return Decision("identifiers", "the column's name says that it names or numbers persons or records")
    return None


def _near_unique(column: Profile) -> Decision | None:
    if column.means("weight") and column.numeric:
        reason = "a survey weight follows from other columns and singles people out: round it before publishing"
        return Decision("identifiers", reason, plausible=5)
    if column.near_unique and column.kind in ("text", "integer"):
        reason = "nearly unique, so it singles people out; a measured quantity may be a quasi-identifier instead"
        return Decision("identifiers", reason, plausible=6)
    return None


def _constant(column: Profile) -> Decision | None:
    if column.distinct > 1:
        return None
    # others would publish it as well, but unseen where a later delivery holds a second value
    reason = "the same value for all who have one: it tells nobody apart"
    return Decision("quasi_identifiers", reason, {"hierarchy": "suppress"})


def _rest(column: Profile) -> Decision:
    return _generalized(column, "may be known to someone who looks for a person")


_RULES: tuple[Callable[[Profile], Decision | None], ...] = (
    _unpublishable,
    _subject,
    _named_identifier,
    _date,
    _patterned,
    _free_text,
    _sensitive,
    _constant,
    _postal,
    _known,
    _label,
    _near_unique,
    _rest,
)
"""The first that answers decides: what is certain by its values comes before what is likely by its name."""


# ----------------------------------------------------------------------------------------------- hierarchies


def _generalized(column: Profile, reason: str) -> Decision:
    """Give a quasi-identifier the hierarchy that its values allow."""
    if column.numeric:
        spec, how = _number(column)
    elif column.kind in ("date", "datetime"):
        spec, how = {"hierarchy": "dates", "levels": _granularities(column)}, "from days to longer periods"
    elif column.kind == "boolean" or column.distinct <= _FEW:
        spec, how = {"hierarchy": "suppress"}, "few values: as it is, or *"
    elif column.coded:
        keep = _kept(column.longest)
        spec, how = {"hierarchy": "mask", "keep": keep}, "codes of one length: the last characters go first"
    elif column.commas:
        spec, how = {"hierarchy": "suppress"}, "numbers with a decimal comma, read as text: a point allows intervals"
    elif column.distinct <= _LISTED:
        spec, how = {}, "published as sets of values; a tree would give groups that people know"
    else:
        spec, how = {"hierarchy": "suppress"}, "too many values for sets to be read: a tree would keep far more"
    return Decision("quasi_identifiers", f"{reason}; {how}", spec)


def _number(column: Profile) -> tuple[dict[str, Any], str]:
    narrow = column.span <= _NARROW
    if column.distinct <= _FEW and column.span <= 10 and not column.means("age"):
        return {"hierarchy": "suppress"}, "few values: as it is, or *"
    if column.means("age") and narrow and _told_apart(column, 5):
        return {"hierarchy": "intervals", "widths": [5, 10, 20]}, "the usual age groups"
    widths = nice_widths(column.span, whole=column.kind == "integer") if narrow else []
    if widths and _told_apart(column, widths[0]):
        return {"hierarchy": "intervals", "widths": widths}, "widths that fit the range"
    # kept exactly, an unusual amount finds its owner; left out, it is of no use: ranges are between the two
    return {}, "a wide range, where exact amounts single people out: published as ranges"


def _told_apart(column: Profile, width: float) -> bool:
    """Return whether the ends of neighbouring ranges are different floats, so that each range has its own label."""
    return column.kind == "integer" or max(abs(column.low), abs(column.high), 1e6) < width * 1e14


def nice_widths(span: float, *, whole: bool) -> list[Any]:
    """Return widths of 1, 2 or 5 times a power of ten for a range, each a multiple of the one before.

    The narrowest cuts the range into about twenty, the widest into at least two.

    Examples
    --------
    >>> nice_widths(73, whole=True), nice_widths(0.9, whole=False), nice_widths(1, whole=True)
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


def _kept(length: int) -> list[int]:
    """Return how many characters of a code stay: one less each time, four steps at most."""
    steps = min(length - 1, 4)
    return sorted({length * step // (steps + 1) for step in range(1, steps + 1)} - {0}, reverse=True) or [0]


def _granularities(column: Profile) -> list[str]:
    if column.means("birth") or column.span > 5 * 365:
        return ["month", "year", "5-years", "decade"]
    clock = ["day"] if column.kind == "datetime" else []
    return [*clock, "month", "quarter", "year"] if column.span > 365 else [*clock, "week", "month", "quarter"]


# ------------------------------------------------------------------------------------------------ the columns


def _one_quasi_identifier(decisions: dict[str, Decision], profiles: dict[str, Profile]) -> dict[str, Decision]:
    """Make the most plausible column a quasi-identifier where none looks like one: a policy needs one."""
    if any(decision.role == "quasi_identifiers" for decision in decisions.values()):
        return decisions
    name = max(decisions, key=lambda name: decisions[name].plausible)
    if profiles[name].kind == "other":
        raise TableError("no column has values that can be published", got=f"{len(decisions)} columns")
    was = decisions[name]
    reason = f"no column looks like a quasi-identifier and a policy needs one: check this choice ({was.reason})"
    return {**decisions, name: replace(_generalized(profiles[name], reason), reason=reason)}


def _twins(frame: pl.DataFrame, profiles: dict[str, Profile], decisions: dict[str, Decision]) -> dict[str, str]:
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


# --------------------------------------------------------------------------------------------------- the text


def _lines(
    records: int, profiles: dict[str, Profile], decisions: dict[str, Decision], twins: dict[str, str], k: int
) -> Iterator[str]:
    yield from _comment(
        f"A draft that shoal made from the data: {records:,} records, {len(profiles):,} columns. Read every line, "
        "correct it, sign it. The reasons are names, patterns and counts; no value of the data is quoted. Every "
        "column has a role: one that turns up later is an error, not published unseen."
    )
    yield from _identifiers(profiles, decisions)
    yield from _quasi_identifiers(profiles, decisions, twins)
    exact = "published as they are; nobody should learn them about a person"
    yield from _listed("sensitive", exact, profiles, decisions)
    yield from _models(records, profiles, decisions, k)
    yield "algorithm: {name: mondrian}"
    yield from _comment("At most this share of the records may be starred out, where that saves the others detail.")
    yield "max_suppressed: 0.02"


def _identifiers(profiles: dict[str, Profile], decisions: dict[str, Decision]) -> Iterator[str]:
    yield from _listed("identifiers", "never published", profiles, decisions)
    for name, decision in decisions.items():
        if decision.role == "subject":
            yield ""
            yield from _comment(f"{profiles[name].facts()}: {decision.reason}")
            yield f"subject: {scalar(name)}"


def _listed(role: Role, meaning: str, profiles: dict[str, Profile], decisions: dict[str, Decision]) -> Iterator[str]:
    names = [name for name, decision in decisions.items() if decision.role == role]
    yield ""
    yield f"# {role}: {meaning}." if names else f"# {role}: {meaning}. No column looks like one."
    yield f"{role}:" if names else f"{role}: []"
    for name in names:
        yield from _comment(f"{profiles[name].facts()}: {decisions[name].reason}", "  ")
        yield f"  - {scalar(name)}"


def _quasi_identifiers(
    profiles: dict[str, Profile], decisions: dict[str, Decision], twins: dict[str, str]
) -> Iterator[str]:
    yield ""
    yield "# quasi_identifiers: what others may know; generalized until the models hold."
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
        twin = f". One to one with {scalar(twins[name])}: one of the two is enough" if name in twins else ""
        yield from _comment(f"{profiles[name].facts()}: {decisions[name].reason}{twin}", "  ")
        yield from _entry(name, _flow(decisions[name].spec))


def _wants_tree(column: Profile, decision: Decision) -> bool:
    ungrouped = decision.spec.get("hierarchy", "suppress") == "suppress"
    return column.kind == "text" and column.distinct > _FEW and ungrouped


def _models(records: int, profiles: dict[str, Profile], decisions: dict[str, Decision], k: int) -> Iterator[str]:
    subject = next((profiles[name] for name, found in decisions.items() if found.role == "subject"), None)
    most, unit = (subject.distinct, "persons") if subject else (records, "records")
    yield ""
    lowered = f" Lowered from {k}: the table has no more {unit}." if 2 <= most < k else ""
    yield from _comment(f"Every person looks like at least k - 1 others.{lowered}")
    yield "models:"
    yield f"  - {{name: k-anonymity, k: {max(2, min(k, most)) if k >= 2 else k}}}"
    diverse = [n for n, d in decisions.items() if d.role == "sensitive" and profiles[n].distinct >= 2]
    if diverse:
        yield from _comment("No group of persons who look alike shares one sensitive value.", "  ")
    for name in diverse:
        yield f"  - {{name: distinct-l-diversity, on: {scalar(name)}, l: 2}}"
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
    key = scalar(name)
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


def scalar(text: str) -> str:
    """Return a text as YAML that every reader takes for that text, on one line.

    Examples
    --------
    >>> print(scalar("zip code"), scalar("no"), scalar("a: b"), scalar("two\\nlines"))
    zip code "no" "a: b" "two\\x0alines"
    """
    simple = re.fullmatch(r"[A-Za-z_](?:[\w.-]| (?=[\w.-]))*", text)
    if simple and text.isprintable() and text.lower() not in _TAKEN:
        return text
    return '"' + "".join(_escaped(character) for character in text) + '"'


_TAKEN = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""Words that some reader of YAML takes for something else than text."""


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
