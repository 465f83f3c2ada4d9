"""k-anonymity on the table of its paper."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.models import KAnonymity
from shoal.policy import Policy

# Sweeney (2002), k-anonymity: a model for protecting privacy, Figure 2: k = 2 on race, birth, gender and zip
SWEENEY = pl.DataFrame(
    [
        ("Black", "1965", "m", "0214*", "short breath"),
        ("Black", "1965", "m", "0214*", "chest pain"),
        ("Black", "1965", "f", "0213*", "hypertension"),
        ("Black", "1965", "f", "0213*", "hypertension"),
        ("Black", "1964", "f", "0213*", "obesity"),
        ("Black", "1964", "f", "0213*", "chest pain"),
        ("White", "1964", "m", "0213*", "chest pain"),
        ("White", "1964", "m", "0213*", "obesity"),
        ("White", "1964", "m", "0213*", "short breath"),
        ("White", "1967", "m", "0213*", "chest pain"),
        ("White", "1967", "m", "0213*", "chest pain"),
    ],
    schema=["race", "birth", "gender", "zip", "problem"],
    orient="row",
)
KEYS = ["race", "birth", "gender", "zip"]


def test_sweeneys_table_has_k_2() -> None:
    policy = Policy(quasi_identifiers=KEYS, sensitive=["problem"], models=[KAnonymity(k=2)])
    audit = shoal.audit(SWEENEY, policy)
    assert audit.holds
    assert audit.models[0].attained == 2
    assert sorted(audit.sizes.tolist()) == [2, 2, 2, 2, 3]


def test_and_the_homogeneity_attack_finds_two_of_its_classes() -> None:
    policy = Policy(
        quasi_identifiers=KEYS,
        sensitive=["problem"],
        models=[KAnonymity(k=2), {"name": "distinct-l-diversity", "on": "problem", "l": 2}],
    )
    audit = shoal.audit(SWEENEY, policy)
    assert [entry.holds for entry in audit.models] == [True, False]
    assert audit.models[1].attained == 1  # two women born 1965 with hypertension, two men born 1967 with chest pain


@pytest.mark.parametrize(("asked", "attained", "meets"), [(5, 5, True), (5, 4, False), (5, None, True), (2, 2, True)])
def test_integers_are_compared(asked: int, attained: int | None, meets: bool) -> None:
    assert KAnonymity(k=asked).meets(attained) is meets


def test_relaxed_asks_for_what_is_attainable() -> None:
    assert KAnonymity(k=5).relaxed(3) == KAnonymity(k=3)
    assert KAnonymity(k=5).relaxed(1) is None
