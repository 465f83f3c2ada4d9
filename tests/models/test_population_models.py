"""Risk and population: by hand, against plain estimates, and what is refused before a search."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import comb, exp, lgamma, log
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import binom, gammaln

import shoal
from shoal import registry as catalog
from shoal.algorithms.local.mondrian import Mondrian
from shoal.auditing import populations as audited
from shoal.errors import AuditFailed, Fault, Misfit, PolicyError
from shoal.frequencies.frequencies import Background, Classes, Frequencies
from shoal.models.base import Holds, PrivacyModel
from shoal.models.k_map import KMap
from shoal.models.statistics.recounted_uniques import RECOUNTS
from shoal.models.statistics.uniques import ESTIMATORS, fit_negative_binomial

# Nine persons after the running example of Nergiz, Atzori and Clifton (2007); chances are worked out by hand.
PERSONS = pl.DataFrame(
    {
        "name": ["Alice", "Bob", "Christine", "Dirk", "Eunice", "Frank", "Gail", "Harry", "Iris"],
        "age": [35, 59, 42, 18, 22, 63, 33, 47, 52],
        "country": ["USA", "Canada", "USA", "Brazil", "Brazil", "Peru", "Spain", "Bulgaria", "France"],
    }
)
CONTINENTS = {
    "*": {
        "America": {"North": ["USA", "Canada"], "South": ["Brazil", "Peru"]},
        "Eurasia": {"Europe": ["Spain", "Bulgaria", "France"]},
    }
}
PATIENTS = ["Bob", "Christine", "Eunice", "Frank", "Harry", "Iris"]


@pytest.fixture
def people(tmp_path: Path) -> str:
    PERSONS.write_csv(tmp_path / "people.csv")
    return str(tmp_path / "people.csv")


def policy_of(people: str | None, *models: dict[str, Any], **more: Any) -> shoal.Policy:
    given = {
        "identifiers": ["name"],
        "quasi_identifiers": {
            "age": {"hierarchy": "suppress"},
            "country": {"hierarchy": "tree", "nodes": CONTINENTS},
        },
        "models": models,
        "algorithm": "exhaustive",
        "population": people,
    }
    return shoal.Policy(**(given | more))


def patients(*names: str) -> pl.DataFrame:
    return PERSONS.filter(pl.col("name").is_in(names or PATIENTS))


def test_delta_presence_by_hand(people: str) -> None:
    # North: 2 of 3 are patients, South: 2 of 3, Europe: 2 of 3
    policy = policy_of(people, {"name": "delta-presence", "delta_min": 0.5, "delta_max": 0.7})
    release = shoal.anonymize(patients(), policy)
    assert sorted(release.table["country"].unique()) == ["Europe", "North", "South"]
    assert release.attained == {"delta-presence": (0.6666666666666666, 0.6666666666666667)}


def test_who_matches_no_class_is_not_in_the_table(people: str) -> None:
    # without Europeans: at the level of the continents 4 of 6 Americans, and no European for sure
    some = patients("Bob", "Christine", "Eunice", "Frank")
    loose = shoal.anonymize(some, policy_of(people, {"name": "delta-presence", "delta_max": 0.7}))
    assert loose.attained == {"delta-presence": (0.0, 0.6666666666666667)}
    strict = shoal.anonymize(some, policy_of(people, {"name": "delta-presence", "delta_min": 0.1, "delta_max": 0.7}))
    assert strict.table["country"].unique().to_list() == ["*"]
    assert strict.attained == {"delta-presence": (0.4444444444444444, 0.4444444444444445)}


def test_starred_records_are_of_persons_who_match_no_class(people: str) -> None:
    # Harry is starred: he is one of the three Europeans, who match no class; 2 of 3 are in North and South
    some = patients("Bob", "Christine", "Eunice", "Frank", "Harry")
    shown = some.with_columns(
        age=pl.lit("*"), country=pl.Series(["North", "North", "South", "South", "*"]), name=None
    ).drop("name")
    policy = policy_of(people, {"name": "delta-presence", "delta_min": 0.3, "delta_max": 0.7}, max_suppressed=0.2)
    attained = shoal.audit(shown, policy, original=some).models[0].attained
    assert attained == (0.3333333333333333, 0.6666666666666667)
    left_out = shoal.audit(shown.head(4), policy, original=some).models[0]
    assert left_out.attained == (0.0, 0.6666666666666667)
    assert not left_out.holds


def test_k_map_by_hand(people: str) -> None:
    # three persons for each label of the second level, and two for Brazil, one for Peru
    assert shoal.anonymize(patients(), policy_of(people, {"name": "k-map", "k": 3})).attained == {"k-map": 3}
    audit = shoal.audit(patients().drop("name"), policy_of(people, {"name": "k-map", "k": 2}), original=patients())
    assert audit.models[0].attained == 1


def test_local_recoding_counts_what_ranges_and_sets_cover(people: str) -> None:
    policy = policy_of(people, {"name": "k-map", "k": 2}, quasi_identifiers=["age", "country"], algorithm="mondrian")
    release = shoal.anonymize(patients(), policy)
    counted = [
        sum(
            age_covers(shown["age"], person["age"]) and person["country"] in names_of(shown["country"])
            for person in PERSONS.to_dicts()
        )
        for shown in release.table.unique().to_dicts()
    ]
    assert release.attained == {"k-map": min(counted)}
    assert min(counted) >= 2


def age_covers(text: str, age: int) -> bool:
    low, _, high = text.strip("[]").partition(", ")
    return int(low) <= age <= int(high or low)


def names_of(text: str) -> list[str]:
    return text.strip("{}").split(", ")


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.data())
def test_the_fewest_of_the_smallest_classes_go(sizes: list[int], data: st.DataObject) -> None:
    """Against a plain one: every set of classes is tried."""
    threshold = data.draw(st.sampled_from([0.05, 0.2, 0.3, 0.5]))
    name = data.draw(st.sampled_from(["average-risk", "sample-uniqueness"]))
    model = cast("PrivacyModel", catalog.find("models", name)(threshold=threshold))
    starred = data.draw(st.booleans())
    counts = np.array(sizes, np.int64)
    whole = Frequencies(
        np.arange(len(sizes), dtype=np.int32)[:, None],
        np.arange(len(sizes)),
        counts,
        np.zeros((len(sizes), 0), np.int32),
    )
    background = Background(whole, {}, starred=starred)
    kept = model.holds(Classes.of(whole, np.arange(len(sizes))), background)

    def complies(chosen: tuple[int, ...]) -> bool:
        left = [sizes[index] for index in chosen]
        out = sum(sizes) - sum(left)
        left += [out] if starred and out else []
        risk = Fraction(len(left) if name == "average-risk" else left.count(1), max(sum(left), 1))
        return risk <= Fraction(repr(threshold)) or not chosen

    most = next(n for n in range(len(sizes), -1, -1) if any(map(complies, combinations(range(len(sizes)), n))))
    assert complies(tuple(np.flatnonzero(kept).tolist()))
    assert int(kept.sum()) == most
    assert max((s for s, stays in zip(sizes, kept, strict=True) if not stays), default=0) <= min(
        (s for s, stays in zip(sizes, kept, strict=True) if stays), default=10
    )


def tables_of_sizes(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    sizes = draw(st.lists(st.one_of(st.integers(1, 4), st.integers(1, 30)), min_size=2, max_size=25))
    distinct, counts = np.unique([1, *sizes], return_counts=True)
    return distinct, counts, int(distinct @ counts) * draw(st.sampled_from([1, 2, 10, 200]))


SIZES = st.composite(tables_of_sizes)()


@settings(max_examples=60, deadline=None)
@given(SIZES)
def test_zayatz_against_binomials(case: Any) -> None:
    sizes, counts, population = case
    n, alone = int(sizes @ counts), int(counts[0])
    ways = [i * comb(population - i, n - 1) for i in sizes.tolist()]  # to draw just one of i, of all ways to draw n
    given_alone = ways[0] * alone / sum(count * one for count, one in zip(counts.tolist(), ways, strict=True))
    assert ESTIMATORS["zayatz"](*case) == pytest.approx(alone * given_alone / n, rel=1e-11)


@settings(max_examples=25, deadline=None)
@given(SIZES)
def test_pitman_is_where_the_likelihood_is_greatest(case: Any) -> None:
    sizes, counts, population = case
    n, u = int(sizes @ counts), int(counts.sum())
    share = ESTIMATORS["pitman"](*case)
    if u == n:
        assert share is None
        return

    def unlikely(parameters: Any) -> float:
        theta, alpha = exp(parameters[0]) - 1 / (1 + exp(-parameters[1])), 1 / (1 + exp(-parameters[1]))
        logs = np.log(theta + alpha * np.arange(1, u)).sum() - np.log(theta + np.arange(1, n)).sum()
        inner = sum(
            c * (lgamma(i - alpha) - lgamma(1 - alpha)) for i, c in zip(sizes.tolist(), counts.tolist(), strict=True)
        )
        return float(-logs - inner)

    starts = [(a, b) for a in (-1.0, 1.0, 3.0) for b in (-3.0, 0.0, 2.0)]
    best = min(
        (
            minimize(unlikely, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000})
            for start in starts
        ),
        key=lambda found: found.fun,
    )
    alpha = 1 / (1 + exp(-best.x[1]))
    theta = exp(best.x[0]) - alpha
    if alpha < 1e-3 or share is None:
        return  # at the edge, where Ewens' formula takes over
    expected = exp(lgamma(theta + 1) - lgamma(theta + alpha) + (alpha - 1) * log(population))
    assert share == pytest.approx(expected, rel=2e-3)


@settings(max_examples=40, deadline=None)
@given(SIZES)
def test_snb_expects_the_classes_of_one_and_two_that_there_are(case: Any) -> None:
    """The law summed term by term with the parameters that were found."""
    sizes, counts, population = case
    n, one, two = int(sizes @ counts), int(counts[0]), int(counts[sizes == 2].sum())
    share, f = ESTIMATORS["snb"](*case), n / population
    if share is None or n == population:
        return
    law = fit_negative_binomial(sizes, counts, f)
    assert law is not None
    classes, alpha, beta = law
    assert share * population == pytest.approx(classes * beta**alpha)
    if beta < 0.02 or alpha > 50:
        return  # the sum would need more terms
    i = np.arange(1, 3000)
    law = np.exp(gammaln(alpha + i - 1) - gammaln(alpha) - gammaln(i) + (i - 1) * log(1 - beta) + alpha * log(beta))
    for size, there in ((1, one), (2, two)):
        seen = np.where(i >= size, binom(i, size) * f**size * (1 - f) ** np.maximum(i - size, 0), 0.0)
        assert classes * (law * seen).sum() == pytest.approx(there, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(SIZES)
@pytest.mark.parametrize("name", ["zayatz", "pitman", "snb"])
def test_the_audit_solves_the_same_equations(name: str, case: Any) -> None:
    sizes, counts, population = case
    ours = ESTIMATORS[name](*case)
    again = RECOUNTS[name](dict(zip(sizes.tolist(), counts.tolist(), strict=True)), population)
    assert (ours is None) == (again is None)
    assert ours is None or again == pytest.approx(ours, rel=1e-10, abs=1e-300)


def test_estimates_on_adult_are_those_of_arx() -> None:
    """Recorded values of ARX 3.9.2 for the 30,162 complete records of Adult as a tenth of their population."""
    table = shoal.datasets.adult(complete=True, part="train")
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "income"]
    sizes = table.group_by(names).len()["len"].to_numpy().astype(np.int64)
    distinct, counts = np.unique(sizes, return_counts=True)
    assert (len(sizes), int(sizes.sum())) == (19502, 30162)
    assert len(sizes) / sizes.sum() == pytest.approx(0.6465751607983555, rel=1e-15)
    assert ESTIMATORS["pitman"](distinct, counts, 301620) == pytest.approx(0.27684993883653597, rel=1e-11)
    assert ESTIMATORS["zayatz"](distinct, counts, 301620) == pytest.approx(0.3207402393466189, rel=1e-14)


def test_weights_of_a_survey_count_persons(tmp_path: Path) -> None:
    table = PERSONS.with_columns(pl.Series("weight", [1.5, 2.5, 3, 1, 1, 1, 4, 5, 6.25]))
    policy = policy_of(None, {"name": "k-map", "k": 4}, survey_weight="weight", others="drop")
    release = shoal.anonymize(table, policy)
    assert release.attained == {"k-map": 10}  # America 1.5 + 2.5 + 3 + 1 + 1 + 1, Europe 15.25
    assert "weight" not in release.table.columns
    assert shoal.audit(release.table, policy, original=table, weights=release.owner.weights).holds
    blind = shoal.audit(release.table, policy, original=table)
    assert not blind.holds
    assert any("weights of the survey are not published" in fault.what for fault in blind.faults)
    release.write(tmp_path / "out")
    kept = policy.replace(
        others="keep", models=[{"name": "k-map", "k": 4}, {"name": "population-uniqueness", "threshold": 0.9}]
    )
    shown = shoal.anonymize(table, kept)
    assert shoal.audit(shown.table, kept).models[0].attained == 10


def test_local_searches_split_records_of_different_weights() -> None:
    table = shoal.datasets.adult(complete=True, part="test").head(200).with_row_index("n")
    table = table.with_columns((pl.col("n") % 7 + 1.5).alias("weight"))
    policy = shoal.Policy(
        quasi_identifiers=["age", "sex"],
        others="drop",
        survey_weight="weight",
        models=[{"name": "k-map", "k": 30}],
    )
    for search in ("mondrian", "shoal", "k-member"):
        attained = shoal.anonymize(table, policy.replace(algorithm=search)).attained["k-map"]
        assert 30 <= attained < 90


def test_a_population_that_does_not_cover_the_table_is_told_with_the_values(people: str) -> None:
    table = pl.concat([patients(), pl.DataFrame({"name": ["Jon"], "age": [99], "country": ["Peru"]})])
    with pytest.raises(Misfit, match=r"population.age: values of the table that the population lacks; got '99'"):
        shoal.anonymize(table, policy_of(people, {"name": "k-map", "k": 2}))
    table = pl.concat([patients(), pl.DataFrame({"name": ["Jon"], "age": [35], "country": ["Peru"]})])
    with pytest.raises(Misfit, match=r"combinations that occur more often .* got \(35, Peru\)"):
        shoal.anonymize(table, policy_of(people, {"name": "k-map", "k": 2}))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"population": "nowhere.csv"}, "population, nowhere.csv: cannot read the population"),
        (
            {"algorithm": "mondrian", "models": [{"name": "delta-presence", "delta_max": 0.5}]},
            "mondrian at some classes",
        ),
        (
            {"models": [{"name": "population-uniqueness", "threshold": 0.1, "population_size": 3}]},
            "smaller than the table",
        ),
        ({"survey_weight": "country"}, "must be numbers"),
    ],
)
def test_what_does_not_fit_is_told_before_the_search(people: str, change: dict[str, Any], told: str) -> None:
    with pytest.raises(Misfit, match=told):
        shoal.anonymize(patients(), policy_of(people, {"name": "k-map", "k": 2}).replace(**change))


def test_columns_that_the_population_lacks_are_told(tmp_path: Path) -> None:
    PERSONS.rename({"country": "Country"}).write_csv(tmp_path / "people.csv")
    with pytest.raises(
        Misfit, match=r"population.country: no such column in the population. Hint: did you mean 'Country'"
    ):
        shoal.anonymize(patients(), policy_of(str(tmp_path / "people.csv"), {"name": "k-map", "k": 2}))


@pytest.mark.parametrize(
    ("model", "more", "told"),
    [
        ({"name": "k-map", "k": 2}, {}, "k-map needs to know the population"),
        ({"name": "delta-presence", "delta_max": 0.5}, {"survey_weight": "w"}, "delta-presence needs to know"),
        ({"name": "population-uniqueness", "threshold": 0.5}, {}, "population-uniqueness needs to know"),
        ({"name": "delta-presence", "delta_min": 0.5, "delta_max": 0.4}, {}, "delta_min must be at most delta_max"),
        ({"name": "average-risk", "threshold": 1}, {}, "must be less than 1"),
        ({"name": "average-risk", "threshold": 0}, {}, "must be more than 0"),
        ({"name": "sample-uniqueness", "threshold": -0.1}, {}, "must be at least 0"),
        (
            {"name": "population-uniqueness", "threshold": 0.1, "fraction": 0.1, "population_size": 9},
            {},
            "give one of them",
        ),
        ({"name": "population-uniqueness", "threshold": 0.12345678, "fraction": 0.1}, {}, "at most 6 digits"),
        ({"name": "k-map", "k": 2}, {"survey_weight": "w", "subject": "s"}, "weights are those of records"),
    ],
)
def test_policies_that_make_no_sense(model: dict[str, Any], more: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        policy_of(None, model, **more)


def test_the_population_is_looked_up_beside_the_policy(people: str) -> None:
    folder = Path(people).parent
    policy = policy_of("people.csv", {"name": "k-map", "k": 3})
    (folder / "policy.yaml").write_text(policy.to_yaml(), encoding="utf-8")
    assert shoal.Policy.read(folder / "policy.yaml").population == str(folder / "people.csv")
    assert shoal.anonymize(patients(), folder / "policy.yaml").attained == {"k-map": 3}


def test_local_searches_say_what_they_keep_instead(people: str) -> None:
    policy = policy_of(people, {"name": "average-risk", "threshold": 0.5}, algorithm="mondrian")
    told = [fault for fault in policy.check(patients()) if fault.kind == "warning"]
    assert "kept as k-anonymity 2, which is more than average-risk asks" in told[0].what


def test_a_search_that_takes_everyone_for_a_match_is_caught(people: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(self: KMap, classes: Classes, background: Background) -> Holds:
        return np.ones(classes.count, bool)

    monkeypatch.setattr(KMap, "holds", blind)
    for search in ("exhaustive", "mondrian"):
        with pytest.raises(AuditFailed, match="k-map does not hold"):
            shoal.anonymize(patients(), policy_of(people, {"name": "k-map", "k": 3}, algorithm=search))


def test_search_and_audit_that_count_differently_are_caught(people: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def generous(*arguments: Any) -> tuple[audited.Matched, Fault | None]:
        honest, fault = audited.match_population(*arguments)
        assert honest.persons is not None
        return replace(honest, persons=honest.persons + 1), fault

    monkeypatch.setattr("shoal.auditing.census.match_population", generous)
    with pytest.raises(AuditFailed, match="search and audit disagree"):
        shoal.anonymize(patients(), policy_of(people, {"name": "k-map", "k": 3}))


def test_a_table_of_overlapping_classes_has_no_presence(people: str) -> None:
    """A local release: Bob matches both classes, so no chance can be told, and the model does not hold."""
    shown = pl.DataFrame({"age": ["[22, 59]", "[22, 59]", "[42, 63]", "[42, 63]"], "country": ["America"] * 4})
    policy = policy_of(
        people,
        {"name": "delta-presence", "delta_max": 0.9},
        quasi_identifiers={"age": {}, "country": {"hierarchy": "tree", "nodes": CONTINENTS}},
    )
    assert not shoal.audit(shown, policy).models[0].holds


def test_k_anonymity_of_the_sample_is_enough_for_k_map(people: str) -> None:
    policy = policy_of(people, {"name": "k-anonymity", "k": 2}, algorithm=Mondrian())
    release = shoal.anonymize(patients(), policy)
    again = policy.replace(models=[{"name": "k-map", "k": 2}])
    assert shoal.audit(release.table, again, original=patients()).holds
