"""meanings_of(): what a published text leaves open, read from the text, the policy and the original column."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from shoal.auditing.notations import Foreign, foreign
from shoal.encoding.domains import STAR, Domain, read_items, read_set
from shoal.encoding.types import Bools, Floats, Ints
from shoal.engines.columns import column_domain, plain
from shoal.engines.counted import Times
from shoal.errors import Fault, examples
from shoal.hierarchies.base import Step
from shoal.policy import Policy, QuasiIdentifier
from shoal.utility.statistics.covers import Covers

_RANGE = re.compile(r"^\[(.+), (.+)\]$", re.S)


@dataclass(frozen=True)
class Meanings:
    """What the published texts of a column say, one entry per class."""

    penalties: Floats
    """The share of the domain that the text leaves open."""
    climbs: Floats
    """The lowest level of the hierarchy that is as wide as the text, as a share of its height."""
    stands_for: Floats
    """Records of the original whose value the text could stand for."""
    log_value_counts: float
    """log2 of the original records with the same value, summed over the original."""
    distinct: int
    """Values of the domain."""
    height: int
    """The number of the hierarchy's top level."""
    values: Floats
    """Values of the domain that the text could stand for."""
    original: Floats
    """Records of the original with each value; the missing one is the last, where it is a value."""
    implied: Floats
    """The same for the classes' records, those of a text spread evenly over the values that it could stand for."""


def meanings_of(texts: pl.Series, sizes: Ints, reader: Reader) -> tuple[Meanings, list[Fault]]:
    """Return what the text of each class says, classes having these sizes, and what is wrong with the texts."""
    distinct, indices = numbered(texts)
    meaning = {text: reader.penalty(text) for text in distinct}
    unread = sorted(str(text) for text, penalty in meaning.items() if penalty is None)
    beyond = sorted(str(text) for text in meaning if text is not None and reader.is_beyond(text))
    faults = []
    if unread:
        what = "published values that are no value, label, range or set of the column"
        # where nothing is promised a text that we cannot read breaks nothing: k and the like were counted from texts
        hint = (
            "they count as if they showed nothing; give the hierarchy that they are labels of" if reader.foreign else ""
        )
        faults.append(Fault(what, reader.name, examples(unread), hint, kind="note" if reader.foreign else "fault"))
    if beyond:
        faults.append(Fault("published above a boundary", where=reader.name, got=examples(beyond)))
    # what nobody can read tells nothing
    read = [STAR if lost is None or (text is None and lost) else text for text, lost in meaning.items()]
    covers = Covers.of([reader.cover(text) for text in read], reader.size)
    original = np.append(reader.records, [reader.missing] * reader.blank).astype(np.float64)
    records = np.bincount(indices, sizes, minlength=len(distinct)).astype(np.float64)
    return Meanings(
        np.array([1.0 if lost is None else lost for lost in meaning.values()], np.float64)[indices],
        np.array([reader.climb(text) for text in read], np.float64)[indices],
        covers.sums(original)[indices],
        reader.log_value_counts,
        reader.size,
        reader.height,
        np.maximum(covers.sizes, 1).astype(np.float64)[indices],
        original,
        covers.spread(records),
    ), faults


def numbered(texts: pl.Series) -> tuple[list[str | None], Ints]:
    """Return the distinct texts of a column, and the place of each record's text among them.

    Examples
    --------
    >>> numbered(pl.Series(["b", None, "a", "b"]))
    (['a', 'b', None], array([1, 2, 0, 1]))
    """
    distinct = texts.drop_nulls().unique().sort().to_list()
    indices = texts.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).fill_null(len(distinct)).to_numpy()
    return [*distinct, *([None] if texts.null_count() else [])], indices


