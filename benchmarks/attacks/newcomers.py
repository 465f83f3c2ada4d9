"""The same request before and after somebody comes, leaves or changes: what differs is this person's record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import polars as pl

from benchmarks.attacks import Found
from benchmarks.attacks.victims import (
    SENSITIVE,
    WEIGHTS,
    K,
    Memory,
    ask,
    open_gateway,
    people,
    promise,
    write_list,
)
from shoal.gateway.mediator import Gateway

_TARGETS = 5


def run(draw: Random) -> Iterator[Found]:
    """Yield the persons who are fewer than k in what differs."""
    whole, table = people(), people().head(1_500)
    for kind in ("came", "left", "changed"):
        found = 0
        for target in draw.sample(range(table.height, whole.height), _TARGETS):
            person, victim = whole.slice(target, 1), draw.randrange(table.height)
            rest = pl.concat([table.head(victim), table.slice(victim + 1)])
            other = person.with_columns(name=pl.lit(table["name"][victim]))
            after = {"came": [table, person], "left": [rest], "changed": [rest, other]}[kind]
            source = Memory(people=table)
            with open_gateway(source, {"people": {"policy": promise()}}) as gateway:
                before = _read(gateway)
                source.change(people=pl.concat(after))
                now = _read(gateway)
            found += 0 < max((now - before).total(), (before - now).total()) < K
        yield Found(f"before and after somebody {kind}", found, _TARGETS)


def _read(gateway: Gateway) -> Counter[tuple[object, ...]]:
    """Return every record that a client may read, as it is and anonymized, and some counts."""
    texts = (
        f"SELECT {write_list([*WEIGHTS, *SENSITIVE])} FROM people",
        "SELECT age FROM people",
        "SELECT occupation, count(*) AS n FROM people GROUP BY occupation",
    )
    answers = [ask(gateway, "c0", text) for text in texts]
    return Counter((index, *row) for index, answer in enumerate(answers) if answer for row in answer.table.rows())
