"""t-closeness: the sensitive values of every class are distributed nearly as in the whole table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Background, Classes, Frequencies
from shoal.models._closeness import Distance, Distances
from shoal.models._conditions import Condition, find_shares, label_values, order_values
from shoal.models._exact import decimal
from shoal.models._formatting import round_up
from shoal.models._movers import find_greatest_distance
from shoal.models._scores import score_by_distance, score_by_ordered_distance
from shoal.models._sensitive import SensitiveModel
from shoal.models._shares import least_for_share
from shoal.models._thresholds import Share
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

    thresholds = (Share("t"),)
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

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it is near enough."""
        distances = Distances.of(self.sensitive_columns, self.distance, classes, background)
        return distances.at_most(decimal(self.t)) & (classes.sizes > 0)

    def least_with(self, background: Background, frequencies: Frequencies) -> Ints:
        """Return how many records a class needs so that one record of a value is no greater share than it may be.

        By equal distances the share of a value is above that in the table by no more than t.
        """
        if self.distance != "equal" or frequencies.subjects is not None:
            return super().least_with(background, frequencies)
        likely = self.likely_values(background, frequencies)
        return np.maximum(least_for_share(likely + float(self.t)), self.least_of(background))

    def conditions(self, background: Background) -> Sequence[Condition] | None:
        """Ask what a class has too much of: of each value, of all up to each, or of each label of a level."""
        names = self.sensitive_columns
        shares = find_shares(names, background)
        if self.distance == "equal":
            return (Condition("surplus", names, shares, self.t),)
        places = (order_values if self.distance == "ordered" else label_values)(names, background)
        if places is None:
            return None
        layers = np.atleast_2d(places)
        numbers = np.bincount(layers.ravel(), np.tile(shares, len(layers)), minlength=1).astype(np.float64)
        steps = max(len(shares) - 1, 1) if self.distance == "ordered" else len(layers)
        form: Literal["ordered", "surplus"] = "ordered" if self.distance == "ordered" else "surplus"
        return (Condition(form, names, numbers, self.t * steps, layers),)

    def measure(self, classes: Classes, background: Background) -> float | None:
        """Return the greatest distance of a class."""
        return (
            round_up(Distances.of(self.sensitive_columns, self.distance, classes, background).greatest())
            if classes.count
            else None
        )

    def recount(self, census: Census) -> float | None:
        """Measure each class again, by the definitions of the paper."""
        counted = self.read_counts(census)
        if not len(census.sizes):
            return None
        if (self.distance == "ordered" and not counted.ranked) or (
            self.distance == "hierarchical" and not counted.paths
        ):
            return 1.0  # nobody can say how far its values are apart
        return round_up(find_greatest_distance(counted, self.distance))

    def score_classes(self, census: Census) -> Floats | None:
        """By the distance; no quick way is known in a hierarchy."""
        if self.distance == "hierarchical":
            return None
        score = score_by_distance if self.distance == "equal" else score_by_ordered_distance
        return score(census, self.read_counts(census))
