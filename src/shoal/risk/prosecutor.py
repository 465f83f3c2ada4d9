"""Prosecutor: the attacker knows that the person is in the table."""

from __future__ import annotations

from shoal.risk.base import Ints, Risk


class Prosecutor(Risk):
    """The attacker knows that the person is in the table, and looks for the record.

    The chance to be right is one over the size of the person's class: ``max`` is the worst of them, ``mean`` the
    mean over all records, ``unique`` the share of records that stand alone.

    References
    ----------
    El Emam, K. (2013). Guide to the de-identification of personal health information. CRC Press.

    Examples
    --------
    >>> import numpy as np
    >>> Prosecutor().measure(np.array([1, 4, 5]))
    {'max': 1.0, 'mean': 0.3, 'unique': 0.1}
    """

    def measure(self, sizes: Ints) -> dict[str, float]:
        """Return the worst and the mean chance, and the share of unique records."""
        records = int(sizes.sum())
        if not records:
            return {"max": 0.0, "mean": 0.0, "unique": 0.0}
        unique = int((sizes == 1).sum()) / records
        return {"max": 1.0 / int(sizes.min()), "mean": len(sizes) / records, "unique": unique}
