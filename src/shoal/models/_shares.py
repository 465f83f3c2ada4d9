"""How much more, and less, likely a value is in each class than in the whole table, as whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Background, Histogram
from shoal.models._exact import Numbers, roomy


@dataclass(frozen=True)
class Rises:
    """For each class and value: its share in the class by its share in the table, at most.

    Wild records of a class are thought to have the value, each value in turn; so a value that no record of the class
    is known to have counts too, the rarest of the table being the worst. They have it in the table as well, which
    they are part of; wild records of the rest are thought to have another. Where persons are counted, some of them may
    have it already, so that nobody is added in the table.

    Attributes
    ----------
    classes
        The class of each entry.
    above, below
        The ratio of the shares.
    held, everyone
        The share in the table.
    """

    classes: Ints
    above: Numbers
    below: Numbers
    held: Ints
    everyone: int

    @classmethod
    def of(cls, own: Histogram, background: Background, names: tuple[str, ...]) -> Rises:
        """Compare the classes with the table."""
        table = background.table(names)
        everyone = int(table.persons[0])
        kind = roomy(everyone, everyone)
        wild = np.flatnonzero(own.wild)
        rarest = int(table.counts.min(initial=everyone))
        classes = np.append(own.classes, wild)
        joined = own.wild[classes]
        counts = np.minimum(np.append(own.counts, np.zeros(len(wild), np.int64)) + joined, own.persons[classes])
        in_table = np.append(background.counts(names, own.values), np.full(len(wild), rarest))
        held = np.minimum(in_table + (joined if background.whole.subjects is None else 0), everyone)
        below = held.astype(kind) * own.persons[classes]
        return cls(classes, counts.astype(kind) * everyone, below, held, everyone)


def least_for_share(shares: Floats) -> Ints:
    """Return how many records a class has at least where one of them is no more than such a share of it.

    Examples
    --------
    >>> least_for_share(np.array([0.3, 0.25, 1.0]))
    array([4, 4, 1])
    """
    least: Ints = np.ceil(1.0 / shares - 1e-6).astype(np.int64)
    return least


def falls(own: Histogram, background: Background, names: tuple[str, ...]) -> tuple[Numbers, Numbers]:
    """Return for each entry its share in the class by its share in the table, at least.

    Wild records of the class are thought not to have the value, those of the rest of the table to have it; where
    persons are counted, those of the class may be in the rest too.
    """
    table = background.table(names)
    everyone = int(table.persons[0])
    kind = roomy(everyone, everyone)
    inside = own.wild if background.whole.subjects is None else np.zeros_like(own.wild)
    elsewhere = (int(table.wild[0]) - inside)[own.classes]
    held = np.minimum(background.counts(names, own.values) + elsewhere, everyone)
    return own.counts.astype(kind) * everyone, held.astype(kind) * own.persons[own.classes]
