"""Marketer: the attacker links everybody and counts the hits."""

from __future__ import annotations

from shoal.risk.base import Ints, Risk


class Marketer(Risk):
    """The attacker links every record at random within its class and counts the hits.

    The expected share of right links is the number of classes over the number of records.

    References
    ----------
    El Emam, K. (2013). Guide to the de-identification of personal health information. CRC Press.

    Examples
    --------
    >>> import numpy as np
    >>> Marketer().measure(np.array([1, 4, 5]))
    {'mean': 0.3}
    """

    def measure(self, sizes: Ints) -> dict[str, float]:
        """Return the expected share of right links."""
        records = int(sizes.sum())
        return {"mean": len(sizes) / records if records else 0.0}
