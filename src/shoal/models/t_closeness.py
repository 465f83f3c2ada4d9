"""t-closeness: the sensitive values of every class are distributed nearly as in the whole table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from shoal.encoding.types import Floats
from shoal.frequencies.frequencies import Background, Classes
from shoal.models._closeness import Distance, Distances
from shoal.models._exact import decimal
from shoal.models._formatting import brief, list_thresholds, round_up
from shoal.models._movers import furthest
from shoal.models._scores import score_by_distance, score_by_ordered_distance
from shoal.models._sensitive import SensitiveModel
from shoal.models.base import Census, Holds, Need


class TCloseness(SensitiveModel):
    """The sensitive values of every class are distributed as in the whole table, but for a distance of t.

    The distance is the earth mover's: how much must be moved, how far, to make one distribution the other. *Equal*:
    any two values are as far apart. *Ordered*: as many steps as there are between them in their order, of all steps.
    *Hierarchical*: the level at which they share a label in the column's hierarchy, of its height.

    Why it is safe: someone who knows the distribution of the whole table learns little more from finding a person's
    class, about every value at once. A missing value that may be any (``wildcard``), or whose record is suppressed
    (``suppress``), is thought to be one of the values that the column has: what is told is the distance for the worst
    assignment of all of them, in the class and in the rest of the table. Where the column has but one value, it may be
    another. Where persons are counted, a person with two values counts once for each, and missing ones make the
    distance a bound: the whole share that they may have is added. The whole table are all records of the original,
    those too that are suppressed.

    Cost: one pass over the cells for each level; with missing values, over all values of the classes that are near to
    what is asked. A union of classes that comply complies, for the distance is convex.

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
    measured_with: ClassVar[tuple[Mapping[str, Any], ...]] = ({"t": 1}, {"t": 1, "distance": "ordered"})
    measured_as: ClassVar[int] = 5

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
        distances = Distances.of(self.sensitive_columns, self.distance, classes, background)
        return distances.at_most(decimal(self.t)) & (classes.sizes > 0)

    def measure(self, classes: Classes, background: Background) -> float | None:
        """Return the greatest distance of a class."""
        return (
            round_up(Distances.of(self.sensitive_columns, self.distance, classes, background).greatest())
            if classes.count
            else None
        )

    def recount(self, census: Census) -> float | None:
        """Measure each class again, by the definitions of the paper."""
        tally = self.tally(census)
        if not len(census.sizes):
            return None
        if (self.distance == "ordered" and not tally.ranked) or (self.distance == "hierarchical" and not tally.paths):
            return 1.0  # nobody can say how far its values are apart
        return round_up(furthest(tally, self.distance))

    def score_classes(self, census: Census) -> Floats | None:
        """By the distance; no quick way is known in a hierarchy."""
        if self.distance == "hierarchical":
            return None
        score = score_by_distance if self.distance == "equal" else score_by_ordered_distance
        return score(census, self.tally(census))

    def meets(self, attained: float | None) -> bool:
        """Compare the decimals that are written."""
        return attained is None or attained <= self.t

    def relaxed(self, attained: float | None) -> TCloseness | None:
        """Return the same model with the attainable t."""
        if attained is None or attained >= 1.0:
            return None
        return TCloseness(on=self.on, t=brief(attained, up=True), distance=self.distance)

    @property
    def weaker_thresholds(self) -> Sequence[float]:
        """From just below 1 down to what is asked."""
        return list_thresholds(self.t, 1.0)[1:]
