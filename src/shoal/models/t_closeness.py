"""t-closeness: the sensitive values of every class are distributed nearly as in the whole table."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from shoal.errors import PolicyError
from shoal.frequencies import Background, Classes, Histogram
from shoal.models._distance import moved_along_order, moved_between_labels
from shoal.models._exact import CLEAR, Numbers, decimal
from shoal.models._movers import MOVERS
from shoal.models._sensitive import SensitiveModel
from shoal.models._told import at_least, brief, rungs
from shoal.models.base import Census, Holds, Need, Tally

Distance = Literal["equal", "ordered", "hierarchical"]


class TCloseness(SensitiveModel):
    """The sensitive values of every class are distributed as in the whole table, but for a distance of t.

    The distance is the earth mover's: how much must be moved, how far, to make one distribution the other. *Equal*:
    any two values are as far apart. *Ordered*: as many steps as there are between them in their order, of all steps.
    *Hierarchical*: the level at which they share a label in the column's hierarchy, of its height.

    Why it is safe: someone who knows the distribution of the whole table learns little more from finding a person's
    class, about every value at once. Missing values that may be any (``wildcard``) are thought moved as far as
    possible, in the class and in the rest of the table, so the distance is never more than what is told; a record
    without a value that is to be suppressed is such a one. Where persons are counted, a person with two values counts
    once for each. The whole table are all records of the original, those too that are suppressed.

    Cost: one pass over the cells for each level. A union of classes that comply complies, for the distance is convex.

    References
    ----------
    Li, N., Li, T. and Venkatasubramanian, S. (2007). t-closeness: privacy beyond k-anonymity and l-diversity. ICDE.

    Examples
    --------
    >>> TCloseness(on="salary", t=0.2, distance="ordered").meets(0.167)
    True
    """

    protects_from: ClassVar[str] = "Learning much about a person's value beyond what the whole table says of everyone."
    leaves_open: ClassVar[str] = "That a rare value is many times as likely in a class as in the table."

    t: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
    """The greatest distance of a class from the whole table."""
    distance: Distance = "equal"
    """How far values are apart: all the same, by their order, or by the hierarchy of the column."""

    @model_validator(mode="after")
    def _one_column(self) -> TCloseness:
        if self.distance != "equal" and len(self.sensitive_columns) > 1:
            raise ValueError("combinations of several columns have no order and no hierarchy: use distance: equal")
        return self

    @property
    def needs(self) -> tuple[Need, ...]:
        """Values of classes and table, and what the distance is by."""
        by: dict[str, tuple[Need, ...]] = {"equal": (), "ordered": ("order",), "hierarchical": ("hierarchy",)}
        return ("counts", "values", "table", *by[self.distance])

    @property
    def asked(self) -> float:
        """The t that is asked for."""
        return self.t

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it is near enough."""
        distances = _Distances.of(self, classes, background)
        return distances.at_most(decimal(self.t)) & (classes.sizes > 0)

    def measure(self, classes: Classes, background: Background) -> float | None:
        """Return the greatest distance of a class."""
        return at_least(_Distances.of(self, classes, background).greatest()) if classes.count else None

    def recount(self, census: Census) -> float | None:
        """Measure each class again, by the definitions of the paper."""
        tally = self.tally(census)
        if not len(census.sizes):
            return None
        if (self.distance == "ordered" and not tally.ranked) or (self.distance == "hierarchical" and not tally.paths):
            return 1.0  # nobody can say how far its values are apart
        mover = MOVERS[self.distance](tally)
        return at_least(max(_widened(values, blank, tally, mover(values)) for values, blank in tally.rows))

    def meets(self, attained: float | None) -> bool:
        """Compare the decimals that are written."""
        return attained is None or attained <= self.t

    def relaxed(self, attained: float | None) -> TCloseness | None:
        """Return the same model with the attainable t."""
        if attained is None or attained >= 1.0:
            return None
        return TCloseness(on=self.on, t=brief(attained, up=True), distance=self.distance)

    @property
    def ladder(self) -> Sequence[float]:
        """From just below 1 down to what is asked."""
        return rungs(self.t, 1.0)[1:]


