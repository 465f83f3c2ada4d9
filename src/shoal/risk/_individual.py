"""estimate_risks(): the chance that a record is the right person's, from survey weights."""

from __future__ import annotations

import numpy as np

from shoal.encoding.types import Floats, Ints


def estimate_risks(sizes: Ints, persons: Floats) -> Floats:
    """Return for each class the expected value of one over its persons in the population, by Benedetti and Franconi.

    The persons F of a class of f records are taken to be negative binomial given f, with p = f / (weights of the
    class) for the chance to be in the sample. Then E(1 / F) = p / (1 - p) · log(1 / p) for f = 1, and for f = 2
    p / (1 - p) - (p / (1 - p))² · log(1 / p); from f = 3 on p / (f - (1 - p)) is near it, and what µ-ARGUS and
    sdcMicro print. Weights below the records themselves count as the records: p is 1 at most, the chance 1 / f.

    References
    ----------
    Benedetti, R. and Franconi, L. (1998). Statistical and technological solutions for controlled data dissemination.
    New Techniques and Technologies for Statistics 1.
    Franconi, L. and Polettini, S. (2004). Individual risk estimation in µ-Argus: a review. PSD.

    Examples
    --------
    >>> estimate_risks(np.array([1, 2, 4, 1]), np.array([17.0, 110.0, 8.0, 1.0])).round(7)
    array([0.1770758, 0.0171443, 0.1428571, 1.       ])
    """
    shares = np.minimum(sizes / np.maximum(persons, 1e-300), 1.0)
    rest = 1.0 - shares
    risks = shares / (sizes - rest)
    drawn = rest > 0.0
    odds, logs = shares[drawn] / rest[drawn], -np.log(shares[drawn])
    alone, twos = odds * logs, odds - odds**2 * logs
    risks[drawn] = np.where(sizes[drawn] == 1, alone, np.where(sizes[drawn] == 2, twos, risks[drawn]))
    return np.asarray(risks)
