"""Anonymizer: training data that is anonymized within a pipeline of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from shoal.algorithms import Mondrian
from shoal.encoding.types import Floats, Ints
from shoal.errors import Fault, Misfit
from shoal.models import KAnonymity
from shoal.pipeline.anonymize import anonymize
from shoal.policy import Policy

_ENDS = {"form": "generalized", "ends": True}


class Anonymizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc] # sklearn has no types
    """Show numbers as the middle of the class that their record is in, so that a model learns of groups of people only.

    ``fit`` anonymizes the training data under a policy and keeps the release, audited as every other, in ``release_``.
    ``transform`` shows each record as the class of the training record that is nearest to it.

    Why it is safe: what a model learns from is a function of the release, and at least k training records are shown
    alike: that is counted again, for a policy may put equal records into several classes, and ``transform`` knows them
    by what they hold. That holds of training data alone. New records are shown by classes that were made without them:
    nothing is promised of these, and they are not published.

    Parameters
    ----------
    k
        How many training records look alike, where no policy is given.
    policy
        A policy whose quasi-identifiers are the features, by their names (``x0``, ``x1``, … of arrays).

    Examples
    --------
    >>> ages = np.array([[20.0], [22.0], [40.0], [44.0]])
    >>> Anonymizer(k=2).fit_transform(ages).ravel().tolist()
    [21.0, 21.0, 42.0, 42.0]
    """

    def __init__(self, k: int = 5, policy: Policy | None = None) -> None:
        self.k = k
        self.policy = policy

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - the interface's own name
        """Anonymize the training data.

        Raises
        ------
        ValueError
            There are fewer records than the policy needs, or they do not fit it.
        """
        values = validate_data(self, X, dtype=np.float64)
        names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{i}" for i in range(values.shape[1])])]
        policy = (self.policy or _plain_policy(names, self.k)).replace(output=_ENDS)
        _require_fitting(policy, names, len(values))
        self.release_ = anonymize(pl.DataFrame(values, schema=names), policy)
        self._learn(values, names)
        return self

    def transform(self, X: Any) -> Floats:  # noqa: N803 - the interface's own name
        """Show each record as the class of the training record nearest to it."""
        check_is_fitted(self)
        values = validate_data(self, X, dtype=np.float64, reset=False)
        nearest = self._nearest.kneighbors(values / self._scales, return_distance=False)[:, 0]
        shown: Floats = self._shown[nearest]
        return shown

    def _learn(self, values: Floats, names: list[str]) -> None:
        """Keep what each training record is shown as; equal ones as one of their classes."""
        rows: Ints = self.release_.details.rows.to_numpy()
        kept, firsts = np.unique(values[rows], axis=0, return_index=True)
        middles = np.column_stack(
            [_middles(self.release_.frame, name, kept[:, i], firsts) for i, name in enumerate(names)]
        )
        self._scales = np.where((spread := np.ptp(values, axis=0)) > 0, spread, 1.0)
        self._shown = middles
        self._nearest = NearestNeighbors(n_neighbors=1).fit(kept / self._scales)
        least = int(np.unique(self.transform(values), axis=0, return_counts=True)[1].min())
        if least < self.release_.policy.k:
            what, hint = "equal records lie in several classes", "algorithm: mondrian keeps them together"
            got = f"{least} records that are shown alike, asked {self.release_.policy.k}"
            raise ValueError(str(Misfit([Fault(what, "policy.algorithm", got, hint)])))


def _plain_policy(names: list[str], k: int) -> Policy:
    """Return the policy of those who give none: every feature may be known, and classes do not overlap."""
    return Policy(quasi_identifiers=names, models=[KAnonymity(k=k)], algorithm=Mondrian(), publish="ranges")


def _require_fitting(policy: Policy, names: list[str], records: int) -> None:
    """Raise what scikit-learn expects where data cannot be fitted."""
    if missing := sorted({*policy.quasi_identifiers} ^ {*names}):
        what, hint = "features and quasi-identifiers differ", "name every feature in the policy"
        raise ValueError(str(Misfit([Fault(what, "policy", ", ".join(missing), hint)])))
    if records < policy.k:
        raise ValueError(f"k = {policy.k} records are needed, got {records} sample(s): n_samples={records} is too few")


def _middles(frame: pl.DataFrame, name: str, own: Floats, firsts: Ints) -> Floats:
    """Return the middle of what some published records show; what shows nothing has the middle of all."""
    least, greatest = (frame[f"{name}.{end}"].cast(pl.Float64).to_numpy()[firsts] for end in ("low", "high"))
    middles: Floats = (least + greatest) / 2
    return np.where(np.isnan(middles), own.mean(), middles)
