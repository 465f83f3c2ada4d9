"""Interval disclosure: the original lies so near what is published that it is as good as told."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.risk.base import Evidence, Finding, Risk


class IntervalDisclosure(Risk):
    """Numbers were changed so little that the original ones are as good as told.

    Around each published number lies an interval of ``width`` standard deviations of its column to either side.
    ``within`` is the share of records whose originals lie inside in all changed columns. A leak is a share above
    ``most``.

    Cost: a pass over the records.

    References
    ----------
    Mateo-Sanz, J. M., Sebé, F. and Domingo-Ferrer, J. (2004). Outlier protection in continuous microdata masking. PSD
    (SDID: intervals by the standard deviation).

    Examples
    --------
    >>> from shoal.risk.base import RecordPairs
    >>> before, after = np.array([1.0, 2.0, 3.0, 9.0]), np.array([1.1, 2.0, 4.0, 9.0])
    >>> evidence = Evidence(np.array([4]), pairs=RecordPairs({"pay": (before, after)}))
    >>> IntervalDisclosure().run(evidence)[0].measured
    {'within': 0.75, 'columns': 1}
    """

    needs: ClassVar[tuple[str, ...]] = ("pairs",)
    means: ClassVar[str] = "A person's number is known nearly as well as if it had been published."

    width: Annotated[float, Field(gt=0.0)] = 0.05
    """How many standard deviations of the published column the interval reaches to either side."""
    most: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1
    """The share of records inside that nobody need worry about."""

    def run(self, evidence: Evidence) -> list[Finding]:
        """Compare the changed numbers."""
        assert evidence.pairs is not None
        columns = [pair for pair in evidence.pairs.numbers.values() if len(pair[0]) > 1]
        if not columns:
            return []
        far = [np.abs(before - after) > self.width * float(np.nanstd(after, ddof=1)) for before, after in columns]
        within = float((~np.logical_or.reduce(far)).mean())
        return [Finding(within > self.most, {"within": within, "columns": len(columns)})]
