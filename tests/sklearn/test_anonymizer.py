"""Anonymizer: an estimator like any other, whose training data keep their promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the extra ml is not installed")
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from shoal import Policy
from shoal.sklearn import Anonymizer


@parametrize_with_checks([Anonymizer(k=2)])
def test_it_keeps_the_interface(estimator: Any, check: Any) -> None:
    check(estimator)


def make_people(records: int = 200) -> tuple[Any, Any]:
    draw = np.random.default_rng(7)
    ages, hours = draw.integers(18, 90, records).astype(float), draw.normal(38, 8, records).round()
    return np.column_stack([ages, hours]), (ages + draw.normal(0, 8, records) > 50).astype(int)


@pytest.mark.parametrize("k", [3, 10])
def test_every_training_record_looks_like_k(k: int) -> None:
    features, _ = make_people()
    shown = Anonymizer(k=k).fit_transform(features)
    assert np.unique(shown, axis=0, return_counts=True)[1].min() >= k


def test_a_model_learns_from_classes() -> None:
    features, target = make_people()
    model = make_pipeline(Anonymizer(k=5), LogisticRegression()).fit(features[:150], target[:150])
    assert model.score(features[150:], target[150:]) > 0.7
    assert model[0].release_.audit.holds


def test_a_policy_says_how() -> None:
    features, _ = make_people()
    policy = Policy(quasi_identifiers=["x0", "x1"], models=[{"name": "k-anonymity", "k": 20}], algorithm="mondrian")
    assert Anonymizer(policy=policy).fit(features).release_.attained["k-anonymity"] >= 20


def test_what_does_not_fit_is_told() -> None:
    features, _ = make_people()
    policy = Policy(quasi_identifiers=["x0"], models=[{"name": "k-anonymity", "k": 2}])
    with pytest.raises(ValueError, match="features and quasi-identifiers differ"):
        Anonymizer(policy=policy).fit(features)
    with pytest.raises(ValueError, match="k = 5 records are needed"):
        Anonymizer().fit(features[:3])


def test_equal_records_in_several_classes_are_counted_again() -> None:
    """A search may part equal records; whoever knows them by what they hold would leave others in a class too small."""
    features = np.repeat(np.arange(8.0), [3, 1, 3, 1, 3, 1, 3, 1])[:, None]
    told = 0
    for k in (2, 3):
        policy = Policy(quasi_identifiers=["x0"], models=[{"name": "k-anonymity", "k": k}], publish="ranges")
        try:
            shown = Anonymizer(policy=policy).fit_transform(features)
        except ValueError as error:
            assert "equal records lie in several classes" in str(error)
            told += 1
        else:
            assert np.unique(shown, return_counts=True)[1].min() >= k
    assert told
