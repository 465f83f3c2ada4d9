"""Personal k: asks are kept, hidden, told when they cannot be kept, and counted by the audit as far as it can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.factories import policies

import shoal
from shoal.algorithms.local.mondrian import Mondrian
from shoal.errors import AuditFailed, Infeasible, Misfit, PolicyError
from shoal.models import PersonalK
from shoal.pipeline.requested_k import find_unservable
from shoal.recodings.local import Local
from shoal.testing import background_of, census_of, classes_of

Rows = list[list[int]]
ROWS = st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5).filter(any), min_size=1, max_size=5)


def table(asks: list[Any], **more: Any) -> pl.DataFrame:
    count = len(asks)
    return pl.DataFrame({"age": [20 + n % 10 for n in range(count)], "own": pl.Series(asks, strict=False), **more})


policy = policies(
    quasi_identifiers=["age"],
    models=[{"name": "personal-k", "on": "own"}],
)


@settings(max_examples=200, deadline=None)
@given(ROWS, st.sampled_from([None, 2, 4]))
def test_against_the_definition(rows: Rows, most: int | None) -> None:
    """Members of value v ask for v + 1; each is looked at on its own."""
    model = PersonalK(on="own", most=most)
    members = [[value + 1 for value, count in enumerate(row) for _ in range(count)] for row in rows]
    kept = [all(len(own) >= min(ask, most or ask) for ask in own) for own in members]
    counts = [[*row, 0] for row in rows]
    assert model.holds(classes_of(counts), background_of(counts, ["own"])).tolist() == kept
    lacking = [len(own) for own, good in zip(members, kept, strict=True) if not good]
    told = min(lacking, default=model.asked)
    assert model.measure(classes_of(counts), background_of(counts, ["own"])) == told
    assert model.recount(census_of(counts, [0] * 6, ("own",))) == told


@settings(max_examples=100, deadline=None)
@given(ROWS, st.integers(2, 6))
def test_a_smaller_limit_never_asks_for_more(rows: Rows, most: int) -> None:
    counts = [[*row, 0] for row in rows]
    own, capped = PersonalK(on="own"), PersonalK(on="own", most=most)
    classes, background = classes_of(counts), background_of(counts, ["own"])
    assert (capped.holds(classes, background) >= own.holds(classes, background)).all()
    assert (capped.holds(classes, background) >= (classes.sizes >= most)).all()


def test_a_demanding_record_that_joins_breaks_a_class() -> None:
    before, after = [[2, 0, 0, 0]], [[2, 0, 0, 1, 0]]
    model = PersonalK(on="own")
    assert model.holds(classes_of(before), background_of(before, ["own"])).all()
    assert not model.holds(classes_of(after), background_of(after, ["own"])).any()
    assert not model.absorbing
    assert model.monotone


def test_the_smallest_ask_is_the_least_size_of_a_class() -> None:
    rows = [[0, 0, 2, 1, 0]]
    assert PersonalK(on="own").least_of(background_of(rows, ["own"])) == 1  # a value that is known may occur
    from shoal.testing import encode_table

    asked = encode_table(table([3, 4, 3, 4, 9]), policy())
    assert asked.problem(policy(max_suppressed=0.5)).least_records == 3


def test_asks_are_kept_and_never_published(tmp_path: Path) -> None:
    asks = [1, 2, 3, 7] * 10
    for others in ("keep", "drop"):
        made = shoal.anonymize(table(asks), policy(others=others))
        assert made.table.columns == ["age"]
        assert made.attained == {"personal-k": "own k"}
        sizes = made.table.with_columns(size=pl.len().over("age"), own=made.owner.requested_k["own"])
        assert (sizes["size"] >= sizes["own"]).all()
        assert sorted(made.owner.requested_k["own"].to_list()) == sorted(asks)
        made.write(tmp_path / others)
        for file in (tmp_path / others).iterdir():
            assert "own" not in pl.read_csv(file).columns if file.suffix == ".csv" else True


def test_a_published_ask_is_found() -> None:
    published = table([2, 2]).select(pl.lit("*").alias("age"), "own")
    faults = shoal.audit(published, policy(), requested_k={"own": [2, 2]}).faults
    assert [str(fault) for fault in faults if fault.kind == "fault"] == ["own: what persons ask for is published."]


def test_persons_are_counted_with_a_subject() -> None:
    asks, people = [2, 2, 2, 2, 3, 1], [1, 1, 2, 2, 3, 4]
    ages = pl.Series([20, 20, 21, 21, 22, 22])
    case = table(asks, who=people).with_columns(age=ages)
    made = shoal.anonymize(case, policy(subject="who"))
    shown = made.table.with_columns(who=made.subjects, own=made.owner.requested_k["own"])
    sizes = shown.with_columns(size=pl.col("who").n_unique().over("age"))
    assert (sizes["size"] >= sizes["own"]).all()
    assert made.audit.models[0].holds
    with pytest.raises(Misfit, match="ask for different k in their records; got 1 persons"):
        shoal.anonymize(case.with_columns(own=pl.Series([2, 3, 2, 2, 3, 1])), policy(subject="who"))


@pytest.mark.parametrize(
    ("asks", "message"),
    [
        ([2, None, 2, None], r"models\[0\].on: no k is given; got records 2, 4. Hint: give a default"),
        ([2, 0, 2, 2], r"must hold whole numbers from 1; got 0 in record 2"),
        ([2, -1, 2, 2], r"must hold whole numbers from 1; got -1 in record 2"),
        ([2.0, 2.5, 2.0, 2.0], r"must hold whole numbers from 1; got 2.5 in record 2"),
        (["2", "two", "2", "2"], r"must hold whole numbers from 1; got 'two' in record 2"),
        ([True, False, True, True], r"must hold whole numbers from 1"),
        ([[2], [2], [2], [2]], r"values of this type are no numbers of persons"),
        ([None, None, None, None], r"no k is given; got records 1, 2, 3, 4"),
    ],
)
def test_bad_asks_are_told_with_their_records(asks: list[Any], message: str) -> None:
    with pytest.raises(Misfit, match=message):
        shoal.anonymize(table(asks), policy())


def test_texts_and_whole_floats_are_numbers_and_a_default_fills_gaps() -> None:
    for asks in (["2", "2", None, "3"], [2.0, 2.0, float("nan"), 3.0], [2, 2, None, 3]):
        given = policy(models=[{"name": "personal-k", "on": "own", "default": 4}])
        made = shoal.anonymize(table(asks), given)
        assert made.table["age"].n_unique() == 1, "who gave none is among four"


def test_no_such_column() -> None:
    with pytest.raises(Misfit, match=r"models.own: no such column in the table. Hint: did you mean 'owm'?"):
        shoal.anonymize(table([2, 2]).rename({"own": "owm"}), policy(others="drop"))


def test_more_than_there_are_is_told_before_the_search() -> None:
    case = table([1] * 18 + [20, 50])
    (fault,) = policy().check(case)
    assert fault.kind == "infeasible"
    assert fault.got == "2 records that ask for up to 50 of 20"  # without one of them nineteen are left
    with pytest.raises(Infeasible, match=r"2 records must be suppressed .* \(up to 50\), 0 may be") as caught:
        shoal.anonymize(case, policy())
    assert any("own k up to 20" in relaxation.text for relaxation in caught.value.relaxations)


def test_more_than_there_are_may_be_suppressed_or_limited() -> None:
    case = table([1] * 18 + [20, 50])
    made = shoal.anonymize(case, policy(max_suppressed=0.1))
    assert made.audit.left_out == 2
    assert policy(max_suppressed=0.1).check(case)[0].kind == "warning"
    limited = policy(models=[{"name": "personal-k", "on": "own", "most": 20}])
    assert shoal.anonymize(case, limited).attained == {"personal-k": "own k up to 20"}


@given(st.lists(st.integers(1, 9), max_size=8), st.booleans())
def test_too_much_is_the_least_that_must_go(asks: list[int], shared: bool) -> None:
    people = np.arange(len(asks)) // 2 if shared else np.arange(len(asks))
    own = np.array(asks, np.int64)
    out = find_unservable(own, people if shared else None, np.ones(len(own), np.int64))
    left = len(set(people[~out].tolist()))
    assert (own[~out] <= left).all()
    for most in range(left + 1, len(asks) + 1):  # no larger group is large enough for all in it
        assert len(set(people[own <= most].tolist())) < most or not (own[own <= most] > left).any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quasi_identifiers": ["age", "own"]}, "'own' is in quasi_identifiers"),
        ({"sensitive": ["own"]}, "'own' is in sensitive"),
        ({"subject": "own"}, "'own' is the subject"),
        ({"models": [{"name": "personal-k", "on": "own"}] * 2}, r"'own' is in models\[0\] too"),
        ({"models": [{"name": "personal-k", "on": "own", "default": 0}]}, "must be at least 1"),
        ({"models": [{"name": "personal-k", "on": "own", "most": 1}]}, "must be at least 2"),
    ],
)
def test_the_column_has_no_other_role(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        policy(**changes)
    assert policy(identifiers=["own"]).hidden == ("own",)


def test_a_search_that_forgets_asks_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = table([2, 2, 9, 2] * 5)
    monkeypatch.setattr(PersonalK, "holds", lambda self, classes, background: np.ones(classes.count, bool))
    with pytest.raises(AuditFailed, match="personal-k does not hold"):
        shoal.anonymize(case, policy()).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_search_that_moves_one_record_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    case, honest = table([2, 2, 9, 2] * 5), Mondrian.search

    def leaky(self: Mondrian, problem: Any) -> Local:
        found = honest(self, problem)
        members = found.members.copy()
        demanding = np.argmax(problem.frequencies.sensitive[:, 0])
        members[demanding] = found.count  # who asks for nine stands almost alone
        return Local(members)

    monkeypatch.setattr(Mondrian, "search", leaky)
    with pytest.raises(AuditFailed, match="personal-k does not hold"):
        shoal.anonymize(case, policy(algorithm=Mondrian()))


class TestWhatAnAuditCanSay:
    """Exact with the owner's asks, from above with the original, nothing with the published table alone."""

    case = table([1, 1, 2, 2, 1, 3, 3, 3, 1, 1]).with_columns(age=pl.Series([20, 21, 22, 22, 23, 30, 30, 30, 40, 41]))

    def test_from_the_published_table_alone_nothing(self) -> None:
        made = shoal.anonymize(self.case, policy())
        audit = shoal.audit(made.table, policy())
        assert not audit.holds
        assert not audit.models[0].counted
        assert "is not published, so whether they get it cannot be counted" in str(audit.faults[0])

    def test_from_the_owners_asks_exactly(self) -> None:
        published = pl.DataFrame({"age": ["20", "22", "22"]})
        assert shoal.audit(published, policy(), requested_k={"own": [1, 2, 2]}).models[0].attained == "own k"
        assert shoal.audit(published, policy(), requested_k={"own": [2, 2, 2]}).models[0].attained == 1
        assert shoal.audit(published, policy(), requested_k={"own": [1, 3, 2]}).models[0].attained == 2
        assert "2 for 3 records" in str(shoal.audit(published, policy(), requested_k={"own": [1, 2]}).faults[0])

    def test_an_ask_that_cannot_be_read_is_not_kept(self) -> None:
        published = pl.DataFrame({"age": ["20", "20"]})
        for strange in (None, "many", 1.5, float("nan")):
            asks: Any = {"own": [1, strange]}
            kept = strange == 1.5  # a person and a half are two
            assert shoal.audit(published, policy(), requested_k=asks).models[0].holds == kept

    def test_from_the_original_where_no_class_could_be_too_small(self) -> None:
        published = pl.DataFrame({"age": ["20", "21", "22", "22", "23", "30", "30", "30", "40", "41"]})
        audit = shoal.audit(published, policy(), original=self.case)
        assert audit.models[0].holds
        assert [fault.kind for fault in audit.faults] == ["note"]

    def test_from_the_original_a_class_that_may_be_too_small(self) -> None:
        # [20, 23] could hold one of those who ask for two, and has but one record
        published = pl.DataFrame({"age": ["[20, 23]", "21", "22", "22", "23", "30", "30", "30", "40", "41"]})
        audit = shoal.audit(published, policy(), original=self.case)
        assert not audit.models[0].holds
        assert "may hold persons who ask for more" in str(audit.faults)

    def test_by_the_command_line(self, tmp_path: Path) -> None:
        from typer.testing import CliRunner

        from shoal.cli.app import app

        self.case.write_csv(tmp_path / "data.csv")
        policy().write(tmp_path / "policy.yaml")
        run = CliRunner().invoke
        rules = ["--policy", str(tmp_path / "policy.yaml")]
        owner = ["--subjects", str(tmp_path / "owner.csv")]
        assert (
            run(app, ["anonymize", str(tmp_path / "data.csv"), *rules, "--out", str(tmp_path), *owner]).exit_code == 0
        )
        assert pl.read_csv(tmp_path / "owner.csv").columns == ["own"]
        assert run(app, ["audit", str(tmp_path / "release.csv"), *rules, *owner]).exit_code == 0
        assert run(app, ["audit", str(tmp_path / "release.csv"), *rules]).exit_code == 3  # undecided from outside
