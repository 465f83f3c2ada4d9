"""Counts that are told with noise, or rounded: what an owner may choose instead of answering with records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.errors import import_extra
from shoal.policy.answers import NoisyCounts

_MOST = 1_000_000_000
"""A threshold that no sensible policy comes near."""
_WORDS = 2**64
"""How many values a number of 64 bits may have."""


def add_noise(counts: Mapping[str, int], said: NoisyCounts, *, grouped: bool) -> dict[str, int]:
    """Return counts with discrete Laplace noise, drawn by OpenDP; groups under a threshold are left out.

    One person has at most ``contributions`` of the records, and so changes all counts together by no more than that. A
    group that one person alone makes up would give this person away by being there: groups whose noisy count does not
    reach a threshold are left out, which is so high that a group of one person passes it with a probability of
    ``delta`` at most. Scale and threshold are those that OpenDP proves enough.

    Examples
    --------
    >>> sure = NoisyCounts(counts="dp", epsilon=10)
    >>> noisy = add_noise({"a": 1000, "b": 1}, sure, grouped=True)
    >>> sorted(noisy), abs(noisy["a"] - 1000) < 20
    (['a'], True)
    """
    modules = {name: _import(f"opendp.{name}") for name in ("domains", "metrics", "measurements", "mod")}
    domains, metrics, make, mod = modules.values()
    mod.enable_features("contrib")
    whole, distance = domains.atom_domain(T=int), metrics.absolute_distance(T=int)

    def make_single(scale: float) -> Any:
        return make.make_laplace(whole, distance, scale=scale)

    scale = mod.binary_search_param(make_single, d_in=said.contributions, d_out=said.epsilon, T=float)
    if not grouped:
        draw = make_single(scale)
        return {group: int(draw(count)) for group, count in counts.items()}
    space = domains.map_domain(domains.atom_domain(T=str), whole), metrics.l01inf_distance(distance)

    def make_grouped(threshold: int) -> Any:
        return make.make_laplace_threshold(*space, scale=scale, threshold=threshold)

    bounds = (said.contributions,) * 3
    threshold = mod.binary_search(
        lambda threshold: make_grouped(threshold).map(bounds)[1] <= said.delta, bounds=(said.contributions, _MOST)
    )
    return {str(group): int(count) for group, count in make_grouped(threshold)(dict(counts)).items()}


def _import(module: str) -> Any:
    return import_extra(module, "dp", "counts with differential privacy", "opendp")


def round_count(count: int, cell: int, base: int, digest: Callable[[bytes], str]) -> int:
    """Return a count rounded down or up to a multiple, so that it is right on the average.

    ``cell`` is a number that follows from who is counted: the same persons are always rounded in the same way.

    Examples
    --------
    >>> import hashlib
    >>> {round_count(12, cell, 5, lambda data: hashlib.sha256(data).hexdigest()) for cell in range(20)}
    {10, 15}
    """
    return (count + int(draw_share(cell, "round", digest) * base)) // base * base


def draw_share(cell: int, purpose: str, digest: Callable[[bytes], str]) -> float:
    """Return a number from 0 to below 1 that follows from who is counted, and from a secret."""
    return int(digest(f"{purpose} {cell}".encode())[:13], 16) / 16**13


def number_person(name: bytes, digest: Callable[[bytes], str]) -> int:
    """Return a person's secret number of 64 bits; those of a cell add up to the cell's."""
    return int(digest(b"person " + name)[:16], 16)


def add_numbers(numbers: list[int]) -> int:
    """Return the number of a cell in which these persons are."""
    return sum(numbers) % _WORDS
