"""schemathesis against the service's own OpenAPI document: whatever is sent, it answers as it says it does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.gateway.served import KEYS, Served, example, served

pytestmark = pytest.mark.service

COMMAND = Path(sys.executable).with_name("schemathesis")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(example(tmp_path_factory.mktemp("schema") / "example")) as found:
        found.ask("SELECT * FROM people", request="1")
        yield found


@pytest.mark.parametrize("name", ["ann", "aud"])
def test_every_endpoint_answers_as_it_says(service: Served, name: str, tmp_path: Path) -> None:
    options = ["--checks=all", "--max-examples=60", "--generation-deterministic", "--no-color"]
    key = ["--header", f"Authorization: Bearer {KEYS[name]}"]
    command = [str(COMMAND), "run", f"{service.url}/openapi.json", *options, *key]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    asked = [line for line in service.lines() if line["event"] == "request"]
    assert {line["endpoint"] for line in asked} >= {"/query", "/ledger", "/tables", "/health", "/metrics"}
    assert max(line["status"] for line in asked) < 500
    assert {"failed", "library"}.isdisjoint(line["event"] for line in service.lines())


def test_the_document_tells_every_form_and_every_problem(service: Served) -> None:
    told = httpx.get(f"{service.url}/openapi.json").json()
    answers = told["paths"]["/query"]["post"]["responses"]
    assert set(answers["200"]["content"]) >= {"application/json", "text/csv"}
    assert {"401", "403", "406", "413", "422", "429", "503", "504"} <= set(answers)
    problem = {"$ref": "#/components/schemas/Problem"}
    bad = [answers[status]["content"]["application/json"]["schema"] for status in answers if status != "200"]
    assert all(schema == problem for schema in bad)
    assert set(told["components"]["securitySchemes"]) == {"Bearer", "Header"}
    assert "security" not in told["paths"]["/health"]["get"]
