"""What labels say they cover: gaps, overlaps, and values under a label that does not hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from shoal.encoding.domains import Domain, Kind
from shoal.encoding.labels import Number, PublishedValue, read_label
from shoal.errors import Fault, examples
from shoal.hierarchies._steps import Step


def find_cover_faults(steps: Sequence[Step], domain: Domain) -> Iterator[Fault]:
    """Yield what is wrong with the ranges of each level; a fault of the kind ``note`` is only worth knowing.

    A gap that no value of the column lies in is a note where whole ranges may have been left out for want of
    values, and a fault where it is too narrow for that.

    Examples
    --------
    >>> ages = Domain.of("integer", [20, 25, 26, 29])
    >>> for fault in find_cover_faults([Step.of(["[20, 25]", "[20, 25]", "[25, 29]", "[25, 29]"])], ages):
    ...     print(fault)
    level 1: ranges overlap; got '[20, 25]' and '[25, 29]'. Hint: a value belongs to one label.
    """
    if domain.kind not in ("integer", "float"):
        return
    for level, step in enumerate(steps, start=1):
        if step.lows is None or step.highs is None:
            ranges = _read_ranges(step, domain.kind)
            yield from _strays(level, step, ranges, domain)
            yield from _gaps(level, sorted(ranges.items(), key=_start), whole=domain.kind == "integer")
        else:  # a builder says what its labels cover, and leaves out ranges without values
            ends = zip(step.names, step.lows.tolist(), step.highs.tolist(), strict=True)
            ranges = {name: _half_open(name, low, high) for name, low, high in ends}
        yield from _overlaps(level, sorted(ranges.items(), key=_start))


def _half_open(name: str, low: float, high: float) -> PublishedValue:
    closed = low == high
    return PublishedValue(text=name, kind="float", form="range", least=low, greatest=high, with_greatest=closed)


def _read_ranges(step: Step, kind: Kind) -> dict[str, PublishedValue]:
    """Return what the labels of a level say that they cover; ``20-30`` ends below 30 where another starts there."""
    read = {name: read_label(name, kind) for name in step.names}
    ranges = {name: label for name, label in read.items() if label.form in ("value", "range")}
    starts = {label.least for label in ranges.values()}
    for name, label in ranges.items():
        if label.is_doubtful and label.greatest in starts:
            without = label.greatest - 1 if kind == "integer" else label.greatest
            ranges[name] = replace(label, greatest=without, with_greatest=kind == "integer")
    return ranges


def _start(item: tuple[str, PublishedValue]) -> tuple[Number, Number]:
    return item[1].least, item[1].greatest


def _meet(label: PublishedValue, following: PublishedValue) -> bool:
    """Whether a label shares a value with one that starts no earlier."""
    touch = following.least == label.greatest and label.with_greatest and following.with_least
    return following.least < label.greatest or touch


def _strays(level: int, step: Step, ranges: Mapping[str, PublishedValue], domain: Domain) -> Iterator[Fault]:
    strays = []
    for number, name in enumerate(step.names):
        if name in ranges:
            under = np.flatnonzero(step.numbers == number).tolist()
            outside = [code for code in under if not ranges[name].covers(domain.texts[code])]
            strays += [f"{domain.texts[code]} under {name!r}" for code in outside]
    if strays:
        yield Fault("values lie outside their label", f"level {level}", _some(strays))


def _overlaps(level: int, ranges: list[tuple[str, PublishedValue]]) -> Iterator[Fault]:
    found, furthest = [], None
    for name, covered in ranges:
        if furthest is not None and _meet(furthest[1], covered):
            found.append(f"{furthest[0]!r} and {name!r}")
        if furthest is None or covered.greatest > furthest[1].greatest:
            furthest = (name, covered)
    if found:
        yield Fault("ranges overlap", f"level {level}", _some(found), "a value belongs to one label")


def _gaps(level: int, ranges: list[tuple[str, PublishedValue]], *, whole: bool) -> Iterator[Fault]:
    step = 1 if whole else 0
    narrowest = min((covered.greatest - covered.least + step for _, covered in ranges), default=0)
    slips: list[str] = []
    holes: list[str] = []
    for (name, below), (other, above) in pairwise(ranges):
        hole = above.least - below.greatest - step
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


def find_same_levels(steps: Sequence[Step]) -> Iterator[Fault]:
    """Yield a note for each level that groups the values as the one below does.

    Examples
    --------
    >>> [fault.what for fault in find_same_levels([Step.of(["a", "a", "b"]), Step.of(["x", "x", "y"])])]
    ['level 2 groups the values as level 1 does']
    """
    for level, (below, above) in enumerate(pairwise(steps), start=2):
        pairs = np.unique(np.stack([below.numbers, above.numbers]), axis=1).shape[1]
        if pairs == len(np.unique(below.numbers)) == len(np.unique(above.numbers)):
            shown = examples([name for name in above.names if name not in below.names], 3)
            yield Fault(f"level {level} groups the values as level {level - 1} does", got=shown, kind="note")
