"""Rank swapping: two records whose values are near in rank exchange them (Moore 1996)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from shoal.encoding.types import Ints
from shoal.errors import Fault
from shoal.perturbations.base import Microdata, Perturbation, Perturbed, missing_faults, number_faults


class RankSwapping(Perturbation):
    """Each value goes to a record whose rank is at most a share of the records away; none is lost or made up.

    The records are put in order by the column. From the least to the greatest, each that kept its value exchanges it
    with one drawn from those that did too, within the window above it. Each column is swapped by itself. Where only
    equal values were exchanged, so that all would be as it was, two neighbours that differ are exchanged instead.

    Why it is safe, and where not: no record is sure to show its own value, and by how far it may be off is not told:
    the window helps to undo the swap (Nin et al. 2008). Whoever knows a record's value well still knows in what range
    its published one lies. *It makes nobody one of several.*

    Cost: time grows with the records times the logarithm of their number, memory with the records.

    References
    ----------
    Moore, R. (1996). Controlled data swapping techniques for masking public use microdata sets. US Bureau of the
    Census, Statistical Research Division Report Series RR96-04. Nin, J., Herranz, J., & Torra, V. (2008). Rethinking
    rank swapping to decrease disclosure risk. Data & Knowledge Engineering, 64(1), 346-364.

    Examples
    --------
    >>> from shoal.perturbations.base import ColumnValues
    >>> data = Microdata(columns={"income": ColumnValues.of_numbers(np.arange(100.0))})
    >>> shown = RankSwapping(columns=["income"], window=0.05).perturb(data).columns["income"].values
    >>> sorted(shown) == list(range(100)), float(np.abs(shown - np.arange(100)).max()) <= 5
    (True, True)
    """

    guarantee: ClassVar[str] = "perturbs"
    is_random: ClassVar[bool] = True

    window: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
    """The greatest difference of ranks, as a share of the records."""

    def promise(self) -> dict[str, Any]:
        """Return the window, which is not told."""
        return {"mechanism": "rank-window", "secret": {"window": self.window}}

    def faults(self, data: Microdata) -> Iterator[Fault]:
        """Yield missing values, columns without an order or with one value, and a window that holds nobody else."""
        yield from missing_faults(data, self.columns, "fill them in first, or leave the column out")
        yield from number_faults(data, self.columns, "use pram")
        if int(self.window * data.records) < 1:
            hint = f"for {data.records:,} records, at least {1 / max(data.records, 1):.2g}"
            yield Fault("a window with nobody to swap with", "window", f"{self.window:g}", hint)
        for name in self.columns:
            if data.columns[name].is_ordered and len(data.columns[name].distinct) < 2:
                yield Fault("all values are the same: there is nothing to swap", name)

    def perturb(self, data: Microdata) -> Perturbed:
        """Return the columns after the swap."""
        reach = int(self.window * data.records)
        columns = {}
        for name in self.columns:
            column = data.columns[name]
            order = np.argsort(column.values, kind="stable")
            partners = pair_near(data.records, reach, data.rng)
            ordered = column.values[order]
            if (ordered[partners] == ordered).all():
                partners = _exchange_neighbours(ordered, data.rng)
            values = column.values.copy()
            values[order] = ordered[partners]
            columns[name] = column.with_values(values)
        return Perturbed(columns=columns)


def pair_near(records: int, reach: int, rng: np.random.Generator) -> Ints:
    """Return for each place the place that it exchanges with: one at most so far away, its own where none is left."""
    from shoal.kernels.swaps import choose_partners

    return np.asarray(choose_partners(rng.random(records), reach))


def _exchange_neighbours(ordered: npt.NDArray[Any], rng: np.random.Generator) -> Ints:
    """Return the place that each place exchanges with, where two that are next to each other and differ do."""
    partners = np.arange(len(ordered))
    steps = np.flatnonzero(ordered[1:] != ordered[:-1])
    place = int(steps[int(rng.integers(len(steps)))])
    partners[place], partners[place + 1] = place + 1, place
    return partners
