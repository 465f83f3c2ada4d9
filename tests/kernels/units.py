"""Random units and columns for the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from tests.kernels.plain.boxes import LABELS, RANGES, SETS, UNLIMITED

from shoal.algorithms.clustering.costs import BEYOND, Slots
from shoal.policy import Policy
from shoal.recodings.base import Column
from shoal.testing import encode_table

NUMBERS = {"labels": LABELS, "ranges": RANGES, "sets": SETS}


def column_of(
    random: np.random.Generator, name: str, size: int, *, bounded: bool = False
) -> tuple[Column, dict[str, Any]]:
    """A column as a search sees it, and as the plain twins do.

    Sizes and ranges are powers of two, so that equal costs are equal however they are added up.
    """
    missing = str(random.choice(["", "own-value", "wildcard"]))
    spec: dict[str, Any] = {"weight": float(random.choice([1.0, 0.5, 2.5]))}
    values: list[Any]
    known = size - bool(missing)
    if random.random() < 0.5:
        values = (np.cumsum(random.integers(1, 5, known)) - 7).tolist()
        values[-1] = values[0] + (8 * size if known > 1 else 0)
        spec |= dict(random.choice([{}, {"hierarchy": "intervals", "widths": [4, 16], "publish": "labels"}]))  # type: ignore[arg-type]
    else:
        values = [f"v{code:04}" for code in range(known)]
        spec |= dict(random.choice([{}, {"hierarchy": "mask", "keep": [4, 3, 2]}]))  # type: ignore[arg-type]
        if "hierarchy" in spec:
            spec["publish"] = str(random.choice(["labels", "sets"]))
            if bounded:
                spec["boundaries"] = [["v00**"], ["v000*", "v00**"], ["v001*"]][random.integers(0, 3)]
    if missing:
        values.append(None)
        spec["missing"] = missing
    policy = Policy(quasi_identifiers={name: spec}, models=[{"name": "k-anonymity", "k": 2}])
    column = encode_table(pl.DataFrame({name: values}), policy).columns[0]
    levels = column.levels
    plain = {
        "form": NUMBERS[column.form],
        "size": levels.size,
        "labels": levels.codes,
        "joins": np.append(levels.joins, 0),
        "penalties": levels.penalties,
        "points": column.points,
        "limits": np.full(levels.size, UNLIMITED) if column.limits is None else column.limits,
        "weight": column.weight,
        "wild": missing == "wildcard",
    }
    return column, plain


def boundary_of(size: int, beyond: float) -> dict[str, Any]:
    """Boundaries as a plain column: labels with a costly root."""
    return {
        "form": LABELS,
        "size": size,
        "labels": np.vstack([np.arange(size), np.zeros(size, int)]),
        "joins": np.ones(size, int),
        "penalties": np.vstack([np.zeros(size), np.full(size, beyond)]),
        "limits": np.full(size, UNLIMITED),
        "weight": 1.0,
        "beyond": beyond,
    }


class Case:
    """Some units, of which some are the same, in the order of their codes."""

    def __init__(self, seed: int, most: int = 14, *, bounded: bool = False) -> None:
        self.random = np.random.default_rng(seed)
        chosen = self.random.choice([2, 4, 32, 256, 512], size=self.random.integers(1, 4))
        both = [column_of(self.random, f"c{index}", int(size), bounded=bounded) for index, size in enumerate(chosen)]
        self.columns = tuple(column for column, _ in both)
        beyond = BEYOND * sum(column.weight for column in self.columns)
        self.plain = [plain | {"beyond": beyond} for _, plain in both]
        # codes of a column with more than 256 values share bits, so those that occur are near each other
        near = [min(column.levels.size, 256) for column in self.columns]
        lows = [column.levels.size - room for column, room in zip(self.columns, near, strict=True)]
        count = int(self.random.integers(2, most))
        drawn = [low + self.random.integers(0, room, count) for low, room in zip(lows, near, strict=True)]
        codes = np.stack(drawn, axis=1)[self.random.integers(0, count, count)]
        self.tuples = codes[np.lexsort(codes.T[::-1])].astype(np.int32)
        self.slots = Slots.of(self.columns)
        self.costs = self.slots.costs
        self.units = self.slots.boxes(self.tuples)
        self.least = int(self.random.integers(2, 5))
        self.weights = self.random.choice([1, 1, 1, self.least], count)
        self.weights[0] = self.least
        self.rows = self.tuples.tolist()
        self.kinds = self.random.integers(0, 4, count) if self.random.random() < 0.5 else np.full(count, -1, np.int64)
        self.spread = int(self.random.integers(1, 3)) if self.kinds[0] >= 0 else 0

    @property
    def by_slot(self) -> list[dict[str, Any]]:
        """The plain columns in the order of the slots, boundaries as columns of their own."""
        beyond = self.plain[0]["beyond"]
        free = [plain | {"limits": np.full(plain["size"], UNLIMITED)} for plain in self.plain]
        return [
            boundary_of(int(slot.lows.max()) + 1, beyond) if slot.guards else free[slot.place]
            for slot in self.slots.slots
        ]

    def classes(self) -> tuple[Any, int]:
        """Classes that are large enough."""
        members = np.zeros(len(self.tuples), np.int64)
        made, size = 0, 0
        for unit in self.random.permutation(len(members)):
            if size >= self.least:
                made, size = made + 1, 0
            members[unit] = made
            size += self.weights[unit]
        if size < self.least:  # the last one is too small
            members[members == made] = 0
        return members, int(members.max()) + 1

    def fewest_kinds(self, members: Any) -> int:
        """The number of kinds of the class that has fewest."""
        return min(len(set(self.kinds[members == own].tolist()) - {-1}) for own in np.unique(members))
