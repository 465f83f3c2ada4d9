"""Notations of other tools: ranges, comparisons, masks and sets, as published texts are found to write them.

==================  ==========================================================================
``[20, 25)``        from 20 to below 25; ``(20, 25]`` without the lower end
``[20, 25[``        the same as ``[20, 25)``; ARX writes it so
``[20:25]``         from 20 to 25; the UTD toolbox writes it so, also ``(20:25]`` and ``[20]``
``20-29``, ``20 - 29``, ``20~29``, ``20..29``, ``20 to 29``  from 20 to 29
``<=30``, ``<30``, ``>50``, ``>=50``, ``90+``   up to, below, above, from … on
``4765*``, ``47***``, ``**651``  a ``*`` hides one character, or the rest at the end
``{a, b}``, ``a|b``, ``a~b``, ``a, b``  one of several values
==================  ==========================================================================
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.domains import STAR, Domain

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?|[-+]?(?:∞|inf(?:inity)?)"
_MOMENT = r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:\.\d+)?)?"
_END = rf"({_NUMBER}|{_MOMENT})"
_BRACKETS = re.compile(rf"([\[(\]])\s*{_END}\s*(?:,|:|;|\.\.|-|–|~)\s*{_END}\s*([\])\[])", re.I)
_SINGLE = re.compile(rf"\[\s*{_END}\s*\]", re.I)
_BARE = re.compile(rf"{_END}\s*(?:-|–|~|:|\.\.|\bto\b)\s*{_END}", re.I)
_COMPARED = re.compile(rf"(<=|=<|≤|<|>=|=>|≥|>)\s*{_END}", re.I)
_ON = re.compile(rf"{_END}\s*\+")
_JOINTS = re.compile(r"\s*[|~;,]\s*")
_LONGEST = 200
SIGNS = frozenset({STAR, "NULL", "null", "NA", "N/A", "n/a", "NaN", "nan", "None", "<NA>"})
"""Texts that tools write where they show nothing; an empty cell is another."""


@dataclass(frozen=True)
class Span:
    """A range of numbers, or of days or microseconds since 1970."""

    low: float
    high: float
    with_low: bool = True
    with_high: bool = True

    def within(self, domain: Domain) -> Span:
        """Return the part of the range that lies in a domain; whole steps close at both ends."""
        low, high, with_low, with_high = self.low, self.high, self.with_low, self.with_high
        if domain.kind != "float":  # 20 to below 25 is 20 to 24
            low = math.ceil(low) + (not with_low and math.ceil(low) == low) if math.isfinite(low) else low
            high = math.floor(high) - (not with_high and math.floor(high) == high) if math.isfinite(high) else high
            with_low = with_high = True
        inside_low, inside_high = max(low, domain.low), min(high, domain.high)
        return Span(inside_low, inside_high, with_low or inside_low > low, with_high or inside_high < high)


def span_of(text: str, domain: Domain) -> Span | None:
    """Return the range that a text writes, in the part of a domain that it covers; ``None`` where it writes none.

    Examples
    --------
    >>> ages = Domain.of("integer", list(range(18, 91)))
    >>> [(s.low, s.high) for s in (span_of(t, ages) for t in ("[20, 25[", "20-29", "<=30", ">50"))]
    [(20, 24), (20, 29), (18.0, 30), (51, 90.0)]
    """
    if not domain.ordered or not len(domain) or len(text) > _LONGEST:
        return None
    written = _written(text.strip(), domain)
    if written is None or written.low > written.high:
        return None
    span = written.within(domain)
    return span if span.low <= span.high else None


def _written(text: str, domain: Domain) -> Span | None:
    if found := _BRACKETS.fullmatch(text):
        low, high = _number(found[2], domain), _number(found[3], domain)
        return None if low is None or high is None else Span(low, high, found[1] == "[", found[4] == "]")
    if found := _SINGLE.fullmatch(text):
        low = _number(found[1], domain)
        return None if low is None else Span(low, low)
    if found := _COMPARED.fullmatch(text):
        end, closed = _number(found[2], domain), found[1] not in ("<", ">")
        if end is None:
            return None
        up_to = found[1] in ("<", "<=", "=<", "≤")
        return Span(-math.inf, end, True, closed) if up_to else Span(end, math.inf, closed, True)
    if found := _ON.fullmatch(text):
        low = _number(found[1], domain)
        return None if low is None else Span(low, math.inf)
    if found := _BARE.fullmatch(text):
        low, high = _number(found[1], domain), _number(found[2], domain)
        return None if low is None or high is None else Span(low, high)
    return None


def _number(text: str, domain: Domain) -> float | None:
    """Return the end of a range as a number of the domain's own kind."""
    try:
        if domain.kind in ("date", "datetime"):
            moment = np.datetime64(text.replace(" ", "T")) if "-" in text[1:] else None
            kind = "datetime64[D]" if domain.kind == "date" else "datetime64[us]"
            return None if moment is None else float(moment.astype(kind).astype(np.int64))
        return float(text.replace("∞", "inf"))
    except ValueError:
        return None


def masked(text: str, values: Sequence[str]) -> list[int]:
    """Return the places of the values that a mask could hide.

    Examples
    --------
    >>> masked("476**", ["47651", "47702", "476"]), masked("476*", ["47651", "47702", "476"])
    ([0], [0, 2])
    """
    if STAR not in text or not text.strip(STAR):
        return []
    each = re.compile(".".join(map(re.escape, text.split(STAR))), re.S)
    found = [index for index, value in enumerate(values) if each.fullmatch(value)]
    if found or not text.endswith(STAR):
        return found
    start = text.rstrip(STAR)
    return [] if STAR in start else [index for index, value in enumerate(values) if value.startswith(start)]


def parts_of(text: str) -> Iterator[str]:
    """Yield what a text lists, without braces.

    Examples
    --------
    >>> list(parts_of("a|b")), list(parts_of("a, b"))
    (['a', 'b'], ['a', 'b'])
    """
    yield from _JOINTS.split(text.strip())


@dataclass(frozen=True)
class Foreign:
    """What a text in another tool's notation says."""

    values: Collection[int]
    """The places of the values that it may stand for."""
    penalty: float
    """The share of the domain that it leaves open."""


def foreign(text: str, domain: Domain, index: Mapping[str, int], size: int, signs: bool) -> Foreign | None:
    """Read a text that is no value and no label of a column; ``None`` where it fits no value.

    ``signs`` tells whether words such as ``NULL`` stand for nothing, as ``*`` does.
    """
    if signs and text in SIGNS:
        return Foreign(range(len(domain)), 1.0)
    span = span_of(text, domain)
    if span is not None:
        low = bisect_left(domain.values, span.low) if span.with_low else bisect_right(domain.values, span.low)
        high = bisect_right(domain.values, span.high) if span.with_high else bisect_left(domain.values, span.high)
        return (
            Foreign(range(low, high), (span.high - span.low) / domain.span if domain.span else 0.0)
            if low < high
            else None
        )
    found = masked(text, domain.texts)
    listed = list(parts_of(text)) if not found else []
    if len(set(listed)) == len(listed) > 1 and all(item in index for item in listed):
        found = [index[item] for item in listed]
    return Foreign(found, len(found) / size if len(found) > 1 else 0.0) if found else None
