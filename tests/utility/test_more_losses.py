"""ILoss, minimal distortion, classification metric, distortion ratio, KL divergence, distinct combinations."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from math import log2
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import PolicyError
from shoal.policy import Policy
from shoal.registry import describe_family, find, names
from shoal.utility.kl_divergence import divergence

# Sarrafi (2017), Figure 2-10: tuples 1 to 3 are one class, tuple 4 is suppressed
ORIGINAL = pl.DataFrame(
    {
        "age": [25, 35, 40, 65],
        "gender": ["Male", "Male", "Female", "Female"],
        "zip": ["2370", "2370", "2370", "5300"],
        "disease": ["Gastritis", "HIV", "Cancer", "Fever"],
    }
)
PUBLISHED = pl.DataFrame(
    {
        "age": ["[25, 40]"] * 3,
        "gender": ["{Female, Male}"] * 3,
        "zip": ["2370"] * 3,
        "disease": ["Gastritis", "HIV", "Cancer"],
    }
)
POLICY = Policy(
    quasi_identifiers={"age": {"domain": (10, 100)}, "gender": {}, "zip": {}},
    sensitive=["disease"],
    models=[{"name": "k-anonymity", "k": 3}],
    max_suppressed=0.25,
    publish="ranges",
)


def test_figure_2_10_of_sarrafi() -> None:
    audit = shoal.audit(PUBLISHED, POLICY, original=ORIGINAL)
    measured = audit.utility
    assert audit.holds
    # Table 2-13: 1.167 for each of three tuples, 3 for the suppressed one
    assert measured["certainty-penalty"].total * 3 * 4 == pytest.approx(3 * (15 / 90 + 2 / 2) + 3)
    assert measured["discernibility"].total == 3 * 3 + 4 * 1  # equation 2-1
    # equation 2-2: 3 of 4 ages, 2 of 2 genders, 1 of 2 zips; |D| - 1 others for the suppressed one
    assert measured["i-loss"].columns == pytest.approx(
        {"age": (3 * 2 + 3) / 4 / 4, "gender": (3 * 1 + 1) / 2 / 4, "zip": (3 * 0 + 1) / 2 / 4}
    )
    assert measured["minimal-distortion"].columns == {"age": 4, "gender": 4, "zip": 1}
    assert measured["minimal-distortion"].total == 9
    # three diseases in one class: two are no majority; one record is suppressed
    assert measured["classification-metric"].columns == {"disease": 3 / 4}
    assert measured["distinct-combinations"].total == 1
    # ages: 3 records evenly over 25, 35, 40 and one over all four: 1.25 each, and 0.25 for 65
    ages = 3 * 0.25 * log2(0.25 / (1.25 / 4)) + 0.25 * log2(0.25 / (0.25 / 4))
    zips = 0.75 * log2(0.75 / (3.5 / 4)) + 0.25 * log2(0.25 / (0.5 / 4))
    assert measured["kl-divergence"].columns == pytest.approx({"age": ages, "gender": 0, "zip": zips})


def test_minimal_distortion_ten_records_of_one_sex_column() -> None:
    """Sarrafi (2017), 2.6: ten records generalized from male or female to people cost ten."""
    table = pl.DataFrame({"sex": ["m", "f"] * 5})
    policy = Policy(quasi_identifiers={"sex": "suppress"}, models=[{"name": "k-anonymity", "k": 10}])
    assert shoal.anonymize(table, policy).audit.utility["minimal-distortion"].total == 10


def test_distortion_ratio_counts_a_column_by_its_height() -> None:
    """Yaseen et al. (2018), Definition 9: the sum of the heights over that of the fully generalized table."""
    table = pl.DataFrame({"age": [21, 24, 31, 38], "sex": ["m", "f", "m", "f"]})
    policy = Policy(
        quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [10, 20, 40]}, "sex": "suppress"},
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm={"name": "fixed-levels", "levels": {"age": 1, "sex": 1}},
    )
    measured = shoal.anonymize(table, policy).audit.utility
    height = 4  # 10, 20, 40 years and *
    assert measured["distortion-ratio"].columns == {"age": 1 / height, "sex": 1}
    assert measured["distortion-ratio"].total == pytest.approx((1 + 1) / (height + 1))
    assert measured["precision"].total == pytest.approx((1 / height + 1) / 2)


@pytest.mark.parametrize(
    ("paper", "ours"),
    [
        ("NCP", "certainty-penalty"),
        ("GCP", "certainty-penalty"),
        ("DM", "discernibility"),
        ("DCP", "discernibility"),
        ("C_avg", "class-size"),
        ("ILoss", "i-loss"),
        ("MD", "minimal-distortion"),
        ("CM", "classification-metric"),
        ("Prec", "precision"),
        ("Kullback-Leibler", "kl-divergence"),
    ],
)
def test_the_papers_names_find_ours(paper: str, ours: str) -> None:
    assert find("utility", paper).key() == ours
    assert (
        paper.lower().replace("_", "-")
        in next(row for row in describe_family("utility") if row["name"] == ours)["aliases"]
    )


def test_aliases_are_no_names_and_no_two_entries_share_one() -> None:
    for family in ("utility", "models", "algorithms", "hierarchies", "risk"):
        every = [alias for name in names(family) for alias in find(family, name).aliases]
        assert len({*every, *names(family)}) == len(every) + len(names(family))
        assert all(alias == alias.lower() and "_" not in alias for alias in every)


def test_a_policy_keeps_the_name_of_the_entry() -> None:
    assert "certainty-penalty" not in POLICY.replace(loss="gcp").to_yaml()  # it is the default
    assert "name: discernibility" in POLICY.replace(algorithm="optimal", loss="DM").to_yaml()


@pytest.mark.parametrize(
    ("name", "instead"),
    [("i-loss", "granularity"), ("kl", "entropy"), ("CM", "class_column"), ("distinct-combinations", "class-size")],
)
def test_what_no_search_counts_is_refused_with_a_hint(name: str, instead: str) -> None:
    with pytest.raises(PolicyError, match=rf"loss: cannot be searched by.*{instead}"):
        POLICY.replace(loss=name)


def test_a_value_that_nothing_covers_has_no_divergence() -> None:
    assert divergence([1, 1], [2, 0]) == float("inf")
    assert divergence([0, 0], [1, 1]) == 0
    false = PUBLISHED.with_columns(zip=pl.Series(["5300"] * 3))
    audit = shoal.audit(false, POLICY.replace(max_suppressed=0.0), original=ORIGINAL.head(3).vstack(ORIGINAL.tail(1)))
    assert "kl-divergence" in audit.utility  # the one that is left out could be anyone
    audit = shoal.audit(pl.concat([false, false.head(1)]), POLICY, original=ORIGINAL)
    assert "kl-divergence" not in audit.utility
    json.dumps(audit.to_dict(), allow_nan=False)


TEXTS = {"a": "a", "b": "b", "c": "c", "ab": "{a, b}", "abc": "*"}


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.integers(0, 2), st.sampled_from("xy"), st.sampled_from([True, True, False])
        ),
        min_size=4,
        max_size=25,
    )
)
def test_against_plain_counting(rows: list[tuple[str, int, str, bool]]) -> None:
    if {value for value, *_ in rows} != set("abc"):
        rows = [*rows, *((value, 0, "x", False) for value in "abc")]
    original = pl.DataFrame({"q": [row[0] for row in rows], "s": [row[2] for row in rows]})
    covering = [[text for text in TEXTS if value in text] for value, *_ in rows]
    texts = [options[row[1] % len(options)] for options, row in zip(covering, rows, strict=True) if row[3]]
    shown = [(text, row[2]) for text, row in zip(texts, (row for row in rows if row[3]), strict=True)]
    published = pl.DataFrame({"q": [TEXTS[text] for text, _ in shown], "s": [value for _, value in shown]})
    published = published.cast(pl.String)
    policy = Policy(quasi_identifiers={"q": {}}, sensitive=["s"], models=[{"name": "k-anonymity", "k": 2}])
    measured = shoal.audit(published, policy, original=original).utility
    if len({text for text, _ in shown}) > 1:  # starred records tell nothing, unless all are
        shown = [(text, value) for text, value in shown if text != "abc"]
    out = len(rows) - len(shown)
    assert measured["minimal-distortion"].total == out + sum(len(text) > 1 for text, _ in shown)
    assert measured["i-loss"].total == pytest.approx(
        (out * 2 / 3 + sum((len(text) - 1) / 3 for text, _ in shown)) / len(rows)
    )
    classes: dict[str, Counter[str]] = defaultdict(Counter)
    for text, value in shown:
        classes[text][value] += 1
    wrong = sum(sum(held.values()) - max(held.values()) for held in classes.values())
    assert measured["classification-metric"].total == pytest.approx((wrong + out) / len(rows))
    implied: Any = Counter(dict.fromkeys("abc", out / 3))
    for text, _ in shown:
        for value in text:
            implied[value] += 1 / len(text)
    held = Counter(row[0] for row in rows)
    if all(implied[value] > 0 for value in held):
        expected = sum(n / len(rows) * log2(n / implied[value]) for value, n in held.items())
        assert measured["kl-divergence"].total == pytest.approx(expected, abs=1e-9)
    else:
        assert "kl-divergence" not in measured
