"""Anatomy: Xiao and Tao's groups, and an audit that trusts neither of the two files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import AuditFailed, Infeasible, PolicyError
from shoal.pipeline import write as release
from shoal.pipeline.anatomy import anatomize, draw_values, find_largest_l

SECRET = 2**100 + 7


def microdata() -> pl.DataFrame:
    """Table 1 of Xiao and Tao (2006): eight patients."""
    return pl.DataFrame(
        {
            "age": [23, 27, 35, 59, 61, 65, 65, 70],
            "sex": ["M"] * 4 + ["F"] * 4,
            "zip": [11000, 13000, 59000, 12000, 54000, 25000, 25000, 30000],
            "disease": ["pneumonia", "dyspepsia", "dyspepsia", "pneumonia", "flu", "gastritis", "flu", "bronchitis"],
        }
    )


def promised(l: int = 2, **more: Any) -> shoal.Policy:  # noqa: E741 - the promise's own letter
    return shoal.Policy(
        quasi_identifiers=["age", "sex", "zip"],
        sensitive=["disease"],
        models=[{"name": "distinct-l-diversity", "on": "disease", "l": l}],
        output="anatomy",
        seed=SECRET,
        **more,
    )


def papers_tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return Table 3 of the paper: the first four patients are one group, the last four the other."""
    first = microdata().drop("disease").with_columns(group=pl.Series([1] * 4 + [2] * 4))
    second = pl.DataFrame(
        {
            "group": [1, 1, 2, 2, 2],
            "disease": ["dyspepsia", "pneumonia", "bronchitis", "flu", "gastritis"],
            "records": [2, 2, 1, 2, 1],
        }
    )
    return first, second


def whats(audit: shoal.Audit) -> str:
    return " | ".join(str(fault) for fault in audit.failures())


def test_the_tables_of_the_paper_hold_for_2_and_not_for_3() -> None:
    first, second = papers_tables()
    audit = shoal.audit(first, promised(), original=microdata(), beside=second)
    assert audit.holds
    assert (audit.models[0].attained, audit.classes, audit.sizes.tolist()) == (2, 2, [4, 4])
    broken = shoal.audit(first, promised(3), original=microdata(), beside=second)
    assert "distinct-l-diversity does not hold" in whats(broken)
    assert "more than 1/3 of a group; got 2 groups" in whats(broken)


def test_k_anonymity_is_not_claimed() -> None:
    first, second = papers_tables()
    audit = shoal.audit(first, promised(), original=microdata(), beside=second)
    assert "k-anonymity is not claimed" in str(audit.faults[-1])
    assert audit.risk["prosecutor"] == audit.risk_before["prosecutor"] == {"max": 1.0, "mean": 7 / 8, "unique": 6 / 8}
    assert "k-anonymity is not claimed" in " ".join(shoal.report(audit).split())
    assert audit.to_dict()["form"] == "anatomy"


def test_buckets_are_drawn_as_in_the_paper() -> None:
    # 3, 2 and 2 records: {0, 1}, then {0, 2}, then {0, 1}; one record of value 2 is left
    assert draw_values(np.array([3, 2, 2]), 2).tolist() == [0, 1, 0, 2, 0, 1]
    groups = anatomize(np.array([0, 0, 0, 1, 1, 2, 2]), 2, np.random.default_rng(1))
    assert (groups.count, groups.residue) == (3, 1)
    assert sorted(np.bincount(groups.members).tolist()) == [2, 2, 3]


@given(st.lists(st.integers(0, 6), min_size=2, max_size=60), st.integers(2, 5), st.integers(0, 99))
def test_groups_have_different_values_and_are_as_many_as_can_be(values: list[int], l: int, seed: int) -> None:  # noqa: E741
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    if find_largest_l(codes) < l:
        with pytest.raises(Infeasible):
            anatomize(codes, l, np.random.default_rng(seed))
        return
    groups = anatomize(codes, l, np.random.default_rng(seed))
    assert groups.members.min() == 0
    assert groups.count == len(codes) // l  # so the error of reconstruction, n - groups, is the least (Theorem 4)
    for number in range(groups.count):
        held = codes[groups.members == number]
        assert len(set(held.tolist())) == len(held) >= l


