"""What is released as it is, what is anonymized first, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import polars as pl
import pytest

from shoal import datasets
from shoal.errors import PolicyError, Refused
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway
from tests.gateway.conftest import Memory

Opened = Callable[..., Gateway]
ILLNESSES = ("flu", "cold", "gout", "cough", "none")
K = 3
POLICY: dict[str, Any] = {
    "identifiers": ["name"],
    "quasi_identifiers": {
        "age": {"hierarchy": "intervals", "widths": [10, 20, 40], "weight": 3},
        "zip": {"hierarchy": "mask", "keep": [4, 3], "weight": 2},
        "sex": {"hierarchy": "suppress", "weight": 1},
    },
    "sensitive": ["ill"],
    "models": [{"name": "k-anonymity", "k": K}],
    "algorithm": "weighted-boundaries",
    "threshold": 3,
    "raw": {"least": 1},
}
"""The paper's own way: what is light enough is shown of everybody."""


def people(count: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"person{n}" for n in range(count)],
            "age": [20 + n * 7 % 40 for n in range(count)],
            "zip": [f"53{700 + n % 12}" for n in range(count)],
            "sex": ["fm"[n % 2] for n in range(count)],
            "ill": [ILLNESSES[n * n % 5] for n in range(count)],
        }
    )


def test_pieces_under_the_threshold_are_weighed_together(opened: Opened) -> None:
    gateway = opened(Memory(people=people()), POLICY)
    assert gateway.ask("ann", "SELECT zip, ill FROM people").decisions[0].action == "release"
    assert gateway.ask("ann", "SELECT sex FROM people WHERE zip = '53700'").decisions[0].action == "release"
    heavy = gateway.ask("ann", "SELECT age FROM people").decisions[0]  # 3 alone, at the threshold
    assert (heavy.action, heavy.weighed.total) == ("anonymize", 6)
    assert heavy.together == {"people.zip": 2, "people.ill": 0, "people.sex": 1}
    assert gateway.ask("bob", "SELECT age FROM people").decisions[0].action == "release"


def test_a_new_version_does_not_make_a_client_forget(opened: Opened) -> None:
    source = Memory(people=people())
    gateway = opened(source, POLICY)
    gateway.ask("ann", "SELECT age FROM people")
    source.change(people=people(70))
    assert gateway.ask("ann", "SELECT zip FROM people").decisions[0].action == "anonymize"


def test_a_weight_that_was_raised_counts_for_what_a_client_has(opened: Opened) -> None:
    source = Memory(people=people())
    opened(source, POLICY).ask("ann", "SELECT ill FROM people")
    raised = opened(source, {**POLICY, "sensitive": {"ill": {"weight": 1}}})  # the same ledger
    (decided,) = raised.ask("ann", "SELECT age FROM people").decisions
    assert (decided.together, decided.action) == ({"people.ill": 1}, "anonymize")
    assert raised.ask("bob", "SELECT age FROM people").decisions[0].action == "release"


def test_two_requests_at_once_are_not_weighed_alone(opened: Opened) -> None:
    gateway = opened(Memory(people=people()), POLICY)
    texts = ["SELECT age FROM people", "SELECT zip FROM people", "SELECT sex FROM people"] * 4
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda text: gateway.ask("ann", text), texts))
    raw = {name for one in answers for name in one.decisions[0].weighed.weights if one.decisions[0].action == "release"}
    assert sum({"age": 3, "zip": 2, "sex": 1}[name] for name in raw) <= 3
    gateway.ledger.verify()


def test_one_recoding_for_every_request(opened: Opened) -> None:
    """Whatever columns are asked for, an anonymized answer is cut from the same release."""
    gateway = opened(Memory(people=people()), {**POLICY, "threshold": None})
    whole = gateway.ask("ann", "SELECT age, zip, sex, ill FROM people").table
    for names in (names for size in (1, 2, 3) for names in combinations(whole.columns, size)):
        part = gateway.ask("ann", f"SELECT {', '.join(names)} FROM people").table
        assert sorted(part.rows()) == sorted(whole.select(names).rows())


