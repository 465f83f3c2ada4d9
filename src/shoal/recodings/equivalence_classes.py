"""EquivalenceClasses: a recoding made final; classes that look alike are one, suppressed records starred or left
out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shoal.encoding.domains import STAR
from shoal.encoding.types import Bools, Ints
from shoal.frequencies.frequencies import Background, Classes, Frequencies
from shoal.kernels.group import group
from shoal.models.base import PrivacyModel
from shoal.recodings.base import ClassAssignment, Column, ColumnLabels, Recoding
from shoal.recodings.covering import count_persons


@dataclass(frozen=True)
class EquivalenceClasses:
    """What is published: the class of each piece, what each class shows, and what is left out."""

    classes: Classes
    columns: tuple[ColumnLabels, ...]
    starred: int
    """The class that shows ``*`` everywhere, -1 where there is none."""
    dropped: int
    """Records that are left out of the table."""
    held: int = 0
    """Records that are suppressed in a table where all others show ``*`` too."""

    @property
    def suppressed(self) -> int:
        """Records that show nothing: starred or left out.

        Where *every* published record shows ``*`` everywhere, the table as a whole was generalized to the top, which
        costs 1 per cell but suppresses nobody, except those who could not be generalized so far.
        """
        return self.shows_nothing(alone=True)

    def shows_nothing(self, *, alone: bool) -> int:
        """Return the records that show nothing; ``alone``: there is nothing published beside these classes."""
        counts = self.starred >= 0 and not (alone and self.classes.count == 1)
        return (int(self.classes.records[self.starred]) if counts else self.held) + self.dropped


def finish_recoding(
    recoding: Recoding,
    frequencies: Frequencies,
    columns: tuple[Column, ...],
    models: Sequence[PrivacyModel],
    background: Background,
    *,
    star: bool = True,
) -> EquivalenceClasses:
    """Make a recoding final.

    Suppressed records are a class like any other: they are published with ``*`` everywhere if that class
    satisfies every model, and left out if it does not (one starred record with its diagnosis is a person
    found) or if ``star`` is false.
    """
    draft = _within_boundaries(recoding.draft(frequencies, columns), frequencies, columns)
    merged, starred = _merge(_with_starred_class(draft, frequencies))
    classes = describe_classes(merged, frequencies, background)
    out = draft.members < 0
    if starred < 0 or (merged.count == 1 and not out.any()):
        return EquivalenceClasses(classes, merged.columns, starred, 0)
    members = np.where(merged.members == starred, 0, -1).astype(np.int64)
    only = replace(classes, count=1, members=members, shown=None, blank=None, matches=background.matches_of_stars)
    fits = all(
        bool(model.holds(only, background)[0] if model.classwise else model.holds(classes, background).all())
        for model in models
    )
    if star and fits and not out.all():  # a table of suppressed records is no release
        return EquivalenceClasses(
            classes, merged.columns, starred, 0, int(draft.weights[out].sum()) * (merged.count == 1)
        )
    if merged.count == 1 and not out.all():  # the others show * too, and are not suppressed
        return _keep_rest(merged, out, frequencies, background)
    return _drop_classes(merged, starred, frequencies, background)


def _keep_rest(
    draft: ClassAssignment, out: Bools, frequencies: Frequencies, background: Background
) -> EquivalenceClasses:
    """Leave out the suppressed records of a table in which the others show ``*`` everywhere."""
    left = replace(draft, members=np.where(out, -1, draft.members).astype(np.int64))
    return EquivalenceClasses(
        describe_classes(left, frequencies, background), left.columns, 0, int(draft.weights[out].sum())
    )


def _within_boundaries(
    draft: ClassAssignment, frequencies: Frequencies, columns: tuple[Column, ...]
) -> ClassAssignment:
    """Suppress the classes that show a value above its boundary."""
    beyond = np.zeros(draft.count, bool)
    tuples = frequencies.cell_tuples if draft.cells is None else frequencies.cell_tuples[draft.cells]
    inside = draft.members >= 0
    for index, (column, shown) in enumerate(zip(columns, draft.columns, strict=True)):
        if column.limits is not None:
            lowest = np.full(draft.count, column.levels.height, np.int64)
            np.minimum.at(lowest, draft.members[inside], column.limits[frequencies.tuples[tuples[inside], index]])
            beyond |= shown.levels > lowest
    if not beyond.any():
        return draft
    numbers = np.where(beyond, -1, np.cumsum(~beyond) - 1)
    columns_left = tuple(shown.take(~beyond) for shown in draft.columns)
    members = np.where(inside, numbers[draft.members], -1)
    return replace(draft, members=members, count=int((~beyond).sum()), columns=columns_left)


def _with_starred_class(draft: ClassAssignment, frequencies: Frequencies) -> ClassAssignment:
    if not (draft.members < 0).any():
        return draft
    members = np.where(draft.members < 0, draft.count, draft.members)
    columns = tuple(
        ColumnLabels(
            (*shown.texts, STAR),
            np.append(shown.ids, len(shown.texts)),
            np.append(shown.penalties, 1.0),
            np.append(shown.levels, 0),
            np.append(shown.stands_for, frequencies.records),
            partial(_and_all, shown.covers),
        )
        for shown in draft.columns
    )
    return replace(draft, members=members, count=draft.count + 1, columns=columns)


def _and_all(covers: Callable[[], Bools]) -> Bools:
    """Add a text that covers every value."""
    known = covers()
    return np.vstack([known, np.ones((1, known.shape[1]), bool)])


def _merge(draft: ClassAssignment) -> tuple[ClassAssignment, int]:
    """Make classes that show the same texts one class; return also the number of the starred one."""
    if not draft.count:
        return draft, -1
    columns = [_merge_by_text(shown) for shown in draft.columns]
    groups, rows = group([shown.ids for shown in columns], [len(shown.texts) for shown in columns])
    merged = tuple(shown.take(rows) for shown in columns)
    stars = np.logical_and.reduce([shown.stars for shown in merged])
    starred = int(np.flatnonzero(stars)[0]) if stars.any() else -1
    return replace(draft, members=groups[draft.members], count=len(rows), columns=merged), starred


def _merge_by_text(shown: ColumnLabels) -> ColumnLabels:
    if len({*shown.texts}) == len(shown.texts) and STAR not in shown.texts:
        return shown
    numbers: dict[str | None, int] = {}
    renumbered = np.array([numbers.setdefault(text, len(numbers)) for text in shown.texts], np.int64)
    ids = renumbered[shown.ids]
    penalties = np.where(ids == numbers.get(STAR, -1), 1.0, shown.penalties)
    return ColumnLabels(
        tuple(numbers), ids, penalties, shown.levels, shown.stands_for, partial(_join_covers, shown, renumbered)
    )


def _join_covers(shown: ColumnLabels, renumbered: Ints) -> Bools:
    """Which values each text covers, where the same text had several numbers."""
    covers = shown.covers()
    joined = np.zeros((int(renumbered.max(initial=-1)) + 1, covers.shape[1]), bool)
    np.logical_or.at(joined, renumbered, covers)
    return joined


def _drop_classes(
    draft: ClassAssignment, starred: int, frequencies: Frequencies, background: Background
) -> EquivalenceClasses:
    members = draft.members
    dropped = int(draft.weights[members == starred].sum())
    members = np.where(members == starred, -1, members - (members > starred)).astype(np.int64)
    others = np.arange(draft.count) != starred
    columns = tuple(shown.take(others) for shown in draft.columns)
    left = replace(draft, count=draft.count - 1, members=members, columns=columns)
    return EquivalenceClasses(describe_classes(left, frequencies, background), columns, -1, dropped)


def describe_classes(draft: ClassAssignment, frequencies: Frequencies, background: Background) -> Classes:
    """Return the classes of a draft for models to look at, with what they show and whom they match."""

    def shown() -> Ints:
        return np.stack([column.ids for column in draft.columns], axis=1)

    def blank() -> Bools:
        return np.stack([column.stars for column in draft.columns], axis=1)

    people = background.population
    matches = None if people is None else partial(count_persons, people, draft.columns)
    return Classes(
        draft.count, draft.members, draft.cells, draft.weights, frequencies, shown=shown, blank=blank, matches=matches
    )


def list_pieces(publication: EquivalenceClasses) -> tuple[Ints, Ints, Ints]:
    """Return cell, class and records of each piece."""
    classes = publication.classes
    cells = np.arange(len(classes.members)) if classes.cells is None else classes.cells
    return cells, classes.members, classes.weights
