"""Who may be in which class: what classes show against what is known of persons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shoal.encoding.types import Ints
from shoal.risk.base import Evidence, PublishedClasses, TextMeaning


def find_matches(release: PublishedClasses, meaning: Sequence[TextMeaning], tuples: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each class with the tuples that it may stand for, by what it shows in every column.

    Classes that show the same in the first columns are looked at together, so each text is compared once with those
    tuples only that all texts before it cover. A value that is not known (-1) is covered by every text.

    Examples
    --------
    >>> release = PublishedClasses(np.array([0, 1]), np.array([[0], [1]]), np.array([1, 1]))
    >>> covers = np.array([[True, True, False], [False, True, True]])
    >>> for number, found in find_matches(release, [TextMeaning(covers, covers - 1)], np.array([[0], [1], [-1]])):
    ...     print(number, found)
    0 [0 1 2]
    1 [1 2]
    """
    if not len(release.shown):
        return
    # columns whose texts cover least come first: they rule out most
    order = sorted(range(len(meaning)), key=lambda index: float(meaning[index].covers.mean()))
    shown = release.shown[:, order]
    sorted_classes = np.lexsort(shown.T[::-1])
    covers = [np.hstack((meaning[index].covers, np.ones((len(meaning[index].covers), 1), bool))) for index in order]
    yield from _descend(shown[sorted_classes], sorted_classes, covers, tuples[:, order], np.arange(len(tuples)), 0)


def _descend(
    shown: Ints, classes: Ints, covers: Sequence[np.ndarray], tuples: Ints, alive: Ints, column: int
) -> Iterator[tuple[int, Ints]]:
    if column == len(covers):
        for number in classes.tolist():
            yield number, alive
        return
    texts = shown[:, column]
    begins = np.flatnonzero(np.append(True, texts[1:] != texts[:-1]))
    values = tuples[alive, column]  # -1 is the last place: not known, covered
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(texts)], strict=True):
        inside = alive[covers[column][texts[begin]][values]]
        if len(inside):
            yield from _descend(shown[begin:end], classes[begin:end], covers, tuples, inside, column + 1)


def list_members(evidence: Evidence) -> Iterator[tuple[int, Ints]]:
    """Yield each class that may stand for just as many persons as it has, with the tuples of these persons."""
    assert evidence.release is not None
    assert evidence.meaning is not None
    assert evidence.people is not None
    for index, found in find_matches(evidence.release, evidence.meaning, evidence.people.tuples):
        if int(evidence.people.counts[found].sum()) == int(evidence.sizes[index]):
            yield index, found
