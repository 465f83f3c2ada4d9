"""Domain partitions: what a class may show in a column, as partitions of its values with what they cost at least.

Whatever a class shows in a column, it lies in a part of one of the column's partitions, and costs no less than that
part. Where there are too many things to show (every set, every range of several columns), they are joined: a partition
stands for all sets, or for all ranges of about a width. Such partitions are *open*: what the records of a class need
in the column is counted when they are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.encoding.domains import STAR
from shoal.encoding.types import Codes, Floats
from shoal.frequencies.frequencies import Frequencies
from shoal.hierarchies.base import Levels
from shoal.recodings.base import Column

if TYPE_CHECKING:
    from shoal.kernels.spread import BoxSpace


_BINS = (6, 6, 6)
"""Widths of ranges that are told apart where so many columns beside the line show ranges; where more do, 1."""
_SAFE = 1e-9
"""The part of a width that is given away for what rounding may have added."""


@dataclass(frozen=True)
class DomainPartition:
    """A partition of a column's values, and what a class that lies in one of its parts costs at least."""

    labels: Codes
    costs: Floats
    """The same for all values of a part."""
    flat: bool = False
    """Whether the line does not count: the class shows nothing there."""
    open: bool = False
    """Whether the class costs what its values or its range need, where that is more."""


def find_line(columns: tuple[Column, ...]) -> int:
    """Return the column whose ranges are looked at one by one: that with the most values; -1 where none has ranges."""
    ranged = [index for index, column in enumerate(columns) if column.form == "ranges"]
    return max(ranged, key=lambda index: columns[index].levels.size * columns[index].weight, default=-1)


def place_codes(column: Column) -> Floats:
    """Return the place of each code as a share of the column's range, times its weight; 0 for the missing value."""
    domain = column.levels.domain
    points = np.zeros(column.levels.size)
    if domain.span > 0:
        values = domain.values.astype(np.float64)
        points[: len(domain)] = (values - values[:1]) / domain.span * column.weight
    return points


def partition_domain(column: Column, is_line: bool, bins: int) -> list[DomainPartition]:
    """Return partitions such that whatever a class shows in a column, it lies in a part of one that costs no more."""
    levels, weight = column.levels, column.weight
    own = DomainPartition(np.arange(levels.size, dtype=np.int32), levels.penalties[0] * weight)
    if column.form == "labels":
        labels = [(levels.codes[level], levels.penalties[level]) for level in range(levels.height + 1)]
        return [
            DomainPartition(codes.astype(np.int32), costs * weight)
            for codes, costs in [*labels, *_join_homonyms(levels)]
        ]
    if column.form == "sets":
        if any(text is not None and text.startswith("{") for text in levels.labels[0]):
            return [_join_all(levels, 0.0)]  # a value that reads like a set of others
        return [own, _join_all(levels, 2 * weight / levels.size, open=True)] if levels.size > 1 else [own]
    mixed = [_join_all(levels, weight, flat=is_line)] if levels.has_missing else []
    if is_line:
        apart = (np.arange(levels.size) >= len(levels.domain)).astype(np.int32)
        return [DomainPartition(apart, np.where(apart > 0, levels.penalties[0] * weight, 0.0)), *mixed]
    return [own, *_partition_by_width(levels, weight, bins), *mixed]


def _join_all(levels: Levels, cost: float, *, flat: bool = False, open: bool = False) -> DomainPartition:
    return DomainPartition(np.zeros(levels.size, np.int32), np.full(levels.size, cost), flat, open)


def _join_homonyms(levels: Levels) -> list[tuple[Codes, Floats]]:
    """For each text that is the label of different values at different levels: all of them, at the least cost.

    Classes that show the same text are one class. (The missing value needs no partition: where it shows
    ``*`` it costs as much as the top, which holds it.)
    """
    count = len(levels.domain)
    seen = Counter(text for names in levels.labels for text in set(names))
    twice = {text for text, times in seen.items() if times > 1}
    covered: dict[str | None, list[npt.NDArray[np.intp]]] = {}
    costs: dict[str | None, float] = {}
    for names, numbers, penalties in zip(levels.labels, levels.codes[:, :count], levels.penalties, strict=True):
        order = np.argsort(numbers, kind="stable")
        starts = np.searchsorted(numbers[order], np.arange(len(names) + 1))
        for number, text in enumerate(names):
            under = order[starts[number] : starts[number + 1]]
            if text in twice and len(under):
                covered.setdefault(text, []).append(under)
                costs[text] = min(costs.get(text, np.inf), float(penalties[under].min()))
    partitions = []
    for text, sets in covered.items():
        if not all(np.array_equal(under, sets[0]) for under in sets):
            labels = np.arange(1, levels.size + 1, dtype=np.int32)
            labels[np.concatenate(sets)] = 0
            partitions.append((labels, np.where(labels == 0, costs[text], levels.penalties[0])))
    return partitions


