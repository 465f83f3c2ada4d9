"""What labels say they cover: gaps, overlaps, and values under a label that does not hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, inf

import numpy as np

from shoal.encoding.domains import STAR, Domain
from shoal.errors import Fault, examples
from shoal.hierarchies.base import Step

End = Fraction | float
_NUMBER = r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
_BRACKETS = re.compile(rf"([\[(])\s*{_NUMBER}\s*(?:,|;|\.\.|-|–|to)\s*{_NUMBER}\s*([\])])")
_DASH = re.compile(rf"{_NUMBER}\s*(?:\.\.|-|–|to)\s*{_NUMBER}")
_SINGLE = re.compile(rf"(<=|>=|≤|≥|<|>)?\s*{_NUMBER}\s*(\+)?")


@dataclass(frozen=True)
class Range:
    """What a label says that it covers."""

    low: End
    high: End
    with_low: bool = True
    with_high: bool = True

    def holds(self, value: Fraction) -> bool:
        """Whether a value lies in it."""
        above = value > self.low or (self.with_low and value == self.low)
        return above and (value < self.high or (self.with_high and value == self.high))

    def meets(self, other: Range) -> bool:
        """Whether it shares a value with a range that starts no earlier."""
        return other.low < self.high or (other.low == self.high and self.with_high and other.with_low)


def read_range(label: str, *, whole: bool) -> Range | None:
    """Return what a label says that it covers, or nothing where it names no range.

    Whole numbers get closed ends; for others a dash leaves out its end, since ``20-30, 30-40`` is meant so.

    Examples
    --------
    >>> found = [read_range(label, whole=True) for label in ("[20, 30)", "20-29", "65+", "<18", "Married")]
    >>> [(str(covered.low), str(covered.high)) for covered in found if covered]
    [('20', '29'), ('20', '29'), ('65', 'inf'), ('-inf', '17')]
    """
    found = _ends(label.strip())
    if found is None or found.low > found.high:
        return None
    if not whole:
        return found
    low, high = found.low, found.high
    if isinstance(low, Fraction):
        low = Fraction(ceil(low) if found.with_low else floor(low) + 1)
    if isinstance(high, Fraction):
        dashed = _DASH.fullmatch(label.strip()) is not None
        high = Fraction(floor(high) if found.with_high or dashed else ceil(high) - 1)
    return Range(low, high) if low <= high else None


def _ends(text: str) -> Range | None:
    if match := _BRACKETS.fullmatch(text):
        return Range(Fraction(match[2]), Fraction(match[3]), match[1] == "[", match[4] == "]")
    if match := _DASH.fullmatch(text):
        return Range(Fraction(match[1]), Fraction(match[2]), True, match[1] == match[2])
    match = _SINGLE.fullmatch(text)
    if match is None or (match[1] and match[3]):
        return None
    number, sign = Fraction(match[2]), match[1] or match[3] or ""
    if sign in ("<", "<=", "≤"):
        return Range(-inf, number, True, sign != "<")
    if sign in (">", ">=", "≥", "+"):
        return Range(number, inf, sign != ">", True)
    return Range(number, number)


def cover_faults(steps: Sequence[Step], domain: Domain) -> Iterator[Fault]:
    """Yield what is wrong with the ranges of each level; a fault of the kind ``note`` is only worth knowing.

    A gap that no value of the column lies in is a note where whole ranges may have been left out for want of
    values, and a fault where it is too narrow for that.

    Examples
    --------
    >>> ages = Domain.of("integer", [20, 25, 26, 29])
    >>> for fault in cover_faults([Step.of(["[20, 25]", "[20, 25]", "[25, 29]", "[25, 29]"])], ages):
    ...     print(fault)
    level 1: ranges overlap; got '[20, 25]' and '[25, 29]'. Hint: a value belongs to one label.
    """
    if domain.kind not in ("integer", "float"):
        return
    for level, step in enumerate(steps, start=1):
        if step.lows is None or step.highs is None:
            ranges = _ranges(step, whole=domain.kind == "integer")
            yield from _strays(level, step, ranges, domain)
            yield from _gaps(level, sorted(ranges.items(), key=_start), whole=domain.kind == "integer")
        else:  # a builder says what its labels cover, and leaves out ranges without values
            ends = zip(step.names, step.lows.tolist(), step.highs.tolist(), strict=True)
            ranges = {name: Range(low, high, True, low == high) for name, low, high in ends}
        yield from _overlaps(level, sorted(ranges.items(), key=_start))


def _ranges(step: Step, *, whole: bool) -> dict[str, Range]:
    found = {name: read_range(name, whole=whole) for name in step.names if name != STAR}
    return {name: covered for name, covered in found.items() if covered is not None}


def _start(item: tuple[str, Range]) -> tuple[End, End]:
    return item[1].low, item[1].high


def _strays(level: int, step: Step, ranges: dict[str, Range], domain: Domain) -> Iterator[Fault]:
    strays = []
    for number, name in enumerate(step.names):
        if name in ranges:
            under = np.flatnonzero(step.numbers == number).tolist()
            outside = [code for code in under if not ranges[name].holds(Fraction(domain.texts[code]))]
            strays += [f"{domain.texts[code]} under {name!r}" for code in outside]
    if strays:
        yield Fault("values lie outside their label", f"level {level}", _some(strays))


def _overlaps(level: int, ranges: list[tuple[str, Range]]) -> Iterator[Fault]:
    found, furthest = [], None
    for name, covered in ranges:
        if furthest is not None and furthest[1].meets(covered):
            found.append(f"{furthest[0]!r} and {name!r}")
        if furthest is None or covered.high > furthest[1].high:
            furthest = (name, covered)
    if found:
        yield Fault("ranges overlap", f"level {level}", _some(found), "a value belongs to one label")


def _gaps(level: int, ranges: list[tuple[str, Range]], *, whole: bool) -> Iterator[Fault]:
    step = 1 if whole else 0
    narrowest = min((covered.high - covered.low + step for _, covered in ranges), default=0)
    slips: list[str] = []
    holes: list[str] = []
    for (name, below), (other, above) in pairwise(ranges):
        hole = above.low - below.high - step
        if hole > 0:
            (slips if 2 * hole < narrowest else holes).append(f"{name!r} to {other!r}")
    if slips:
        yield Fault("a gap between ranges", f"level {level}", _some(slips), "a value in it would have no label")
    if holes:
        yield Fault("ranges leave gaps, but no value lies there", f"level {level}", _some(holes), kind="note")


def _some(texts: Sequence[str], limit: int = 3) -> str:
    """A few texts and how many more there are, without quotes around each."""
    shown = ", ".join(texts[:limit])
    return f"{shown} and {len(texts) - limit} more" if len(texts) > limit else shown


def same_levels(steps: Sequence[Step]) -> Iterator[Fault]:
    """Yield a note for each level that groups the values as the one below does.

    Examples
    --------
    >>> [fault.what for fault in same_levels([Step.of(["a", "a", "b"]), Step.of(["x", "x", "y"])])]
    ['level 2 groups the values as level 1 does']
    """
    for level, (below, above) in enumerate(pairwise(steps), start=2):
        pairs = np.unique(np.stack([below.numbers, above.numbers]), axis=1).shape[1]
        if pairs == len(np.unique(below.numbers)) == len(np.unique(above.numbers)):
            shown = examples([name for name in above.names if name not in below.names], 3)
            yield Fault(f"level {level} groups the values as level {level - 1} does", got=shown, kind="note")
