"""Non-uniform entropy: the bits that it takes to tell the original values from what is published."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.base import Outcome, PricedCells, SumMetric

_NOISE = 1e-12
"""The share of a sum that is taken for its rounding error."""


class NonUniformEntropy(SumMetric):
    """The bits that it takes to tell each original value from the values that its label could stand for.

    A record whose value occurs f times, and whose label could stand for the values of F records, costs
    log2(F / f): little where the label hides what is rare among what is frequent. A suppressed record could be
    anyone: F is the number of all records. The total is the sum over records and columns, in bits, the columns
    weighted by their weights over the largest weight; it is 0 where nothing is lost.

    What a suppressed record costs can be told in two other ways, both of ARX, that need the label it would have
    had, so only a search through full-domain recodings knows them: ``apart`` is its label's cost plus
    log2(s / F_s), where F_s of the s suppressed records have the same label (ARX's non-monotonic form);
    ``ignored`` is its label's cost alone, as if nobody were suppressed (ARX's monotonic form).

    References
    ----------
    De Waal, T. and Willenborg, L. (1999). Information loss through global recoding and local suppression.
    Netherlands Official Statistics 14.
    Gionis, A. and Tassa, T. (2009). k-anonymization with minimal loss of information. IEEE TKDE 21(2).
    Prasser, F., Kohlmayer, F. and Kuhn, K. A. (2014). ARX: a comprehensive tool for anonymizing biomedical data.
    AMIA Annual Symposium.

    Examples
    --------
    Four records, each of another age; three are shown as one range that could stand for two records, one is suppressed:

    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(4, [3], [[0.5]], ("age",), suppressed=1)
    >>> NonUniformEntropy().measure(outcome).total  # 3 × log2(2 / 1) + log2(4 / 1)
    5.0
    """

    monotone: ClassVar[bool] = True
    """No column costs less than 0, and none that is decided gets cheaper.

    ``star``: a kept record costs log2 of at most all records, which is what it costs once it is suppressed.
    ``ignored``: what the decided columns show is the same whoever is suppressed. ``apart``: this, plus
    s log2(s) - Σ s_i log2(s_i) for s_i suppressed records of each label, whose derivative log2(s / s_i) is
    never negative: it does not fall when more records are suppressed. Columns that are not decided count as if
    a label stood for one record, less than their values do, so they come out at 0."""

    suppressed: Literal["star", "apart", "ignored"] = "star"
    """What a suppressed record costs: as one that could be anyone, or as ARX counts it, apart or not at all."""

    @property
    def priced_by(self) -> Literal["cover"] | None:
        """What is taken off for the values themselves is the same whatever is shown; not so what ARX takes off."""
        return "cover" if self.suppressed == "star" else None

    def price(self, cells: PricedCells) -> Floats:
        """Return the bits of the records that a cell could stand for."""
        return np.log2(np.maximum(np.asarray(cells.cover, np.float64), 1.0))

    def by_column(self, outcome: Outcome) -> Floats:
        """Return the bits that are lost in each column."""
        log_cover_size, log_value_counts = outcome.log_cover_size, outcome.log_value_counts
        if self.suppressed == "star":
            anyone = np.log2(max(outcome.records, 1))
            log_cover_size = log_cover_size + np.asarray(outcome.suppressed, np.float64)[..., None] * anyone
        else:
            whole = outcome.generalized
            assert whole is not None, "only where known() says so"
            log_cover_size, log_value_counts = whole.log_cover_size, whole.log_value_counts
            if self.suppressed == "apart" and outcome.suppressed_entropy is not None:
                log_cover_size = log_cover_size + outcome.suppressed_entropy
        lost = log_cover_size - log_value_counts
        return np.where(lost <= _NOISE * log_cover_size, 0.0, lost)

    def known(self, outcome: Outcome) -> bool:
        """Return whether it is known what the suppressed records would have shown, where that counts."""
        if self.suppressed == "star":
            return True
        is_known = (
            self.suppressed == "ignored" or outcome.suppressed_entropy is not None or not np.any(outcome.suppressed)
        )
        return is_known and outcome.generalized is not None

    def auditable(self) -> NonUniformEntropy:
        """Return the form in which a suppressed record could be anyone."""
        return self.replace(suppressed="star")
