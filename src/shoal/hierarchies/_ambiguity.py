"""Published texts of a column that can be read in two ways: values with two meanings, labels with two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.encoding.domains import STAR, Domain
from shoal.encoding.labels import read_label
from shoal.encoding.types import Bools
from shoal.errors import Fault, examples
from shoal.hierarchies.base import Hierarchy, Levels

_FEW = 3
"""Values of a label that are named."""


def find_ambiguous_values(domain: Domain) -> Iterator[Fault]:
    """Yield the values of a column that are written as something else is: a suppressed value, a set, a range.

    Examples
    --------
    >>> print(*find_ambiguous_values(Domain.of("text", ["a", "b", "{a, b}"])))
    values that read as a set or a range of others; got '{a, b}'. Hint: replace them.
    """
    if domain.ordered:
        return  # a number or a date is nothing else
    if STAR in domain.texts:
        hint = "replace it, or make it missing"
        yield Fault("a value that is written as suppressed ones are", got=repr(STAR), hint=hint)
    known = {*domain.texts}
    as_others = [text for text in domain.texts if _lists(text, known)]
    if as_others:
        yield Fault("values that read as a set or a range of others", got=examples(as_others), hint="replace them")


def _lists(text: str, known: set[str]) -> bool:
    """Whether a value reads as a set or a range of values that the column has."""
    label = read_label(text)
    if label.form == "set":
        return len(label.items) > 1 and all(item is None or item in known for item in label.items)
    return label.form == "range" and known.issuperset(label.ends)


def find_ambiguous_labels(hierarchy: Hierarchy, levels: Levels, boundaries: Sequence[str] = ()) -> Iterator[Fault]:
    """Yield the labels that a release could show and that stand for two things.

    A label may be called as the one value that it stands for. Values that a hierarchy declares count whether they
    occur or not, for a reader cannot know. Labels that are ranges say themselves what they cover.

    Examples
    --------
    >>> from shoal.hierarchies import Mask
    >>> mask, domain = Mask(keep=[1]), Domain.of("text", ["1*", "12"])
    >>> print(*find_ambiguous_labels(mask, mask.build(domain, missing=None)))
    labels called like values that they do not just stand for; got '1*' for '1*', '12'. Hint: rename them.
    """
    declared = hierarchy.leaves()
    if not {*declared} <= {*levels.domain.texts}:
        whole = Domain.of("text", list(dict.fromkeys([*declared, *levels.domain.texts])))
        levels = Levels.of(whole, list(hierarchy.steps(whole)), missing=None, nested=hierarchy.nested)
    found = _Ambiguous(levels)
    limits = levels.limits(boundaries) if boundaries else np.full(levels.size, levels.height)
    for level in range(1, levels.height + 1):
        if np.isnan(levels.lows[level]).any():
            found.look_at(level, limits >= level)
    yield from found.faults()


@dataclass
class _Ambiguous:
    """Reads the labels of a column, level by level."""

    levels: Levels
    meanings: dict[str, npt.NDArray[np.intp]] = field(default_factory=dict)
    """Label → the codes that it stood for first."""
    as_values: list[str] = field(default_factory=list)
    as_sets: list[str] = field(default_factory=list)
    as_labels: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.codes = {text: code for code, text in enumerate(self.levels.domain.texts)}

    def look_at(self, level: int, is_shown: Bools) -> None:
        """Read the labels of a level, those that the release of some value could show."""
        names, numbers = self.levels.labels[level], self.levels.codes[level]
        order = np.argsort(numbers, kind="stable")
        starts = np.searchsorted(numbers[order], np.arange(len(names) + 1)).tolist()
        shown = np.bincount(numbers, is_shown, minlength=len(names)) > 0
        for number, text in enumerate(names):
            if shown[number] and text is not None and text != STAR:
                self._read(text, order[starts[number] : starts[number + 1]])

    def _read(self, text: str, under: npt.NDArray[np.intp]) -> None:
        if text in self.codes:
            wrong = self.as_values if under.tolist() != [self.codes[text]] else None
        elif self._lists_others(text, under):
            wrong = self.as_sets
        else:
            wrong = self.as_labels if not np.array_equal(self.meanings.setdefault(text, under), under) else None
        if wrong is not None:
            values = [self.levels.domain.texts[code] for code in under.tolist()]
            wrong.append(f"{text!r} for {examples(values, _FEW)}")

    def _lists_others(self, text: str, under: npt.NDArray[np.intp]) -> bool:
        """Whether a label reads as a set of values of the column, and stands for others."""
        label = read_label(text)
        listed = [self.codes.get(item or "") for item in label.items] if label.form == "set" else []
        return len(listed) > 1 and None not in listed and {*listed} != {*under.tolist()}

    def faults(self) -> Iterator[Fault]:
        """Yield what was found."""
        kinds = (
            ("labels called like values that they do not just stand for", self.as_values),
            ("labels that read as a set of other values than they stand for", self.as_sets),
            ("labels that stand for different values at different levels", self.as_labels),
        )
        for what, found in kinds:
            if found:
                yield Fault(what, got=examples(dict.fromkeys(found), quote=str), hint="rename them")
