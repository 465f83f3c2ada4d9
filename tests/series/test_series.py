"""Releases over time: what keeps them safe beside each other, counted from outside."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.hospital import Hospital

import shoal
from shoal.algorithms.invariance.cutting import cut_balanced
from shoal.algorithms.invariance.signatures import divide_by_signature
from shoal.auditing import OriginalTable
from shoal.auditing.series import series_faults
from shoal.engines.counted import CountedTable
from shoal.engines.series import PERSON, STATE_NAME, SeriesState
from shoal.errors import Infeasible, Misfit, PolicyError, SeriesError
from tests.command import run
from tests.series.attacker import Group, find_possible

KEY = b"a key of at least 16 bytes"
ROLES: dict[str, Any] = {
    "subject": "patient",
    "quasi_identifiers": {"age": {}, "sex": {"hierarchy": "suppress"}, "zip": {}},
    "others": "drop",
    "sensitive": ["illness"],
}
INVARIANT: dict[str, Any] = {
    **ROLES,
    "models": [{"name": "k-anonymity", "k": 3}],
    "series": {"way": "m-invariance", "m": 3},
    "max_suppressed": 0.1,
}
GROWING: dict[str, Any] = {
    **ROLES,
    "models": [{"name": "k-anonymity", "k": 3}, {"name": "distinct-l-diversity", "on": "illness", "l": 2}],
    "series": {"way": "append-only"},
    "algorithm": {"name": "mondrian"},
    "max_suppressed": 0.05,
}
OVER_TIME = ["complementary-release", "temporal", "composition"]


def publish_all(tables: list[pl.DataFrame], policy: dict[str, Any]) -> list[shoal.Release]:
    """Return a release of each table, each after the one before."""
    releases: list[shoal.Release] = []
    for table in tables:
        releases.append(shoal.anonymize(table, policy, after=releases[-1] if releases else None))
    return releases


def find_leaks(release: Any, table: pl.DataFrame, earlier: list[Any], policy: dict[str, Any]) -> set[str]:
    """Return the attacks over time that find somebody."""
    owner = None if isinstance(release, pl.DataFrame) else release.owner
    published = release if isinstance(release, pl.DataFrame) else release.table
    audit = shoal.audit(published, policy, original=table, earlier=earlier, attacks=OVER_TIME, owner=owner)
    assert {attack.risk.key() for attack in audit.attacks.run} == {*OVER_TIME}
    return {attack.risk.key() for attack in audit.attacks.leaks}


@pytest.fixture(scope="module")
def months() -> list[pl.DataFrame]:
    """Ten months of a hospital with admissions, discharges and corrections."""
    return list(Hospital(600, turnover=0.1, corrected=0.02).months(10))


@pytest.fixture(scope="module")
def sequence(months: list[pl.DataFrame]) -> list[shoal.Release]:
    return publish_all(months, INVARIANT)


def test_attacks_over_ten_months_find_nobody(months: list[pl.DataFrame], sequence: list[shoal.Release]) -> None:
    assert not find_leaks(sequence[-1], months[-1], [release.table for release in sequence[:-1]], INVARIANT)
    assert not find_leaks(sequence[4], months[4], [release.table for release in sequence[:4]], INVARIANT)


def test_the_same_attacks_find_somebody_where_each_month_is_released_alone(months: list[pl.DataFrame]) -> None:
    alone = {**GROWING, "max_suppressed": 0.0}
    del alone["series"]
    tables = [shoal.anonymize(month, alone).table for month in (months[0], months[1])]
    release = shoal.anonymize(months[1], alone)
    assert find_leaks(release, months[1], [tables[0]], alone) == {*OVER_TIME}


def test_what_became_of_the_persons_is_told(sequence: list[shoal.Release]) -> None:
    told = sequence[-1].audit.series
    assert (told["number"], told["way"], told["counterfeits"]) == (10, "m-invariance", 0)
    assert sequence[-1].manifest["recoding"]["series"] == told
    assert told["held_back"] == sequence[-1].audit.left_out


def test_few_of_many_are_held_back_and_signatures_stay_few() -> None:
    draw, size = np.random.default_rng(5), 20_000
    shares = np.array([14, 12, 11, 10, 9, 8, 7, 7, 6, 5, 4, 3, 2.5, 1.5]) / 100
    values, known, signatures = draw.choice(14, size, p=shares), np.full(size, -1), list[tuple[int, ...]]()
    for _ in range(10):
        found = divide_by_signature(values, known, signatures, 3)
        assert (found.of_record < 0).sum() <= 0.01 * size
        assert len(np.unique(found.of_record)) < 3 * 14
        known, signatures = found.of_record.copy(), list(found.signatures)
        leaving = draw.random(size) < 0.1
        values[leaving], known[leaving] = draw.choice(14, int(leaving.sum()), p=shares), -1


def test_persons_keep_their_signature_and_their_class_balances_it(sequence: list[shoal.Release]) -> None:
    seen: dict[str, set[frozenset[str]]] = {}
    changed = 0
    for release in sequence:
        state = release.series
        assert state is not None
        had: dict[str, list[frozenset[Any]]] = {}
        for row in state.persons.to_dicts():
            had.setdefault(row[PERSON], []).append(frozenset(state.signatures[row["signature"]]))
        classes: dict[tuple[Any, ...], Counter[tuple[frozenset[Any], str]]] = {}
        for row in state.releases[-1].to_dicts():
            (mine,) = [one for one in had[row[PERSON]] if row["illness"] in one]
            assert len(mine) == 3
            earlier = seen.setdefault(row[PERSON], set())
            assert all(mine == one or not mine & one for one in earlier)
            changed += bool(earlier) and mine not in earlier
            earlier.add(mine)
            shown = row["age"], row["sex"], row["zip"]
            classes.setdefault(shown, Counter())[mine, row["illness"]] += 1
        for counts in classes.values():
            for mine in {mine for mine, _ in counts}:
                assert len({counts[mine, value] for value in mine}) == 1
    assert changed > 10


def test_who_changes_gets_a_signature_with_nothing_in_common_or_waits() -> None:
    values, signatures = np.array([0, 1, 2, 3, 0, 1, 2, 3, 2]), [(0, 1), (2, 3), (1, 2)]
    known = np.array([0, 0, 1, 1, 0, 0, 1, 1, -1])
    assert divide_by_signature(values, known, signatures, 2, {8: frozenset({1, 0})}).of_record[8] == -1
    values, known = np.append(values, 3), np.append(known, -1)
    found = divide_by_signature(values, known, signatures, 2, {8: frozenset({1, 0})})
    assert found.signatures[found.of_record[8]] == (2, 3)
    assert divide_by_signature(values, known, signatures, 2, {8: frozenset({1, 3})}).of_record[8] == -1


def small_sequence(seed: int) -> list[pl.DataFrame]:
    """Return two or three tables of a few persons, some of whom come, go, return, move, or fall ill otherwise."""
    draw = np.random.default_rng(seed)
    everybody = pl.DataFrame(
        {
            "patient": [f"p{number}" for number in range(11)],
            "age": draw.integers(20, 30, 11),
            "sex": draw.choice(["f", "m"], 11),
            "zip": draw.integers(10, 13, 11),
            "illness": draw.choice(["flu", "cold", "gout"], 11),
        }
    )
    tables = []
    for _ in range(int(draw.integers(2, 4))):
        present = pl.Series(draw.random(11) < 0.8)
        tables.append(everybody.filter(present))
        moved = pl.Series(draw.integers(20, 30, 11))
        others = pl.Series(draw.choice(["flu", "cold", "gout"], 11))
        everybody = everybody.with_columns(
            pl.when(pl.Series(draw.random(11) < 0.2)).then(others).otherwise("illness").alias("illness"),
            pl.when(pl.Series(draw.random(11) < 0.2)).then(moved).otherwise("age").alias("age"),
        )
    return tables


def groups_of(releases: list[shoal.Release]) -> list[list[Group]]:
    """Return the classes of each release with the persons who are in them: more than anybody sees.

    Who has another value is another person from then on: that it changed is known too.
    """
    every = []
    for release in releases:
        assert release.series is not None
        shown = release.series.releases[-1].group_by("age", "sex", "zip").agg(PERSON, "illness")
        every.append(
            [
                (frozenset(map("/".join, zip(row[PERSON], row["illness"], strict=True))), Counter(row["illness"]))
                for row in shown.to_dicts()
            ]
        )
    return every


@pytest.mark.parametrize("seed", range(12))
def test_who_tries_all_assignments_is_left_with_m_values(seed: int) -> None:
    policy = INVARIANT | {
        "models": [{"name": "k-anonymity", "k": 2}],
        "series": {"way": "m-invariance", "m": 2},
        "suppressed": "drop",
        "max_suppressed": 1.0,
    }
    try:
        releases = publish_all(small_sequence(seed), policy)
    except Infeasible:
        pytest.skip("nobody can be balanced")
    possible = find_possible(groups_of(releases))
    assert possible
    assert min(len(values) for values in possible.values()) >= 2


def test_who_tries_all_assignments_finds_somebody_in_releases_that_do_not_follow() -> None:
    first = [(frozenset("ab"), Counter(["flu", "cold"])), (frozenset("cd"), Counter(["flu", "gout"]))]
    then = [(frozenset("ac"), Counter(["cold", "gout"])), (frozenset("bd"), Counter(["flu", "flu"]))]
    assert find_possible([first, then])["a"] == {"cold"}
    assert find_possible([first])["a"] == {"cold", "flu"}


def test_the_hospital_of_the_paper_holds_two_records_back() -> None:
    """Xiao and Tao (2007) need two counterfeits in its second release; here as many records wait instead."""
    names = ("bronchitis", "dyspepsia", "flu", "gastritis")
    signatures = [(0, 1), (2, 3), (1, 2, 3), (1, 3)]
    second = [  # Bob, David, Gary, Jane, Linda, Steve; Emily, Mary, Ray, Tom, Vince
        ("dyspepsia", 0), ("gastritis", 1), ("flu", 1), ("dyspepsia", 2), ("gastritis", 2), ("gastritis", 3),
        ("flu", -1), ("gastritis", -1), ("dyspepsia", -1), ("gastritis", -1), ("flu", -1),
    ]  # fmt: skip
    values = np.array([names.index(name) for name, _ in second])
    found = divide_by_signature(values, np.array([known for _, known in second]), signatures, 2)
    assert int((found.of_record < 0).sum()) == 2
    assert found.of_record[0] == -1  # nobody has bronchitis any more


@pytest.mark.parametrize("seed", range(20))
def test_divisions_are_balanced_and_signatures_kept(seed: int) -> None:
    draw = np.random.default_rng(seed)
    values, signatures = draw.integers(0, 5, 40), [(0, 1), (1, 2, 3), (0, 4)]
    known = draw.integers(-1, 3, 40)
    known[[was >= 0 and value not in signatures[was] for was, value in zip(known, values, strict=True)]] = -1
    found = divide_by_signature(values, known, signatures, 2)
    for index, signature in enumerate(found.signatures):
        counts = np.bincount(values[found.of_record == index], minlength=5)
        assert len({*counts[list(signature)]}) == 1
        assert counts.sum() == counts[list(signature)].sum()
    kept = known >= 0
    assert ((found.of_record[kept] == known[kept]) | (found.of_record[kept] == -1)).all()
    fresh = np.bincount(values[~kept & (found.of_record < 0)], minlength=5)
    assert np.count_nonzero(fresh) < 2  # two of them would be a pair


def test_cuts_keep_all_values_equally_often() -> None:
    draw = np.random.default_rng(3)
    codes = draw.integers(0, 4, (60, 2))
    units = np.arange(60).reshape(3, 20)
    classes = cut_balanced(codes, np.ones(2), units, 2)
    assert sorted(np.concatenate(classes).tolist()) == list(range(60))
    for one in classes:
        assert {*np.bincount(one // 20, minlength=3)} == {len(one) // 3}
        assert len(one) >= 6


def test_rows_in_another_order_change_nothing(months: list[pl.DataFrame]) -> None:
    turned = [month.sample(fraction=1.0, shuffle=True, seed=9) for month in months[:2]]
    ours, theirs = publish_all(months[:2], INVARIANT), publish_all(turned, INVARIANT)
    assert ours[1].table.equals(theirs[1].table)


def grow() -> list[pl.DataFrame]:
    """Return a table that only grows."""
    whole = Hospital(900).table
    return [whole.head(count) for count in (300, 301, 600, 900)]


def test_appended_classes_leave_the_others_as_they_are() -> None:
    tables = grow()
    releases = publish_all(tables, GROWING)
    for before, after in pairwise(releases):
        old, new = (Counter(release.table.rows()) for release in (before, after))
        assert not old - new
    assert releases[1].audit.series == {
        "number": 2, "way": "append-only", "kept": 300, "new": 0, "held_back": 1
    }  # fmt: skip
    assert releases[-1].audit.series["new"] == 300
    assert not find_leaks(releases[-1], tables[-1], [release.table for release in releases[:-1]], GROWING)


def test_a_table_that_loses_persons_or_changes_them_is_not_append_only() -> None:
    first, _, second, _ = grow()
    release = shoal.anonymize(first, GROWING)
    with pytest.raises(Misfit, match=r"1 of 300.*way: m-invariance"):
        shoal.anonymize(second.tail(-1), GROWING, after=release)
    changed = second.with_columns(
        pl.when(pl.col("patient") == "P0000003").then(pl.lit("x")).otherwise("illness").alias("illness")
    )
    with pytest.raises(Misfit, match="1 of 300"):
        shoal.anonymize(changed, GROWING, after=release)


def audit_again(release: shoal.Release, before: SeriesState, state: SeriesState | None = None) -> list[str]:
    """Return what the audit of a series finds."""
    assert release.series is not None
    state = release.series if state is None else state
    published = CountedTable(state.releases[-1].drop(PERSON))
    original = OriginalTable(release.prepared.words)
    return [fault.what for fault in series_faults(published, release.policy, state, before, original)]


def change(state: SeriesState, frame: pl.DataFrame) -> SeriesState:
    """Return a state whose newest release is another table."""
    from dataclasses import replace

    return replace(state, releases=(*state.releases[:-1], frame))


def test_the_audit_finds_what_is_planted(sequence: list[shoal.Release]) -> None:
    before, release = sequence[0].series, sequence[1]
    assert before is not None
    state = release.series
    assert state is not None
    assert audit_again(release, before) == []
    newest = state.releases[-1]
    moved = newest.with_columns(age=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("0-99")).otherwise("age"))
    assert any("not equally often" in what for what in audit_again(release, before, change(state, moved)))
    from dataclasses import replace

    turned = state.persons.with_columns(signature=(pl.col("signature") + 1) % len(state.signatures))
    assert any(
        "no signature that holds" in what for what in audit_again(release, before, replace(state, persons=turned))
    )
    other = replace(before, persons=state.persons.with_columns(signature=pl.lit(0, pl.Int64)))
    assert any("another signature" in what for what in audit_again(release, other))
    small = replace(state, signatures=tuple(one[:2] for one in state.signatures))
    assert any("fewer values" in what for what in audit_again(release, before, small))
    again = pl.concat([newest, newest.head(1)])
    assert any("twice" in what for what in audit_again(release, before, change(state, again)))


def test_classes_that_lose_one_record_are_found() -> None:
    release = shoal.anonymize(Hospital(300).table, INVARIANT)
    state = release.series
    assert state is not None
    fewer = change(state, state.releases[-1].tail(-1))
    assert any("fewer than k" in what for what in audit_again(release, fewer))


def test_an_appended_release_that_lost_a_record_is_found() -> None:
    releases = publish_all(grow()[::2], GROWING)
    before, state = releases[0].series, releases[1].series
    assert before is not None
    assert state is not None
    assert audit_again(releases[1], before) == []
    gone = state.releases[-1].filter(pl.col(PERSON) != before.releases[-1][PERSON][0])
    assert any("gone" in what for what in audit_again(releases[1], before, change(state, gone)))
    few = state.releases[-1].filter(pl.col(PERSON).is_in(before.releases[-1][PERSON].implode()))
    alone = state.releases[-1].filter(~pl.col(PERSON).is_in(before.releases[-1][PERSON].implode())).head(1)
    assert any("who came" in what for what in audit_again(releases[1], before, change(state, pl.concat([few, alone]))))


def write_first(folder: Path, policy: dict[str, Any] = INVARIANT) -> Path:
    release = shoal.anonymize(Hospital(300).table, policy, key=KEY)
    release.write(folder / "first", statistics=False)
    return folder / "first"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_first(tmp_path_factory.mktemp("series"))


def follow(folder: Path, policy: dict[str, Any] = INVARIANT, key: bytes = KEY) -> shoal.Release:
    return shoal.anonymize(Hospital(300).table, policy, key=key, after=folder)


def test_a_release_follows_the_folder_of_another(first: Path, tmp_path: Path) -> None:
    release = follow(first)
    assert release.audit.series["number"] == 2
    files = release.write(tmp_path / "second", statistics=False)
    assert (tmp_path / "second" / STATE_NAME).exists()
    assert "Series" in Path(files["report"]).read_text()
    sealed = (first / STATE_NAME).read_bytes()
    assert b"P0000001" not in sealed
    assert b"fracture" not in sealed


def copy_of(folder: Path, to: Path) -> Path:
    to.mkdir()
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


def test_a_state_that_was_changed_cut_lost_or_taken_from_elsewhere_is_told(first: Path, tmp_path: Path) -> None:
    changed = copy_of(first, tmp_path / "changed")
    sealed = bytearray((changed / STATE_NAME).read_bytes())
    sealed[-20] ^= 1
    for content, what in (
        (bytes(sealed), "changed or cut"),
        (bytes(sealed[:50]), "changed or cut"),
        (b"", "no sealed state"),
        (b"x" * 90, "no sealed state"),
    ):
        (changed / STATE_NAME).write_bytes(content)
        with pytest.raises(SeriesError, match=what):
            follow(changed)
    (changed / STATE_NAME).unlink()
    with pytest.raises(SeriesError, match=r"gone.*new ones may be"):
        follow(changed)
    with pytest.raises(SeriesError, match="another key"):
        follow(first, key=b"another key of 16 bytes")
    with pytest.raises(SeriesError, match="there is no release"):
        follow(tmp_path / "nowhere")
    other = copy_of(first, tmp_path / "other")
    more = shoal.anonymize(Hospital(320).table, INVARIANT, key=KEY)
    assert more.series is not None
    (other / STATE_NAME).write_bytes(more.series.seal(KEY))
    with pytest.raises(SeriesError, match="not of one release"):
        follow(other)


def test_an_earlier_release_of_another_policy_is_told(first: Path) -> None:
    with pytest.raises(SeriesError, match="another policy"):
        follow(first, INVARIANT | {"models": [{"name": "k-anonymity", "k": 4}]})
    assert follow(first, INVARIANT | {"max_suppressed": 0.2}).audit.series["number"] == 2
    single = {key: value for key, value in INVARIANT.items() if key != "series"}
    with pytest.raises(Misfit, match="a single release"):
        follow(first, single)


def test_too_few_to_hide_everybody_are_told() -> None:
    table = Hospital(60).table
    with pytest.raises(Infeasible, match="show \\*, so that nobody"):
        shoal.anonymize(table, INVARIANT)
    assert shoal.anonymize(table, INVARIANT | {"suppressed": "drop"}).suppressed < 0.1


def test_signatures_keep_the_models_by_themselves() -> None:
    """Classes of several signatures may look alike and hold four values; over time a person has those of one."""
    four = {"name": "distinct-l-diversity", "on": "illness", "l": 4}
    table = Hospital(300).table
    with pytest.raises(Infeasible, match=r"signature.*distinct-l-diversity.*raise m"):
        shoal.anonymize(table, INVARIANT | {"models": [*INVARIANT["models"], four]})
    release = shoal.anonymize(table, INVARIANT)
    state = release.series
    assert state is not None
    strict = shoal.Policy(**(INVARIANT | {"models": [*INVARIANT["models"], four]}))
    before, published = SeriesState(promise=""), CountedTable(state.releases[-1].drop(PERSON))
    found = series_faults(published, strict, state, before, OriginalTable(release.prepared.words))
    assert [fault.what for fault in found] == ["the values of a signature do not keep distinct-l-diversity"]


def test_persons_are_there_once() -> None:
    table = Hospital(300).table
    with pytest.raises(Misfit, match="1 of persons who have one"):
        shoal.anonymize(pl.concat([table, table.head(1)]), INVARIANT)
    counted = CountedTable(table, pl.Series([1] * table.height))
    assert any("one by one" in fault.what for fault in shoal.check(counted, INVARIANT))


def test_too_many_of_one_value_are_refused() -> None:
    table = Hospital(300).table.with_columns(
        illness=pl.when(pl.int_range(pl.len()) < 150).then(pl.lit("flu")).otherwise("illness")
    )
    with pytest.raises(Infeasible, match="cannot be published beside the others"):
        shoal.anonymize(table, INVARIANT)
    (told,) = [fault for fault in shoal.check(table, INVARIANT) if fault.where == "series.m"]
    assert told.kind == "infeasible"


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"subject": None}, "who is the same person"),
        ({"others": "keep"}, "tell persons of a class apart"),
        ({"algorithm": {"name": "mondrian"}}, "in its own way"),
        ({"sensitive": ["illness", "job"]}, "one sensitive column"),
        ({"models": [{"name": "t-closeness", "on": "illness", "t": 0.5}]}, "more than a class"),
        ({"output": {"form": "generalized", "typed": True}}, "of the form generalized"),
        ({"series": {"way": "m-invariance", "m": 1}}, "greater than or equal to 2|at least 2"),
        ({"series": {"way": "monthly"}}, "way|series"),
    ],
)
def test_policies_that_do_not_go_with_a_series_are_refused(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        shoal.Policy(**{key: value for key, value in {**INVARIANT, **changes}.items() if value is not None})


def test_a_policy_with_a_series_is_written_and_read() -> None:
    policy = shoal.Policy(**INVARIANT)
    assert shoal.Policy.from_yaml(policy.to_yaml()) == policy
    assert policy.hash != shoal.Policy(**(INVARIANT | {"series": {"way": "m-invariance", "m": 2}})).hash
    assert "series" in shoal.Policy.schema_json()["properties"]


def test_the_command_line_follows_a_folder(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY)
    shoal.Policy(**INVARIANT).write(tmp_path / "policy.yaml")
    first, second = Hospital(300).months(2)
    first.write_csv(tmp_path / "a.csv")
    second.write_csv(tmp_path / "b.csv")
    common = ["--policy", tmp_path / "policy.yaml", "--key", tmp_path / "key", "--no-statistics"]
    run("anonymize", tmp_path / "a.csv", *common, "--out", tmp_path / "one", check=0)
    done = run(
        "anonymize",
        tmp_path / "b.csv",
        *common,
        "--out",
        tmp_path / "two",
        "--after",
        tmp_path / "one",
        "--json",
        check=0,
    )
    assert '"number": 2' in done.stdout
    (tmp_path / "one" / STATE_NAME).unlink()
    told = run("anonymize", tmp_path / "b.csv", *common, "--out", tmp_path / "three", "--after", tmp_path / "one")
    assert told.returncode == 1
    assert "the state is gone" in told.stderr
    assert not (tmp_path / "three").exists()
