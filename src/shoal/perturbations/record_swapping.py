"""Targeted record swapping: households that stand out exchange their regions with ones like them (Dalenius 1982)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from pydantic import Field

from shoal.errors import Fault
from shoal.perturbations._households import Households, count_household_pairs, pair_households
from shoal.perturbations.base import ColumnNames, Microdata, Perturbation, Perturbed, missing_faults


class RecordSwapping(Perturbation):
    """Whole households exchange the region that they live in with others of the same make-up, elsewhere.

    ``columns`` are the regions, from the largest to the smallest. A household is at risk in a region where fewer than
    ``k`` records hold the same in the columns of ``risk`` as one of its members. Those at risk in the largest regions
    come first, others at random; each exchanges its regions with a household that has as many members with the same
    values of ``similar``: one outside the largest region in which it is at risk, where there is one, else in another
    of the smallest. Just so many households move as ``rate`` says, one more or less for the pairs.

    Why it is safe, and where not: who finds a household by its make-up and its region cannot be sure that it lives
    there. How many region and make-up go together stays just as it was; what goes with a region beside them does not.
    How many households moved is not told, and which neither. *It makes nobody one of several.*

    Cost: time grows with the records, and with the pairs times the regions; memory with the records.

    References
    ----------
    Dalenius, T., & Reiss, S. P. (1982). Data-swapping: a technique for disclosure control. Journal of Statistical
    Planning and Inference, 6(1), 73-85.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.perturbations.base import ColumnValues
    >>> regions, homes = ColumnValues.of_texts(["n", "n", "s", "s", "s", "s"]), ColumnValues.of_texts(list("aabbcd"))
    >>> method = RecordSwapping(columns=["region"], household="home", rate=0.5)
    >>> shown = method.perturb(Microdata(columns={"region": regions, "home": homes})).columns["region"]
    >>> [shown.categories[code] for code in shown.codes]
    ['s', 's', 'n', 'n', 's', 's']
    """

    guarantee: ClassVar[str] = "perturbs"
    is_random: ClassVar[bool] = True

    household: Annotated[str, Field(min_length=1)]
    """The column that tells households apart."""
    rate: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
    """How many of the households move, as a share of them."""
    similar: ColumnNames = ()
    """The make-up: two households exchange where their members hold the same in these columns."""
    risk: ColumnNames = ()
    """The columns by which a member may be found; without them none is at risk, and all are drawn alike."""
    k: Annotated[int, Field(ge=2)] = 3
    """So many records of a region must hold the same in the columns of ``risk``."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The households, their make-up, and what finds them."""
        return tuple(dict.fromkeys((self.household, *self.similar, *self.risk)))

    def promise(self) -> dict[str, Any]:
        """Return what goes together as before; how many move is not told."""
        told = {"household": self.household, "similar": list(self.similar)}
        return {"mechanism": "household-swap", "told": told, "secret": {"rate": self.rate}}

    def contradictions(self) -> Iterator[Fault]:
        """Yield columns that are exchanged and compared too."""
        for name in self.reads:
            if name in self.columns:
                yield Fault("a column cannot be exchanged and compared too", "columns", repr(name))

    def faults(self, data: Microdata) -> Iterator[Fault]:
        """Yield missing values, households in two regions, and too few that have one of another region to swap with."""
        missing = list(missing_faults(data, (*self.columns, self.household), "fill them in first"))
        yield from missing
        if missing:
            return
        homes = self._find_households(data)
        for name, torn in zip(self.columns, homes.count_torn(), strict=True):
            if torn:
                what = "a household is in one region, and these are in several"
                yield Fault(what, name, f"{torn:,} households", f"is {self.household!r} the household?")
        pairs, most = self._count_pairs(homes), count_household_pairs(homes)
        if pairs < 1:
            hint = f"there are {homes.count:,}, so say at least {2 / max(homes.count, 2):.2g}"
            yield Fault("less than two households would be swapped", "rate", f"{self.rate:g}", hint)
        elif pairs > most:
            what = "not so many households have one of the same make-up in another region to swap with"
            hint = f"say at most {2 * most / homes.count:.3g}, or fewer columns in similar" if most else ""
            yield Fault(what, "rate", f"{2 * pairs:,} of {2 * most:,} households", hint)

    def perturb(self, data: Microdata) -> Perturbed:
        """Return the regions after the exchange."""
        homes = self._find_households(data)
        partners = pair_households(homes, self._count_pairs(homes), data.rng)
        source = homes.first_records[partners[homes.of_record]]
        return Perturbed(columns={name: data.columns[name].take(source) for name in self.columns})

    def _count_pairs(self, homes: Households) -> int:
        return round(self.rate * homes.count / 2)

    def _find_households(self, data: Microdata) -> Households:
        return Households.of(data, self.household, self.columns, similar=self.similar, risk=self.risk, k=self.k)
