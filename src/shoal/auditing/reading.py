"""Reader: what a published text may stand for, read from the text, the policy and the original column."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np

from shoal.auditing.readings import LabelCodes, Readings, read_ranges
from shoal.encoding.domains import STAR
from shoal.encoding.labels import PublishedValue, find_masked, read_label
from shoal.encoding.types import Bools, Floats, Ints
from shoal.engines.dictionary import TableDictionary
from shoal.hierarchies._steps import Step
from shoal.policy import QuasiIdentifier
from shoal.utility.statistics.covers import CoveredValues


@dataclass(frozen=True)
class Reading:
    """What a text says that is no value and no label of its column."""

    values: Collection[int]
    """The indices of the values that it may stand for."""
    penalty: float
    """The share of the domain that it leaves open."""


class Reader:
    """Reads the published texts of one column."""

    def __init__(self, words: TableDictionary, name: str) -> None:
        spec = words.policy.quasi_identifiers[name]
        self.name = name
        self.foreign = not words.policy.models
        """Whether the table is anybody's, so that other signs than ``*`` may stand for nothing."""
        self.domain = words.domain(name)
        self.blank = words.values(name).null_count() > 0 and spec.missing in ("own-value", "wildcard")
        self.wild = spec.missing == "wildcard"
        self.size = len(self.domain) + self.blank
        self.place = {text: number for number, text in enumerate(self.domain.texts)}
        self.records, self.missing = self.domain.records, self.domain.missing
        self.steps = words.steps(name)
        self.covered = LabelCodes(self.steps)
        self.labels = self._labels()
        self.bounds = self._bounds(spec)
        self._shown: dict[str, PublishedValue] = {}
        self._own: dict[str, Reading | None] = {}
        self._rows: dict[str | None, int] = {}
        self._readings = Readings.empty(len(self.domain))
        self._asked: tuple[list[str | None], Readings] = [], self._readings

    def _bounds(self, spec: QuasiIdentifier) -> dict[int, set[int]]:
        """Value → the values under its boundary, the narrowest where there are several."""
        bounds: dict[int, set[int]] = {}
        for label in spec.boundaries:
            under = self.covered.get(label) or ({self.place[label]} if label in self.place else set())
            for value in under:
                if value not in bounds or len(under) < len(bounds[value]):
                    bounds[value] = under
        return bounds

    @property
    def bounded(self) -> Bools:
        """Which values have a boundary below the top; the missing one, the last, has none."""
        everything = set(range(len(self.domain)))
        return np.array([self.bounds.get(value, everything) < everything for value in everything] + [False], bool)

    def is_beyond(self, text: str) -> bool:
        """Whether no value that a text may stand for could be published as wide as this."""
        if not self.bounds or (text == STAR and self.blank):
            return False  # a missing value has no boundary, and shows * among others
        values = set(self._values(text))
        return bool(values) and all(value in self.bounds and not values <= self.bounds[value] for value in values)

    def _values(self, text: str) -> Collection[int]:
        if text == STAR:
            return range(len(self.domain))
        if text in self.covered:
            return self.covered[text] | ({self.place[text]} if text in self.place else set())
        if text in self.place:
            return {self.place[text]}
        reading = self._reading(text)
        return () if reading is None else reading.values

    def _label(self, text: str) -> PublishedValue:
        if text not in self._shown:
            self._shown[text] = read_label(text, self.domain.kind)
        return self._shown[text]

    def _reading(self, text: str) -> Reading | None:
        """Return what a text that is no value and no label says of this column; ``None`` where it fits no value."""
        if text not in self._own:
            self._own[text] = self._interpret(self._label(text))
        return self._own[text]

    def _interpret(self, label: PublishedValue) -> Reading | None:
        if label.form == "sign":
            return Reading(range(len(self.domain)), 1.0) if self.foreign else None
        if label.form == "range":
            return self._read_range(label)
        if label.form in ("set", "list"):
            return self._read_items(label.items)
        masked = find_masked(label.text or "", self.domain.texts) if label.form == "mask" else []
        return Reading(masked, len(masked) / self.size if len(masked) > 1 else 0.0) if masked else None

    def _read_range(self, label: PublishedValue) -> Reading | None:
        if not self.domain.ordered:
            return None
        values, span = self.domain.values, self.domain.span
        first = (bisect_left if label.with_least else bisect_right)(values, label.least)
        after = (bisect_right if label.with_greatest else bisect_left)(values, label.greatest)
        if first >= after:
            return None
        width = float(min(label.greatest, self.domain.high)) - float(max(label.least, self.domain.low))
        if (values[first], values[after - 1]) == (label.least, label.greatest):
            width = float(self.domain.offsets[after - 1] - self.domain.offsets[first])
        return Reading(range(first, after), width / span if span > 0 else 0.0)

    def _read_items(self, items: Sequence[str | None]) -> Reading | None:
        known = all(item in self.place if item is not None else self.blank for item in items)
        if not known or not len({*items}) == len(items) > 1:
            return None
        return Reading({self.place[item] for item in items if item is not None}, len(items) / self.size)

    def _labels(self) -> dict[str, float]:
        """Label → the share of the domain that it leaves open, the largest where it stands on several levels."""
        labels: dict[str, float] = {}
        for step in self.steps:
            for label, cost in zip(step.names, self._label_costs(step).tolist(), strict=True):
                labels[label] = max(labels.get(label, 0.0), cost)
        return labels

    def _label_costs(self, step: Step) -> Floats:
        if step.lows is None or step.highs is None:
            held = np.bincount(step.numbers, minlength=len(step.names))
            return np.where(held > 1, held / self.size, 0.0)
        if self.domain.span <= 0:
            return np.zeros(len(step.names))
        lows, highs = np.maximum(step.lows, self.domain.low), np.minimum(step.highs, self.domain.high)
        return np.asarray((highs - lows) / self.domain.span, np.float64)

    def read(self, texts: Sequence[str | None]) -> Readings:
        """Return what some texts say; each is read once, however often it is asked for."""
        if texts == self._asked[0]:
            return self._asked[1]
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows.update(zip(new, count(len(self._rows)), strict=False))
            self._readings = self._readings.append(self._read_new(new))
        readings = self._readings.take(np.fromiter(map(self._rows.__getitem__, texts), np.int64, len(texts)))
        self._asked = list(texts), readings  # truth, labels and losses ask for the same ones, one after the other
        return readings

    def _read_new(self, texts: Sequence[str | None]) -> Readings:
        unlabelled = ["" if text is None or text in self._named else text for text in texts]
        first, last = read_ranges(unlabelled, self.domain)
        penalties, climbs = self._range_penalties(first, last), np.ones(len(texts))
        values: list[Collection[int]] = []
        missing, others = np.zeros(len(texts), bool), np.flatnonzero(first < 0)
        for index in others.tolist():
            text = texts[index]
            penalty = self.penalty(text)
            penalties[index] = np.nan if penalty is None else penalty
            held, missing[index] = self.values_of(text)
            if isinstance(held, range) and held and text != STAR:
                first[index], last[index] = held[0], held[-1]
                continue
            values.append(held)
            climbs[index] = self.climb(text)
        runs, size = first >= 0, len(self.domain)
        climbs[runs] = self._range_climbs(first[runs], last[runs])
        covers = CoveredValues.of_ranges(first, last, size).put(np.flatnonzero(~runs), CoveredValues.of(values, size))
        return Readings(penalties, climbs, covers, missing)

    def _range_penalties(self, first: Ints, last: Ints) -> Floats:
        """Return the penalties of ranges; those that cover but one value, or none, are not ours."""
        penalties, wide = np.full(len(first), np.nan), first < last
        if wide.any():
            numbers, span = self.domain.offsets, self.domain.span
            penalties[wide] = (numbers[last[wide]] - numbers[first[wide]]) / span if span > 0 else 0.0
        return penalties

    def _range_climbs(self, first: Ints, last: Ints) -> Floats:
        """Return the lowest level with one label for all of the values from the first to the last."""
        climbs = np.ones(len(first))
        for level, step in reversed(list(enumerate(self.steps, start=1))):
            runs = np.cumsum(np.append(0, np.diff(step.numbers) != 0))
            climbs[runs[first] == runs[last]] = level / self.height
        return climbs

    def shows_nothing(self, texts: Sequence[str | None], readings: Readings) -> Bools:
        """Return which texts may stand for any value: nobody can read them, or they are empty and no value."""
        empty = np.array([text is None for text in texts], bool)
        return ~readings.is_read | (empty & (readings.penalties > 0))

    def allows(self, texts: Sequence[str | None], of_record: Ints, codes: Ints) -> Bools:
        """Return whether each record may show its text: it covers the value, and is not above its boundary.

        ``of_record`` is the place of each record's text among ``texts``, ``codes`` its value; the missing one is last.
        """
        readings, known = self.read(texts), codes < len(self.domain)
        inside = readings.values.holds(of_record, np.where(known, codes, -1))
        result: Bools = np.where(known, inside, readings.missing[of_record])
        if self.bounds:
            boundaries = self._boundary_of[codes]
            result &= ~((boundaries >= 0) & self._above(readings)[of_record, boundaries])
        return result

    def _above(self, readings: Readings) -> Bools:
        """Return ``[text, boundary]``: whether a text covers more than the values under a boundary."""
        inside = np.zeros((len(self._under), len(self.domain)))
        for number, under in enumerate(self._under):
            inside[number, list(under)] = 1.0
        return np.stack([readings.values.sums(row) < readings.values.sizes for row in inside], axis=1)

    def allowed_codes(self, texts: Sequence[str | None]) -> CoveredValues:
        """Return the values that may show each text, the missing one last; any where nobody can read it.

        These are the values that it covers and whose boundary it is not above.
        """
        covers = self.codes(texts)
        if not self.bounds:
            return covers
        above = self._above(self.read(texts))
        allowed = []
        for number in range(len(texts)):
            held = np.arange(covers.size)[covers[number]]
            boundaries = self._boundary_of[held]
            allowed.append(held[(boundaries < 0) | ~above[number, boundaries]].tolist())
        return CoveredValues.of(allowed, covers.size)

    def codes(self, texts: Sequence[str | None]) -> CoveredValues:
        """Return the values that each text may stand for, the missing one last; any where nobody can read it."""
        readings = self.read(texts)
        return readings.covers(open_=self.shows_nothing(texts, readings))

    def covering(self, texts: Sequence[str | None], values: Ints | None = None) -> Bools:
        """Return which values each text may stand for, the missing one last; any where nobody can read it.

        ``values`` are the codes of those that are asked for, by default all.
        """
        covers = self.codes(texts)
        table = np.zeros((len(texts), covers.size if values is None else len(values)), bool)
        for number in range(len(texts)):
            held = np.zeros(covers.size, bool)
            held[covers[number]] = True
            table[number] = held if values is None else held[values]
        return table

    def covers(self, text: str | None, value: str | None) -> bool:
        """Whether a published text may stand for a value; ``None`` is the missing one."""
        values, missing = self.values_of(text)
        return missing if value is None else self.place.get(value, -1) in values

    def shown_at(self, level: int) -> set[str]:
        """Return the texts that values which are not missing show at a level of the hierarchy."""
        if level == 0:
            return {*self.place}
        return {*(self.steps[level - 1].names if level <= len(self.steps) else (STAR,))}

    @cached_property
    def _named(self) -> frozenset[str]:
        """All values and labels."""
        return frozenset((*self.place, *self.covered))

    @cached_property
    def _lowest(self) -> dict[str, int]:
        """Label → the lowest level that it stands on."""
        levels = list(enumerate(self.steps, start=1))
        return {name: level for level, step in reversed(levels) for name in step.names}

    @cached_property
    def _under(self) -> list[set[int]]:
        """The values under each boundary that bounds some value."""
        return list({id(under): under for under in self.bounds.values()}.values())

    @cached_property
    def _boundary_of(self) -> Ints:
        """The number of each value's boundary, -1 where it has none, as the missing one, the last."""
        numbers = {id(under): number for number, under in enumerate(self._under)}
        result = np.full(len(self.domain) + 1, -1, np.int64)
        for value, under in self.bounds.items():
            result[value] = numbers[id(under)]
        return result

    def values_of(self, text: str | None) -> tuple[Collection[int], bool]:
        """Return the values that a published text may stand for, and whether the missing one is among them."""
        if text is None:
            return (), True
        return self._values(text), text == STAR or self._holds_missing(text)

    def extent(self, text: str | None) -> PublishedValue | None:
        """Return the range that a label or a text is; ``None`` for any other text."""
        if text is None:
            return None
        label = self._label(text)
        for step in self.steps:
            if text in step.names and step.lows is not None and step.highs is not None:
                number = step.names.index(text)
                return replace(label, least=float(step.lows[number]), greatest=float(step.highs[number]))
        return label if label.form == "range" and self.domain.ordered and text not in self.covered else None

    def parts_of(self, text: str | None) -> Sequence[Collection[int]]:
        """Return the parts of which each holds the value of some record, if a text is as narrow as its class allows.

        The ends of a range, the values of a set, the two labels that a label is made of; none where nothing follows.
        The missing value has the number after the last.
        """
        if text is None or text == STAR:
            return []
        if text in self.covered:
            return self._halves(text)
        if text in self.place:
            return []
        values, missing = self.values_of(text)
        if isinstance(values, range):
            exact = len(values) > 1 and all(end in self.place for end in self._label(text).ends)
            return [(values[0],), (values[-1],)] if exact else []
        return [(value,) for value in sorted(values)] + ([(len(self.domain),)] if missing else [])

    def _halves(self, label: str) -> Sequence[Collection[int]]:
        """Return the values of the two labels that a label is made of; none where it is made of more."""
        values = sorted(self.covered[label])
        level = next((level for level, step in enumerate(self.steps) if label in step.names), 0)
        for step in reversed(self.steps[:level]):
            halves: dict[int, list[int]] = {}
            for value in values:
                halves.setdefault(int(step.numbers[value]), []).append(value)
            if len(halves) > 1:
                return list(halves.values()) if len(halves) == 2 else []
        return [(value,) for value in values] if len(values) == 2 else []

    @property
    def total(self) -> int:
        """How many records the original has."""
        return int(self.records.sum()) + self.missing

    @property
    def occurring(self) -> int:
        """How many values the original has, the missing one among them."""
        return int(np.count_nonzero(self.records)) + (self.missing > 0)

    @property
    def log_value_counts(self) -> float:
        """log2 of the records with the same value, summed over the records."""
        own = np.append(self.records, self.missing if self.blank else 0)
        return float(sum(count * np.log2(count) for count in own.tolist() if count))

    @property
    def height(self) -> int:
        """The number of the top level."""
        return len(self.steps) + (not self.steps or self.steps[-1].names != (STAR,))

    def _holds_missing(self, text: str) -> bool:
        """Whether a text that is no value and no label is a set with the missing value in it."""
        known = text in self.place or text in self.covered
        return not known and self._label(text).form == "set" and None in self._label(text).items

    def climb(self, text: str | None) -> float:
        """Return the lowest level with a label as wide as a readable text, as a share of the height."""
        height = self.height
        if text is None or (text in self.place and self.covered.get(text, set()) <= {self.place[text]}):
            return 0.0
        if text in self._lowest:
            return self._lowest[text] / height
        if self._holds_missing(text):
            return 1.0  # the missing value and others have but the top in common
        values = np.array(sorted(self._values(text)), np.intp)
        for level, step in enumerate(self.steps, start=1):
            if text != STAR and len(values) and (step.numbers[values] == step.numbers[values[0]]).all():
                return level / height
        return 1.0

    def penalty(self, text: str | None) -> float | None:
        """Return the share of the domain that a text leaves open; ``None`` for a text that means nothing."""
        if text == STAR:
            return 1.0
        if text is None:
            return 0.0 if self.blank and not self.wild else 1.0 if self.foreign else None
        if text in self.labels:
            return self.labels[text]
        if text in self.place:
            return 0.0
        reading = self._reading(text)
        return None if reading is None else reading.penalty
