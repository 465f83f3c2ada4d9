"""Local recoding: the loss of shoal and the times of all, against bars set before they were measured.

Bars of losses are those of prototypes (the same trees) and of the best peers known. Where a bar has a time, it is CPU
seconds of the search, kernels warm, since other work on the machine disturbs wall seconds; times of a million records
are wall seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import polars as pl

from benchmarks import data
from benchmarks.results import Result, Timed, timed
from shoal.algorithms.local.shoal import _ROUNDS, Shoal
from shoal.pipeline.solve import Solution
from shoal.policy import Policy
from shoal.recodings.equivalence_classes import finish_recoding
from shoal.testing import encode_table, solve_table

NAME = "local_recoding"
LONG = 2.0
"""The effort that is asked to meet the bars of losses."""
TREES = {
    # columns: k → the most that may be lost
    5: {3: 0.0077, 6: 0.0175, 12: 0.0325, 21: 0.051},
    8: {5: 0.0415, 10: 0.067, 50: 0.152},
}
ARX = {2: (0.0165, 0.0326), 5: (0.045, 0.0590), 10: (0.072, 0.0842)}
"""k → the most that may be lost with much effort; ARX's loss by its local recoding, recorded."""
SETS = {2: 0.0012, 5: 0.0038, 10: 0.0076, 50: 0.0295, 100: 0.0480}
SETS_OF_3 = ("age", "sex", "native-country")
SETS_OF_8 = (
    "age",
    "education-num",
    "workclass",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
)
TIMES: dict[str, tuple[dict[str, object], float]] = {
    "mondrian": ({"name": "mondrian"}, 0.1),
    "shoal, effort 0": ({"name": "shoal", "effort": 0}, 0.2),
    "k-member": ({"name": "k-member"}, 15.0),
    "spanning-tree": ({"name": "spanning-tree"}, 5.0),
}
MILLION: dict[str, tuple[dict[str, object], float]] = {
    "mondrian": ({"name": "mondrian"}, 3.0),
    "shoal, effort 0": ({"name": "shoal", "effort": 0}, 8.0),
    "shoal, 20 rounds": ({"name": "shoal", "effort": 20 / _ROUNDS}, 30.0),
}
GROWTH = (100_000, 300_000, 1_000_000)


def run() -> Iterator[Result]:
    """Yield losses with trees, with ARX's hierarchies and with sets of values; then times, then a million records."""
    for part in PARTS.values():
        yield from part()


def with_trees() -> Iterator[Result]:
    """Adult with the trees of our policy, which are those of the notes that the bars come from."""
    table = data.complete_adult()
    for width, bars in TREES.items():
        for k, bar in bars.items():
            make = _maker(lambda k, how, width=width: data.local_policy(data.EIGHT[:width], k, how), k)  # type: ignore[misc]
            yield from _losses(f"{width} columns, k={k}", table, make, bar)


def with_arx() -> Iterator[Result]:
    """ARX's nine columns and hierarchies, age by its range."""
    if not data.ARX.exists():
        yield Result(NAME, "ARX's Adult: skipped", None, note="needs ../shared/data/arx-adult, which is not here")
        return
    table = data.arx_adult()
    columns = {**data.arx_policy(0.0).quasi_identifiers, "age": {}}
    for k, (bar, arx) in ARX.items():

        def make(how: Mapping[str, object], k: int = k) -> Policy:
            return Policy(quasi_identifiers=columns, models=[{"name": "k-anonymity", "k": k}], algorithm=how)

        yield from _losses(f"ARX's 9 columns, k={k}", table, make, bar, first_bar=arx, seconds=(0.2, 15.0))


def with_sets() -> Iterator[Result]:
    """Sets of values instead of labels: 3 columns of 5,000 records, 8 columns of all."""
    table = data.complete_adult()
    for k, bar in SETS.items():
        make = _maker(lambda k, how: data.sets_policy(SETS_OF_3, k, how), k)
        yield from _losses(f"sets, 3 columns of 5,000, k={k}", table.head(5_000), make, bar)
    make = _maker(lambda k, how: data.sets_policy(SETS_OF_8, k, how), 10)
    yield from _losses("sets, 8 columns, k=10", table, make, 0.044, seconds=(None, 10.0))


