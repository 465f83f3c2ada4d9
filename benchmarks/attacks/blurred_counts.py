"""Counts with noise, or rounded: differences of two counts, and the same count asked in many ways and averaged."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from random import Random
from statistics import fmean
from typing import Any

import polars as pl

from benchmarks.attacks import Found
from benchmarks.attacks.victims import Memory, ask, open_gateway, people, promise
from shoal.gateway.mediator import Gateway

_TARGETS = 20


def run(draw: Random) -> Iterator[Found]:
    """Yield the persons whose occupation is guessed right from counts with and without them."""
    ways: dict[str, dict[str, Any]] = {"rounded": {"counts": "rounded", "base": 5}}
    if find_spec("opendp"):
        ways["dp"] = {"counts": "dp", "epsilon": 0.1, "client_budget": 2.0, "person_budget": 2.0}
    for name, said in ways.items():
        with open_gateway(Memory(people=people()), {"people": {"policy": promise(answers=said)}}, _TARGETS) as gateway:
            yield _subtract(draw, gateway, name)
            yield _average(draw, gateway, name)


def _subtract(draw: Random, gateway: Gateway, name: str) -> Found:
    """Everybody of an occupation, and everybody but the target: the difference should be one for the right guess."""
    table, found = people(), 0
    jobs = sorted(table["occupation"].unique())
    for number, target in enumerate(draw.sample(_find_unique(), _TARGETS)):
        alone = f"NOT (age = {target['age']} AND \"native-country\" = '{target['native-country']}')"
        differences = {}
        for job in jobs:
            counts = [
                ask(gateway, f"c{number}", f"SELECT count(*) AS n FROM people WHERE occupation = '{job}'{more}")
                for more in ("", f" AND {alone}")
            ]
            told = [answer.table["n"][0] for answer in counts if answer is not None]
            if len(told) == len(counts) and None not in told:
                differences[job] = told[0] - told[1]
        guesses = [job for job, difference in differences.items() if difference == 1]
        found += len(guesses) == 1 and guesses[0] == target["occupation"]
    return Found(f"difference of two counts ({name})", found, _TARGETS, "1 in 14 is right by chance")


def _average(draw: Random, gateway: Gateway, name: str) -> Found:
    """The same persons, told by many conditions: if the noise were fresh, the average would be the count."""
    table, found = people(), 0
    ages = draw.sample(range(25, 45), 10)
    for number, age in enumerate(ages):
        client = f"c{number}"
        texts = [f"age = {age}"] + [f"age = {age} AND age <> {other}" for other in range(100, 130)]
        answers = [ask(gateway, client, f"SELECT count(*) AS n FROM people WHERE {text}") for text in texts]
        told = [answer.table["n"][0] for answer in answers if answer is not None]
        exact = table.filter(pl.col("age") == age).height
        found += len(set(told)) > 1 and round(fmean(told)) == exact
    return Found(f"average of one count in many words ({name})", found, len(ages))


def _find_unique() -> list[dict[str, Any]]:
    """Return persons who are the only ones of their age and country."""
    table = people()
    alone = table.filter(pl.len().over("age", "native-country") == 1)
    return alone.rows(named=True)
