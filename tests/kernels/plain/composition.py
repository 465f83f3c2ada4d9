"""What a condition asks of a class, read off its definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from math import log

NEAR = 1e-9


def holds(form: str, numbers: Sequence[float], bound: float, held: Sequence[int], least: int) -> bool:
    """Return whether a class with so many records at each place satisfies one condition, and has enough of them."""
    size = sum(held)
    if size < least:
        return False
    if form == "caps":
        return all(count <= number * size + NEAR for count, number in zip(held, numbers, strict=True))
    if form == "floors":
        return all(count >= number * size - NEAR for count, number in zip(held, numbers, strict=True))
    if form == "requests":
        return all(number <= size for count, number in zip(held, numbers, strict=True) if count)
    if form == "distinct":
        return sum(count > 0 for count in held) >= bound
    if form == "surplus":
        surplus = sum(max(count - share * size, 0.0) for count, share in zip(held, numbers, strict=True))
        return surplus <= (bound + NEAR) * size
    if form == "ordered":
        moved = [sum(held[: place + 1]) - sum(numbers[: place + 1]) * size for place in range(len(held))]
        return sum(map(abs, moved)) <= (bound + NEAR) * size
    if form == "evenness":
        return sum(numbers[count] for count in held if count) <= size * (log(size) - bound + NEAR)
    ranked = sorted(held, reverse=True)
    return ranked[0] < bound * sum(ranked[int(numbers[0]) - 1 :]) - NEAR * size


def complete(held: Sequence[int], planned: int) -> Iterator[list[int]]:
    """Yield every class of the planned number of records that has these among its own."""
    for more in combinations_with_replacement(range(len(held)), planned - sum(held)):
        yield [count + more.count(place) for place, count in enumerate(held)]
