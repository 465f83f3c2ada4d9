"""What a lying or careless table is caught by: labels, row numbers, the order of records."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.policy import Policy

RNG = np.random.default_rng(7)
SIZE = 300
ORIGINAL = pl.DataFrame(
    {
        "age": RNG.integers(20, 60, SIZE),
        "sex": RNG.choice(["F", "M"], SIZE),
        "illness": RNG.choice(["flu", "cold", "hiv"], SIZE),
        "cost": RNG.integers(0, 100_000, SIZE),
    }
)
POLICY = Policy(
    quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [10, 20]}, "sex": "suppress"},
    sensitive=["illness"],
    others="keep",
    models=[{"name": "k-anonymity", "k": 5}],
    max_suppressed=0.5,
)
ORDER = "the records stand in their original order"


def blurred(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(age=pl.format("[{}, {}]", pl.col("age") // 10 * 10, pl.col("age") // 10 * 10 + 9))


def outcome(audit: shoal.Audit, name: str) -> str:
    return next(check.outcome for check in audit.checks if check.name == name)


@pytest.mark.parametrize("missing", [0, 1, 30])
@pytest.mark.parametrize("kept", [["age", "sex", "illness", "cost"], ["age", "sex", "illness"], ["age", "sex"]])
def test_the_original_order_is_found_though_records_are_missing(missing: int, kept: list[str]) -> None:
    keep = np.sort(np.random.default_rng(missing).permutation(SIZE)[missing:])
    raw = ORIGINAL.select(kept)
    policy = POLICY.replace(sensitive=["illness"] if "illness" in kept else [])
    audit = shoal.audit(blurred(raw[keep]), policy, original=raw)
    assert ORDER in [fault.what for fault in audit.faults]
    assert outcome(audit, "order") == "failed"


def test_the_original_order_is_found_though_some_records_moved() -> None:
    moved = [*range(5, SIZE), *range(5)]
    audit = shoal.audit(blurred(ORIGINAL[moved]), POLICY, original=ORIGINAL)
    assert ORDER in [fault.what for fault in audit.faults]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kept", [["age", "sex", "illness", "cost"], ["age", "sex", "illness"], ["age", "sex"]])
def test_a_random_order_is_none(seed: int, kept: list[str]) -> None:
    raw = ORIGINAL.select(kept)
    policy = POLICY.replace(sensitive=["illness"] if "illness" in kept else [])
    for left in (SIZE, SIZE - 20):
        published = blurred(raw).sample(left, shuffle=True, seed=seed)
        assert outcome(shoal.audit(published, policy, original=raw), "order") == "passed"


@pytest.mark.parametrize("by", [["cost"], ["illness", "cost"], ["age", "sex", "illness", "cost"]])
@pytest.mark.parametrize("descending", [False, True])
def test_a_sorted_table_tells_nothing_by_its_order(by: list[str], descending: bool) -> None:
    raw = ORIGINAL.sort(by, descending=descending)
    published = blurred(raw).sort(by, descending=descending)
    assert outcome(shoal.audit(published, POLICY, original=raw), "order") == "passed"
    texts = published.with_columns(pl.all().cast(pl.String))  # as a file holds them
    assert outcome(shoal.audit(texts, POLICY, original=raw), "order") == "passed"


def test_an_order_inside_a_sorted_column_is_found() -> None:
    published = blurred(ORIGINAL).sort("sex", maintain_order=True)
    raw = ORIGINAL.sort("sex", maintain_order=True)
    assert outcome(shoal.audit(published, POLICY, original=raw), "order") == "failed"


def test_columns_with_one_value_have_no_order() -> None:
    raw = ORIGINAL.with_columns(illness=pl.lit("flu"), sex=pl.lit("F")).drop("cost")
    published = raw.with_columns(age=pl.lit("*"))
    assert outcome(shoal.audit(published, POLICY, original=raw), "order") == "passed"


def test_labels_that_the_original_cannot_fill_are_found() -> None:
    honest = blurred(ORIGINAL).sample(fraction=1, shuffle=True, seed=1)
    assert outcome(shoal.audit(honest, POLICY, original=ORIGINAL), "labels") == "passed"
    twenties = ORIGINAL["age"].is_between(20, 29).sum()
    lying = honest.with_columns(
        age=pl.when(pl.int_range(SIZE) <= twenties).then(pl.lit("[20, 29]")).otherwise(pl.lit("*"))
    )
    audit = shoal.audit(lying, POLICY.replace(max_suppressed=1.0), original=ORIGINAL)
    assert [fault.where for fault in audit.faults if "more often than the original" in fault.what] == ["age"]


def test_labels_that_are_too_many_together_are_found() -> None:
    # neither [20, 29] nor [30, 39] alone is too often there, but both with the wider one are
    counts = [int(ORIGINAL["age"].is_between(low, low + 9).sum()) for low in (20, 30)]
    texts = ["[20, 29]"] * counts[0] + ["[30, 39]"] * counts[1] + ["[20, 39]"] * 5
    published = ORIGINAL.head(len(texts)).with_columns(age=pl.Series(texts)).drop("illness", "cost")
    roles = {"quasi_identifiers": ["age", "sex"]}
    audit = shoal.audit(published.with_columns(sex=pl.lit("*")), roles, original=ORIGINAL)
    assert "labels" in [check.name for check in audit.checks if check.outcome == "failed"]
    fewer = published.head(len(texts) - 5).with_columns(sex=pl.lit("*"))
    assert outcome(shoal.audit(fewer, roles, original=ORIGINAL), "labels") == "passed"


def test_labels_that_fit_alone_but_not_together_are_found() -> None:
    raw = pl.DataFrame({"age": [20] * 10 + [50] * 10, "sex": ["F"] * 10 + ["M"] * 10})
    crossed = pl.DataFrame({"age": ["20"] * 10 + ["50"] * 10, "sex": ["M"] * 10 + ["F"] * 10})
    audit = shoal.audit(crossed, {"quasi_identifiers": ["age", "sex"]}, original=raw)
    assert (outcome(audit, "labels"), outcome(audit, "truth")) == ("passed", "failed")
    assert "at least 20 records" in next(check for check in audit.checks if check.name == "truth").faults[0].got


@pytest.mark.parametrize(
    "numbers",
    [
        pl.Series(range(SIZE)),
        pl.Series([float(i + 1) for i in range(SIZE)]),
        pl.Series([f"{i}.0" for i in range(SIZE)]),
        pl.Series([str(i) for i in range(SIZE)]).shuffle(1),
    ],
)
def test_row_numbers_are_found_however_they_are_written(numbers: pl.Series) -> None:
    table = blurred(ORIGINAL.drop("cost")).with_columns(nr=numbers)
    assert any("row number" in fault.what for fault in shoal.audit(table, POLICY).faults)


def test_an_index_of_some_rows_is_found_by_its_name() -> None:
    kept = pl.Series([float(i) for i in range(0, 3 * SIZE, 3)])
    table = blurred(ORIGINAL).with_columns(kept.alias("Unnamed: 0"))
    raw = ORIGINAL.with_columns(kept.alias("Unnamed: 0"))
    assert any("row number" in fault.what for fault in shoal.audit(table, POLICY, original=raw).faults)


@pytest.mark.parametrize("numbers", [[i / 2 for i in range(SIZE)], [None, *range(SIZE - 1)], [1.0] * SIZE])
def test_other_numbers_are_no_row_numbers(numbers: list[float | None]) -> None:
    table = blurred(ORIGINAL.drop("cost")).with_columns(nr=pl.Series(numbers, strict=False))
    assert not any("row number" in fault.what for fault in shoal.audit(table, POLICY).faults)


def test_what_could_not_be_checked_says_why() -> None:
    alone = {check.name: check.not_run for check in shoal.audit(blurred(ORIGINAL), POLICY).checks}
    assert {name for name, why in alone.items() if "original" in why} == {
        "records",
        "order",
        "values",
        "labels",
        "truth",
        "bytes",
    }
    both = {check.name: check.not_run for check in shoal.audit(blurred(ORIGINAL), POLICY, original=ORIGINAL).checks}
    assert {name for name, why in both.items() if why} == {"bytes"}


def test_another_level_than_the_fixed_one_is_found() -> None:
    table = pl.DataFrame({"age": [20 + i % 40 for i in range(60)], "sex": ["f", "m"] * 30})
    policy = shoal.Policy(
        quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [10, 20]}, "sex": "suppress"},
        models=[{"name": "k-anonymity", "k": 5}],
        algorithm={"name": "fixed-levels", "levels": {"age": 1, "sex": 1}},
        max_suppressed=1,
    )
    made = shoal.anonymize(table, policy).table
    assert outcome(shoal.audit(made, policy, original=table), "levels") == "passed"
    coarser = made.with_columns(age=pl.when(pl.col("age") < "[40").then(pl.lit("[20, 40)")).otherwise("age"))
    checked = shoal.audit(coarser, policy, original=table)
    assert [fault.what for fault in checked.failures()] == ["published at another level than the policy fixes"]


def test_stars_at_a_fixed_level_are_those_of_missing_values() -> None:
    raw = pl.DataFrame({"q": [1, 1, 2, 2, 3, 4, None], "r": ["a"] * 7})
    policy = shoal.Policy(
        quasi_identifiers={"q": {"hierarchy": "suppress", "missing": "wildcard"}, "r": "suppress"},
        algorithm={"name": "fixed-levels", "levels": {"q": 0, "r": 0}},
        models=[{"name": "k-anonymity", "k": 2}],
    )
    lie = pl.DataFrame({"q": ["1", "1", "2", "2", "*", "*", "*"], "r": ["a"] * 7})
    assert outcome(shoal.audit(lie, policy, original=raw), "levels") == "failed"
    few = raw.with_columns(q=pl.Series([1, 1, 2, 2, None, None, None]))
    assert outcome(shoal.audit(lie, policy, original=few), "levels") == "passed"


def test_a_lie_in_a_table_of_many_small_classes_is_found() -> None:
    """Only the records under a text are touched: classes times records would be too many to look at."""
    count = 70_000
    raw = pl.DataFrame({"q": np.arange(count) // 2, "s": np.random.default_rng(0).integers(0, 10**6, count)})
    policy = shoal.Policy(quasi_identifiers=["q"], sensitive=["s"], models=[{"name": "k-anonymity", "k": 2}])
    shown = raw.with_columns(raw["q"].cast(pl.String))
    assert shoal.audit(shown.sort("q", "s"), policy, original=raw).holds
    moved = shown.with_columns(pl.Series("s", np.roll(raw["s"].to_numpy(), 2))).sort("q", "s")
    assert outcome(shoal.audit(moved, policy, original=raw), "truth") == "failed"


def test_a_subject_whose_name_is_a_pattern_is_counted() -> None:
    """Polars reads ``^…$`` in a name as a pattern of names."""
    table = pl.DataFrame({"^a$": [1, 1, 2, 3, 4, 4], "age": [1, 1, 1, 2, 2, 2], "ill": list("xyxyxy")})
    policy = shoal.Policy(
        subject="^a$",
        quasi_identifiers={"age": {"hierarchy": "suppress"}},
        sensitive=["ill"],
        models=[{"name": "k-anonymity", "k": 2}, {"name": "distinct-l-diversity", "on": "ill", "l": 2}],
        max_suppressed=0,
    )
    assert shoal.anonymize(table, policy).audit.holds
