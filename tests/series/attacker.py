"""Who knows everybody in every release, and tries all assignments of values to persons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

Group = tuple[frozenset[str], Counter[str]]
"""The persons of a class, and how often it shows each value."""


def find_possible(releases: Sequence[Sequence[Group]]) -> dict[str, set[str]]:
    """Return each person's values in all assignments that explain every class of every release.

    Persons whose value changes are other persons from then on: whoever calls names them so.
    """
    groups = [group for release in releases for group in release]
    persons = sorted({person for members, _ in groups for person in members})
    of_person = {person: [n for n, (members, _) in enumerate(groups) if person in members] for person in persons}
    found: dict[str, set[str]] = {person: set() for person in persons}

    def explain(index: int, left: list[Counter[str]]) -> Iterator[dict[str, str]]:
        if index == len(persons):
            yield {}
            return
        person = persons[index]
        places = of_person[person]
        for value in [value for value, times in left[places[0]].items() if times]:
            if all(left[place][value] > 0 for place in places):
                for place in places:
                    left[place][value] -= 1
                for rest in explain(index + 1, left):
                    yield {person: value, **rest}
                for place in places:
                    left[place][value] += 1

    for world in explain(0, [counts.copy() for _, counts in groups]):
        for person, value in world.items():
            found[person].add(value)
    return found
