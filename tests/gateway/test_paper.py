"""Hussien et al. (2015), 3.2: query 1 over Table 5 gives Table 6; a light query comes back untouched."""

from __future__ import annotations

from pathlib import Path

from shoal import datasets
from shoal.gateway.mediator import Gateway
from shoal.policy import Policy

TABLE_6 = sorted(
    ("*", marital, age, race, "Person", salary)
    for marital, age, race in [
        ("Not_married", "30 - 40", "Colored"),
        ("Married", "40 - 50", "Others"),
        ("Not_married", "20 - 30", "Others"),
    ]
    for salary in ("50000+", "-50000")
)


def test_query_1_gives_table_6(example: Gateway) -> None:
    answer = example.ask("demo-client", "SELECT * FROM people")
    assert answer.table.columns == ["name", "marital_status", "age", "race", "sex", "salary"]
    assert sorted(answer.table.rows()) == TABLE_6


def test_the_decision_is_explained_as_in_the_paper(example: Gateway) -> None:
    (decided,) = example.ask("demo-client", "SELECT * FROM people").to_dict()["decisions"]
    assert decided["weights"] == {"name": 6, "marital_status": 3, "age": 5, "race": 4, "sex": 2, "salary": 0}
    assert (decided["total"], decided["threshold"], decided["action"]) == (20, 6, "anonymize")
    assert [step["column"] for step in decided["steps"]] == ["sex", "marital_status", "race", "age"]
    assert decided["attained"] == {"k-anonymity": 2, "distinct-l-diversity": 2}
    assert decided["withheld"] == ["name"]


def test_two_owners_of_parts_give_table_6_together(example: Gateway) -> None:
    answer = example.ask("demo-client", "SELECT * FROM staff", owner_column=True)
    assert sorted(row[:-1] for row in answer.table.rows()) == TABLE_6
    assert sorted(answer.table["owner"].to_list()) == ["north"] * 4 + ["south"] * 2
    assert [decided.owner for decided in answer.decisions] == ["north", "south"]


def test_a_light_request_comes_back_untouched(example: Gateway) -> None:
    answer = example.ask("demo-client", "SELECT sex, race, salary FROM people")
    original = datasets.employees().select("sex", "race", "salary")
    assert sorted(answer.table.rows()) == sorted(original.rows())
    assert answer.decisions[0].action == "release"


def test_every_column_that_is_touched_is_weighed(example: Gateway) -> None:
    for text, total in {
        "SELECT sex FROM people WHERE age > 30": 7,
        "SELECT sex, count(*) FROM people WHERE NOT race = 'x' GROUP BY sex": 6,
        "SELECT salary, age FROM people ORDER BY age": 5,
        "SELECT count(*) FROM people": 0,
        "SELECT sum(age) FROM people WHERE sex IS NULL OR name IN ('x')": 13,
    }.items():
        client = f"asks for {total}"  # each client anew: what one has is weighed together
        found = Gateway(example.config.replace(clients={client: {}})).ask(client, text).decisions[0].weighed
        assert found.total == total, text


def test_the_example_has_the_policy_and_the_table_of_the_dataset() -> None:
    folder = Path(__file__).parents[2] / "examples" / "gateway"
    assert Policy.read(folder / "people.yaml") == datasets.policy("employees")
    whole = (folder / "people.csv").read_text().splitlines()
    parts = [(folder / name).read_text().splitlines() for name in ("north.csv", "south.csv")]
    assert whole == [*parts[0], *parts[1][1:]]
