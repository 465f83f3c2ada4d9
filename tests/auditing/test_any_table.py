"""Tables of other tools, audited with nothing known but what the columns are."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from math import inf
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.auditing.audit_policy import Roles
from shoal.auditing.reading import Reader
from shoal.auditing.schema import build_audit_schema
from shoal.auditing.wildcards import count_matching_anything
from shoal.encoding.labels import read_label
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.errors import AuditFailed, Misfit, PolicyError
from shoal.policy import Policy

ROLES = {"quasi_identifiers": ["age", "zip", "sex"], "sensitive": ["disease"]}
ORIGINAL = pl.DataFrame(
    {
        "age": [21, 25, 31, 39, 41, 44, 52, 58, 60, 23],
        "zip": ["47651", "47652", "47651", "47659", "47621", "47622", "47625", "47611", "47651", "47601"],
        "sex": ["F", "M", "F", "M", "M", "M", "M", "M", "F", "F"],
        "disease": ["flu", "cold", "flu", "hiv", "flu", "hiv", "flu", "cold", "cold", "hiv"],
    }
)
ARX = pl.DataFrame(
    {
        "age": ["[20, 40["] * 4 + ["[40, 60["] * 4 + ["*"] * 2,
        "zip": ["4765*"] * 4 + ["476**"] * 4 + ["*"] * 2,
        "sex": ["{F, M}"] * 4 + ["M"] * 4 + ["*"] * 2,
        "disease": ORIGINAL["disease"],
    }
)
UTD = ARX.with_columns(
    age=pl.Series(["[20:40)"] * 4 + ["[40:60)"] * 4 + ["[20:60]"] * 2),
    sex=pl.Series(["[0:1]"] * 4 + ["M"] * 4 + ["[0:1]"] * 2),
)


def shuffled(table: pl.DataFrame) -> pl.DataFrame:
    return table.sample(fraction=1, shuffle=True, seed=3)


def of_disease(audit: shoal.Audit) -> dict[str, object]:
    return {one.model.key(): one.attained for one in audit.measured.sensitive["disease"]}


def test_a_table_in_the_style_of_arx_is_measured_and_read() -> None:
    audit = shoal.audit(shuffled(ARX), ROLES, original=ORIGINAL)
    assert (audit.classes, audit.starred, audit.starred_as) == (3, 2, {"*": 2})
    assert (audit.measured.k, audit.measured.k_matching_anything, audit.measured.k_without_suppressed) == (2, 6, 4)
    assert not audit.faults
    # 21 to 39 of a span of 39, 41 to 58 likewise, two records with nothing: each 18 or 17 or 39 of 39
    lost = audit.utility["certainty-penalty"].columns
    assert lost["age"] == pytest.approx((4 * (39 - 21) + 4 * (59 - 40) + 2 * 39) / 39 / 10)
    assert lost["sex"] == pytest.approx((4 + 2) / 10)
    assert of_disease(audit)["distinct-l-diversity"] == 2
    assert of_disease(audit)["alpha-k-anonymity"] == 0.5
    assert of_disease(audit)["delta-disclosure"] == inf


def test_a_table_in_the_style_of_the_utd_toolbox_is_read_with_its_hierarchy() -> None:
    codes = {"hierarchy": "tree", "nodes": {"*": {"[0:1]": ["F", "M"]}}}
    roles = {**ROLES, "quasi_identifiers": {"age": {}, "zip": {}, "sex": codes}}
    audit = shoal.audit(shuffled(UTD), roles, original=ORIGINAL)
    assert not audit.faults
    assert audit.utility["certainty-penalty"].columns["sex"] == pytest.approx(0.6)
    # without it the codes of categories mean nothing to us: told, not refused
    blind = shoal.audit(shuffled(UTD), ROLES, original=ORIGINAL)
    assert [(fault.kind, fault.where) for fault in blind.faults] == [("note", "sex")]
    assert blind.measured.k == audit.measured.k == 2


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("[20, 25)", [20, 24]),
        ("(20, 25]", [24, 25]),
        ("[20, 25[", [20, 24]),
        ("]20, 25]", [24, 25]),
        ("[20:25]", [20, 24, 25]),
        ("20-25", [20, 24, 25]),
        ("20 - 25", [20, 24, 25]),
        ("20 to 24", [20, 24]),
        ("<=24", [-3, 20, 24]),
        ("<24", [-3, 20]),
        (">24", [25, 30]),
        (">=24", [24, 25, 30]),
        ("25+", [25, 30]),
        ("-5 - 20", [-3, 20]),
        ("{20, 30}", [20, 30]),
        ("20|30", [20, 30]),
        ("NULL", [-3, 20, 24, 25, 30]),
        ("2*", [20, 24, 25]),
    ],
)
def test_notations_cover_what_they_say(text: str, covered: list[int]) -> None:
    raw = pl.DataFrame({"age": [-3, 20, 24, 25, 30]})
    reader = Reader(TableDictionary(CountedTable(raw), Roles(quasi_identifiers=["age"])), "age")
    assert [value for value in raw["age"] if reader.covers(text, str(value))] == covered
    assert reader.penalty(text) is not None


@pytest.mark.parametrize("text", ["30-20", "100-200", "abc", "[20", "20-", "{20, 99}", "9**"])
def test_what_fits_no_value_is_a_note_where_nothing_is_promised_and_a_fault_elsewhere(text: str) -> None:
    raw = pl.DataFrame({"age": [20, 24, 25, 30]})
    published = pl.DataFrame({"age": [text] * 4})
    kinds = {
        fault.kind
        for roles in (
            {"quasi_identifiers": ["age"]},
            {"quasi_identifiers": ["age"], "models": [{"name": "k-anonymity", "k": 2}]},
        )
        for fault in shoal.audit(published, roles, original=raw).faults
        if "no value, label" in fault.what
    }
    assert kinds == {"note", "fault"}


def test_half_open_ranges_of_dates() -> None:
    days = read_label("[2020-01-01, 2020-02-01)", "date")
    assert days.greatest - days.least == 30


@pytest.mark.parametrize(
    ("text", "covered"),
    [("2020", 3), ("2020-Q1", 2), ("2020-01", 1), ("[2020, 2021]", 4), ("2020-01-31 - 2020-02-01", 2)],
)
def test_periods_in_tables_of_others(text: str, covered: int) -> None:
    days = pl.DataFrame({"day": [date(2020, 1, 31), date(2020, 2, 1), date(2020, 12, 31), date(2021, 6, 1)]})
    for raw in (days, days.select(pl.col("day").cast(pl.Datetime("us")) + timedelta(hours=9))):
        reader = Reader(TableDictionary(CountedTable(raw), Roles(quasi_identifiers=["day"])), "day")
        assert [reader.covers(text, value) for value in raw["day"].cast(pl.String)].count(True) == covered
        assert reader.penalty(text) is not None


@pytest.mark.parametrize("sign", ["*", "", "NULL", None, "NA"])
def test_suppressed_records_are_known_however_they_are_written(sign: str | None) -> None:
    table = pl.DataFrame({"age": ["20", "20", sign, sign], "sex": ["F", "F", sign, sign]})
    audit = shoal.audit(table, {"quasi_identifiers": ["age", "sex"]})
    assert audit.starred_as == {sign or "empty": 2}
    assert audit.to_dict()["suppressed"] == 2


@pytest.mark.parametrize(
    ("shown", "k"),
    [
        (pl.Series([time(1, 2, 3), time(1, 2, 3, 500_000)] * 2), 2),
        (pl.Series([datetime(2020, 1, 1), datetime(2020, 1, 1, 0, 0, 0, 1)] * 2, dtype=pl.Datetime("ns")), 2),
        (pl.Series([datetime(2020, 1, 1)] * 4).dt.replace_time_zone("Europe/Berlin"), 4),
        (pl.Series([timedelta(1), timedelta(2)] * 2), 2),
    ],
)
def test_columns_of_time_are_counted_as_they_are(shown: pl.Series, k: int) -> None:
    table, roles = pl.DataFrame({"at": shown}), {"quasi_identifiers": ["at"], "sensitive": []}
    assert shoal.audit(table, roles).measured.k == k
    told = shoal.audit(table, {**roles, "models": [{"name": "k-anonymity", "k": k}]}, original=table)
    assert [fault.what for fault in told.failures()] == []


def test_what_was_not_promised_does_not_hold() -> None:
    audit = shoal.audit(ARX, ROLES)
    assert not audit.holds
    assert audit.to_dict()["holds"] is None
    with pytest.raises(AuditFailed, match="nothing was promised"):
        audit.require()


def test_roles_make_no_release() -> None:
    with pytest.raises(PolicyError, match="nothing is promised"):
        shoal.anonymize(ORIGINAL, Roles(**ROLES))
    with pytest.raises(PolicyError):
        Roles(**ROLES, models=[{"name": "k-anonymity", "k": 2}])
    with pytest.raises(PolicyError):
        shoal.anonymize(ORIGINAL, ROLES)


def test_a_policy_file_without_models_only_measures(tmp_path: Path) -> None:
    path = tmp_path / "roles.yaml"
    path.write_text("quasi_identifiers: [age, zip, sex]\nsensitive: [disease]\n")
    assert shoal.audit(ARX, path).measured.k == 2


def test_an_empty_release() -> None:
    for original in (None, ORIGINAL):
        audit = shoal.audit(ARX.head(0), ROLES, original=original)
        assert audit.measured.k is audit.measured.k_matching_anything is None
        assert {one.attained for one in audit.measured.sensitive["disease"]} <= {None, 1.0, 0.0}
        assert {rule["met"] for rule in audit.to_dict()["thresholds"]} == {None}
        jsonschema.validate(audit.to_dict(), build_audit_schema())
    diverse = [{"name": "entropy-l-diversity", "on": "disease", "l": 2}]
    assert shoal.audit(ARX.head(0), {**ROLES, "models": diverse}).holds  # nobody is in it


def test_other_columns_than_the_original_has() -> None:
    with pytest.raises(Misfit, match="no such column"):
        shoal.audit(ARX, ROLES, original=ORIGINAL.drop("zip"))
    audit = shoal.audit(ARX.drop("zip"), ROLES, original=ORIGINAL)
    assert not audit.is_counted
    jsonschema.validate(audit.to_dict(), build_audit_schema())
    assert shoal.audit(ARX.drop("disease"), ROLES).measured.not_measured == {
        "disease": "the column is not in the published table"
    }


def test_persons_that_nobody_knows_are_not_measured() -> None:
    policy = Policy(
        quasi_identifiers=["age"],
        sensitive=["disease"],
        subject="who",
        others="drop",
        models=[{"name": "k-anonymity", "k": 2}],
    )
    audit = shoal.audit(ARX.select("age", "disease"), policy)
    assert list(audit.measured.not_measured) == ["disease"]
    assert audit.measured.k_matching_anything is None


cells = st.sampled_from(["a", "b", "*", None])


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=12))
def test_k_where_nothing_matches_anything_is_that_of_all_pairs(rows: list[tuple[str | None, ...]]) -> None:
    blank = ("*", None)
    counts = [
        sum(all(x == y or x in blank or y in blank for x, y in zip(a, b, strict=True)) for b in rows) for a in rows
    ]
    table = pl.DataFrame(rows, schema=["q0", "q1", "q2"], orient="row")
    classes = table.group_by(table.columns).agg(pl.len().alias("records"))
    assert count_matching_anything(classes) == min(counts)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30),
    st.booleans(),
)
def test_only_the_worst_classes_are_told_and_they_are_the_worst(rows: list[tuple[int, int]], numbers: bool) -> None:
    table = pl.DataFrame(rows, schema=["age", "disease"], orient="row")
    if not numbers:
        table = table.with_columns(pl.col("disease").cast(pl.String).str.replace("^", "d"))
    audit = shoal.audit(table, {"quasi_identifiers": ["age"], "sensitive": ["disease"]})
    readings = audit.measured.sensitive["disease"]
    assert any(getattr(one.model, "distance", "") == "ordered" for one in readings) is numbers
    policy = Policy(quasi_identifiers=["age"], sensitive=["disease"], models=[one.model for one in readings])
    for one, promise in zip(readings, shoal.audit(table, policy).models, strict=True):
        attained = promise.attained[0] if promise.model.key() == "alpha-k-anonymity" else promise.attained
        assert one.attained == attained, one.model


@pytest.mark.parametrize("missing", ["wildcard", "own-value"])
def test_missing_sensitive_values_are_measured_as_the_policy_says(missing: str) -> None:
    table = pl.DataFrame({"age": ["1"] * 3 + ["2"] * 2, "disease": ["flu", None, "flu", "cold", "flu"]})
    roles = {"quasi_identifiers": ["age"], "sensitive": {"disease": {"missing": missing}}}
    audit = shoal.audit(table, roles)
    assert of_disease(audit)["distinct-l-diversity"] == (1 if missing == "wildcard" else 2)
    assert audit.missing["disease"] == {"role": "sensitive", "missing": missing, "empty": 1}
