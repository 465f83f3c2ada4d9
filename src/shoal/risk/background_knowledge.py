"""Background knowledge: the attacker rules some values out."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.models._exact import compare_ratio, decimal
from shoal.risk._cells import Cells
from shoal.risk.base import Attribute, AttributeRisk, Evidence, Finding, worst_of


class BackgroundKnowledge(AttributeRisk):
    """The attacker knows some values that a person does not have, rules them out, and guesses among the rest.

    With the values of a class in order of their counts r₁ ≥ r₂ ≥ …, whoever rules j of them out is right about the
    first with r₁ / (n - r₂ - … - rⱼ₊₁): no other choice of j values leaves a greater share. ``curve`` is the worst
    over all classes for j = 0, 1, …, ``chance`` its end. Missing values that may be any count as the likeliest. A leak
    is a class where ``excluded`` values leave a share of ``confidence``.

    Cost: the records, sorted by class and value.

    References
    ----------
    Machanavajjhala, A., Gehrke, J., Kifer, D. and Venkitasubramaniam, M. (2006). l-diversity: privacy beyond
    k-anonymity. ICDE.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.risk.base import PublishedClasses
    >>> release = PublishedClasses(np.zeros(5, np.int64), np.array([[0]]), np.array([5]))
    >>> illness = Attribute(np.array([0, 0, 1, 1, 2]), np.array([2, 2, 1]))
    >>> evidence = Evidence(np.array([5]), release=release, sensitive={"illness": illness})
    >>> BackgroundKnowledge(excluded=2).run(evidence)[0].measured["curve"]
    [0.4, 0.6666666666666666, 1.0]
    """

    means: ClassVar[str] = "Somebody who can rule out little is sure of a person's sensitive value."

    excluded: Annotated[int, Field(ge=0, le=50, strict=True)] = 1
    """How many values the attacker rules out."""
    confidence: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """The share from which a value counts as learned."""

    def about(self, evidence: Evidence, attribute: Attribute) -> Finding:
        """Look at the most frequent values of each class."""
        cells = Cells.about(evidence, attribute)
        most, total = cells.most(self.excluded + 1), cells.known + cells.wild
        ruled_out = np.cumsum(most, axis=1) - most[:, :1]
        likeliest = most[:, 0] + cells.wild
        left = np.maximum(total[:, None] - ruled_out, 1)
        shares = likeliest[:, None] / left
        sure = compare_ratio(likeliest, left[:, -1], decimal(self.confidence)) >= 0 if len(total) else np.zeros(0, bool)
        measured = {
            "chance": float(shares[:, -1].max(initial=0.0)),
            "curve": shares.max(axis=0, initial=0.0).tolist(),
            "classes": int(sure.sum()),
            "records": int(total[sure].sum()),
        }
        return Finding(bool(sure.any()), measured, worst_of(shares[:, -1], sure))
