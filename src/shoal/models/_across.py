"""AcrossModel: base of the conditions on the sizes of all classes together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Background, Classes
from shoal.models.base import Holds, PrivacyModel


class AcrossModel(PrivacyModel):
    """Base of the conditions on the sizes of all classes together.

    Where a table does not comply, its smallest classes are suppressed, the fewest that suffice: they are what puts it
    at risk. Of classes of one size those go first whose labels come first, so that the order of records decides
    nothing.
    """

    classwise: ClassVar[bool] = False

    @abstractmethod
    def complies(self, sizes: Ints, background: Background) -> bool:
        """Return whether a table of classes of these sizes complies; one without classes does."""

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it stays, table by table."""
        kept: Holds = classes.sizes > 0
        if classes.kept is not None:
            kept &= classes.kept
        labels: Ints | None = None
        for begin, end in tables_of(classes):
            order = np.flatnonzero(kept[begin:end]) + begin
            if not self._left(classes.sizes[order], background):
                order = order[np.argsort(classes.sizes[order], kind="stable")]
                away = self._fewest(classes.sizes[order], background)
                if labels is None and classes.shown is not None:
                    labels = classes.shown()
                kept[_first(order, away, classes.sizes, labels)] = False
        return kept

    def _left(self, sizes: Ints, background: Background) -> bool:
        """Return whether a table complies when only classes of these sizes are left of it."""
        if background.starred:  # nothing else bars the suppressed records: they are a class that shows *
            out = background.whole.records - int(sizes.sum())
            sizes = np.append(sizes, out) if out else sizes
        return self.complies(sizes, background)

    def _fewest(self, sizes: Ints, background: Background) -> int:
        """Return how many of the smallest classes have to go; sizes are in order."""
        low, high = 0, len(sizes)  # with low of them gone it does not comply
        while high - low > 1:
            middle = (low + high) // 2
            if self._left(sizes[middle:], background):
                high = middle
            else:
                low = middle
        return high


def tables_of(classes: Classes) -> Iterator[tuple[int, int]]:
    """Yield where the classes of each table start and end."""
    begin = 0
    for end in [classes.count] if classes.ends is None else classes.ends.tolist():
        yield begin, end
        begin = end


def _first(order: Ints, count: int, sizes: Ints, labels: Ints | None) -> Ints:
    """Return so many of some classes that are sorted by size; of one size those whose labels come first."""
    if not 0 < count < len(order) or labels is None:
        return order[:count]
    size = sizes[order[count - 1]]
    smaller, same = order[sizes[order] < size], order[sizes[order] == size]
    ranked = same[np.lexsort(labels[same].T[::-1])]
    return np.append(smaller, ranked[: count - len(smaller)])
