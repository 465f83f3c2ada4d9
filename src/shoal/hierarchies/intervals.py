"""Intervals: numbers in ranges of growing width, or between given breaks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from shoal.encoding.domains import Domain
from shoal.encoding.label_writing import write_range
from shoal.errors import Fault, examples
from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Hierarchy

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Intervals(Hierarchy):
    """Numbers in ranges of growing width, or between given breaks.

    Widths give ranges that start at ``origin``; each width is a multiple of the one before, so that each range
    lies in one range of the next level. Breaks give the ends of the ranges of each level. Ends are shown
    unambiguously: whole numbers as closed ranges ``[20, 24]``, other numbers as ``[20, 25)``, the last range
    between breaks as ``[65, 120]``. All arithmetic on ends is exact, so no value gets the label of its
    neighbour.

    Examples
    --------
    >>> Intervals(widths=[5, 10]).build(Domain.of("integer", [20, 24, 25, 31]), missing=None).labels[1]
    ('[20, 24]', '[25, 29]', '[30, 34]')
    >>> Intervals(widths=[0.1]).build(Domain.of("float", [0.25, 0.3]), missing=None).labels[1]
    ('[0.2, 0.3)', '[0.3, 0.4)')
    >>> Intervals(breaks=[[0, 18, 65, 120]]).build(Domain.of("integer", [17, 120]), missing=None).labels[1]
    ('[0, 17]', '[65, 120]')
    """

    data_independent: ClassVar[bool] = True

    widths: tuple[Positive, ...] = ()
    """Width of the ranges at level 1, 2, …; each a multiple of the one before."""
    origin: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    """A number at which a range starts."""
    breaks: tuple[tuple[float, ...], ...] = ()
    """Instead of widths: the ends of the ranges at level 1, 2, …; the ends of a level are among those below."""

    @model_validator(mode="before")
    @classmethod
    def _one_list_is_one_level(cls, data: Any) -> Any:
        breaks = data.get("breaks") if isinstance(data, dict) else None
        if isinstance(breaks, (list, tuple)) and breaks and not isinstance(breaks[0], (list, tuple)):
            return {**data, "breaks": [breaks]}
        return data

    @model_validator(mode="after")
    def _nested(self) -> Intervals:
        if bool(self.widths) == bool(self.breaks):
            raise ValueError("needs either widths or breaks")
        for below, above in pairwise(self.widths):
            if above <= below or (_exact(above) / _exact(below)).denominator != 1:
                raise ValueError(f"each width must be a multiple of the one before; {above:g} is not of {below:g}")
        for ends in self.breaks:
            if len(ends) < 2 or any(low >= high for low, high in pairwise(ends)):
                raise ValueError(f"breaks must be two or more growing numbers; got {list(ends)}")
        for fine, coarse in pairwise(self.breaks):
            stray = sorted(set(coarse) - set(fine))
            if stray or (coarse[0], coarse[-1]) != (fine[0], fine[-1]):
                raise ValueError(f"the breaks of a level must be among those below; {stray or list(coarse)}")
        return self

    def faults(self, domain: Domain) -> Iterator[Fault]:
        """Yield a fault where values are not numbers or lie outside the breaks."""
        if domain.kind not in ("integer", "float"):
            others = [text for text in domain.texts if not _is_number(text)] if domain.kind == "text" else []
            got = f"{len(others)} of {len(domain)} values: {examples(others)}" if others else f"{domain.kind} values"
            yield Fault("intervals need a column of numbers", got=got, hint=_hint(domain))
        elif self.breaks:
            low, high = self.breaks[0][0], self.breaks[0][-1]
            outside = [v for v in domain.values.tolist() if not low <= v <= high]
            if outside:
                yield Fault(
                    "values outside the breaks",
                    got=examples(outside),
                    hint=f"the breaks go from {low:g} to {high:g}",
                )

    def gaps(self, domain: Domain) -> Iterator[Fault]:
        """Yield a fault where the breaks do not reach the ends of the domain."""
        if not self.breaks or not domain.limits:
            return
        low, high = self.breaks[0][0], self.breaks[0][-1]
        if domain.limits[0] < low or high < domain.limits[1]:
            got = f"{low:g} to {high:g} of {domain.limits[0]:g} to {domain.limits[1]:g}"
            yield Fault("a gap: the breaks do not cover the domain", got=got)

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield one level per width or list of breaks."""
        whole = domain.kind == "integer"
        if self.breaks:
            for ends in self.breaks:
                indices = [min(bisect_right(ends, v), len(ends) - 1) - 1 for v in domain.values.tolist()]
                exact = [_exact(end) for end in ends]
                yield _step(indices, {p: (exact[p], exact[p + 1]) for p in set(indices)}, whole, len(ends) - 2)
            return
        origin, first = _exact(self.origin), _exact(self.widths[0])
        finest = [(_exact(v) - origin) // first for v in domain.values.tolist()]
        for width in self.widths:
            ratio = int(_exact(width) / first)
            indices = [index // ratio for index in finest]
            step = _exact(width)
            yield _step(indices, {p: (origin + p * step, origin + (p + 1) * step) for p in set(indices)}, whole)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _exact(number: float) -> Fraction:
    # through the shortest decimal text, so that 0.1 means one tenth, as its reader thinks
    return Fraction(repr(number))


def _step(
    indices: Sequence[int], ends: dict[int, tuple[Fraction, Fraction]], whole: bool, last: int | None = None
) -> Step:
    used, numbers = np.unique(np.array(indices), return_inverse=True)
    covered = [_covered(*ends[index], whole, index == last) for index in used.tolist()]
    names, lows, highs = zip(*covered, strict=True)
    return Step(numbers.astype(np.int32), names, np.array(lows, np.float64), np.array(highs, np.float64))


def _covered(low: Fraction, high: Fraction, whole: bool, closed: bool) -> tuple[str, float, float]:
    if whole:
        first = -((-low) // 1)
        final = high // 1 if closed or high.denominator != 1 else high // 1 - 1
        text = write_range(str(first), str(final)) if first != final else f"{first}"
        return text, float(first), float(final)
    return write_range(_text(low), _text(high), closed=closed), float(low), float(high)


def _text(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


def _hint(domain: Domain) -> str:
    return "use dates for dates" if domain.kind in ("date", "datetime") else "use tree or mask for text"
