"""PRAM: each value is kept or exchanged for another by a matrix of chances (Gouweleeuw et al. 1998)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.errors import Fault
from shoal.perturbations.base import ColumnNames, ColumnValues, Microdata, Perturbation, Perturbed

_CLOSE = 1e-9
_MOST_CATEGORIES = 500


class Pram(Perturbation):
    """Post-randomization: whether a record shows its own value is up to chance, by a matrix that is told.

    With ``retain`` a value stays with that chance and becomes each of the others with the same one. A ``matrix`` says
    it for each pair. With ``invariant`` values are exchanged such that each is expected as often as before: each value
    goes through the matrix, and comes back from what it became with the chances that it came from there. Columns are
    changed one by one, missing values stay missing.

    Why it is safe, and where not: nobody can be sure of the value of a record. How sure follows from the matrix, and
    from how frequent the value is: a rare value that is shown is likely true of nobody. *None becomes one of several.*

    Cost: time and memory grow with the records.

    References
    ----------
    Gouweleeuw, J. M., Kooiman, P., Willenborg, L. C. R. J., & de Wolf, P.-P. (1998). Post randomisation for statistical
    disclosure control: theory and implementation. Journal of Official Statistics, 14(4), 463-478.

    Examples
    --------
    >>> data = Microdata(columns={"roof": ColumnValues.of_texts(["tin", "tile"] * 500)})
    >>> shown = Pram(columns=["roof"], retain=0.8).perturb(data).columns["roof"]
    >>> 100 < int((shown.codes != data.columns["roof"].codes).sum()) < 300
    True
    """

    guarantee: ClassVar[str] = "perturbs"
    is_random: ClassVar[bool] = True

    retain: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    """The chance that a value stays what it is."""
    matrix: Mapping[str, Mapping[str, Annotated[float, Field(ge=0, le=1)]]] = {}
    """Value → what it becomes → the chance; all chances of a value are one together. In place of ``retain``."""
    invariant: bool = False
    """Whether each value is expected as often as it was."""
    within: ColumnNames = ()
    """Where ``invariant``: as often within each combination of values of these columns."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The strata."""
        return self.within

    def promise(self) -> dict[str, Any]:
        """Return the matrix, or what it follows from."""
        told: dict[str, Any] = {"invariant": self.invariant, "within": list(self.within)}
        told |= {"retain": self.retain} if self.retain is not None else {}
        told |= {"matrix": {value: dict(row) for value, row in self.matrix.items()}} if self.matrix else {}
        return {"mechanism": "transition", "told": told}

    def contradictions(self) -> Iterator[Fault]:
        """Yield a matrix that is none, or none at all."""
        if (self.retain is None) == (not self.matrix):
            yield Fault("needs either retain or a matrix")
        for value, row in self.matrix.items():
            total = sum(row.values())
            if abs(total - 1.0) > _CLOSE:
                yield Fault("chances that are not one together", f"matrix.{value}", f"{total:g}")
        for name in self.within:
            if name in self.columns:
                yield Fault("a column cannot be perturbed within its own values", f"within.{name}")
        if self.within and not self.invariant:
            yield Fault("the chances are the same in all strata", "within", hint="say invariant: true, or leave it out")

    def faults(self, data: Microdata) -> Iterator[Fault]:
        """Yield columns with one value or too many, and values that the matrix does not know."""
        for name in self.columns:
            column = data.columns[name]
            size = len(column.distinct)
            if size < 2 or size > _MOST_CATEGORIES:
                what = f"needs a column of 2 to {_MOST_CATEGORIES:,} values"
                yield Fault(what, name, f"{size:,} values", "group them first, or leave it out")
            elif self.matrix:
                known = {*self.matrix, *(other for row in self.matrix.values() for other in row)}
                if unknown := [text for text in name_values(column) if text not in known]:
                    yield Fault("values that the matrix does not know", name, ", ".join(unknown[:5]))

    def perturb(self, data: Microdata) -> Perturbed:
        """Return the columns after the exchange."""
        strata, count = data.group_by(self.within)
        return Perturbed(columns={name: self._exchange(data, name, strata, count) for name in self.columns})

    def _exchange(self, data: Microdata, name: str, strata: Ints, count: int) -> ColumnValues:
        column = data.columns[name]
        codes = column.codes
        chances = self._chances(column)
        shown = np.maximum(codes, 0)
        present = np.flatnonzero(codes >= 0)
        present = present[np.argsort(strata[present], kind="stable")]
        for rows in np.split(present, np.searchsorted(strata[present], np.arange(1, count))):
            matrix = (
                make_invariant(chances, np.bincount(codes[rows], minlength=len(chances))) if self.invariant else None
            )
            if matrix is None and self.retain is not None:
                shown[rows] = exchange_evenly(codes[rows], len(chances), self.retain, data.rng)
            else:
                shown[rows] = exchange_by(codes[rows], chances if matrix is None else matrix, data.rng)
        return column.with_values(column.distinct[shown])

    def _chances(self, column: ColumnValues) -> Floats:
        size = len(column.distinct)
        if self.retain is not None:
            chances = np.full((size, size), (1.0 - self.retain) / max(size - 1, 1))
            np.fill_diagonal(chances, self.retain)
            return chances
        texts = name_values(column)
        place = {text: index for index, text in enumerate(texts)}
        chances = np.zeros((size, size))
        for value, row in self.matrix.items():
            for other, chance in row.items():
                if value in place and other in place:
                    chances[place[value], place[other]] = chance
        silent = chances.sum(axis=1) == 0  # values of which the matrix says nothing stay
        chances[silent, silent] = 1.0
        scaled: Floats = chances / chances.sum(axis=1, keepdims=True)
        return scaled


def name_values(column: ColumnValues) -> list[str]:
    """Return the distinct values as a policy writes them."""
    if not column.is_ordered:
        return list(column.categories)
    return [str(value) for value in column.distinct.tolist()]


def exchange_evenly(codes: Ints, size: int, retain: float, rng: np.random.Generator) -> Ints:
    """Return what values become that stay with some chance, and become each other one with the same."""
    moved = rng.integers(1, size, len(codes)) * (rng.random(len(codes)) >= retain)
    shown: Ints = (codes + moved) % size
    return shown


def exchange_by(codes: Ints, matrix: Floats, rng: np.random.Generator) -> Ints:
    """Return what values become by a matrix."""
    shown = codes.copy()
    numbers = rng.random(len(codes))
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        ends = np.cumsum(matrix[code])
        last = int(np.flatnonzero(matrix[code])[-1])
        shown[rows] = np.minimum(np.searchsorted(ends, numbers[rows], side="right"), last)
    return shown


def make_invariant(chances: Floats, counts: Ints) -> Floats:
    """Return the matrix of going through one and back, which leaves these counts as they are on the average.

    Examples
    --------
    >>> matrix = make_invariant(np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([30, 10]))
    >>> (np.array([30, 10]) @ matrix).round(9)
    array([30., 10.])
    """
    joint = chances * counts[:, None]
    reached = joint.sum(axis=0)
    back: Floats = np.divide(joint, reached, out=np.zeros_like(joint), where=reached > 0)
    return np.asarray(chances @ back.T)
