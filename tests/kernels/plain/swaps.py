"""Plain twin of :mod:`shoal.kernels.swaps`."""

from __future__ import annotations


def choose_partners(numbers: list[float], reach: int) -> list[int]:
    """Return the free place that each exchanges with, at most so far above it; its own where none is left."""
    partners: dict[int, int] = {}
    for place, number in enumerate(numbers):
        ahead = [other for other in range(place + 1, min(place + reach + 1, len(numbers))) if other not in partners]
        if place not in partners:
            other = ahead[int(number * len(ahead))] if ahead else place
            partners[place], partners[other] = other, place
    return [partners[place] for place in range(len(numbers))]