class _Distances:
    """The distances of all classes: floats for all, fractions for those that are asked for.

    With P and R the known values of a class and of the rest of the table, a and r the shares of wild ones in both, and
    n of N records in the class, its distance from the table is (1 - n/N) times that from the rest, which is at most
    a + d(P, R) + r. And d(P, R) is d(P, Q) times N'/(N' - n'), Q being all known values and n', N' the known records.
    """

    def __init__(self, moved: Numbers, steps: int, own: Histogram, table: Histogram, lost: bool) -> None:
        self.moved, self.steps, self.own, self.table, self.lost = moved, steps, own, table, lost

    @classmethod
    def of(cls, model: TCloseness, classes: Classes, background: Background) -> _Distances:
        names = model.sensitive_columns
        own, table = model.histogram(classes, background), background.table(names)
        known = background.known(names)
        if model.distance == "ordered":
            if known[0].ranks is None:
                raise PolicyError("the ordered distance needs values with an order", where=names[0])
            moved, steps = moved_along_order(own, table, known[0].ranks)
        elif model.distance == "hierarchical":
            if known[0].levels is None:
                raise PolicyError("the hierarchical distance needs a hierarchy", where=names[0])
            moved, steps = moved_between_labels(own, table, known[0].levels)
        else:
            moved, steps = moved_between_labels(*_numbered(own, table))
        return cls(moved, steps, own, table, background.has_lost(names))

    def floats(self) -> npt.NDArray[np.float64]:
        """Return every distance, nearly."""
        known, wild = self.own.known.astype(np.float64), self.own.wild.astype(np.float64)
        whole, blank = float(self.table.known[0]), float(self.table.wild[0])
        own, everyone = known + wild, whole + blank
        with np.errstate(divide="ignore", invalid="ignore"):
            if not blank and not self.own.wild.any():
                return self.moved.astype(np.float64) / (known * whole * self.steps)
            between = self.moved.astype(np.float64) / (known * (whole - known) * self.steps)
            between = np.where((known == 0) | (whole == known), 1.0, between)
            outside = np.maximum(blank - wild, 0.0) / np.maximum(everyone - own, 1.0)
            part = np.where((wild > 0) & self.lost, 1.0, np.maximum(1.0 - own / everyone, 0.0))
            return np.asarray(part * np.minimum(1.0, wild / own + between + outside), np.float64)

    def exactly(self, place: int) -> Fraction:
        """Return the distance of one class."""
        known, wild = int(self.own.known[place]), int(self.own.wild[place])
        whole, blank = int(self.table.known[0]), int(self.table.wild[0])
        own, everyone = known + wild, whole + blank
        part = Fraction(1) if wild and self.lost else max(Fraction(everyone - own, everyone), Fraction(0))
        if not part:
            return Fraction(0)
        between = Fraction(1)
        if known and whole > known:
            between = Fraction(int(self.moved[place]), known * (whole - known) * self.steps)
        outside = Fraction(max(blank - wild, 0), max(everyone - own, 1))
        return part * min(Fraction(1), Fraction(wild, own) + between + outside)

    def at_most(self, limit: Fraction) -> Holds:
        """Return which distances are at most a limit."""
        near = self.floats()
        result: Holds = near <= float(limit)
        for place in np.flatnonzero(np.abs(near - float(limit)) <= CLEAR).tolist():
            result[place] = self.exactly(place) <= limit
        return result

    def greatest(self) -> Fraction:
        """Return the greatest distance."""
        near = self.floats()
        return max(self.exactly(place) for place in np.flatnonzero(near >= near.max() - CLEAR).tolist())


def _numbered(own: Histogram, table: Histogram) -> tuple[Histogram, Histogram, npt.NDArray[np.int32]]:
    """Number the values that occur: combinations of columns can be many."""
    places = np.searchsorted(table.values, own.values)
    numbers = np.arange(len(table.values), dtype=np.int32)
    inside = Histogram(own.count, own.classes, places, own.counts, own.wild, own.persons)
    return (
        inside,
        Histogram(1, table.classes, numbers.astype(np.int64), table.counts, table.wild, table.persons),
        numbers[None],
    )


def _widened(values: dict[int, int], blank: int, tally: Tally, distance: Fraction) -> Fraction:
    """The audit's distance of a class, where some values of it or of the table may be any."""
    if not blank and not tally.table_blank:
        return distance
    known, whole = sum(values.values()), sum(tally.table.values())
    size, everyone = known + blank, whole + tally.table_blank
    if size == everyone and not tally.lost:
        return Fraction(0)
    weight = 1 - Fraction(size, everyone)
    if blank and tally.lost:
        weight = Fraction(1)
    if not known or known == whole:
        return max(weight, Fraction(0))
    from_rest = distance * Fraction(whole, whole - known)
    unknown = Fraction(blank, size) + Fraction(max(tally.table_blank - blank, 0), max(everyone - size, 1))
    return max(weight, Fraction(0)) * min(from_rest + unknown, Fraction(1))
