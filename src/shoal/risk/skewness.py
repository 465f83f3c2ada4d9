"""Skewness: a value is far likelier, or rarer, in a class than in the table."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.models._exact import compare_ratio, decimal
from shoal.risk._cells import Cells
from shoal.risk.base import Attribute, AttributeRisk, Evidence, Finding, worst_of


class Skewness(AttributeRisk):
    """The values of a class are distributed otherwise than in the table: finding the class changes what is believed.

    With p and q the shares of a value in the class and in the whole table: ``distance`` is the greatest sum of
    p - q over the values with p > q (the t of t-closeness with equal distances), ``ordered`` the same along the order
    of numbers, ``gain`` the greatest (p - q) / q, ``fall`` the greatest (q - p) / q, 1 where a value of the table is
    not in the class. A leak is a distance above ``t``. Missing values that may be any are left out.

    Cost: the records, sorted by class and value.

    References
    ----------
    Li, N., Li, T. and Venkatasubramanian, S. (2007). t-closeness: privacy beyond k-anonymity and l-diversity. ICDE.
    Cao, J. and Karras, P. (2012). Publishing microdata with a robust privacy guarantee. PVLDB 5(11).

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.risk.base import PublishedClasses
    >>> release = PublishedClasses(np.array([0, 0, 1, 1]), np.array([[0], [1]]), np.array([2, 2]))
    >>> illness = Attribute(np.array([0, 0, 0, 1]), np.array([3, 1]))
    >>> evidence = Evidence(np.array([2, 2]), release=release, sensitive={"illness": illness})
    >>> Skewness().run(evidence)[0].measured
    {'distance': 0.25, 'gain': 1.0, 'fall': 1.0}
    """

    means: ClassVar[str] = "Finding a person's class makes a value much likelier, or rules it out."

    t: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    """The distance above which there is a leak."""

    def about(self, evidence: Evidence, attribute: Attribute) -> Finding:
        """Compare each class with the table."""
        cells, table = Cells.about(evidence, attribute), attribute.table
        known, whole = cells.known, int(table.sum())
        own, all_of_it = known[cells.classes], table[cells.values]
        # p - q = (count * whole - table * known) / (known * whole), in whole numbers
        more = np.maximum(cells.counts * whole - all_of_it * own, 0)
        above, below = _summed(more, cells), np.maximum(known * whole, 1)
        gains = (cells.counts * whole - all_of_it * own) / np.maximum(all_of_it * own, 1)
        held = np.bincount(cells.classes, minlength=len(known))
        lacking = (held < int((table > 0).sum())) & (known > 0)
        far = compare_ratio(above, below, decimal(self.t)) > 0 if len(known) else np.zeros(0, bool)
        measured = {"distance": float((above / below).max(initial=0.0))}
        if attribute.numbers is not None:
            measured["ordered"] = _along_order(cells, table, attribute.numbers)
        measured |= {
            "gain": float(gains.max(initial=0.0)),
            "fall": 1.0 if lacking.any() else float((-gains).max(initial=0.0)),
        }
        return Finding(bool(far.any()), measured, worst_of(above / below, far))


def _summed(amounts: Ints, cells: Cells) -> Ints:
    """Sum amounts of the cells over each class, exactly."""
    return np.diff(np.append(0, np.cumsum(amounts))[cells.starts])


def _along_order(cells: Cells, table: Ints, numbers: Floats) -> float:
    """Return the greatest distance of a class where values are as far apart as steps lie between them.

    It is the area between the cumulated shares of class and table. From one value of a class to its next, that of the
    class stays the same, so the area follows from where the table's passes it and from sums made once.
    """
    values = np.argsort(numbers, kind="stable")
    rank = np.empty(len(values), np.int64)
    rank[values] = np.arange(len(values))
    steps = len(values) - 1
    if steps < 1 or not len(cells.classes):
        return 0.0
    reached = (np.cumsum(table[values]) / max(int(table.sum()), 1))[:steps]
    areas = np.append(0.0, np.cumsum(reached))
    order = np.lexsort((rank[cells.values], cells.classes))
    classes, begin = cells.classes[order], np.minimum(rank[cells.values][order], steps)
    own = np.cumsum(cells.counts[order])
    first = np.append(True, classes[1:] != classes[:-1])
    own = (own - (own - cells.counts[order])[first][np.cumsum(first) - 1]) / cells.known[classes]
    end = np.where(np.append(first[1:], True), steps, np.append(begin[1:], steps))
    passed = np.clip(np.searchsorted(reached, own), begin, end)
    between = own * (2 * passed - begin - end) + areas[begin] + areas[end] - 2 * areas[passed]
    before = np.where(first, areas[begin], 0.0)
    return float(np.bincount(classes, between + before).max()) / steps