class Reader:
    """Reads the published texts of one column."""

    def __init__(self, raw: pl.DataFrame, name: str, policy: Policy, times: Times = None) -> None:
        spec = policy.quasi_identifiers[name]
        self.name = name
        self.foreign = not policy.models
        """Whether the table is anybody's, so that other signs than ``*`` may stand for nothing."""
        self.domain = column_domain(raw, name, policy, times)
        self.blank = plain(raw[name]).null_count() > 0 and spec.missing in ("own-value", "wildcard")
        self.wild = spec.missing == "wildcard"
        self.size = len(self.domain) + self.blank
        self.place = {text: number for number, text in enumerate(self.domain.texts)}
        self.records, self.missing = self.domain.records, self.domain.missing
        self.covered: dict[str, set[int]] = {}
        self.steps: list[Step] = []
        self.labels = self._labels(spec)
        self.bounds = self._bounds(spec)
        self._read: dict[str, Foreign | None] = {}

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
        found = _RANGE.match(text)
        if found and self.domain.ordered and found[1] in self.place and found[2] in self.place:
            return range(self.place[found[1]], self.place[found[2]] + 1)
        if self._set(text) is not None:
            return {self.place[item] for item in read_set(text) or () if item in self.place}
        read = self._elsewhere(text)
        return () if read is None else read.values

    def _elsewhere(self, text: str) -> Foreign | None:
        """Return what a text says in the notation of another tool, if in any."""
        if text not in self._read:
            self._read[text] = foreign(text, self.domain, self.place, self.size, self.foreign)
        return self._read[text]

    def _labels(self, spec: QuasiIdentifier) -> dict[str, float]:
        labels: dict[str, float] = {}
        self.steps = list(spec.hierarchy.steps(self.domain)) if spec.hierarchy and len(self.domain) else []
        for step in self.steps:
            covered: dict[str, set[int]] = {}
            for code, label in enumerate(step.labels):
                covered.setdefault(label, set()).add(code)
            self.covered |= {label: values | self.covered.get(label, set()) for label, values in covered.items()}
            for number, label in enumerate(step.names):
                if step.lows is not None and step.highs is not None:
                    low, high = max(step.lows[number], self.domain.low), min(step.highs[number], self.domain.high)
                    cost = (high - low) / self.domain.span if self.domain.span > 0 else 0.0
                else:
                    held = len(covered.get(label, ()))
                    cost = held / self.size if held > 1 else 0.0
                labels[label] = max(labels.get(label, 0.0), cost)
        return labels

    def covers(self, text: str | None, value: str | None) -> bool:
        """Whether a published text may stand for a value; ``None`` is the missing one."""
        values, missing = self.values_of(text)
        return missing if value is None else self.place.get(value, -1) in values

    def shown_at(self, level: int) -> set[str]:
        """Return the texts that values which are not missing show at a level of the hierarchy."""
        if level == 0:
            return {*self.place}
        return {*(self.steps[level - 1].names if level <= len(self.steps) else (STAR,))}

    def allows(self, text: str | None, value: str | None) -> bool:
        """Whether a record with a value may show a text: it covers the value, and is not above its boundary."""
        bound = None if value is None else self.bounds.get(self.place.get(value, -1))
        return self.covers(text, value) and (bound is None or bound.issuperset(self.values_of(text)[0]))

    def allowed_codes(self, text: str | None) -> Ints | range:
        """Return the values that may show a text: those that it covers and whose boundary it is not above."""
        codes = self.codes(text)
        if not self.bounds:
            return codes
        values, boundaries = self.values_of(text)[0], self._boundary_of[np.asarray(codes, np.int64)]
        above = [
            number for number in np.unique(boundaries[boundaries >= 0]) if not self._under[number].issuperset(values)
        ]
        return np.asarray(codes, np.int64)[~np.isin(boundaries, above)] if above else codes

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

    def codes(self, text: str | None) -> Ints | range:
        """Return the values that a text may stand for, in order, the missing one last; any where nobody can read it."""
        size, penalty = len(self.domain), self.penalty(text)
        if penalty is None or (text is None and penalty) or text == STAR:
            return range(size + 1)
        values, missing = self.values_of(text)
        if isinstance(values, range) and not missing:
            return values
        return np.array([*sorted(values), *([size] if missing else [])], np.int64)

    def covering(self, texts: Sequence[str | None]) -> Bools:
        """Return which values each text may stand for, the missing one last; any where nobody can read it."""
        table = np.zeros((len(texts), len(self.domain) + 1), bool)
        for number, text in enumerate(texts):
            table[number, self.codes(text)] = True
        return table

    def values_of(self, text: str | None) -> tuple[Collection[int], bool]:
        """Return the values that a published text may stand for, and whether the missing one is among them."""
        if text is None:
            return (), True
        return self._values(text), text == STAR or self._holds_missing(text)

    def extent(self, text: str | None) -> tuple[float, float] | None:
        """Return the least and the greatest number that a label or range covers; ``None`` for any other text."""
        for step in self.steps:
            if text in step.names and step.lows is not None and step.highs is not None:
                number = step.names.index(text)
                return float(step.lows[number]), float(step.highs[number])
        found = _RANGE.match(text or "")
        if found and self.domain.ordered and found[1] in self.place and found[2] in self.place:
            low, high = (float(self.domain.values[self.place[end]]) for end in (found[1], found[2]))
            return low, high
        return None

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
            return [(values[0],), (values[-1],)] if len(values) > 1 else []
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

    def cover(self, text: str | None) -> Collection[int]:
        """Return the places of all values that a text could stand for; the missing one's, if it is one, is the last."""
        if text == STAR:
            return range(self.size)
        if text is None:
            return range(len(self.domain), self.size)
        values = self._values(text)
        return {*values, len(self.domain)} if self.blank and self._holds_missing(text) else values

    def _holds_missing(self, text: str) -> bool:
        """Whether a text that is no value and no label is a set with the missing value in it."""
        known = text in self.place or text in self.covered
        return not known and None in (read_set(text) or ())

    def climb(self, text: str | None) -> float:
        """Return the lowest level with a label as wide as a readable text, as a share of the height."""
        height = self.height
        if text is None or (text in self.place and self.covered.get(text, set()) <= {self.place[text]}):
            return 0.0
        for level, step in enumerate(self.steps, start=1):
            if text in step.names:
                return level / height
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
        found = _RANGE.match(text)
        if found and found[1] in self.place and found[2] in self.place and self.domain.ordered:
            low, high = self.place[found[1]], self.place[found[2]]
            return self._width(self.domain, low, high) if low < high else None
        listed = self._set(text)
        read = self._elsewhere(text) if listed is None else None
        return listed if read is None else read.penalty

    @staticmethod
    def _width(domain: Domain, low: int, high: int) -> float:
        return (float(domain.values[high]) - float(domain.values[low])) / domain.span if domain.span > 0 else 0.0

    def _set(self, text: str) -> float | None:
        items = read_set(text)
        if items is None:
            return None
        known = all(item in self.place if item is not None else self.blank for item in items)
        return len(items) / self.size if known and len(set(items)) == len(items) > 1 else None


def named(text: str) -> list[str]:
    """Return the values that a text names: itself, both ends of a range, the items of a set.

    Examples
    --------
    >>> named("[20, 29]"), named('{a, "b, c", (missing)}'), named("21")
    (['20', '29'], ['a', 'b, c'], ['21'])
    """
    found = _RANGE.match(text)
    if found:
        return [found[1], found[2]]
    if text.startswith("{") and text.endswith("}"):
        return [item for item in read_items(text) if item is not None]
    return [] if text == STAR else [text]
