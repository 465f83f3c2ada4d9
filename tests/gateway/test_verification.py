"""Answers are compared with the audited table before they leave: a broken cutter is caught, a good one is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from shoal.encoding.types import Ints
from shoal.errors import AuditFailed, Unavailable
from shoal.gateway import answer_source
from shoal.gateway.evaluation import Evaluation, QueryableTable, evaluate
from shoal.gateway.labels import LabelReader
from shoal.gateway.mediator import Gateway
from shoal.gateway.request import Compare, Item, Request
from shoal.gateway.verification import AnswerVerifier
from tests.gateway.conftest import Memory
from tests.gateway.served import example, served
from tests.gateway.test_decisions import POLICY, people

Opened = Callable[..., Gateway]
Cutter = Callable[[Request, QueryableTable], Evaluation]
RECORDS = "SELECT age, zip, sex, ill FROM people"
GROUPS = "SELECT zip, count(*) AS n, avg(age) AS mean FROM people GROUP BY zip"
ALL = "SELECT count(*) AS n, avg(age) AS mean FROM people WHERE ill = 'flu'"


def spoil(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Cutter:
    """Return a cutter that changes what it answers."""

    def cut(request: Request, table: QueryableTable) -> Evaluation:
        answer = evaluate(request, table)
        return Evaluation(change(answer.table), answer.rows, answer.notes)

    return cut


def set_first(column: str, value: Any) -> Cutter:
    def change(table: pl.DataFrame) -> pl.DataFrame:
        cells = [value, *table[column].to_list()[1:]]
        return table.with_columns(pl.Series(column, cells, dtype=table[column].dtype))

    return spoil(change)


def cut_raw(request: Request, table: QueryableTable) -> Evaluation:
    """Cut from the original instead of the release."""
    frame = people().with_columns(pl.lit("*").alias("name")).select(table.frame.columns)
    return evaluate(request, QueryableTable(frame, table.meanings))


def cut_raw_figures(request: Request, table: QueryableTable) -> Evaluation:
    """Cut the groups from the release, the figures from the original."""
    return evaluate(request, QueryableTable(table.frame.with_columns(people()["age"]), table.meanings))


def cut_other_rows(choose: Callable[[Ints], Ints]) -> Cutter:
    """Return a cutter that tells other records than it shows, or shows those that it tells."""

    def cut(request: Request, table: QueryableTable) -> Evaluation:
        answer = evaluate(request, table)
        return Evaluation(answer.table, choose(answer.rows), answer.notes)

    return cut


def cut_twice(request: Request, table: QueryableTable) -> Evaluation:
    """Show a record of the release twice, and say so."""
    answer = evaluate(request, table)
    return Evaluation(answer.table[[0, *range(answer.table.height)]], answer.rows[[0, *range(len(answer.rows))]])


PLANTED = {
    "records in another order": (RECORDS, cut_other_rows(lambda rows: rows[::-1])),
    "no record": (RECORDS, cut_other_rows(lambda rows: rows[:0])),
    "a record twice": (RECORDS, cut_twice),
    "a record beyond the table": (RECORDS, cut_other_rows(lambda rows: rows + 1)),
    "a record before the table": (RECORDS, cut_other_rows(lambda rows: rows - len(rows))),
    "a group's record twice": (GROUPS, cut_other_rows(lambda rows: rows[[0, *range(len(rows))]])),
    "a record left out": (GROUPS, cut_other_rows(lambda rows: rows[1:])),
    "the original": (RECORDS, cut_raw),
    "the original's groups": ("SELECT age, count(*) AS n FROM people GROUP BY age", cut_raw),
    "a raw value": (RECORDS, set_first("age", "31")),
    "a value of another kind": (RECORDS, spoil(lambda table: table.with_columns(people()["age"].head(table.height)))),
    "a record too many": (RECORDS, spoil(lambda table: pl.concat([table, table.head(1)]))),
    "an identifier": ("SELECT name, age FROM people", set_first("name", "p1")),
    "a column too many": (RECORDS, spoil(lambda table: table.with_columns(people()["age"].alias("exact")))),
    "more than the limit": (f"{RECORDS} LIMIT 3", spoil(lambda table: pl.concat([table, table]))),
    "a raw figure": (GROUPS, cut_raw_figures),
    "a raw figure of all": (ALL, cut_raw_figures),
    "a raw figure of nameless groups": ("SELECT avg(age) AS mean FROM people GROUP BY zip", cut_raw_figures),
    "a wrong count": (GROUPS, set_first("n", 4)),
    "a wrong count of all": (ALL, set_first("n", 4)),
    "a group twice": (GROUPS, spoil(lambda table: pl.concat([table, table.head(1)]))),
    "a group that is not there": (GROUPS, set_first("zip", "99999")),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_broken_cutter_is_caught(opened: Opened, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    text, cut = PLANTED[name]
    gateway = opened(Memory(people=people()), {**POLICY, "threshold": None})
    errors: list[Exception] = []
    gateway.on_error = errors.append
    monkeypatch.setattr(answer_source, "evaluate", cut)
    for _ in range(2):  # it is not kept either
        with pytest.raises(Unavailable) as refused:
            gateway.ask("ann", text)
        assert str(refused.value) == "people: the owner could not answer."
    assert [type(error) for error in errors] == [AuditFailed, AuditFailed]
    assert gateway.ledger.verify() == 0
    monkeypatch.undo()
    assert gateway.ask("ann", text).table.height


def test_a_broken_cutter_is_caught_where_the_table_is_shown_as_it_is(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = opened(Memory(people=people()), POLICY)
    assert gateway.ask("ann", "SELECT sex FROM people").decisions[0].action == "release"
    monkeypatch.setattr(answer_source, "evaluate", set_first("sex", "x"))
    with pytest.raises(Unavailable):
        gateway.ask("ann", "SELECT sex FROM people LIMIT 5")


def test_over_http_it_is_an_error_without_details_and_a_line_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_source, "evaluate", set_first("age", "hunter2"))
    with served(example(tmp_path / "example")) as service:
        refused = service.ask("SELECT age, race, salary FROM people")
        lines = [line for line in service.lines() if line["event"] == "failed"]
    assert refused.status_code == 503 and "hunter2" not in refused.text and "release" not in refused.text
    assert [line["error"] for line in lines] == ["AuditFailed"]
    assert "hunter2" not in str(lines)


COUNTS = Request("people", (Item("zip", "zip"), Item("n", None, "count")), group_by=("zip",))


@pytest.mark.parametrize(
    ("counts", "subjects", "complaint"),
    [
        ({"a": 7, "b": 3}, None, None),
        ({"a": 7, "b": 2}, None, "too few persons"),
        ({"a": 7, "b": 3}, list("0123456") + list("778"), "too few persons"),
        ({"a": 7, "b": 4}, list("0123456") + list("7789"), None),
    ],
)
def test_an_answer_as_it_is_that_too_few_share_is_caught(
    counts: dict[str, int], subjects: list[str] | None, complaint: str | None
) -> None:
    frame = pl.DataFrame({"zip": [name for name, count in counts.items() for _ in range(count)]})
    readers = {"zip": LabelReader("text", exact=True)}
    persons = None if subjects is None else pl.Series(subjects)
    verifier, answer = AnswerVerifier(frame, readers, 3, persons), evaluate(COUNTS, QueryableTable(frame, readers))
    if complaint is None:
        verifier.verify(COUNTS, answer)
        return
    with pytest.raises(AuditFailed, match=complaint):
        verifier.verify(COUNTS, answer)


def draw_table(draw: Random) -> tuple[QueryableTable, AnswerVerifier]:
    """Draw a table with missing values, ranges and numbers."""
    height = draw.randrange(0, 60)
    frame = pl.DataFrame(
        {
            "age": pl.Series(
                [draw.choice(["[20, 29]", "[30, 39]", "*", None]) for _ in range(height)], dtype=pl.String
            ),
            "zip": pl.Series([draw.choice("abcde") for _ in range(height)], dtype=pl.String),
            "ill": pl.Series([draw.choice(["x", "y", None]) for _ in range(height)], dtype=pl.String),
            "pay": pl.Series([draw.choice([None, draw.gauss(0, 1e6)]) for _ in range(height)], dtype=pl.Float64),
        }
    )
    exact = {"ill": LabelReader("text", exact=True), "pay": LabelReader("float", exact=True)}
    readers = {"age": LabelReader("integer"), "zip": LabelReader("text"), **exact}
    return QueryableTable(frame, readers, draw.randrange(9)), AnswerVerifier(frame, readers)


def draw_request(draw: Random) -> Request:
    names = ["age", "zip", "ill", "pay"]
    where = draw.choice([None, Compare("age", "<", 30), Compare("zip", "<>", "a"), Compare("pay", ">", 0)])
    limit = draw.choice([None, None, 3])
    if draw.random() < 0.4:
        shown = draw.sample(names, draw.randrange(1, 5))
        return Request("t", tuple(Item(name, name) for name in shown), where=where, limit=limit)
    group_by = tuple(draw.sample(names[:3], draw.randrange(4)))
    columns = [(None, "count"), ("ill", "count"), ("age", "avg"), ("pay", "sum"), ("pay", "min"), ("ill", "max")]
    figures = [Item(f"f{index}", *draw.choice(columns)) for index in range(draw.randrange(1, 4))]  # type: ignore[arg-type]
    keys = [Item(name, name) for name in group_by if draw.random() < 0.8]
    return Request("t", (*keys, *figures), where=where, group_by=group_by, limit=limit)


@pytest.mark.parametrize("seed", range(4))
def test_what_the_gateway_cuts_is_accepted(seed: int) -> None:
    draw = Random(seed)
    for _ in range(100):
        table, verifier = draw_table(draw)
        for _ in range(3):
            request = draw_request(draw)
            verifier.verify(request, evaluate(request, table))
