"""Errors of the gateway: whatever a database or a file system says, clients hear nothing of where the data are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from shoal.errors import LedgerError, TableError, WriteError
from shoal.gateway.sources import PostgresSource
from tests.gateway.served import Served, example, served

URL = "postgresql://bob:hunter2@db.internal.example:5433/ward"
TOLD_BY_THE_SERVER = (
    'connection to server at "db.internal.example" (10.1.2.3), port 5433 failed: FATAL: password authentication failed '
    'for user "bob"; key /etc/shoal/client.key; DETAIL: Key (name)=(Charley) postgresql://bob:hunter2@db'
)
SECRETS = ("hunter2", "db.internal", "10.1.2.3", ":5433", "port 5433", "bob", "/etc", "Charley", "/srv", "ward", "home")
PATHS = ("/tables", "/health", "/releases/1", "/releases/1/explanation", "/metrics", "/ledger")


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    def refuse(*_: Any, **__: Any) -> None:
        raise psycopg.OperationalError(TOLD_BY_THE_SERVER)

    monkeypatch.setattr(psycopg, "connect", refuse)
    config = example(tmp_path / "srv" / "example")
    with served(config, sources={owner: PostgresSource(f"{URL}{owner}") for owner in config.owners}) as service:
        yield service


def tell_all(service: Served) -> str:
    """Return all that clients, auditors and owners are told."""
    asked = [(table, who) for table in ("people", "staff") for who in ("ann", "bob")]
    answers = [service.ask(f"SELECT * FROM {table}", name=who) for table, who in asked]
    for who in ("ann", "aud", "north", "late"):
        with service.http(who) as http:
            answers += [http.get(path) for path in PATHS]
    return "\n".join([*(answer.text for answer in answers), *(str(answer.headers) for answer in answers)])


def without_clients(text: str) -> str:
    return text.replace("bob.secret", "").replace('"bob"', "").replace("'bob'", "")


def test_a_database_that_fails_tells_clients_and_logs_nothing(failing: Served) -> None:
    told = tell_all(failing)
    assert "no owner of this table can be reached" in told
    log = "\n".join(line for line in failing.written.getvalue().splitlines() if '"request"' not in line)
    assert [secret for secret in SECRETS if secret in without_clients(told) + log] == []


@pytest.mark.parametrize(
    "error",
    [
        LedgerError("the ledger cannot be used", where="/srv/ledger.sqlite", got="Charley"),
        TableError("cannot be read", where="/srv/people.csv", got="Charley, hunter2"),
        WriteError("cannot write", where="/home/bob/releases"),
        OSError(28, "No space left", "/srv/releases"),
    ],
)
def test_errors_that_speak_to_the_operator_are_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    with served(example(tmp_path / "example")) as service:

        def fail(*_: Any, **__: Any) -> None:
            raise error

        fails: list[Callable[[], None]] = [
            lambda: monkeypatch.setattr(type(service.gateway), "ask", fail),
            lambda: monkeypatch.setattr(type(service.gateway), "tables", fail),
        ]
        for break_it in fails:
            break_it()
        with service.http() as http:
            answers = [service.ask("SELECT * FROM people"), http.get("/tables")]
        for answer in answers:
            assert answer.status_code in (500, 503)
            assert [secret for secret in (*SECRETS, "releases") if secret in answer.text] == []
        assert [line["error"] for line in service.lines() if line["event"] == "failed"].count(type(error).__name__) >= 2
        if not isinstance(error, LedgerError):  # whose text the log tells: names of files and kinds of errors
            assert [secret for secret in SECRETS if secret in service.written.getvalue()] == []


def test_a_file_that_is_gone_is_called_by_its_table(tmp_path: Path) -> None:
    config = example(tmp_path / "srv")
    with served(config) as service:
        for owner in config.owners.values():
            for path in getattr(owner.database, "files", {}).values():
                Path(path).unlink(missing_ok=True)
        answer = service.ask("SELECT age FROM people")
        assert answer.status_code == 503
        assert ".csv" not in answer.text and "srv" not in answer.text