def test_a_release_of_the_papers_table(tmp_path: Path) -> None:
    made = shoal.anonymize(microdata(), promised())
    assert made.table.columns == ["age", "sex", "zip", "group"]
    assert made.beside.columns == ["group", "disease", "records"]
    assert made.audit.classes == 4
    files = made.write(tmp_path)
    manifest = json.loads(files["manifest"].read_text())
    assert set(manifest["files"]) == {"release.csv", "release-sensitive.csv", "audit.json", "report.html"}
    assert (manifest["seed"], "seed" in manifest["policy"]) == ("secret", False)
    assert str(SECRET) not in "".join(path.read_text() for path in files.values())
    assert shoal.audit(files["release"], promised(), original=microdata()).holds
    assert shoal.audit(files["release"], promised()).holds


@pytest.mark.parametrize("kind", ["parquet", "feather", "excel", "jsonl"])
def test_in_every_format(kind: str, tmp_path: Path) -> None:
    table = microdata().with_columns(pl.Series("zip", [1.5, None, 2.0, 3.25, 1e16, 7.0, 8.0, -1.0]))
    missing = table.with_columns(disease=pl.Series(["flu", None, *table["disease"].to_list()[2:]]))
    files = shoal.anonymize(missing, promised()).write(tmp_path, format=kind)
    assert shoal.audit(files["release"], promised(), original=missing).holds


def test_the_order_of_the_records_does_not_matter_and_the_seed_does() -> None:
    table = pl.concat([microdata()] * 10)
    made, reversed_ = (shoal.anonymize(one, promised()) for one in (table, table.reverse()))
    assert made.frame.equals(reversed_.frame)
    assert made.details.companions["sensitive"].equals(reversed_.details.companions["sensitive"])
    assert not made.frame.equals(shoal.anonymize(table, promised().replace(seed=SECRET + 1)).frame)


def test_a_value_that_is_too_frequent() -> None:
    with pytest.raises(Infeasible, match="2 of 8 records, where 1 may") as caught:
        shoal.anonymize(microdata(), promised(5))
    assert caught.value.attainable == {"distinct-l-diversity": 4}
    faults = promised(5).check(microdata())
    assert any("too frequent for anatomy; got l = 5, at most 4" in str(fault) for fault in faults)
    with pytest.raises(Infeasible):
        shoal.anonymize(microdata().head(0), promised())


def test_check_says_what_is_not_protected() -> None:
    told = " ".join(str(fault) for fault in promised().replace(seed=0).check(microdata()) if fault.kind == "warning")
    assert "protects the link to the sensitive value only" in told
    assert "seed: can be guessed" in told
    assert "can be guessed" not in " ".join(map(str, promised().check(microdata())))


BAD: list[tuple[dict[str, Any], str]] = [
    ({"models": [{"name": "k-anonymity", "k": 2}]}, "cannot promise k-anonymity"),
    ({"others": "keep"}, "beside exact quasi-identifiers"),
    ({"subject": "who"}, "each record must be about another person"),
    ({"sensitive": {"disease": {}, "ward": {}}}, "one sensitive column"),
    ({"sensitive": {"disease": {"missing": "wildcard"}}}, "disease.missing"),
    ({"quasi_identifiers": {"age": {"missing": "suppress"}}}, "age.missing"),
    ({"quasi_identifiers": {"group": {}}}, "names of their own"),
    ({"output": {"form": "anatomy", "number": "records"}}, "names of their own"),
    ({"output": {"form": "anatomy", "ends": True}}, "not a known key"),
    ({"output": {"form": "anatomie"}}, "did you mean 'anatomy'"),
]


