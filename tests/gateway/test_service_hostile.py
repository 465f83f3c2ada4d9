"""The corpus of hostile requests over HTTP: refused in words, never an error inside, and no data in any text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.served import Served, example, served
from tests.gateway.test_hostile import CORPUS, PUBLISHED, shows

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(example(tmp_path_factory.mktemp("hostile") / "example")) as found:
        yield found


def test_the_corpus_is_refused(service: Served) -> None:
    with service.http() as http:
        for text in CORPUS["refused"]:
            response = http.post("/query", json={"sql": text})
            assert response.status_code in (403, 422), text
            assert response.json()["faults"] and not shows(response.text), text
    assert {entry["action"] for entry in service.gateway.ledger.entries()} <= {"refuse"}  # nothing was given
    own = {"time", "milliseconds", "request"}  # figures of the service's own
    assert not shows(str([{key: line[key] for key in line if key not in own} for line in service.lines()]))
    assert "failed" not in {line["event"] for line in service.lines()}


def test_what_is_harmless_shows_what_is_published(service: Served) -> None:
    with service.http() as http:
        for text in CORPUS["harmless"]:
            response = http.post("/query", json={"sql": text})
            assert response.status_code in (200, 403), text
            answer = response.json()
            if response.status_code == 403 or answer["decisions"][0]["action"] == "release":
                continue
            for name in set(PUBLISHED) & set(answer["columns"]):
                if "AS name" not in text:
                    assert {record[name] for record in answer["records"]} <= PUBLISHED[name], text
    assert "failed" not in {line["event"] for line in service.lines()}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sex FROM people WHERE " + "(" * 3000 + "sex = 'M'" + ")" * 3000,
        "SELECT sex FROM people WHERE " + " OR ".join(["sex = 'M'"] * 300),
        "SELECT sex FROM people WHERE " + "NOT " * 1500 + "sex = 'M'",
        "SELECT " + "DECIMAL(" * 28 + "1" + ")" * 28 + " FROM people",
        "SELECT \x00 FROM people",
        "SELECT '\u202e' FROM people",
        "SELECT sex FROM people LIMIT 99999999999999999999",
        "SELECT sex FROM people WHERE age = 1e999",
        "SELECT sex FROM people WHERE age = " + "9" * 400,
    ],
)
def test_requests_made_to_break_it(service: Served, text: str) -> None:
    response = service.ask(text, "bob")
    assert response.status_code in (200, 403, 422)
    assert "failed" not in {line["event"] for line in service.lines()}