def times() -> Iterator[Result]:
    """The search alone: 30,162 records, eight columns, k = 10."""
    table = data.complete_adult()
    for name, (how, bar) in TIMES.items():
        policy = data.local_policy(data.EIGHT, 10, how)
        taken, loss = searched(table, policy, 5 if bar < 1 else 1)
        note = f"wall {taken.wall:.2f} s, loss {loss:.4f}"
        yield Result(NAME, f"search, 8 columns, k=10, {name}: CPU", taken.cpu, target=bar, note=note)


def million() -> Iterator[Result]:
    """A million records, eight columns, k = 10, table to decision; and how times grow."""
    for name, (how, bar) in MILLION.items():
        policy = data.local_policy(data.EIGHT, 10, how)
        solve_table(data.complete_adult().head(2_000), policy)  # loads the kernels
        seconds = []
        for records in GROWTH:
            table = data.million_adult(records)
            wall, cpu = time.perf_counter(), time.process_time()
            loss = solve_table(table, policy).loss
            seconds.append((time.perf_counter() - wall, time.process_time() - cpu))
        wall, cpu = seconds[-1]
        grown = ", ".join(f"{n:,}: {w:.2f} s" for n, (w, _) in zip(GROWTH, seconds, strict=True))
        told = f"loss {loss:.4f}; wall {grown}"
        yield Result(NAME, f"a million records, {name}", wall, target=bar, cpu=cpu, note=told)
        for times_more, (_, later) in zip((3, 10), seconds[1:], strict=True):
            figure = f"CPU for {times_more}n over that for n, {name}"
            yield Result(NAME, figure, later / seconds[0][1], "×", target=1.2 * times_more, note="n = 100,000")


PARTS: dict[str, Callable[[], Iterator[Result]]] = {
    "trees": with_trees,
    "arx": with_arx,
    "sets": with_sets,
    "times": times,
    "million": million,
}


def _maker(policy: Callable[[int, object], Policy], k: int) -> Callable[[Mapping[str, object]], Policy]:
    return lambda how: policy(k, how)


def _losses(
    what: str,
    table: pl.DataFrame,
    policy: Callable[[Mapping[str, object]], Policy],
    bar: float,
    first_bar: float | None = None,
    seconds: Sequence[float | None] = (None, None),
) -> Iterator[Result]:
    """Loss and CPU seconds of the search without rounds, then with many."""
    for effort, most, limit in zip((0.0, LONG), (first_bar, bar), seconds, strict=True):
        taken, loss = searched(table, policy({"name": "shoal", "effort": effort}), 1 if effort else 3)
        note = f"search: CPU {taken.cpu:.2f} s, wall {taken.wall:.2f} s"
        yield Result(NAME, f"{what}: loss, effort {effort:g}", loss, "", target=most, note=note)
        if limit is not None:
            yield Result(NAME, f"{what}: CPU, effort {effort:g}", taken.cpu, target=limit)


def searched(table: pl.DataFrame, policy: Policy, runs: int) -> tuple[Timed, float]:
    """Return the times of the search alone, kernels warm, and what its answer loses when it is published."""
    quick = Shoal(effort=0.1) if isinstance(policy.algorithm, Shoal) else policy.algorithm
    solve_table(table.head(2_000), policy.replace(algorithm=quick))  # loads the kernels
    encoded = encode_table(table, policy)
    taken, recoding = timed(lambda: policy.algorithm.search(encoded.problem(policy)), runs)
    final = recoding.extend(encoded.frequencies)
    publication = finish_recoding(final, encoded.frequencies, encoded.columns, policy.models, encoded.background)
    return taken, Solution(policy, encoded, final, publication).loss
