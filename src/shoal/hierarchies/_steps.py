"""Step: the labels of one level; what is wrong with steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shoal.encoding.domains import Domain
from shoal.encoding.types import Codes, Floats
from shoal.errors import Fault, examples


@dataclass(frozen=True)
class Step:
    """One level above the values: which label each value has and, for ordered labels, what each label covers.

    Examples
    --------
    >>> Step.of(["low", "high", "low"]).numbers
    array([0, 1, 0], dtype=int32)
    """

    numbers: Codes
    """The number of each value's label."""
    names: tuple[str, ...]
    """The labels; no two are the same."""
    lows: Floats | None = None
    highs: Floats | None = None
    """The least and the greatest that each label covers."""

    @classmethod
    def of(cls, labels: Sequence[str]) -> Step:
        """Make a level from the label of each value."""
        indices = {label: number for number, label in enumerate(dict.fromkeys(labels))}
        return cls(np.array([indices[label] for label in labels], np.int32), tuple(indices))

    @property
    def labels(self) -> list[str]:
        """The label of each value."""
        return [self.names[number] for number in self.numbers.tolist()]


def find_unreadable(domain: Domain, steps: Sequence[Step]) -> Iterator[Fault]:
    """Yield a fault for each label that shows nothing: in a file it is a missing value, or looks like one.

    A value that shows nothing may stay as it is.

    Examples
    --------
    >>> print(*find_unreadable(Domain.of("text", ["a", "b"]), [Step.of(["", ""])]))
    a label shows nothing; got '' at level 1, over 'a', 'b'. Hint: give it a name.
    """
    for level, step in enumerate(steps, start=1):
        for number, name in enumerate(step.names):
            under = [] if name.strip() else [domain.texts[index] for index in np.flatnonzero(step.numbers == number)]
            if any(text != name for text in under):
                got = f"{name!r} at level {level}, over {examples(under)}"
                yield Fault("a label shows nothing", got=got, hint="give it a name")


def check_coarsening(steps: Sequence[Step]) -> Iterator[Fault]:
    """Yield a fault for each level that does not coarsen the one below; it names a label with several parents.

    Examples
    --------
    >>> print(*check_coarsening([Step.of(["a", "a", "b"]), Step.of(["x", "y", "y"])]))
    level 2 does not coarsen level 1: 'a' has 2 parents; got 'x', 'y'. Hint: a label belongs to one label of the ...
    """
    for level, (below, above) in enumerate(pairwise(steps), start=2):
        width = len(above.names)
        pairs = np.unique(below.numbers.astype(np.int64) * width + above.numbers)
        parents = np.bincount(pairs // width, minlength=len(below.names))
        split = np.flatnonzero(parents > 1)
        if not len(split):
            continue
        names = sorted(above.names[pair % width] for pair in pairs[pairs // width == split[0]].tolist())
        more = f" (and {len(split) - 1} more such labels)" if len(split) > 1 else ""
        yield Fault(
            f"level {level} does not coarsen level {level - 1}: "
            f"{below.names[split[0]]!r} has {len(names)} parents{more}",
            got=examples(names),
            hint="a label belongs to one label of the level above",
        )
