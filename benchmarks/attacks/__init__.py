"""Attacks on the gateway: one file each, found by being here; each says how many persons it finds.

An attack has ``run(draw)``, which yields what it :class:`Found`: it draws its targets from ``draw``, asks as a client
would, and counts a person as found where what it concludes is true and could not be said of k persons alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from random import Random
from typing import NamedTuple


class Found(NamedTuple):
    """What came of an attack."""

    attack: str
    """What it does."""
    persons: int
    """How many persons it found."""
    tried: int
    """How many it looked for."""
    note: str = ""


def run_all(seed: int) -> Iterator[Found]:
    """Run every attack, each with numbers of its own."""
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        if module.name != "victims":
            yield from import_module(f"{__name__}.{module.name}").run(Random(f"{module.name} {seed}"))
