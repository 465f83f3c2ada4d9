"""Answers as they are: everything that weighs little enough, grouped; who is alone in it, or shown with a secret?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from random import Random

from benchmarks.attacks import Found
from benchmarks.attacks.victims import SENSITIVE, WEIGHTS, K, Memory, ask, open_gateway, people, promise, write_list


def run(draw: Random) -> Iterator[Found]:
    """Yield the persons of small groups in answers as they are, and those of whom a sensitive value is shown."""
    names = [*WEIGHTS, *SENSITIVE]
    sets = list(chain.from_iterable(combinations(names, size) for size in (1, 2, 3)))
    draw.shuffle(sets)
    alone: set[tuple[object, ...]] = set()
    secrets = 0
    table = people()
    with open_gateway(Memory(people=table), {"people": {"policy": promise()}}, clients=len(sets)) as gateway:
        for number, columns in enumerate(sets):
            listed = write_list(columns)
            answer = ask(gateway, f"c{number}", f"SELECT {listed}, count(*) AS n FROM people GROUP BY {listed}")
            if answer is None or answer.decisions[0].action != "release":
                continue
            small = answer.table.filter(answer.table["n"] < K)
            alone |= {(columns, *row) for row in small.iter_rows()}
            secrets += sum(answer.table["n"]) if set(columns) & set(SENSITIVE) else 0
    yield Found("small groups in answers as they are", len(alone), table.height, f"{len(sets)} sets of columns")
    yield Found("sensitive values in answers as they are", secrets, table.height, f"{len(sets)} sets of columns")