def _partition_by_width(levels: Levels, weight: float, bins: int) -> list[DomainPartition]:
    """Partitions for ranges by their width: a range no wider than r lies in a cell of one of two grids of cells of 2 r.

    The grids are shifted by r against each other. A range that is wider than the bin before costs at least that.
    """
    count, span = len(levels.domain), levels.domain.span
    values = levels.domain.values.astype(np.float64)
    extent = float(values[-1] - values[0]) if count else 0.0
    missing = levels.penalties[0, -1] * weight if levels.has_missing else 0.0
    if extent <= 0 or span <= 0:  # one value, or a domain without width: ranges cost nothing
        apart = (np.arange(levels.size) >= count).astype(np.int32)
        return [DomainPartition(apart, np.where(apart > 0, missing, 0.0))]
    partitions = []
    narrowest = float(np.diff(values).min())
    for bin_ in range(bins):
        width = extent / 2 ** (bins - 1 - bin_)
        if width < narrowest:
            continue
        least = narrowest if bin_ == 0 else max(narrowest, extent / 2 ** (bins - bin_))
        costs = np.full(levels.size, least / span * weight * (1 - _SAFE))
        last = bin_ == bins - 1  # the whole domain is one cell
        for shift in (0.0,) if last else (0.0, 1.0):
            labels = np.zeros(levels.size, np.int32)
            if not last:
                labels[:count] = np.floor((values - values[0]) / (2 * width * (1 + _SAFE)) + shift / 2)
            if levels.has_missing:
                labels[-1], costs[-1] = labels.max() + 1, missing
            partitions.append(DomainPartition(labels, costs, open=True))
    return partitions


def find_ceiling(columns: tuple[Column, ...], chosen: Sequence[int]) -> float:
    """Return what a record that shows ``*`` in all columns costs at least in the chosen ones.

    A suppressed record costs all weights. A class that would show ``*`` everywhere shows its range or its values in one
    column instead, which may be cheap.
    """
    weights = [columns[index].weight for index in chosen]
    silent = (c.form == "labels" or c.levels.has_missing or STAR in c.levels.labels[0] for c in columns)
    return sum(weights) - (max(weights) if all(silent) else 0.0)


def lay_out_boxes(frequencies: Frequencies, columns: tuple[Column, ...], chosen: Sequence[int], least: int) -> BoxSpace:
    """Lay out the partitions of chosen columns and their line as arrays; tuples are in the order of the line."""
    from shoal.kernels.bounding import FLAT, OPEN
    from shoal.kernels.spread import RANGES, SETS, BoxSpace

    columns = tuple(columns[index] for index in chosen)
    tuples, line = frequencies.tuples[:, list(chosen)], find_line(columns)
    points = np.zeros(len(tuples)) if line < 0 else place_codes(columns[line])[tuples[:, line]]
    rank = np.argsort(points, kind="stable")
    beside = sum(column.form == "ranges" for column in columns) - 1
    bins = _BINS[beside] if beside < len(_BINS) else 1
    found = [partition_domain(column, index == line, bins) for index, column in enumerate(columns)]
    order = np.argsort([len(partitions) for partitions in found], kind="stable")  # few boxes at first
    most = max(len(partitions) for partitions in found) + 1
    every: list[DomainPartition] = [partition for index in order for partition in found[index]]
    ends = np.cumsum([0, *(len(partition.labels) for partition in every)])
    offsets, kinds = np.zeros((len(columns), most), np.int64), np.zeros((len(columns), most), np.int64)
    shown, indices = np.zeros(len(columns), np.int64), np.zeros((len(columns), max(c.levels.size for c in columns)))
    at = 0
    for row, index in enumerate(order):
        column, partitions = columns[index], found[index]
        offsets[row, : len(partitions)] = ends[at : at + len(partitions)]
        kinds[row, : len(partitions)] = [FLAT if one.flat else OPEN if one.open else 0 for one in partitions]
        at += len(partitions)
        if any(partition.open for partition in partitions):
            shown[row] = RANGES if column.form == "ranges" else SETS
            indices[row, : column.levels.size] = place_codes(column) if column.form == "ranges" else 0.0
    return BoxSpace(
        np.ascontiguousarray(tuples[rank][:, order].T, np.int32),
        frequencies.counts[rank],
        points[rank],
        least,
        np.array([len(found[index]) for index in order], np.int64),
        offsets,
        np.concatenate([partition.labels for partition in every]).astype(np.int32),
        np.concatenate([partition.costs for partition in every]),
        kinds,
        shown,
        np.array([columns[index].weight / columns[index].levels.size for index in order]),
        indices,
    )
