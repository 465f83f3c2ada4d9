"""Propensity scores (pMSE): can a published record be told from an original one?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.statistics.columns import Features
from shoal.utility.statistics.threads import one_blas_thread

RECORDS = 20_000
"""So many records of each table are pooled, at most."""
_ROUNDS, _NEAR, _RIDGE = 50, 1e-8, 1e-6


@dataclass(frozen=True)
class Propensity:
    """How well a model tells published records from original ones."""

    pmse: float
    """The mean squared distance of the scores from the share of published records: 0 where nobody can tell, and the
    share times one minus it, a quarter for tables of one size, where everybody can."""
    expected: float
    """What it is on the average if both tables were drawn from one population."""
    share: float
    """The share of published records in all."""

    @property
    def ratio(self) -> float | None:
        """How many times what is expected it is: about 1 for a release like a second sample."""
        return self.pmse / self.expected if self.expected > 0.0 else None


@one_blas_thread
def measure_propensity(original: Features, published: Features) -> Propensity | None:
    """Fit a logistic regression that tells the published records from the original ones; ``None`` without records.

    The features are those of the clusters (numbers in deviations, categories in parts), without products. A little
    ridge (1e-6 per record) keeps the scores defined where the tables can be told apart without an error.

    References
    ----------
    Woo, M.-J., Reiter, J. P., Oganian, A. and Karr, A. F. (2009). Global measures of data utility for microdata masked
    for disclosure limitation. Journal of Privacy and Confidentiality 1(1), 2.2.
    Snoke, J., Raab, G. M., Nowok, B., Dibben, C. and Slavkovic, A. (2018). General and specific utility measures for
    synthetic data. Journal of the Royal Statistical Society A 181(3) (an expected value; theirs takes the original for
    given and is smaller by the factor 1 - share, ours is that of two samples).

    Examples
    --------
    >>> same = np.array([[0.0], [1.0], [2.0]], np.float32)
    >>> round(measure_propensity(same, same).pmse, 6), round(measure_propensity(same, same + 9).pmse, 3)
    (0.0, 0.25)
    """
    if not len(original) or not len(published):
        return None
    pooled = np.concatenate([original, published]).astype(np.float64)
    pooled = pooled[:, np.ptp(pooled, axis=0) > 0.0]
    design = np.concatenate([np.ones((len(pooled), 1)), pooled], axis=1)
    which = np.append(np.zeros(len(original)), np.ones(len(published)))
    share = float(which.mean())
    scores = _fit(design, which)
    rank = int(np.linalg.matrix_rank(design.T @ design, hermitian=True))
    expected = (rank - 1) * (1.0 - share) * share / len(pooled)
    return Propensity(float(((scores - share) ** 2).mean()), expected, share)


def _fit(design: Floats, which: Floats) -> Floats:
    """Return the score of each record, by Newton's method."""
    weights = np.zeros(design.shape[1])
    penalty = np.full(design.shape[1], _RIDGE * len(design))
    penalty[0] = 0.0  # the share of the tables is not shrunk
    for _ in range(_ROUNDS):
        scores = _logistic(design @ weights)
        slope = design.T @ (scores - which) + penalty * weights
        curve = (design * (scores * (1.0 - scores))[:, None]).T @ design + np.diag(penalty + 1e-12 * len(design))
        step = np.linalg.solve(curve, slope)
        weights -= step
        if float(np.abs(step).max()) < _NEAR:
            break
    return _logistic(design @ weights)


def _logistic(values: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -500.0, 500.0))))
