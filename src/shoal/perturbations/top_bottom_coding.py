"""Top and bottom coding: values beyond given bounds become the bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats
from shoal.errors import Fault
from shoal.perturbations.base import Microdata, Perturbation, Perturbed

_Bound = Annotated[float, Field(allow_inf_nan=False)]


class TopBottomCoding(Perturbation):
    """Numbers above the top become the top, numbers below the bottom become the bottom.

    Why it is safe, and where not: nobody sees how far out the largest and the smallest values lie, by which one person
    can be known. Whoever knows that a value is the only one beyond a bound still finds it. *It makes nobody one of
    several.*

    A quasi-identifier or a sensitive column is coded by its treatment instead; models are counted on that.

    Cost: time and memory grow with the records.

    References
    ----------
    Hundepool, A., Domingo-Ferrer, J., Franconi, L., Giessing, S., Nordholt, E. S., Spicer, K., & de Wolf, P.-P. (2012).
    Statistical Disclosure Control. Wiley, section 3.3.

    Examples
    --------
    >>> from shoal.perturbations.base import ColumnValues
    >>> data = Microdata(columns={"income": ColumnValues.of_numbers([1240, 99000, 990])})
    >>> TopBottomCoding(columns=["income"], bottom=1000, top=50000).perturb(data).columns["income"].values
    array([ 1240., 50000.,  1000.])
    """

    guarantee: ClassVar[str] = "perturbs"

    bottom: _Bound | None = None
    """Stands for itself and every smaller number."""
    top: _Bound | None = None
    """Stands for itself and every greater number."""

    def promise(self) -> dict[str, Any]:
        """Return the bounds."""
        bounds = {"bottom": self.bottom, "top": self.top}
        return {"mechanism": "bounds", "told": {name: bound for name, bound in bounds.items() if bound is not None}}

    def contradictions(self) -> Iterator[Fault]:
        """Yield that there are no bounds, or that they leave nothing between them."""
        if self.bottom is None and self.top is None:
            yield Fault("says nothing: name top, bottom or both")
        elif self.bottom is not None and self.top is not None and not self.bottom < self.top:
            yield Fault("must be less than top", "bottom", f"{self.bottom:g} and {self.top:g}")

    def faults(self, data: Microdata) -> Iterator[Fault]:
        """Yield columns of something else, and columns of which nothing is left but a bound."""
        for name in self.columns:
            column = data.columns[name]
            if column.kind not in ("integer", "float"):
                yield Fault("needs a column of numbers", name, f"{column.kind} values", "say treatment: for dates")
            elif len(column.distinct) > 1 and len(np.unique(self._code(column.numbers[~column.missing]))) == 1:
                yield Fault("the bounds leave one value of the column", name, hint="choose others, or leave it out")

    def perturb(self, data: Microdata) -> Perturbed:
        """Return the coded columns."""
        columns = {}
        for name in self.columns:
            column = data.columns[name]
            coded = self._code(np.where(column.missing, 0.0, column.numbers))
            whole = column.kind == "integer" and bool((coded == np.rint(coded)).all())
            columns[name] = column.with_values(coded.astype(np.int64) if whole else coded)
        return Perturbed(columns=columns)

    def _code(self, numbers: Floats) -> Floats:
        low = -np.inf if self.bottom is None else self.bottom
        high = np.inf if self.top is None else self.top
        return np.clip(numbers, low, high)