def test_the_release_is_made_once_per_version(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.gateway import queryable_release

    made = []
    real = queryable_release.anonymize
    monkeypatch.setattr(queryable_release, "anonymize", lambda *given: made.append(1) or real(*given))
    source = Memory(people=people())
    gateway = opened(source, POLICY)
    for _ in range(3):
        gateway.ask("ann", "SELECT * FROM people")
    assert (len(made), source.reads) == (1, 1)
    source.change(people=people(60 + K))
    gateway.ask("ann", "SELECT * FROM people")
    assert (len(made), source.reads) == (2, 2)


def test_what_cannot_be_anonymized_is_refused_without_data(opened: Opened) -> None:
    loner = pl.concat(
        [people(), pl.DataFrame({"name": ["x"], "age": [999], "zip": ["99999"], "sex": ["f"], "ill": ["leprosy"]})]
    )
    boundaries = {
        **POLICY["quasi_identifiers"],
        "age": {"hierarchy": "intervals", "widths": [10], "boundaries": ["[990, 999]"]},
    }
    gateway = opened(Memory(people=loner), {**POLICY, "quasi_identifiers": boundaries})
    for _ in range(2):  # also when the refusal is remembered
        with pytest.raises(Refused, match="promises of the policy") as refused:
            gateway.ask("ann", "SELECT * FROM people")
        assert "999" not in str(refused.value) and "1" not in str(refused.value)
    assert [entry["action"] for entry in gateway.ledger.entries()] == ["refuse"] * 2


def test_a_policy_that_does_not_fit_is_told_without_data(opened: Opened) -> None:
    tree = {"hierarchy": "tree", "nodes": {"any": ["f"]}}
    policy = {**POLICY, "quasi_identifiers": {**POLICY["quasi_identifiers"], "sex": tree}}
    with pytest.raises(Refused, match="does not fit") as refused:
        opened(Memory(people=people()), policy).ask("ann", "SELECT * FROM people")
    assert "'m'" not in str(refused.value)


def differences(gateway: Gateway, first: str, second: str) -> int:
    """How many more records one count has than another."""
    counts = [
        gateway.ask("ann", f"SELECT count(*) AS n FROM people WHERE {text}").table["n"][0] for text in (first, second)
    ]
    return abs(counts[0] - counts[1])


@pytest.mark.parametrize("record", range(0, 60, 7))
def test_pairs_of_counts_that_differ_by_one_person_find_nobody(opened: Opened, record: int) -> None:
    """A differencing pair, and a tracker: padding around a person that is taken off again."""
    one = people().row(record, named=True)
    gateway = opened(Memory(people=people()), {**POLICY, "threshold": None})
    person = f"age = {one['age']} AND zip = '{one['zip']}' AND sex = '{one['sex']}'"
    others = f"(age <> {one['age']} OR zip <> '{one['zip']}' OR sex <> '{one['sex']}')"
    assert not 0 < differences(gateway, "age >= 0", others) < K
    tracker = f"sex = '{one['sex']}'"
    assert not 0 < differences(gateway, tracker, f"{tracker} AND NOT ({person})") < K
    assert gateway.ask("ann", f"SELECT count(*) AS n FROM people WHERE {person}").table["n"][0] == 0


def each(opened: Opened, source: Memory, **changes: Any) -> Gateway:
    return opened(source, {**POLICY, "threshold": None, **changes}, recoding="each")


def test_a_recoding_for_each_request_keeps_more_detail(opened: Opened) -> None:
    gateway = each(opened, Memory(people=people()))
    answer = gateway.ask("ann", "SELECT sex, ill FROM people")
    assert set(answer.table["sex"]) == {"f", "m"}  # alone it needs no generalization
    assert answer.decisions[0].recoding == "each"
    assert answer.decisions[0].attained["k-anonymity"] >= K


def test_each_request_counts_persons(opened: Opened) -> None:
    """Three records of one person are not three persons."""
    frame = people(12).with_columns(
        name=pl.Series([f"person{n // 3}" for n in range(12)]),
        zip=pl.Series([f"53{700 + n // 3 * 20}" for n in range(12)]),
    )
    gateway = each(opened, Memory(people=frame), identifiers=[], subject="name")
    answer = gateway.ask("ann", "SELECT zip, ill FROM people")
    assert not set(answer.table["zip"]) & set(frame["zip"])
    assert answer.decisions[0].attained["k-anonymity"] >= K


def test_each_request_keeps_k_where_no_model_is_about_its_columns(opened: Opened) -> None:
    diverse = [{"name": "alpha-k-anonymity", "on": "ill", "alpha": 0.9, "k": 4}]
    pairs = people(8).with_columns(sex=pl.Series(["f", "f", *["m"] * 6]), ill=pl.Series([*ILLNESSES[:4]] * 2))
    answer = each(opened, Memory(people=pairs), models=diverse).ask("ann", "SELECT sex FROM people")
    assert set(answer.table["sex"]) == {"*"}  # two of a sex are fewer than the four that the model asks for


def test_the_same_request_again_is_answered_again(opened: Opened) -> None:
    gateway = each(opened, Memory(people=people()))
    first = gateway.ask("ann", "SELECT age, sex FROM people", request="7")
    again = gateway.ask("ann", "SELECT age, sex FROM people", request="7")
    assert first.table.equals(again.table) and gateway.ledger.verify() == 1


def test_identifiers_show_a_star_in_either_recoding(opened: Opened) -> None:
    for recoding, client in (("one", "ann"), ("each", "bob")):
        gateway = opened(Memory(people=people()), POLICY, recoding=recoding)
        assert set(gateway.ask(client, "SELECT name FROM people").table["name"]) == {"*"}


def visits() -> pl.DataFrame:
    rows = [(f"person{n % 40}", f"ward{n % 3}") for n in range(120)]
    return pl.DataFrame(rows, schema=["who", "ward"], orient="row")


JOIN_POLICY = {
    **POLICY,
    "identifiers": ["name", "who"],
    "sensitive": ["ill", "ward"],
    "subject": "name",
}
VISITS_POLICY = {
    "identifiers": ["who"],
    "quasi_identifiers": {"ward": {"hierarchy": "suppress", "weight": 1}},
    "models": [{"name": "k-anonymity", "k": K}],
    "subject": "who",
    "threshold": 3,
}
JOINED = {
    "tables": {"people": {"policy": POLICY}, "visits": {"policy": VISITS_POLICY}},
    "joins": {"stays": {"left": ["people", "name"], "right": ["visits", "who"], "policy": JOIN_POLICY}},
}
STAYS = "FROM people AS p JOIN visits AS v ON p.name = v.who"


def test_a_join_over_declared_keys_counts_persons(opened: Opened) -> None:
    gateway = opened(Memory(people=people(), visits=visits()), **JOINED)
    answer = gateway.ask("ann", f"SELECT age, sex, ward {STAYS}")
    (decided,) = answer.decisions
    assert (decided.table, decided.action, answer.table.height) == ("stays", "anonymize", 120)
    assert {"name", "who"} <= set(decided.weighed.weights)  # a join touches its keys
    assert decided.attained["k-anonymity"] >= K
    turned = gateway.ask(
        "ann", "SELECT ward, count(*) AS n FROM visits v JOIN people p ON v.who = p.name GROUP BY ward"
    )
    assert turned.table["n"].sum() == 120


def test_a_join_and_its_parts_are_not_both_published(opened: Opened) -> None:
    gateway = opened(Memory(people=people(), visits=visits()), **JOINED)
    gateway.ask("ann", f"SELECT age, ward {STAYS}")
    with pytest.raises(Refused, match="same persons"):
        gateway.ask("ann", "SELECT age, zip, sex FROM people")
    gateway.ask("bob", "SELECT age, zip, sex FROM people")
    with pytest.raises(Refused, match="same persons"):
        gateway.ask("bob", f"SELECT age, ward {STAYS}")
    assert gateway.ask("bob", "SELECT who FROM visits").table.height == 120  # two tables that are no join may be


def test_other_joins_are_refused(opened: Opened) -> None:
    gateway = opened(Memory(people=people(), visits=visits()), **JOINED)
    for text in (
        "SELECT age FROM people p JOIN visits v ON p.ill = v.ward",
        "SELECT age FROM people p JOIN visits v ON p.name = v.who AND p.sex = 'f'",
        "SELECT age FROM people p LEFT JOIN visits v ON p.name = v.who",
        "SELECT age FROM people p JOIN visits v ON p.name > v.who",
        "SELECT age FROM people p JOIN visits v ON p.name = p.name",
        "SELECT * FROM stays",
    ):
        with pytest.raises(Refused):
            gateway.ask("ann", text)


def test_a_join_must_say_whom_a_record_is_about() -> None:
    policy = {**JOIN_POLICY, "subject": None}
    join = {"left": ["people", "name"], "right": ["visits", "who"], "policy": policy}
    owner = {"database": {"duckdb": "not opened"}, **JOINED, "joins": {"stays": join}}
    with pytest.raises(PolicyError, match="repeats persons"):
        GatewayConfig(owners={"north": owner}, ledger="x")


def test_the_answers_of_the_dataset_are_those_of_the_release(opened: Opened) -> None:
    import shoal

    table, policy = datasets.load("hospital")
    gateway = opened(Memory(people=table), policy)
    released = shoal.anonymize(table, policy).table
    names = ", ".join(f'"{name}"' for name in released.columns)
    answer = gateway.ask("ann", f"SELECT {names} FROM people").table
    assert sorted(answer.rows(), key=str) == sorted(released.rows(), key=str)


def test_a_number_cannot_carry_a_second_request(opened: Opened) -> None:
    """Otherwise a condition could be tried out without being weighed."""
    gateway = opened(Memory(people=people()), POLICY)
    gateway.ask("ann", "SELECT sex FROM people", request="7")
    for condition in ("zip <> 'x'", "zip = 'x'"):  # whether the answer would be the same or not
        with pytest.raises(Refused, match="under this number"):
            gateway.ask("ann", f"SELECT sex FROM people WHERE {condition}", request="7")
    assert gateway.ledger.read_history("ann").raw == {"north/people.sex": 1}


def test_a_treatment_holds_for_answers_as_they_are(opened: Opened) -> None:
    ages = {"hierarchy": "intervals", "breaks": [0, 30, 60, 90, 120], "weight": 3, "treatment": "age-90"}
    policy = {**POLICY, "quasi_identifiers": {**POLICY["quasi_identifiers"], "age": ages}}
    old = people().with_columns(age=pl.Series([97, 103, *people()["age"].to_list()[2:]]))
    answer = opened(Memory(people=old), policy).ask("ann", "SELECT age FROM people")
    assert answer.decisions[0].action == "release"
    assert answer.table["age"].max() == 90
    strange = {**policy["quasi_identifiers"], "zip": {**POLICY["quasi_identifiers"]["zip"], "treatment": "age-90"}}
    with pytest.raises(Refused, match="does not fit"):
        opened(Memory(people=old), {**policy, "quasi_identifiers": strange}).ask("bob", "SELECT zip FROM people")


def test_a_table_that_changes_while_it_is_read_is_read_again(opened: Opened) -> None:
    class Moving(Memory):
        def read(self, table: str) -> pl.DataFrame:
            found = super().read(table)
            if self.reads == 1:
                self.change(people=people(61))
            return found

    assert opened(Moving(people=people()), POLICY).ask("ann", "SELECT age FROM people").table.height == 61


def scattered() -> pl.DataFrame:
    """People of whom only two share a ZIP code."""
    return people().with_columns(zip=pl.Series([f"53{700 + n % 30}" for n in range(60)]))


def test_an_answer_as_it_is_and_an_anonymized_one_are_not_linked(opened: Opened) -> None:
    """Both show the illness as it is: a rare one finds the exact ZIP code of a published record."""
    gateway = opened(Memory(people=scattered()), POLICY)
    assert gateway.ask("ann", "SELECT zip, ill FROM people").decisions[0].action == "release"
    with pytest.raises(Refused, match="tell apart the persons"):
        gateway.ask("ann", "SELECT age, ill FROM people")
    assert gateway.ask("ann", "SELECT age FROM people").decisions[0].action == "anonymize"  # nothing links that
    assert gateway.ask("bob", "SELECT age, zip, ill FROM people").decisions[0].action == "anonymize"


def test_after_an_anonymized_answer_what_would_link_to_it_is_anonymized_too(opened: Opened) -> None:
    gateway = opened(Memory(people=scattered()), POLICY)
    whole = gateway.ask("ann", "SELECT age, zip, ill FROM people")
    light = gateway.ask("ann", "SELECT zip, ill FROM people")
    assert light.decisions[0].weighed.total <= POLICY["threshold"]
    assert light.decisions[0].action == "anonymize"
    assert any("tell apart" in note for note in light.decisions[0].notes)
    assert sorted(light.table.rows()) == sorted(whole.table.select("zip", "ill").rows())


def test_quasi_identifiers_alone_link_nothing(opened: Opened) -> None:
    """Who has the exact ZIP codes and nothing beside them knows what attackers are thought to know anyway."""
    gateway = opened(Memory(people=people()), POLICY)
    assert gateway.ask("ann", "SELECT zip FROM people").decisions[0].action == "release"
    assert gateway.ask("ann", "SELECT age, ill FROM people").decisions[0].action == "anonymize"


def test_with_a_recoding_for_each_request_any_link_is_refused(opened: Opened) -> None:
    gateway = opened(Memory(people=people()), POLICY, recoding="each")
    gateway.ask("ann", "SELECT zip, ill FROM people")
    with pytest.raises(Refused, match="tell apart the persons"):
        gateway.ask("ann", "SELECT age, zip, ill FROM people")
