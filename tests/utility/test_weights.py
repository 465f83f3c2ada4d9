"""Weights in losses: a column that matters keeps its detail, and another pays."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from tests.strategies import FALLING_BACK

import shoal
from shoal import registry as catalog
from shoal.policy import Policy

ZIPS = ("53711", "53712", "53721", "53722")
TABLE = pl.DataFrame([(a, z) for a in (21, 25, 61, 65) for z in ZIPS], schema=["age", "zip"], orient="row")
"""Every age in every zip: two records look alike if ages are grouped by ten, or zips lose a digit."""
FINE = pl.DataFrame(
    [(a, z) for a in (*range(20, 30), *range(60, 70)) for z in ZIPS], schema=["age", "zip"], orient="row"
)

WITHOUT_COLUMNS = {"average-class-size", "class-size", "discernibility", "distinct-combinations"}
"""Losses that look at the sizes or the number of classes only: no column has a part in them."""
SEARCHED = {n for n in catalog.names("utility") if not catalog.find("utility", n).unsearchable}  # type: ignore[attr-defined]
COLUMN_LOSSES: list[dict[str, Any]] = [
    *({"name": name} for name in sorted(SEARCHED - WITHOUT_COLUMNS - {"granularity"})),
    *({"name": "granularity", "aggregate": how} for how in ("mean", "geometric-mean", "rank", "max", "sum")),
]
BLIND = {
    "datafly": "looks at no loss",
    "kaca": "its distance goes by the height of labels: there it spares the age in any case",
    "weighted-boundaries": "goes by the order of the weights: equal ones take the columns as they stand",
}


def policy(age: float, code: float, algorithm: Any = "optimal", loss: Any = "certainty-penalty") -> Policy:
    return Policy(
        quasi_identifiers={
            "age": {"hierarchy": "intervals", "widths": [10, 50], "weight": age},
            "zip": {"hierarchy": "mask", "keep": [4, 3], "weight": code},
        },
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm=algorithm,
        loss=loss,
    )


def lost(algorithm: str, age: float) -> dict[str, float]:
    return shoal.anonymize(TABLE, policy(age, 1, algorithm)).audit.utility["certainty-penalty"].columns


@pytest.mark.parametrize("algorithm", FALLING_BACK)
def test_age_keeps_its_values_and_zip_pays(algorithm: str) -> None:
    equal, heavy = lost(algorithm, 1), lost(algorithm, 5)
    if algorithm not in BLIND:
        assert (equal["age"] > 0, equal["zip"]) == (True, 0)
    if algorithm != "datafly":
        assert (heavy["age"], heavy["zip"] > 0) == (0, True)


@pytest.mark.parametrize("loss", COLUMN_LOSSES, ids=lambda loss: "-".join(loss.values()))
def test_every_loss_with_columns_takes_weights(loss: dict[str, Any]) -> None:
    for age, code, spared in ((9, 1, "age"), (1, 9, "zip")):
        release = shoal.anonymize(FINE, policy(age, code, loss=loss))
        assert release.recoding.to_dict()["levels"][spared] == 0


@pytest.mark.parametrize("loss", sorted(WITHOUT_COLUMNS))
def test_losses_of_class_sizes_have_no_columns_to_weigh(loss: str) -> None:
    measured = shoal.anonymize(FINE, policy(9, 1)).audit.utility[loss]
    assert loss == "distinct-combinations" or measured.columns == {}  # which counts the texts of columns, unweighed
    assert measured == shoal.audit(shoal.anonymize(FINE, policy(9, 1)).table, policy(1, 1), original=FINE).utility[loss]


def test_the_total_is_the_weighted_mean_of_the_columns() -> None:
    measured = shoal.anonymize(TABLE, policy(5, 1)).audit.utility["certainty-penalty"]
    assert measured.total == pytest.approx((5 * measured.columns["age"] + measured.columns["zip"]) / 6)
