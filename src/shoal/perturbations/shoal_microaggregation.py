"""shoal's own microaggregation: a few near classes taken apart and made anew, again and again."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.perturbations._blocks import list_near, split_into_blocks
from shoal.perturbations._microaggregation import Microaggregation

_HOT, _COLD = 0.3, 0.0003
"""What a step may lose at first and at last, as a share of what a class loses on the average."""
_SKEWS = (0.0, 1.0)
"""Two searches, of which the better is taken: one lets costly classes lose more than others."""
_NOISE = 1.0
"""How much farther than it is a record may seem when classes are made anew."""
_NEIGHBOURS = 40
_STEPS = 1e6
"""So many steps take about a second, divided by what one costs: more where classes are larger."""
_AT_ONCE = 2_000
"""Records of a larger table begin in blocks of about so many."""


class ShoalMicroaggregation(Microaggregation):
    """Our own search: begin with MDAV's classes, take a few near ones apart, make them anew, keep what is better.

    A step takes the two to six classes about a random record apart (*ruin*). Their records are put into classes of k
    anew, each about one that seems to lie farthest out (*recreate*); then records change their class, or two are
    exchanged, as long as that takes squared error away. What comes out is kept if it loses less; or a little more, less
    and less, as in simulated annealing. Tables of more than a few thousand records begin with classes within blocks.

    Why it is safe: each class has k to 2k - 1 records at every moment, and all of them show its means. The search reads
    nothing but the columns that it perturbs; another seed gives other classes, and no seed is needed to check them.

    Cost: each unit of ``effort`` is about a second; memory grows with the records.

    References
    ----------
    Domingo-Ferrer, J., & Mateo-Sanz, J. M. (2002). Practical data-oriented microaggregation for statistical disclosure
    control. IEEE Transactions on Knowledge and Data Engineering, 14(1), 189-201. (The problem.)
    Schrimpf, G., Schneider, J., Stamm-Wilbrandt, H., & Dueck, G. (2000). Record breaking optimization results using the
    ruin and recreate principle. Journal of Computational Physics, 159(2), 139-171. (The principle.)

    Examples
    --------
    >>> method = ShoalMicroaggregation(columns=["income"], k=2, effort=0.01)
    >>> method.partition(np.array([[1.0], [10.0], [2.0], [11.0]]), np.ones(4), np.random.default_rng(0)).tolist()
    [0, 1, 0, 1]
    """

    effort: Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)] = 30
    """About how many seconds to search; the same effort gives the same classes on every machine."""

    def partition(self, points: Floats, weights: Floats, rng: np.random.Generator) -> Ints:
        """Return the class of each record."""
        from shoal.kernels.squared_errors import improve_classes

        blocks = split_into_blocks(points, _AT_ONCE, rng)
        classes = begin(points, blocks, self.k)
        steps = int(self.effort * _STEPS / (0.4 * self.k * self.k + 0.5) / len(_SKEWS))
        lost = _mean_loss(points, classes)
        if steps and lost > 0:
            near = list_near(points, blocks, _NEIGHBOURS, rng)
            found = []
            for skew in _SKEWS:
                ours, state = classes.copy(), rng.integers(1, 2**63, 1, np.uint64)
                saved = improve_classes(points, near, self.k, steps, lost, _HOT, _COLD, skew, _NOISE, state, ours)
                found.append((saved, ours))
            classes = max(found, key=lambda one: one[0])[1]
        numbers: Ints = np.unique(classes, return_inverse=True)[1].astype(np.int64)
        return _number_by_first(numbers)


def begin(points: Floats, blocks: list[Ints], k: int) -> Ints:
    """Return MDAV's classes within blocks."""
    from shoal.kernels.microaggregate import mdav

    classes, made = np.empty(len(points), np.int64), 0
    for rows in blocks:
        part = np.empty(len(rows), np.int64)
        mdav(np.ascontiguousarray(points[rows].T), k, part)
        classes[rows] = part + made
        made += int(part.max(initial=-1)) + 1
    return classes


def _mean_loss(points: Floats, classes: Ints) -> float:
    """Return what a class loses on the average."""
    sizes = np.bincount(classes)
    sums = np.stack([np.bincount(classes, column) for column in points.T], axis=1)
    return float(((points - (sums / sizes[:, None])[classes]) ** 2).sum() / len(sizes))


def _number_by_first(classes: Ints) -> Ints:
    """Return classes numbered in the order of their first records."""
    first = np.unique(classes, return_index=True)[1]
    numbers = np.empty(len(first), np.int64)
    numbers[np.argsort(first)] = np.arange(len(first))
    return numbers[classes]
