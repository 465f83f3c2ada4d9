"""Rounding: numbers become the nearest point of a grid."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats
from shoal.errors import Fault
from shoal.perturbations.base import Microdata, Perturbation, Perturbed


class Rounding(Perturbation):
    """Each number becomes the nearest multiple of a base; in the middle, the even one.

    Why it is safe, and where not: nobody sees the last digits, by which a number is found in another table. A number
    that stands far out still does. *It makes nobody one of several.*

    A quasi-identifier or a sensitive column is rounded by its treatment instead; models are counted on that.

    Cost: time and memory grow with the records.

    References
    ----------
    Hundepool, A., Domingo-Ferrer, J., Franconi, L., Giessing, S., Nordholt, E. S., Spicer, K., & de Wolf, P.-P. (2012).
    Statistical Disclosure Control. Wiley, section 3.3.

    Examples
    --------
    >>> from shoal.perturbations.base import ColumnValues
    >>> data = Microdata(columns={"income": ColumnValues.of_numbers([1240, 1260, 990])})
    >>> Rounding(columns=["income"], base=100).perturb(data).columns["income"].values
    array([1200., 1300., 1000.])
    """

    guarantee: ClassVar[str] = "perturbs"

    base: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """Numbers become multiples of it."""

    def promise(self) -> dict[str, Any]:
        """Return the grid."""
        return {"mechanism": "grid", "told": {"base": self.base}}

    def faults(self, data: Microdata) -> Iterator[Fault]:
        """Yield columns of something else, and numbers too large for the base."""
        for name in self.columns:
            column = data.columns[name]
            if column.kind not in ("integer", "float"):
                yield Fault("needs a column of numbers", name, f"{column.kind} values", "say treatment: for dates")
            elif np.nanmax(np.abs(column.numbers), initial=0.0) / self.base >= 2.0**52:
                yield Fault("numbers are too large for this base to change them", name, f"{self.base:g}")

    def perturb(self, data: Microdata) -> Perturbed:
        """Return the rounded columns."""
        columns = {}
        for name in self.columns:
            column = data.columns[name]
            rounded = round_to(np.where(column.missing, 0.0, column.numbers), self.base)
            whole = column.kind == "integer" and self.base.is_integer()
            columns[name] = column.with_values(rounded.astype(np.int64) if whole else rounded)
        return Perturbed(columns=columns)


def round_to(numbers: Floats, base: float) -> Floats:
    """Return numbers rounded to multiples of a base, with no more digits than it has.

    Examples
    --------
    >>> round_to(np.array([0.34, 0.26]), 0.1)
    array([0.3, 0.3])
    """
    digits = max(-int(Decimal(repr(base)).as_tuple().exponent), 0)
    return np.asarray(np.round(np.rint(numbers / base) * base, digits))
