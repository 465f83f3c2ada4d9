"""Whose records a class holds, where what it shows leaves no doubt."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.encoding.types import Ints
from shoal.risk._evidence import Evidence
from shoal.risk._matching import find_matches


def list_members(evidence: Evidence) -> Iterator[tuple[int, Ints]]:
    """Yield each class that may stand for just as many persons as it has, with the tuples of these persons."""
    assert evidence.release is not None
    assert evidence.meaning is not None
    assert evidence.people is not None
    for index, found in find_matches(evidence.release, evidence.meaning, evidence.people.tuples):
        if int(evidence.people.counts[found].sum()) == int(evidence.sizes[index]):
            yield index, found
