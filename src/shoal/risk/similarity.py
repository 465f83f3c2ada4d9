"""Similarity: the values of a class differ, and mean much the same."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.risk._cells import Cells
from shoal.risk.base import Attribute, AttributeRisk, Evidence, Finding, share, worst_of


class Similarity(AttributeRisk):
    """The values of a class differ and mean much the same: ailments of one organ, salaries near each other.

    ``levels`` is, for each level of the column's hierarchy from the values up to below the top, the least number of
    different labels in a class; levels on which the whole table has one label are left out. ``spread`` is the least
    distance from the lowest to the highest number of a class, as a share of the table's. A leak is a class of two
    values or more that share a label, or whose numbers spread less than ``spread``. A class that has just one value
    is homogeneous (:class:`~shoal.risk.Homogeneity`).

    Cost: the records, sorted by class and value, for each level.

    References
    ----------
    Li, N., Li, T. and Venkatasubramanian, S. (2007). t-closeness: privacy beyond k-anonymity and l-diversity. ICDE.
    Zhang, Q., Koudas, N., Srivastava, D. and Yu, T. (2007). Aggregate query answering on anonymized tables. ICDE.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.risk.base import PublishedClasses
    >>> release = PublishedClasses(np.array([0, 0, 1, 1]), np.array([[0], [1]]), np.array([2, 2]))
    >>> salary = Attribute(np.array([0, 1, 0, 2]), np.array([2, 1, 1]), numbers=np.array([3000, 3100, 9000]))
    >>> evidence = Evidence(np.array([2, 2]), release=release, sensitive={"salary": salary})
    >>> Similarity().run(evidence)[0].measured
    {'spread': 0.016666666666666666, 'classes': 1, 'share': 0.5}
    """

    means: ClassVar[str] = "A person's sensitive value is known nearly, or in kind."

    spread: Annotated[float, Field(ge=0.0, le=1.0)] = 0.05
    """The share of the table's range that the numbers of a class must at least spread over."""

    def about(self, evidence: Evidence, attribute: Attribute) -> Finding | None:
        """Look at the labels and the numbers of each class."""
        if attribute.levels is None and attribute.numbers is None:
            return None
        cells = Cells.about(evidence, attribute)
        several = np.bincount(cells.classes, minlength=len(cells.wild)) > 1
        alike = np.zeros(len(several), bool)
        measured: dict[str, Any] = {}
        if attribute.levels is not None:
            counted = [_labels(cells, labels) for labels in attribute.levels if _differ(labels, attribute.table)]
            measured["levels"] = [int(held.min()) if len(held) else 0 for held in counted]
            for held in counted:
                alike |= held == 1
        if attribute.numbers is not None:
            spreads, whole = _spreads(cells, attribute.numbers), _range(attribute)
            if whole > 0:
                measured["spread"] = float(spreads.min(initial=whole)) / whole
                alike |= spreads < self.spread * whole
        alike &= several
        records = int(evidence.sizes[alike].sum())
        measured |= {"classes": int(alike.sum()), "share": share(records, evidence.records)}
        return Finding(bool(alike.any()), measured, worst_of(evidence.sizes, alike))


def _differ(labels: Ints, table: Ints) -> bool:
    """Whether the table has more than one label."""
    return len(np.unique(labels[table > 0])) > 1


def _labels(cells: Cells, labels: Ints) -> Ints:
    """Return how many different labels each class has."""
    width = int(labels.max()) + 1
    pairs = np.unique(cells.classes * width + labels[cells.values])
    return np.bincount(pairs // width, minlength=len(cells.wild))


def _range(attribute: Attribute) -> float:
    """Return the distance from the lowest to the highest number of the table."""
    assert attribute.numbers is not None
    held = attribute.numbers[attribute.table > 0]
    return float(held.max() - held.min()) if len(held) else 0.0


def _spreads(cells: Cells, numbers: Floats) -> Floats:
    """Return the distance from the lowest to the highest number of each class."""
    low, high = np.full(len(cells.wild), np.inf), np.full(len(cells.wild), -np.inf)
    np.minimum.at(low, cells.classes, numbers[cells.values])
    np.maximum.at(high, cells.classes, numbers[cells.values])
    return np.where(high >= low, high - low, np.inf)
