"""What the service bears: wrong keys, long heads, answers that nobody reads; and what every response says."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
import uvicorn

from shoal.gateway import unread
from shoal.serving import header_timeout, write_timeout
from shoal.serving.write_timeout import WriteTimeout
from tests.gateway.conftest import Memory
from tests.gateway.served import KEYS, Served, clients, example, served

pytestmark = pytest.mark.service

RECORDS = 60_000
WIDE = pl.DataFrame({"sex": ["F", "M"] * (RECORDS // 2), "race": ["a-rather-long-name-of-a-race" * 4] * RECORDS})


@pytest.fixture
def wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A service that gives answers of megabytes, over the protocol that hangs up on slow clients."""
    monkeypatch.setattr(write_timeout, "SECONDS", 1.0)
    original = uvicorn.Config

    def configure(*values: object, **said: object) -> uvicorn.Config:
        return original(*values, http=WriteTimeout, **said)  # type: ignore[arg-type]

    monkeypatch.setattr(uvicorn, "Config", configure)
    config = example(tmp_path / "example", server={"unread": 5_000_000})
    names = {name: client.replace(rows=10**6) for name, client in clients().items()}
    config = config.replace(clients=names)
    policy = config.owners["town"].tables["people"].policy.replace(threshold=100)
    table = config.owners["town"].tables["people"].replace(policy=policy)
    town = config.owners["town"].replace(tables={"people": table})
    with served(config.replace(owners={"town": town}), sources={"town": Memory(people=WIDE)}) as found:
        yield found


def ask_unread(service: Served, name: str = "ann") -> socket.socket:
    """Ask for a large answer, and read nothing of it."""
    host, port = service.url.removeprefix("http://").split(":")
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect((host, int(port)))
    body = json.dumps({"sql": "SELECT sex, race FROM people"}).encode()
    head = (
        f"POST /query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEYS[name]}\r\nContent-Type: application/json\r\n"
    )
    line.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return line


def wait_for(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not done() and time.monotonic() < until:
        time.sleep(0.05)
    assert done()


def test_answers_that_nobody_reads_are_not_held(wide: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_timeout, "SECONDS", 5.0)
    lines = [ask_unread(wide)]
    wait_for(lambda: wide.ask("SELECT sex FROM people").status_code == 429)
    refused = wide.ask("SELECT sex FROM people")
    assert refused.json()["error"] == "TooMuch" and "Retry-After" in refused.headers
    assert wide.ask("SELECT count(*) AS n FROM people", "bob").status_code == 200  # another client
    wait_for(lambda: wide.ask("SELECT sex FROM people LIMIT 5").status_code == 200)  # it was hung up on
    lines[0].settimeout(10)
    with pytest.raises(OSError):
        for _ in range(1000):
            if not lines[0].recv(1_000_000):
                raise ConnectionResetError


def test_an_answer_that_is_read_slowly_but_steadily_arrives(wide: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_timeout, "SECONDS", 3.0)
    line = ask_unread(wide)
    line.settimeout(20)
    head, _, body = line.recv(5_000).partition(b"\r\n\r\n")
    size, left = int(head.lower().partition(b"content-length: ")[2].split()[0]), len(body)
    began = time.monotonic()
    while left < size:
        piece = line.recv(20_000 if time.monotonic() - began < 3 else 1_000_000)
        assert piece
        left += len(piece)
        time.sleep(0.02 if time.monotonic() - began < 3 else 0)
    assert left == size > 5_000_000


def test_what_is_read_is_whole(wide: Served) -> None:
    answer = wide.ask("SELECT sex, race FROM people")
    assert len(answer.json()["records"]) == RECORDS and len(answer.content) > 4 * unread._PIECE


def test_a_long_head_in_one_piece_is_hung_up_on(wide: Served) -> None:
    host, port = wide.url.removeprefix("http://").split(":")
    head = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    for header, answered in (
        (b"X: " + b"x" * 60_000, True),
        (b"X: " + b"x" * 66_000, False),
        (b"X: y\r\n" * 13_000 + b"X: y", False),
    ):
        with socket.create_connection((host, int(port))) as line:
            line.settimeout(20)
            line.sendall(head + header + b"\r\n\r\n")
            try:
                first = line.recv(100)
            except ConnectionResetError:
                first = b""
            assert first.startswith(b"HTTP/1.1 200") is answered, first
    assert header_timeout.MAX_BYTES == 65_536
    assert wide.ask("SELECT sex FROM people LIMIT 5").status_code == 200


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Served]:
    with served(example(tmp_path / "example", server={"attempts": 3})) as found:
        yield found


def test_wrong_keys_from_one_address_lock_nobody_else_out(strict: Served) -> None:
    wrong = [f"{name}.guess-{count}" for name in ("eve", "bob", "aud") for count in range(8)]
    statuses = []
    for key in wrong:
        with strict.http(None, key=key) as http:
            statuses.append(http.get("/tables").status_code)
    assert statuses.count(429) == 15 and statuses.count(401) == 9
    assert strict.ask("SELECT race FROM people", "ann").status_code == 200  # at the same address, for the first time


def test_the_same_wrong_key_costs_one_hash(strict: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with strict.http(None, key="ann.guess") as http:
        assert [http.get("/tables").status_code for _ in range(20)] == [401] * 20
    assert strict.ask("SELECT race FROM people", "ann").status_code == 200


def test_no_response_is_kept_or_taken_for_something_else(strict: Served) -> None:
    with strict.http() as http:
        asked = [
            http.post("/query", json={"sql": "SELECT race FROM people"}),
            http.post("/query", json={"sql": "DROP TABLE people"}),
            http.post("/query", content=b"{"),
            *(http.get(path) for path in ("/tables", "/health", "/metrics", "/nothing", "/openapi.json", "/owner")),
        ]
    for answer in asked:
        assert answer.headers["cache-control"] == "no-store", answer.url
        assert answer.headers["x-content-type-options"] == "nosniff", answer.url


def test_a_pattern_is_told_as_it_is_written(strict: Served) -> None:
    (fault,) = strict.ask("SELECT race FROM people", request="no spaces").json()["faults"]
    assert "^[A-Za-z0-9_-][A-Za-z0-9._~-]{0,63}$" in fault["what"]
