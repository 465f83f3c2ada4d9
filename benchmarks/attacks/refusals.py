"""Refusals tell the value: of somebody whose age and country are known, ask every occupation; which is refused?

Two clients ask, of whom one has the records of the country: an occupation that only this one is refused is shared by
too few of that age in that country.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import polars as pl

from benchmarks.attacks import Found
from benchmarks.attacks.victims import Memory, ask, open_gateway, people, promise
from shoal.gateway.mediator import Gateway

_TARGETS = 10
_FREQUENT = 50
_ALL = 50_000
"""All of Adult: each age with each occupation has to be frequent."""
_KNOWN = {"age": 4, "native-country": 3}


def run(draw: Random) -> Iterator[Found]:
    """Yield the persons whose occupation follows from what is refused."""
    for recoding in ("one", "each"):
        for threshold in (None, 4):
            yield _attack(draw, recoding, threshold)


def _find_rare(table: pl.DataFrame) -> list[tuple[int, str]]:
    """Return ages with countries that one person has, where each alone is frequent."""
    frequent = pl.all_horizontal(pl.len().over(name) >= _FREQUENT for name in _KNOWN)
    alone = pl.len().over(list(_KNOWN)) == 1
    return sorted(table.filter(frequent & alone).select(list(_KNOWN)).iter_rows())


def _attack(draw: Random, recoding: str, threshold: int | None) -> Found:
    table = people(_ALL)
    rare = _find_rare(table)
    occupations = sorted(table["occupation"].unique())
    found = 0
    known = {name: {"hierarchy": "suppress", "weight": weight} for name, weight in _KNOWN.items()}
    policy = promise(quasi_identifiers=known, threshold=threshold, algorithm="optimal", max_suppressed=0.3)
    said = {"people": {"policy": policy | {"others": "drop"}, "recoding": recoding}}
    with open_gateway(Memory(people=table), said, clients=2 * _TARGETS) as gateway:
        for number, (age, country) in enumerate(draw.sample(rare, _TARGETS)):
            knowing, unknowing = f"c{2 * number}", f"c{2 * number + 1}"
            ask(gateway, knowing, f"""SELECT "native-country" FROM people WHERE "native-country" = '{country}'""")
            odd = [
                job
                for job in occupations
                if _is_refused(gateway, knowing, age, job) != _is_refused(gateway, unknowing, age, job)
            ]
            true = set(table.filter(age=age, **{"native-country": country})["occupation"])
            found += len(odd) == 1 and odd[0] in true
    return Found(f"what is refused (recoding: {recoding}, threshold: {threshold})", found, _TARGETS)


def _is_refused(gateway: Gateway, client: str, age: int, job: str) -> bool:
    condition = f"age = {age} AND occupation = '{job}'"
    text = f"SELECT age, occupation, count(*) AS n FROM people WHERE {condition} GROUP BY age, occupation"
    return ask(gateway, client, text) is None
