"""A simulated hospital: patients are admitted, discharged, move, come back, and have diagnoses corrected, month by
month."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

SHARES = {
    "hypertension": 14.0,
    "asthma": 12.0,
    "diabetes": 11.0,
    "influenza": 10.0,
    "fracture": 9.0,
    "pneumonia": 8.0,
    "migraine": 7.0,
    "gastritis": 7.0,
    "anaemia": 6.0,
    "depression": 5.0,
    "arthritis": 4.0,
    "hepatitis": 3.0,
    "epilepsy": 2.5,
    "HIV": 1.5,
}
"""Illnesses, by how many of a hundred patients have each."""


class Hospital:
    """The patients of a hospital, one record each.

    Parameters
    ----------
    patients
        How many there are at the beginning.
    turnover
        The share of them that is discharged each month; as many are admitted.
    corrected
        The share of them whose diagnosis, or whose address, is another one the next month.
    """

    def __init__(self, patients: int, *, turnover: float = 0.1, corrected: float = 0.005, seed: int = 1) -> None:
        self._random, self._next = np.random.default_rng(seed), 0
        self._turnover, self._corrected = turnover, corrected
        self._gone = pl.DataFrame()
        self.table = self._admit(patients)

    def months(self, count: int) -> Iterator[pl.DataFrame]:
        """Yield the table at the end of each month."""
        for month in range(count):
            if month:
                self._live_on()
            yield self.table.sample(fraction=1.0, shuffle=True, seed=month)

    def _admit(self, count: int) -> pl.DataFrame:
        draw, first = self._random, self._next
        self._next += count
        ages = np.clip(draw.gamma(7.0, 8.0, count), 0, 99).astype(np.int64)
        return pl.DataFrame(
            {
                "patient": [f"P{number:07}" for number in range(first, first + count)],
                "age": ages,
                "sex": draw.choice(["f", "m"], count),
                "zip": (1000 + 10 * draw.integers(0, 20, count) + draw.integers(0, 10, count)).astype(np.int64),
                "days": np.clip(draw.geometric(0.15, count), 1, 60).astype(np.int64),
                "illness": self._fall_ill(count),
            }
        )

    def _fall_ill(self, count: int) -> list[str]:
        drawn = self._random.choice([*SHARES], count, p=np.array([*SHARES.values()]) / 100)
        return [str(illness) for illness in drawn]

    def _live_on(self) -> None:
        draw, table = self._random, self.table
        leaving = np.zeros(table.height, bool)
        count = round(self._turnover * table.height)
        leaving[draw.choice(table.height, count, replace=False)] = True
        back = self._gone.head(count // 20)  # some come back
        self._gone, stay = table.filter(pl.Series(leaving)), table.filter(pl.Series(~leaving))
        changed = pl.Series(draw.random(stay.height) < self._corrected)
        moved = pl.Series(draw.random(stay.height) < self._corrected)
        others = pl.Series(self._fall_ill(stay.height))
        stay = stay.with_columns(
            pl.when(changed).then(others).otherwise(pl.col("illness")).alias("illness"),
            pl.when(moved).then(pl.col("zip") % 200 + 1000).otherwise(pl.col("zip")).alias("zip"),
        )
        self.table = pl.concat([stay, *([back] if back.height else []), self._admit(count - back.height)])
