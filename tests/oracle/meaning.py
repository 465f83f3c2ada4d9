"""What a published text stands for: read from the documented notation and the policy's hierarchies, nothing else.

A text *covers* a set of the column's original values, ``None`` being the missing one. Where a text can be read in two
ways it covers both readings: the oracle must never call a true record false.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Value = Any
Cover = frozenset[Value]
ORDERED = {"integer", "float", "date", "datetime"}
EPOCH = dt.datetime(1970, 1, 1)


def to_value(kind: str, raw: Any) -> Value:
    """Turn what JSON holds into the value that the table holds; an empty text is a missing value."""
    if raw is None or raw == "":
        return None
    if kind == "date":
        return dt.date.fromisoformat(raw)
    if kind == "datetime":
        return dt.datetime.fromisoformat(raw)
    if kind == "time":
        return dt.time.fromisoformat(raw)
    return float(raw) if kind == "float" else raw


def parse_value(kind: str, text: str) -> Value:
    """Read a text as a value of a kind; ``None`` where it is none."""
    try:
        if kind == "integer":
            return int(text) if re.fullmatch(r"-?\d+", text) else None
        if kind == "float":
            return float(text)
        if kind == "boolean":
            return {"true": True, "false": False}.get(text.lower())
        if kind == "date":
            return dt.date.fromisoformat(text)
        if kind == "datetime":
            return dt.datetime.fromisoformat(text) if len(text) > 10 else None
        if kind == "time":
            return dt.time.fromisoformat(text)
    except ValueError:
        return None
    return text


def same_value(kind: str, value: Value, shown: Any) -> bool:
    """Whether a cell that is published as it is shows a value, as an object or as the text of a CSV."""
    if value is None or shown is None:
        return value is None and (shown is None or shown == "")
    if isinstance(shown, str) and kind != "text":
        return bool(parse_value(kind, shown) == value)
    if kind == "text":
        return str(shown) == value
    return bool(shown == value)


def to_number(value: Value) -> Fraction:
    """Place a value on a line, exactly: days for dates, seconds for moments."""
    if isinstance(value, dt.datetime):
        passed = value - EPOCH
        return Fraction(passed.days * 86400 + passed.seconds) + Fraction(passed.microseconds, 10**6)
    if isinstance(value, dt.date):
        return Fraction((value - EPOCH.date()).days)
    return Fraction(value)


@dataclass(frozen=True)
class Span:
    """A range of an ordered column."""

    low: Fraction | None
    high: Fraction | None
    low_in: bool = True
    high_in: bool = True

    def holds(self, value: Value) -> bool:
        """Whether a value lies in it."""
        index = to_number(value)
        above = self.low is None or index > self.low or (self.low_in and index == self.low)
        below = self.high is None or index < self.high or (self.high_in and index == self.high)
        return above and below


_RANGE = re.compile(r"([\[(])(.+), (.+)([\])])", re.DOTALL)


def read_span(kind: str, text: str) -> Span | None:
    """Read ``[20, 25]``, ``[20, 25)`` or ``(20, 25]``, and for moments ranges of days."""
    found = _RANGE.fullmatch(text)
    if found is None or kind not in ORDERED:
        return None
    ends = [_read_end(kind, found[2]), _read_end(kind, found[3])]
    if None in ends:
        return None
    (low, _), (high, whole_day) = ends  # type: ignore[misc]
    if whole_day:  # the last day of a range of days belongs to it until it ends
        return Span(low, high + 86400, found[1] == "[", False)
    return Span(low, high, found[1] == "[", found[4] == "]")


def _read_end(kind: str, text: str) -> tuple[Fraction, bool] | None:
    if kind == "integer":  # breaks of whole numbers may be fractions
        try:
            return Fraction(text), False
        except ValueError:
            return None
    if kind == "datetime" and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return to_number(dt.datetime.fromisoformat(text)), True
    value = parse_value(kind, text)
    return None if value is None else (to_number(value), False)


def read_days(text: str) -> tuple[dt.date, dt.date] | None:
    """Read the labels of dates: day, month, quarter, year, five years, decade, a range of days, or one of years."""
    for pattern, reader in _DATES:
        found = re.fullmatch(pattern, text)
        if found:
            try:
                return reader(*found.groups())
            except ValueError:
                return None
    return None


def _months(year: str, first: int, count: int) -> tuple[dt.date, dt.date]:
    ahead = int(year) * 12 + first - 1 + count
    return dt.date(int(year), first, 1), dt.date(ahead // 12, ahead % 12 + 1, 1) - dt.timedelta(days=1)


_DATES: list[tuple[str, Any]] = [
    (r"(\d{4})-(\d\d)-(\d\d)", lambda y, m, d: (dt.date(int(y), int(m), int(d)),) * 2),
    (r"\[(\d{4}-\d\d-\d\d), (\d{4}-\d\d-\d\d)\]", lambda a, b: (dt.date.fromisoformat(a), dt.date.fromisoformat(b))),
    (r"(\d{4})-(\d\d)", lambda y, m: _months(y, int(m), 1)),
    (r"(\d{4})-?Q(\d)", lambda y, q: _months(y, 3 * int(q) - 2, 3)),
    (r"(\d{4})", lambda y: _months(y, 1, 12)),
    (r"(\d{4})s", lambda y: (dt.date(int(y), 1, 1), dt.date(int(y) + 9, 12, 31))),
    (r"\[?(\d{4})(?: ?- ?|, )(\d{4})\]?", lambda a, b: (dt.date(int(a), 1, 1), dt.date(int(b), 12, 31))),
]


def read_members(text: str) -> list[str | None] | None:
    """Read ``{a, "b, c", (missing)}`` as its members; ``None`` where it is no such set."""
    if not (text.startswith("{") and text.endswith("}")) or len(text) < 2:
        return None
    rest, members, decoder = text[1:-1], [], json.JSONDecoder()
    while True:
        if rest.startswith('"'):
            try:
                member, end = decoder.raw_decode(rest)
            except ValueError:
                return None
        else:
            end = rest.find(", ")
            end = len(rest) if end < 0 else end
            member = rest[:end]
            member = None if member == "(missing)" else member
        members.append(member)
        rest = rest[end:]
        if not rest:
            return members
        if not rest.startswith(", "):
            return None
        rest = rest[2:]


@dataclass
class Reader:
    """A quasi-identifier as the oracle sees it: its original values, its role in the policy, its levels if known."""

    name: str
    kind: str
    values: list[Value]
    """Of every record, in the original order."""
    role: Mapping[str, Any]
    own: list[Value] | None = None
    """Of the records of the table alone, where a population adds values."""
    least: int = 2
    """The policy's k, which hierarchies made from data look at."""
    domain: Cover = field(init=False)
    levels: list[dict[Value, Cover]] | None = field(init=False)
    """For each level what a value is shown as, where the hierarchy is one of those given by hand."""
    labels: dict[str, set[Value]] = field(init=False)
    vague: dict[str, set[Value]] = field(init=False)
    """Labels of which only the most that they may stand for is known: no loss follows from them."""
    _covers: dict[str | None, Cover] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.domain = frozenset(self.values)
        self.labels, self.vague = {}, {}
        self.levels = self._build()

    @property
    def missing(self) -> str:
        return str(self.role.get("missing", "own-value"))

    @property
    def known(self) -> list[Value]:
        """The distinct values but the missing one, in their natural order."""
        return sorted(value for value in self.domain if value is not None)

    def text_of(self, value: Value) -> str:
        """Write a value as the table shows it; for masks and trees."""
        if isinstance(value, bool):
            return "true" if value else "false"
        return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else str(value)

    # ---- what a text covers

    def cover(self, text: str | None) -> Cover:
        """Return the original values that a published text may stand for."""
        if text not in self._covers:
            self._covers[text] = self._cover(text)
        return self._covers[text]

    def _cover(self, text: str | None) -> Cover:
        if text is None or text == "":
            return frozenset([None])
        if text == "*":
            return self.domain
        found = set(self.labels.get(text, ())) | set(self.vague.get(text, ()))
        found |= {value for value in self.known if self._shows(text, value)}
        span = self.span(text)
        if span is not None:
            found |= {value for value in self.known if span.holds(value)}
        for member in read_members(text) or ():
            found |= {None} if member is None else {v for v in self.known if self._shows(member, v)}
            found |= set(self.labels.get(member, ())) if member is not None else set()
        return frozenset(found) & self.domain

    def reading(self, text: str | None) -> Cover:
        """Return what a text stands for as the documentation reads it: a value, else a label, else notation."""
        if text is None or text in ("", "*"):
            return self.cover(text)
        exact = frozenset(value for value in self.known if self._shows(text, value))
        return exact or frozenset(self.labels.get(text, ())) or self.cover(text)

    def _shows(self, text: str, value: Value) -> bool:
        return bool(parse_value(self.kind, text) == value) and (self.kind != "boolean" or text in ("true", "false"))

    def span(self, text: str) -> Span | None:
        """Return the range that a text is, if it is one."""
        if self.kind in ("date", "datetime"):
            days = read_days(text)
            if days is not None:
                unit = 1 if self.kind == "date" else 86400
                low, high = (Fraction((day - EPOCH.date()).days * unit) for day in days)
                return Span(low, high) if self.kind == "date" else Span(low, high + unit, True, False)
        return read_span(self.kind, text)

    @property
    def by_hand(self) -> bool:
        return self.levels is not None

    # ---- levels of the hierarchies that are given by hand

    def _build(self) -> list[dict[Value, Cover]] | None:
        name = self.role.get("hierarchy")
        known = self.known
        groups: list[dict[Value, Any]]
        if name is None or name == "suppress":
            groups = []
        elif name == "intervals":
            groups = self._intervals()
        elif name == "mask":
            groups = self._masks()
        elif name == "tree":
            groups = self._tree()
        elif name == "ordering":
            groups = self._ordering()
        elif name == "dates":
            groups = self._dates()
        elif name == "rare":
            self._rare()
            return None
        else:
            return None
        levels: list[dict[Value, Cover]] = [{value: frozenset([value]) for value in self.domain}]
        for group in groups:
            if group and set(group.values()) == {"*"}:
                continue  # * is the top, whichever level calls it so
            members: dict[Any, set[Value]] = {}
            for value in known:
                members.setdefault(group[value], set()).add(value)
            level = {value: frozenset(members[group[value]]) for value in known}
            if None in self.domain:  # a missing value stays one until everything is *
                level[None] = frozenset([None])
            levels.append(level)
        levels.append(dict.fromkeys(self.domain, self.domain))
        return levels

    def _label(self, label: str, value: Value) -> str:
        self.labels.setdefault(label, set()).add(value)
        return label

    def _intervals(self) -> list[dict[Value, Any]]:
        origin = _exact(self.role.get("origin", 0))
        steps: list[dict[Value, Any]] = [
            {value: (to_number(value) - origin) // _exact(width) for value in self.known}
            for width in self.role.get("widths", ())
        ]
        for ends in self.role.get("breaks", ()):
            exact = [_exact(end) for end in ends]
            last = len(exact) - 2  # the last range includes its end
            steps.append({v: min(last, sum(end <= to_number(v) for end in exact) - 1) for v in self.known})
        return steps

    def _masks(self) -> list[dict[Value, Any]]:
        steps = []
        for keep in self.role["keep"]:
            step = {}
            for value in self.known:
                text = self.text_of(value)
                hidden = "*" * max(0, len(text) - keep)
                if keep == 0:
                    shown = "*"
                elif self.role.get("side") == "suffix":
                    shown = hidden + text[-keep:]
                else:
                    shown = text[:keep] + hidden
                step[value] = self._label(shown, value)
            steps.append(step)
        return steps

    def _tree(self) -> list[dict[Value, Any]]:
        paths = dict(_leaves(self.role["nodes"]))
        height = max((len(path) for path in paths.values()), default=0)
        chosen = {}
        for value in self.known:
            path = paths.get(self.text_of(value))
            if path is None:
                return []  # the product refuses a value that the tree does not name
            for label in path:
                # a group that is called like a value is told apart from it
                self._label(f"{label} (group)" if label in paths else label, value)
            # aligned at the root: a value on a short branch stays as it is for longer
            chosen[value] = [("value", value)] * (height - len(path)) + [("label", label) for label in reversed(path)]
        steps = [{value: chosen[value][level] for value in self.known} for level in range(height)]
        return [step for step in steps if set(step.values()) != {("label", "*")}]

    def _ordering(self) -> list[dict[Value, Any]]:
        order = self.role.get("order")
        placed = {value: index for index, value in enumerate(self.known)}
        if order:
            numbers = {text: index for index, text in enumerate(order)}
            if any(self.text_of(value) not in numbers for value in self.known):
                return []
            placed = {value: numbers[self.text_of(value)] for value in self.known}
        sizes = self.role.get("sizes", (2, 4, 8))
        steps: list[dict[Value, Any]] = [{value: index // size for value, index in placed.items()} for size in sizes]
        return [dict.fromkeys(step, "*") if len(set(step.values())) == 1 else step for step in steps]

    def _dates(self) -> list[dict[Value, Any]]:
        names = self.role.get("levels", ("day", "week", "month", "quarter", "year", "5-years", "decade"))
        steps = []
        for name in names:
            days = {v: v.date() if isinstance(v, dt.datetime) else v for v in self.known}
            steps.append({value: _period(name, day) for value, day in days.items()})
        return steps

    def _rare(self) -> None:
        """Which values ``(other)`` stands for; of values that are as rare as each other any may be among them."""
        counts = Counter(value for value in (self.values if self.own is None else self.own) if value is not None)
        label = self.role.get("label", "(other)")
        for level, least in enumerate(self.role.get("records") or (self.least, 10 * self.least)):
            rare = {value for value in self.known if counts[value] < least}
            for often in sorted({counts[value] for value in self.known}):
                if rare and sum(counts[value] for value in rare) < least:
                    rare |= {value for value in self.known if counts[value] <= often}
            self.vague.setdefault(label if level == 0 else f"{label[:-1]} {level + 1})", set()).update(rare)

    # ---- what it costs

    def extent(self) -> tuple[Fraction, Fraction] | None:
        """Return the least and the greatest number that losses are measured against."""
        known = self.known
        domain = self.role.get("domain", "observed")
        if isinstance(domain, (list, tuple)):
            return _exact(domain[0]), _exact(domain[1])
        if domain == "hierarchy" and self.role.get("hierarchy") == "tree" and self.kind in ORDERED:
            known = sorted(parse_value(self.kind, leaf) for leaf, _ in _leaves(self.role["nodes"]))
        return (to_number(known[0]), to_number(known[-1])) if known and self.kind in ORDERED else None

    def size(self) -> int:
        """Return how many values the domain has."""
        if self.role.get("domain") == "hierarchy" and self.role.get("hierarchy") == "tree":
            return sum(leaf != "" for leaf, _ in _leaves(self.role["nodes"])) + (None in self.domain)
        return len(self.domain)

    def penalty(self, text: str | None) -> Fraction:
        """Return the certainty penalty of a text: the share of the domain that it leaves open."""
        if text == "*":
            return Fraction(1)
        if text is None or text == "":
            return Fraction(0)
        if any(self._shows(text, value) for value in self.known):
            return Fraction(0)
        span = self.span(text)
        if span is not None and text not in self.labels:
            return self._width(span)
        under = self._declared(text)
        if under is not None:
            return Fraction(0) if under == 1 else Fraction(under, self.size())
        return self.share(self.reading(text))

    def _declared(self, text: str) -> int | None:
        """Count the values that a tree declares under a label, where losses are measured against all of them."""
        if self.role.get("domain") != "hierarchy" or self.role.get("hierarchy") != "tree":
            return None
        leaves = _leaves(self.role["nodes"])
        return sum(text in (*path, *(f"{label} (group)" for label in path)) for _, path in leaves) or None

    def share(self, cover: Cover) -> Fraction:
        """Return the penalty of a label or a set by the values it covers."""
        if len(cover) <= 1:
            return Fraction(0)
        return Fraction(len(cover), self.size())

    def _width(self, span: Span) -> Fraction:
        ends = self.extent()
        if ends is None or ends[0] == ends[1]:
            return Fraction(0)
        low = ends[0] if span.low is None else max(span.low, ends[0])
        high = ends[1] if span.high is None else min(span.high, ends[1])
        return max(Fraction(0), high - low) / (ends[1] - ends[0])


def _exact(number: Any) -> Fraction:
    """Take a number of a policy for what is written: 0.1 is a tenth."""
    return Fraction(str(number))


def _period(name: str, day: dt.date) -> tuple[Any, ...]:
    if name == "day":
        return (day,)
    if name == "week":  # weeks start on Monday and end with their month
        return (day - dt.timedelta(days=day.weekday()), day.year, day.month)
    if name == "month":
        return (day.year, day.month)
    if name == "quarter":
        return (day.year, (day.month - 1) // 3)
    return (day.year // {"year": 1, "5-years": 5, "decade": 10}[name],)


def _leaves(nodes: Any, path: tuple[str, ...] = ()) -> list[tuple[str, tuple[str, ...]]]:
    """Return each value of a nested tree with its labels from the root down."""
    found: list[tuple[str, tuple[str, ...]]] = []
    if isinstance(nodes, Mapping):
        for label, under in nodes.items():
            found += _leaves(under, (*path, str(label)))
    elif isinstance(nodes, Sequence) and not isinstance(nodes, str):
        for item in nodes:
            found += [(_leaf(item), path)] if not isinstance(item, Mapping) else _leaves(item, path)
    return found


def _leaf(item: Any) -> str:
    return ("true" if item else "false") if isinstance(item, bool) else str(item)


def union(covers: Iterable[Cover]) -> Cover:
    """Return what several covers hold together."""
    return frozenset().union(*covers)
