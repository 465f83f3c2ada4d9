"""What a published text says: the one reader of labels.

A text that is a value of its column, or the name of a label in its hierarchy, says what column or hierarchy say, also
where it looks like a range: ``20 - 30`` in a tree stands for the ages that the tree lists under it. Look there first.
:data:`shoal.encoding.notations.NOTATIONS` lists how all others are written, and what each means.

Where a notation leaves something open, the wider reading is taken. A check of truth then never calls a true record
false, a loss is never flattered, and a condition of a query is called certain only if it holds either way.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from shoal.encoding.domains import STAR, Kind
from shoal.encoding.label_writing import ELLIPSIS, MISSING, OF_TEXTS
from shoal.encoding.notations import Form

SIGNS = frozenset({STAR, "NULL", "null", "NA", "N/A", "n/a", "NaN", "nan", "None", "<NA>"})
"""Texts that tools write where they show nothing; an empty cell is another."""

Number = int | float
"""An end: a number, or days (of dates) or microseconds (of moments) since 1970."""
_End = int | float | Fraction


@dataclass(frozen=True, kw_only=True)
class PublishedValue:
    """What a published text can stand for, as far as the text itself says."""

    text: str | None
    kind: Kind
    form: Form
    least: Number = -math.inf
    greatest: Number = math.inf
    with_least: bool = True
    """Whether the least value belongs to it; that of whole numbers and dates always does."""
    with_greatest: bool = True
    is_doubtful: bool = False
    """Whether the text leaves open if its greatest value belongs to it (``20-30``); it is taken to belong."""
    ends: tuple[str, ...] = ()
    """Both ends of a range as they are written."""
    items: tuple[str | None, ...] = ()
    """What a set lists; ``None`` is the missing value."""

    @property
    def names(self) -> tuple[str, ...]:
        """The values that it names: itself, both ends of a closed range, what a set lists.

        Examples
        --------
        >>> [read_label(text, "integer").names for text in ("[20, 29]", "{7, (missing)}", "21", "*")]
        [('20', '29'), ('7',), ('21',), ()]
        """
        if self.form in ("set", "shortened"):
            return tuple(item for item in self.items if item is not None)
        if self.ends and all(self.covers(end) for end in self.ends):
            return self.ends
        return () if self.text is None or self.form == "star" else (self.text,)

    def covers(self, value: str | None) -> bool:
        """Whether it may stand for a value, which is given as its text; ``None`` is the missing one.

        Examples
        --------
        >>> [read_label("20-30", kind).covers("30") for kind in ("integer", "float")], read_label("476**").covers("47")
        ([True, True], False)
        """
        if self.form in ("star", "sign") or (self.form == "shortened" and value is not None):
            return True
        if value is None or self.form in ("set", "list"):
            return value in self.items or (value is None and self.form == "missing")
        if self.form == "mask":
            return _wide_mask(self.text or "").fullmatch(value) is not None
        number = _read_end(value, self.kind) if self.form in ("value", "range") else None
        return value in (self.text, *self.ends) if number is None else self._spans(*number)

    def _spans(self, first: _End, last: _End) -> bool:
        """Whether all from a first to a last number lies between its ends."""
        above = self.least < first or (self.with_least and self.least == first)
        return above and (last < self.greatest or (self.with_greatest and self.greatest == last))


def read_label(text: str | None, kind: Kind = "text") -> PublishedValue:
    """Return what a text of a column of some kind says.

    Examples
    --------
    >>> ages = [read_label(text, "integer") for text in ("[20, 25[", "20-29", "90+", "{20, 25}", "young")]
    >>> [(age.form, age.least, age.greatest) for age in ages]
    [('range', 20, 24), ('range', 20, 29), ('range', 90, inf), ('set', 20, 25), ('name', -inf, inf)]
    """
    if text is None:
        return PublishedValue(text=text, kind=kind, form="missing")
    if text == STAR or text in SIGNS:
        return PublishedValue(text=text, kind=kind, form="star" if text == STAR else "sign")
    written = text.strip()
    read = _read_range(text, written, kind) if len(written) <= _LONGEST else None
    return read or _read_set(text, kind) or _read_mask(text, kind) or _read_list(text, kind)


# ---- ranges

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?"
_MOMENT = r"\d{4}(?:-Q[1-4]|-\d\d(?:-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?)?)?"
_ENDLESS = r"[-+]?(?:∞|inf(?:inity)?)"
_LONGEST = 200
"""Characters of a text that is looked at as a range."""


class _Patterns(NamedTuple):
    """How ranges are written whose ends are of one kind."""

    end: re.Pattern[str]
    brackets: re.Pattern[str]
    single: re.Pattern[str]
    bare: re.Pattern[str]
    compared: re.Pattern[str]
    onward: re.Pattern[str]


@cache
def _patterns(kind: Kind) -> _Patterns:
    plain = _MOMENT if kind in ("date", "datetime") else _NUMBER
    end, between = rf"\s*({plain}|{_ENDLESS})\s*", r"(?:-|–|~|:|\.\.|to)"
    texts = (
        plain,
        rf"([\[(\]]){end}(?:{between}|[,;]){end}([\])\[])",
        rf"\[{end}\]",
        rf"{end}{between}{end}",
        rf"(<=|=<|≤|<|>=|=>|≥|>){end}",
        rf"{end}\+",
    )
    return _Patterns(*(re.compile(text, re.I) for text in texts))


def _read_range(text: str, written: str, kind: Kind) -> PublishedValue | None:
    """Read a value or a range of an ordered kind; of texts a range has but ends."""
    if kind in ("text", "boolean"):
        found = OF_TEXTS.fullmatch(text)
        return PublishedValue(text=text, kind=kind, form="range", ends=(found[1], found[2])) if found else None
    known = _patterns(kind)
    if known.end.fullmatch(written):
        return _between(text, kind, (written, written), is_single=True)
    if found := known.brackets.fullmatch(written):
        return _between(text, kind, (found[2], found[3]), closed=(found[1] == "[", found[4] == "]"))
    if found := known.single.fullmatch(written):
        return _between(text, kind, (found[1], found[1]))
    if found := known.compared.fullmatch(written):
        is_closed = found[1] not in ("<", ">")
        ends = ("-inf", found[2]) if "<" in found[1] or found[1] == "≤" else (found[2], "inf")
        return _between(text, kind, ends, closed=(is_closed, is_closed))
    if found := known.onward.fullmatch(written):
        return _between(text, kind, (found[1], "inf"))
    found = known.bare.fullmatch(written)
    return _between(text, kind, (found[1], found[2]), is_doubtful=found[1] != found[2]) if found else None


def _between(
    text: str,
    kind: Kind,
    ends: tuple[str, str],
    *,
    closed: tuple[bool, bool] = (True, True),
    is_single: bool = False,
    is_doubtful: bool = False,
) -> PublishedValue | None:
    """Return the range between two ends; ``None`` where they are none, or nothing lies between them."""
    first, last = (_read_end(end, kind) for end in ends)
    if first is None or last is None:
        return None
    least, greatest = first[0], last[1] if closed[1] else last[0]
    if kind == "float":
        least, greatest = float(least), float(greatest)
    else:  # 20 to below 25 is 20 to 24
        least, greatest, closed = _step_in(least, closed[0], 1), _step_in(greatest, closed[1], -1), (True, True)
    if not least <= greatest or math.inf in (least, -greatest) or (least == greatest and not all(closed)):
        return None
    return PublishedValue(
        text=text,
        kind=kind,
        form="value" if is_single and least == greatest else "range",
        least=least,
        greatest=greatest,
        with_least=closed[0],
        with_greatest=closed[1],
        is_doubtful=is_doubtful,
        ends=() if is_single or math.inf in (-least, greatest) else ends,
    )


def _step_in(end: _End, is_closed: bool, step: int) -> Number:
    """Return the outermost whole number of a range, whose other end lies in the direction of the step."""
    if isinstance(end, float):
        return end  # endless
    nearest = math.ceil(end) if step > 0 else math.floor(end)
    return nearest + step * (not is_closed and nearest == end)


def _read_end(text: str, kind: Kind) -> tuple[_End, _End] | None:
    """Return the first and the last number that an end stands for: those of a month are days."""
    if re.fullmatch(_ENDLESS, text, re.I):
        return (-math.inf, -math.inf) if text.startswith("-") else (math.inf, math.inf)
    if not _patterns(kind).end.fullmatch(text):
        return None
    if kind in ("date", "datetime"):
        return _read_moment(text, "D" if kind == "date" else "us")
    number = float(text)
    exact = number if kind == "float" or math.isinf(number) else Fraction(text)
    return exact, exact


def _read_moment(text: str, unit: str) -> tuple[int, int] | None:
    """Return the first and the last step of a year, a quarter, a month or a day; of a moment, itself."""
    year, _, quarter = text.upper().partition("-Q")
    try:
        first = np.datetime64(f"{year}-{3 * int(quarter) - 2:02d}" if quarter else year.replace(" ", "T"))
    except ValueError:  # the 30th of February
        return None
    start = first.astype(f"datetime64[{unit}]")
    is_moment = np.datetime_data(first.dtype)[0] not in ("Y", "M", "D")
    stop = start + 1 if is_moment else (first + (3 if quarter else 1)).astype(f"datetime64[{unit}]")
    return int(start.astype(np.int64)), int(stop.astype(np.int64)) - 1


# ---- sets, masks, lists

_ITEM = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^,"{}]+)\s*(?:,|$)', re.S)


def _read_set(text: str, kind: Kind) -> PublishedValue | None:
    written = _read_items(text[1:-1]) if text.startswith("{") and text.endswith("}") else []
    if not written:
        return None
    items = tuple(_read_item(item) for item in written if not item.startswith(ELLIPSIS))
    if len(items) < len(written):
        return PublishedValue(text=text, kind=kind, form="shortened", items=items)
    members = [None if item is None else _read_range(item, item, kind) for item in items]
    known = [member for member in members if member is not None]
    if len(known) < len(members):
        return PublishedValue(text=text, kind=kind, form="set", items=items)
    least, greatest = min(member.least for member in known), max(member.greatest for member in known)
    return PublishedValue(text=text, kind=kind, form="set", items=items, least=least, greatest=greatest)


def _read_items(inner: str) -> list[str]:
    """Return the items between braces as they are written; none where they are not well written."""
    items, at = [], 0
    while at < len(inner):
        found = _ITEM.match(inner, at)
        if found is None:
            return []
        items.append(found[1].strip())
        at = found.end()
    return items


def _read_item(text: str) -> str | None:
    try:
        quoted: str = json.loads(text) if text.startswith('"') else text
    except ValueError:  # somebody else's quotes
        return text
    return None if text == MISSING else quoted


def _read_mask(text: str, kind: Kind) -> PublishedValue | None:
    return PublishedValue(text=text, kind=kind, form="mask") if STAR in text and text.strip(STAR) else None


def find_masked(mask: str, values: Sequence[str]) -> list[int]:
    """Return the indices of the values that a mask hides: character by character or, if none fits so, the rest.

    Examples
    --------
    >>> find_masked("476**", ["47651", "47702", "476"]), find_masked("476*", ["47651", "47702", "476"])
    ([0], [0, 2])
    """
    for pattern in (re.compile(_each_character(mask), re.S), _wide_mask(mask)):
        if found := [index for index, value in enumerate(values) if pattern.fullmatch(value)]:
            return found
    return []


def _each_character(mask: str) -> str:
    return ".".join(map(re.escape, mask.split(STAR)))


@lru_cache(maxsize=1024)
def _wide_mask(mask: str) -> re.Pattern[str]:
    """Return what fits a mask in either way; stars at one end alone may hide any number of characters."""
    start, end = mask.rstrip(STAR), mask.lstrip(STAR)
    wide = f"{re.escape(start)}.*" if STAR not in start else f".*{re.escape(end)}" if STAR not in end else None
    return re.compile(wide or _each_character(mask), re.S)


_JOINTS = re.compile(r"\s*[|~;,]\s*")


def _read_list(text: str, kind: Kind) -> PublishedValue:
    """Read values without braces around them; a text with nothing between its values is a name."""
    items = tuple(_JOINTS.split(text.strip()))
    if len(items) == 1 or len({*items}) < len(items):
        return PublishedValue(text=text, kind=kind, form="name")
    return PublishedValue(text=text, kind=kind, form="list", items=items)


# ---- digits

_GROUP = re.compile(r"[0-9]+(?:[-./:][0-9]+)*")


def find_digit_groups(text: str) -> list[tuple[str, ...]]:
    """Return all numbers that are written in a text, whatever it says; those that stand together as in a date, as one.

    For checks that nothing finer than a treatment leaves is shown, in any notation.

    Examples
    --------
    >>> find_digit_groups("[1995, 1999]"), find_digit_groups("seen 1995-01-31, room 12")
    ([('1995',), ('1999',)], [('1995', '01', '31'), ('12',)])
    """
    return [tuple(re.split("[-./:]", group)) for group in _GROUP.findall(text)]


# ---- order

_START = re.compile(r"[\[({<>=≤≥\s]*(-?\d+(?:\.\d+)?)")


def read_start(text: str) -> float:
    """Return the number with which a text begins, by which it is sorted; infinity where there is none.

    Examples
    --------
    >>> read_start("[20, 29]"), read_start("{7, 9}"), read_start("old")
    (20.0, 7.0, inf)
    """
    found = _START.match(text)
    return float(found[1]) if found else math.inf
