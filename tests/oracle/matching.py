"""Can every published record be given an original record of its own that it is true of?"""

from __future__ import annotations

from collections.abc import Sequence


def assign(allowed: Sequence[Sequence[int]]) -> list[int] | None:
    """Give each left one a right one of its own; ``None`` where that cannot be done (Kuhn's augmenting paths)."""
    taken: dict[int, int] = {}

    def index(left: int, seen: set[int]) -> bool:
        for right in allowed[left]:
            if right in seen:
                continue
            seen.add(right)
            if right not in taken or index(taken[right], seen):
                taken[right] = left
                return True
        return False

    # the pickiest first: fewer paths to turn around
    for left in sorted(range(len(allowed)), key=lambda one: len(allowed[one])):
        if not index(left, set()):
            return None
    given = {left: right for right, left in taken.items()}
    return [given[left] for left in range(len(allowed))]
