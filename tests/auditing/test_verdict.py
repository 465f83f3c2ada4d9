"""The audit counts what is written, and nothing else."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import Misfit
from shoal.policy import Policy
from shoal.registry import names

POLICY = Policy(
    quasi_identifiers=["dose"],
    sensitive=["illness"],
    models=[{"name": "k-anonymity", "k": 2}, {"name": "distinct-l-diversity", "on": "illness", "l": 2}],
)


def test_texts_that_are_one_number_are_two_classes(tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    path.write_text("dose,illness\n2.5,flu\n2.50,cold\n")
    audit = shoal.audit(path, POLICY)
    assert audit.classes == 2
    assert [entry.attained for entry in audit.models] == [1, 1]


def test_missing_values_are_a_class_of_their_own() -> None:
    # groupby in pandas drops them: a unique record whose quasi-identifier is missing was not seen by a peer
    audit = shoal.audit(pl.DataFrame({"dose": ["1", "1", None], "illness": ["flu", "cold", "flu"]}), POLICY)
    assert audit.models[0].attained == 1


def test_a_permuted_index_changes_nothing() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"dose": ["1", "1", "2", "2"], "illness": ["flu", "flu", "flu", "cold"]})
    straight = shoal.audit(table, POLICY)
    table.index = [3, 0, 3, 1]
    assert shoal.audit(table, POLICY).to_dict() == straight.to_dict()
    assert straight.models[1].attained == 1


def test_starred_records_are_counted_as_suppressed_unless_all_are() -> None:
    some = pl.DataFrame({"dose": ["*", "*", "1", "1"], "illness": ["flu", "cold", "flu", "cold"]})
    assert shoal.audit(some, POLICY.replace(max_suppressed=0.5)).starred == 2
    assert not shoal.audit(some, POLICY).holds  # none may be suppressed
    every = some.with_columns(dose=pl.lit("*"))
    assert shoal.audit(every, POLICY).starred == 0
    assert shoal.audit(every, POLICY).holds


def test_an_identifier_in_the_table_fails() -> None:
    table = pl.DataFrame({"dose": ["1"] * 2, "illness": ["flu", "cold"], "name": ["Ann", "Bob"]})
    audit = shoal.audit(table, POLICY.replace(identifiers=["name"]))
    assert "names persons" in str(audit.failures()[0])
    assert not audit.holds


def test_a_missing_quasi_identifier_is_not_counted_and_does_not_hold() -> None:
    audit = shoal.audit(pl.DataFrame({"illness": ["flu", "cold"]}), POLICY)
    assert not audit.holds
    assert [entry.attained for entry in audit.models] == [None, None]


def test_an_original_that_does_not_fit_is_told_in_words() -> None:
    published = pl.DataFrame({"age": ["*", "*"]})
    policy = Policy(quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [5]}}, models=POLICY.models[:1])
    with pytest.raises(Misfit, match="intervals need a column of numbers"):
        shoal.audit(published, policy, original=pl.DataFrame({"age": ["young", "old"]}))
    with pytest.raises(Misfit, match="no such column"):
        shoal.audit(published, policy, original=pl.DataFrame({"ages": [1, 2]}))


@pytest.mark.parametrize(("records", "holds"), [(4, False), (2, True)])
def test_persons_are_counted_not_records(records: int, holds: bool) -> None:
    policy = Policy(quasi_identifiers=["dose"], subject="person", others="drop", models=POLICY.models[:1])
    published = pl.DataFrame({"dose": ["1"] * records})
    people = [1] * records if not holds else [1, 2]
    assert shoal.audit(published, policy, subjects=people).holds is holds


def test_without_the_persons_the_audit_is_careful() -> None:
    policy = Policy(quasi_identifiers=["dose"], subject="person", others="drop", models=POLICY.models[:1])
    published = pl.DataFrame({"dose": ["1"] * 3})
    assert not shoal.audit(published, policy).holds
    original = pl.DataFrame({"dose": [1] * 3, "person": [1, 1, 2]})
    assert shoal.audit(published, policy, original=original).models[0].attained == 2  # at least ⌈3 / 2⌉
    crowd = pl.DataFrame({"dose": [1] * 3, "person": [1, 1, 1]})
    assert shoal.audit(published, policy, original=crowd).models[0].attained == 1


def test_more_records_than_the_original_is_a_fault() -> None:
    published = pl.DataFrame({"dose": ["1", "1"], "illness": ["flu", "cold"]})
    audit = shoal.audit(published, POLICY, original=pl.DataFrame({"dose": [1], "illness": ["flu"]}))
    assert any("more records than the original" in str(fault) for fault in audit.failures())
    assert audit.suppressed == 0


def test_the_json_has_what_scripts_rely_on() -> None:
    table, policy = shoal.datasets.load("hospital")
    data = shoal.anonymize(table, policy).audit.to_dict()
    assert (data["records"], data["suppressed"], data["classes"]) == (12, 2, 6)
    assert data["models"] == [{"name": "k-anonymity", "asked": 2, "attained": 2, "holds": True}]
    assert set(data["utility"]) == set(names("utility")) >= {"certainty-penalty", "discernibility", "class-size"}
    assert set(data["utility"]["certainty-penalty"]) == {"total", "columns"}
    assert data["risk"]["prosecutor"]["max"] == 0.5
    assert np.isclose(data["risk"]["prosecutor"]["mean"], 0.5)


@pytest.mark.parametrize("subject", [None, "person"])
def test_the_risk_before_counts_combinations_that_no_number_can_tell_apart(subject: str | None) -> None:
    """Nine columns of 300 values make more combinations than 64 bits have room for; the blank is a value too."""
    draw = random.Random(18)
    columns = [f"c{index}" for index in range(9)]
    values = [None, *range(299)]
    # each value stands somewhere; then pairs of neighbours in two columns, where a blank could pass for a carry
    rows = [tuple(value for _ in columns) for value in values]
    people = [draw.randrange(50) for _ in rows]
    for _ in range(400):
        row, place, high = [draw.choice(values) for _ in columns], draw.randrange(8), draw.randrange(298)
        carried, swapped, alike = [(high, None), (high + 1, 0)], [(high, 7), (7, high)], [(high, 7), (high, 7)]
        rows += [(*row[:place], *pair, *row[place + 2 :]) for pair in draw.choice([carried, swapped, alike])]
        people += draw.choice([[1, 1], [1, 2]])
    table = pl.DataFrame([dict(zip(columns, row, strict=True)) for row in rows], infer_schema_length=None)
    table = table.with_columns(person=pl.Series(people))
    policy = Policy(
        quasi_identifiers=dict.fromkeys(columns, "suppress"),
        identifiers=[] if subject else ["person"],
        subject=subject or "none",
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm="mondrian",
        max_suppressed=1.0,
    )
    counted = Counter(row for row, _ in set(zip(rows, people, strict=True))) if subject else Counter(rows)
    release = shoal.anonymize(table, policy)
    before = release.audit.risk_before["prosecutor"]
    total = sum(counted.values())
    assert before["mean"] == pytest.approx(len(counted) / total)
    assert before["unique"] == pytest.approx(sum(size == 1 for size in counted.values()) / total)