@pytest.mark.parametrize(("change", "told"), BAD)
def test_policies_that_anatomy_cannot_keep(change: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        promised().replace(**change)


def test_a_group_with_one_value_too_few_is_found() -> None:
    first, second = papers_tables()
    alike = pl.DataFrame(
        {"group": [1, 2, 2, 2], "disease": ["flu", "bronchitis", "flu", "gastritis"], "records": [4, 1, 2, 1]}
    )
    audit = shoal.audit(first, promised(), beside=alike)  # no original: the two files alone show it
    assert (audit.holds, audit.models[0].attained) == (False, 1)
    lopsided = second.with_columns(records=pl.Series([3, 1, 1, 2, 1]))
    assert "more than 1/2 of a group" in whats(shoal.audit(first, promised(), beside=lopsided))


def test_tables_that_do_not_belong_together_are_found() -> None:
    first, second = papers_tables()
    fewer = shoal.audit(first.head(7), promised(), beside=second)
    assert "other numbers of records" in whats(fewer)
    assert "the two tables" in whats(shoal.audit(first, promised(), beside=second.with_columns(group=pl.lit("a"))))
    assert "a part of the release is missing" in whats(shoal.audit(first, promised()))
    assert "second table are others" in whats(shoal.audit(first, promised(), beside=first))


def test_what_is_not_of_the_original_is_found() -> None:
    first, second = papers_tables()
    moved = second.with_columns(disease=pl.Series(["dyspepsia", "pneumonia", "asthma", "flu", "gastritis"]))
    assert "not as frequent" in whats(shoal.audit(first, promised(), original=microdata(), beside=moved))
    older = first.with_columns(pl.Series("age", [24, *first["age"].to_list()[1:]]))
    assert "not those of the original" in whats(shoal.audit(older, promised(), original=microdata(), beside=second))
    rows = pl.Series([4, 5, 6, 7, 0, 1, 2, 3])
    swapped = shoal.audit(first, promised(), original=microdata(), beside=second, rows=rows)
    assert "groups do not hold what their records hold" in whats(swapped)


def test_the_sensitive_column_beside_the_quasi_identifiers_is_found() -> None:
    first, second = papers_tables()
    whole = first.insert_column(0, microdata()["disease"])
    assert "stands beside the quasi-identifiers" in whats(shoal.audit(whole, promised(), beside=second))


def test_an_order_that_tells_something_is_found() -> None:
    first, second = papers_tables()
    shuffled = first[[3, 1, 2, 0, 4, 5, 6, 7]]
    assert "order of what they show" in whats(shoal.audit(shuffled, promised(), beside=second))
    by_count = second.sort("group", "records")
    assert "order of what they show" in whats(shoal.audit(first, promised(), beside=by_count))
    other = first.with_columns(group=3 - pl.col("group")).sort("group", "age")
    told = second.with_columns(group=3 - pl.col("group")).sort("group", "disease")
    assert "groups are not numbered in the order" in whats(shoal.audit(other, promised(), beside=told))


def test_a_file_that_breaks_on_the_way_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = release.to_bytes

    def merges(frame: pl.DataFrame, kind: str, *how: str) -> bytes:
        if "records" in frame.columns:  # all of a group's records get one value
            frame = frame.group_by("group", maintain_order=True).agg(pl.col("disease").first(), pl.col("records").sum())
        return honest(frame, kind)

    monkeypatch.setattr(release, "to_bytes", merges)
    with pytest.raises(AuditFailed, match="distinct-l-diversity does not hold"):
        shoal.anonymize(microdata(), promised()).write(tmp_path / "out")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_grouping_that_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.pipeline import anatomy as tables
    from shoal.pipeline.anatomy import Groups

    monkeypatch.setattr(tables, "anatomize", lambda codes, *_: Groups(np.arange(len(codes)) // 2, 2, 0))
    with pytest.raises(AuditFailed, match=r"more than 1/2 of a group|does not hold"):
        shoal.anonymize(microdata().sort("disease").with_columns(age=pl.int_range(8)), promised())


def test_values_exchanged_between_groups_are_found_from_outside() -> None:
    """Every count of both tables stays, but nobody of the first group had what it is said to have."""
    first, second = papers_tables()
    assert shoal.audit(first, promised(), original=microdata(), beside=second).holds
    moved = second.with_columns(
        pl.col("disease").replace({"dyspepsia": "flu", "flu": "dyspepsia"}),
    ).sort("group", "disease")
    checked = shoal.audit(first, promised(), original=microdata(), beside=moved)
    assert "values were exchanged between them" in str([fault.what for fault in checked.faults])
