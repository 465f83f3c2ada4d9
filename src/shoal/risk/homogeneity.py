"""Homogeneity: all records of a class have the same sensitive value."""

from __future__ import annotations

from typing import ClassVar

from shoal.risk.base import Evidence, Finding, Risk, share, worst_of


class Homogeneity(Risk):
    """All records of a class have the same sensitive value: whoever finds the class has learned it.

    ``least_values`` is the least number of distinct values of a class, ``classes`` and ``records`` count those with
    one, ``share`` is the share of all records. A missing value that may be any is no second value. A leak is one such
    class.

    Cost: the number of classes.

    References
    ----------
    Machanavajjhala, A., Gehrke, J., Kifer, D. and Venkitasubramaniam, M. (2006). l-diversity: privacy beyond
    k-anonymity. ICDE.

    Examples
    --------
    >>> import numpy as np
    >>> evidence = Evidence(np.array([3, 5]), distinct={"illness": np.array([1, 4])})
    >>> Homogeneity().run(evidence)[0].measured
    {'least_values': 1, 'classes': 1, 'records': 3, 'share': 0.375}
    """

    needs: ClassVar[tuple[str, ...]] = ("distinct",)
    means: ClassVar[str] = "A person's sensitive value is read off without finding the record."

    def run(self, evidence: Evidence) -> list[Finding]:
        """Look at how many values each class has."""
        assert evidence.distinct is not None
        found = []
        for name, values in evidence.distinct.items():
            same = values <= 1
            records = int(evidence.sizes[same].sum())
            measured = {
                "least_values": int(values.min()) if len(values) else 0,
                "classes": int(same.sum()),
                "records": records,
                "share": share(records, evidence.records),
            }
            found.append(Finding(bool(same.any()), measured, worst_of(evidence.sizes, same), name))
        return found
