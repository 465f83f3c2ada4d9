"""What a service may answer: data as they are, new persons, and counts that are blurred instead of records."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shoal.registry import Frozen


class RawAnswers(Frozen):
    """How much an answer with the data as they are may show.

    Examples
    --------
    >>> RawAnswers().shows_sensitive, RawAnswers(least=1).shows_sensitive
    (False, True)
    """

    least: Annotated[int, Field(ge=1)] | None = None
    """How many persons must share what such an answer shows of each of them; k of the models (2 at least) unless it is
    said. ``1`` is Hussien et al. (2015): whatever is light enough is shown of everybody, sensitive columns too."""

    @property
    def shows_sensitive(self) -> bool:
        """Whether columns that are no quasi-identifiers may be shown as they are."""
        return self.least == 1


class Renewal(Frozen):
    """When persons who are new in a table are added to what a service answers from.

    What was published of a person stays as it was. New persons are anonymized among themselves, so that whoever
    compares before and after sees a group that keeps every model, never one of them alone.
    """

    records: Annotated[int, Field(ge=1)] | None = None
    """How many persons must be new; never fewer than k, which it is unless it is said."""
    days: Annotated[int, Field(ge=0)] = 0
    """How many days must have passed since the last time."""


class NoisyCounts(Frozen):
    """Nothing but counts are answered, with differentially private noise, within a budget that is told.

    A count is changed by a discrete Laplace distributed number; groups that few persons may have made visible are left
    out. Whatever else somebody knows, one person's records change the odds of any answer by at most e to the epsilon
    (but for a probability of ``delta``, where groups are asked for); what several answers tell of a person adds up.

    References
    ----------
    Dwork, C., McSherry, F., Nissim, K. and Smith, A. (2006). Calibrating noise to sensitivity in private data analysis.
    TCC. Korolova, A., Kenthapadi, K., Mishra, N. and Ntoulas, A. (2009). Releasing search queries and clicks privately.
    WWW (groups by a threshold).

    Examples
    --------
    >>> NoisyCounts(counts="dp", epsilon=0.1).client_budget
    1.0
    """

    counts: Literal["dp"]
    epsilon: Annotated[float, Field(gt=0.0, le=10.0, allow_inf_nan=False)]
    """What one answer may tell of a person."""
    delta: Annotated[float, Field(gt=0.0, lt=0.01)] = 1e-6
    """With which probability an answer by groups may tell more; much less than one in as many persons as there are."""
    contributions: Annotated[int, Field(ge=1)] = 1
    """How many records of a person count in one answer; the others are left out."""
    client_budget: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0
    """What all answers to one client together may tell of a person."""
    person_budget: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 10.0
    """What all answers to everybody together may tell of a person."""


class RoundedCounts(Frozen):
    """Nothing but counts are answered, rounded up or down at random, the same persons always in the same way.

    Which way a count goes follows from a secret and from who is counted: asking again, or otherwise for the same
    persons, tells nothing new (the cell keys of Fraser and Wooton). It promises less than :class:`NoisyCounts`: many
    counts of nearly the same persons can be averaged.

    References
    ----------
    Fraser, B. and Wooton, J. (2005). A proposed method for confidentialising tabular output to protect against
    differencing. UNECE work session on statistical data confidentiality.

    Examples
    --------
    >>> RoundedCounts(counts="rounded").base
    5
    """

    counts: Literal["rounded"]
    base: Annotated[int, Field(ge=2)] = 5
    """Counts are multiples of it."""


CountAnswers = Annotated[NoisyCounts | RoundedCounts, Field(discriminator="counts")]
"""Counts instead of records, as a policy says it."""
