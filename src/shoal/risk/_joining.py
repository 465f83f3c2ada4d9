"""Two releases side by side: what both leave open about a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Ints
from shoal.risk._cells import Cells
from shoal.risk._matching import find_matches
from shoal.risk.base import Evidence, KnownPersons, OtherTable, PublishedClasses

_BLOCK = 4096
_ROOM = 20_000_000
"""So many cells are held at once, at most."""


@dataclass(frozen=True, kw_only=True)
class Joined:
    """For each tuple of the persons, what the releases leave open.

    Attributes
    ----------
    people
        The persons, perhaps a sample of them.
    alone, values
        Records of this release that may be the person's, and how many values they have.
    both, shared
        The most of these that can be in the earlier release too, and how many values both releases allow.
    smallest
        The smallest class that may hold the person; -1 where none may.
    """

    people: KnownPersons
    alone: Ints
    values: Ints
    both: Ints
    shared: Ints
    smallest: Ints
    left_out: str


def join_tables(evidence: Evidence, beside: OtherTable, codes: tuple[Ints, Ints], most: int) -> Joined:
    """Look for at most so many tuples of persons in this release and in an earlier one, block by block.

    ``codes`` are the numbers of what records show in the columns that both publish as they are.
    """
    assert evidence.release is not None
    assert beside.release is not None
    people, left_out = _sample(evidence, most)
    counted = [
        (release, Cells.of(release, own))
        for release, own in zip((evidence.release, beside.release), codes, strict=True)
    ]
    width = max(int(own.max(initial=0)) for own in codes) + 1
    found = np.zeros((5, len(people.counts)), np.int64)
    found[4] = -1
    for block in _blocks(len(people.counts)):
        evidence.progress("comparing with an earlier release", int(block[0]), len(people.counts))
        _join(evidence, people.tuples[block], counted, width, found, block)
    alone, values, both, shared, smallest = found
    return Joined(
        people=people,
        alone=alone,
        values=values,
        both=both,
        shared=shared,
        smallest=smallest,
        left_out=left_out,
    )


def _sample(evidence: Evidence, most: int) -> tuple[KnownPersons, str]:
    """Return the persons, or a sample of their tuples where there are too many, and what that leaves out."""
    assert evidence.people is not None
    people = evidence.people
    if len(people.counts) <= most:
        return people, ""
    chosen = np.sort(np.random.default_rng(evidence.seed).choice(len(people.counts), most, replace=False))
    left = f"{len(people.counts) - most:,} of {len(people.counts):,} kinds of persons, by chance"
    return KnownPersons(people.tuples[chosen], people.counts[chosen]), left


def _blocks(count: int) -> Iterator[Ints]:
    for begin in range(0, count, _BLOCK):
        yield np.arange(begin, min(begin + _BLOCK, count))


def _join(
    evidence: Evidence,
    tuples: Ints,
    counted: list[tuple[PublishedClasses, Cells]],
    width: int,
    found: Ints,
    block: Ints,
) -> None:
    """Fill in what is found about one block of tuples; in two halves where that is too much at once."""
    assert evidence.meaning is not None
    sides: list[tuple[Ints, Ints]] = []
    for side, (release, cells) in enumerate(counted):
        pairs = [(index, inside) for index, inside in find_matches(release, evidence.meaning, tuples)]
        classes = np.repeat([index for index, _ in pairs], [len(inside) for _, inside in pairs]).astype(np.int64)
        persons = np.concatenate([np.zeros(0, np.int64), *(inside for _, inside in pairs)])
        held = np.diff(cells.starts)[classes]
        if int(held.sum()) > _ROOM and len(block) > 1:
            for half in np.array_split(np.arange(len(block)), 2):
                _join(evidence, tuples[half], counted, width, found, block[half])
            return
        if side == 0:
            found[4, block] = _smallest(persons, classes, release.sizes, len(block))
        sides.append(_open(persons, classes, held, cells, width))
    (keys, counts), (earlier, others) = sides
    here = keys // width
    found[0, block] = np.bincount(here, counts, len(block))
    found[1, block] = np.bincount(here, minlength=len(block))
    _, mine, theirs = np.intersect1d(keys, earlier, assume_unique=True, return_indices=True)
    found[2, block] = np.bincount(here[mine], np.minimum(counts[mine], others[theirs]), len(block))
    found[3, block] = np.bincount(here[mine], minlength=len(block))


def _smallest(persons: Ints, classes: Ints, sizes: Ints, count: int) -> Ints:
    """Return for each person the smallest class that may hold them."""
    order = np.argsort(-sizes[classes], kind="stable")
    smallest = np.full(count, -1, np.int64)
    smallest[persons[order]] = classes[order]  # the last one written stays
    return smallest


def _open(persons: Ints, classes: Ints, held: Ints, cells: Cells, width: int) -> tuple[Ints, Ints]:
    """Return for each person and value how many records there may be theirs: keys in order, and counts."""
    ends = np.cumsum(held)
    indices = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - held, held)
    indices += np.repeat(cells.starts[classes], held)
    keys, inverse = np.unique(np.repeat(persons, held) * width + cells.values[indices], return_inverse=True)
    return keys, np.bincount(inverse, cells.counts[indices], len(keys)).astype(np.int64)
