"""What the statistics of classes give away: classes whose ages follow from range, mean and variance alone.

No peer, no target: it is the figure that docs/output-forms.md warns with. 10,000 records of Adult by Mondrian.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import polars as pl

import shoal
from benchmarks.results import Result


def run() -> Iterator[Result]:
    """Yield for some k the share of classes with a range of ages in which only one set of ages is possible."""
    table = shoal.datasets.adult().select("age", "sex", "education", "occupation").head(10_000)
    for k in (3, 5, 10, 20):
        policy = shoal.Policy(
            quasi_identifiers=["age", "sex", "education"],
            sensitive=["occupation"],
            models=[{"name": "k-anonymity", "k": k}],
            algorithm="mondrian",
            output={"form": "statistics", "ends": True},
        )
        made = shoal.anonymize(table, policy)
        ends = made.frame.select("class", "age.low", "age.high").unique().filter(pl.col("age.low") < pl.col("age.high"))
        told = ends.join(made.details.companions["statistics"].filter(pl.col("column") == "age"), on="class")
        known = 0
        for low, high, n, mean, variance in told.select("age.low", "age.high", "records", "mean", "variance").rows():
            known += possible(n, low, high, round(n * mean), round(n * (variance + mean * mean))) == 1
        share = known / told.height
        yield Result("statistics", f"classes whose ages all follow, k = {k}", share, unit="", note=f"of {told.height}")


def possible(n: int, low: int, high: int, total: int, squares: int) -> int:
    """Return how many sets of n whole numbers in a range have this sum and sum of squares; 2 for more than one."""

    @cache
    def left(n: int, least: int, total: int, squares: int) -> int:
        if not n:
            return int(total == squares == 0)
        if not n * least <= total <= n * high or squares * n < total * total:
            return 0
        ways = 0
        for number in range(least, total // n + 1):
            ways += left(n - 1, number, total - number, squares - number * number)
            if ways > 1:
                return 2
        return ways

    return left(n, low, total, squares)
