"""Granularity (ARX's Loss): the share of its domain that a published value leaves open, from 0 to 1 in each column."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats
from shoal.utility.base import Metric, Outcome, PricedCells


class Granularity(Metric):
    """The share of its domain that a published value leaves open, scaled to 0 to 1 in each column.

    It is the *Loss* of ARX. A label of m values out of |D| costs m / |D| and so a single value 1 / |D|, a range its
    width over the width of the domain, a suppressed record 1. Of the sum S over n records a column loses
    (S - n / |D|) / (n - n / |D|): 0 where every value is as it was, 1 where nothing is left. (The certainty
    penalty counts a single value as 0 instead, which is the same only at both ends.)

    ``gs_factor`` weighs generalization against suppression: kept records cost min(1, 2 - 2 gs) of their share, and a
    suppressed one that leaves open the share m (it is 1 - m more open once it is suppressed) m + min(1, 2 gs) (1 - m).
    Below 0.5 that needs the label which a suppressed record would have had: only a search through full-domain
    recodings knows it.

    How columns are put together, x being a column's loss and w its weight:

    ============== ==========================================================================
    mean           Σ w x / Σ w
    geometric-mean Π (1 + x)^(w / Σ w) - 1
    max            the largest w x / max w
    rank           the same, ties broken by the second largest, then the third, and so on
    sum            Σ w x / max w, which may exceed 1
    ============== ==========================================================================

    With equal weights all are ARX's; with others its rank, max and sum are. Its means divide by the number
    of columns instead of Σ w, and its geometric mean of (1 + x) w / max w is off by a factor.

    References
    ----------
    Iyengar, V. S. (2002). Transforming data to satisfy privacy constraints. KDD.
    Prasser, F., Bild, R. and Kuhn, K. A. (2016). A generic method for assessing the quality of de-identified health
    data. Studies in Health Technology and Informatics 228.

    Examples
    --------
    Ages of a domain of ten values; three records leave half of it open, one is suppressed:

    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(4, [3], [[0.5]], ("age",), suppressed=1)
    >>> round(Granularity().measure(outcome).total, 4)  # (3 × 0.5 + 1 - 0.4) / (4 - 0.4)
    0.5833
    """

    aliases: ClassVar[tuple[str, ...]] = ("lm",)
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    monotone: ClassVar[bool] = True
    """No column gets cheaper when a kept record is suppressed, and all ways of putting columns together are rising.

    With f and g for the two factors: where g is 1, a suppressed record costs 1, and a kept one of share m
    f m, which is no more; where g is less, f is 1 and m <= m + g (1 - m), which also rises with m. Columns that
    are not decided have the least share m of any label. If no column of x exceeds that of y, neither does the
    r-th largest, so ranks are in order too."""

    aggregate: Literal["mean", "geometric-mean", "rank", "max", "sum"] = "mean"
    """How the columns are put together."""
    gs_factor: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)] = 0.5
    """0: suppressing costs nothing; 0.5: a suppressed cell is as bad as ``*``; 1: generalizing costs nothing."""

    @property
    def kept_factor(self) -> float:
        """The part of its share that a kept record costs."""
        return min(1.0, 2.0 - 2.0 * self.gs_factor)

    @property
    def suppressed_factor(self) -> float:
        """The part of what suppression takes that a suppressed record costs."""
        return min(1.0, 2.0 * self.gs_factor)

    def totals(self, outcome: Outcome) -> Any:
        """Return the columns' losses put together."""
        lost, weights = self.by_column(outcome), outcome.weights / outcome.weights.sum()
        if self.aggregate == "mean":
            return lost @ weights
        if self.aggregate == "geometric-mean":
            return np.expm1(np.log1p(lost) @ weights)
        if self.aggregate == "sum":
            return lost @ outcome.relative_weights
        return (lost * outcome.relative_weights).max(axis=-1)

    def ranks(self, outcome: Outcome) -> Floats:
        """Return the columns' losses from the largest to the least where they are ranked, else the total."""
        if self.aggregate != "rank":
            return super().ranks(outcome)
        return -np.sort(-self.by_column(outcome) * outcome.relative_weights, axis=-1)

    @property
    def priced_by(self) -> Literal["penalty"] | None:
        """Its means and sums add up, where a suppressed cell is as bad as ``*``."""
        return "penalty" if self.aggregate in {"mean", "sum"} and self.gs_factor == 0.5 else None

    def price(self, cells: PricedCells) -> Floats:
        """Return the share that is left open, 0 for a single value and 1 for none at all."""
        least = 1.0 / max(cells.distinct, 2)
        return np.where(np.asarray(cells.penalty) > 0.0, (cells.penalty - least) / (1.0 - least), 0.0)

    def by_column(self, outcome: Outcome) -> Floats:
        """Return the loss of each column."""
        out = np.asarray(outcome.suppressed, np.float64)[..., None]
        kept = _shares(outcome)
        cost = self.kept_factor * kept + out
        if self.suppressed_factor < 1.0:
            whole = outcome.generalized
            assert whole is not None, "only where known() says so"
            open_anyway = _shares(whole) - kept
            cost = self.kept_factor * kept + open_anyway + self.suppressed_factor * (out - open_anyway)
        least = self.kept_factor * outcome.records / np.maximum(outcome.distinct, 1.0)
        most = np.asarray(outcome.records, np.float64)
        # a column of one value has nothing to lose: both are the number of records
        lost = np.where(most > least, (cost - least) / np.where(most > least, most - least, 1.0), 0.0)
        return np.clip(lost, 0.0, 1.0)

    def known(self, outcome: Outcome) -> bool:
        """Return whether it is known what the suppressed records would have shown, where that counts."""
        return self.suppressed_factor >= 1.0 or outcome.generalized is not None

    def auditable(self) -> Granularity:
        """Return the form in which a suppressed cell is as bad as ``*``."""
        return self.replace(gs_factor=max(self.gs_factor, 0.5))


def _shares(outcome: Outcome) -> Floats:
    """By column: the shares of the domain that the kept records leave open; a single value is one in so many."""
    return outcome.penalty + outcome.exact / np.maximum(outcome.distinct, 1.0)
