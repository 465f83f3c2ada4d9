"""Patience: whoever opens connections and says nothing, or goes on for ever, is hung up on; others are not."""

from __future__ import annotations

import io
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from shoal.gateway.logs import Log
from shoal.gateway.server import choose_protocol
from shoal.serving import header_timeout

pytestmark = pytest.mark.service

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the body."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(header_timeout, "SECONDS", 0.4)
    server = uvicorn.Server(uvicorn.Config(echo, http=choose_protocol(Log()), lifespan="off", log_config=None))
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield int(listening.getsockname()[1])
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def line(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as opened:
        yield opened


def answered(line: socket.socket) -> bytes:
    """Read one answer; nothing if there is none."""
    found = b""
    while not found.endswith(b"\r\n\r\nok"):
        more = line.recv(1000)
        if not more:
            break
        found += more
    return found


def test_a_connection_that_says_nothing_ends(line: socket.socket) -> None:
    began = time.monotonic()
    assert line.recv(10) == b""
    assert time.monotonic() - began < 3


def test_a_head_that_comes_byte_by_byte_ends(line: socket.socket) -> None:
    began = time.monotonic()
    line.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
    with pytest.raises(OSError):  # the pipe is broken, or was reset
        for _ in range(100):
            line.sendall(b"x")
            time.sleep(0.05)
    assert 0.3 < time.monotonic() - began < 3


def test_a_head_without_an_end_ends(line: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(header_timeout, "SECONDS", 60.0)
    with pytest.raises(OSError):
        line.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(2_000):
            line.sendall(b"X-More: " + b"x" * 1_000 + b"\r\n")
            time.sleep(0.001)


def test_others_have_the_time_that_they_need(line: socket.socket) -> None:
    line.sendall(HEAD)
    time.sleep(0.7)  # the body may take longer: that is for the door
    line.sendall(b"ok")
    assert answered(line).startswith(b"HTTP/1.1 200")
    time.sleep(0.7)  # between two requests nobody has to hurry
    line.sendall(HEAD + b"ok")
    assert answered(line).startswith(b"HTTP/1.1 200")
    line.sendall(HEAD[:20])
    assert answered(line) == b""


def test_a_large_body_is_no_large_head(line: socket.socket) -> None:
    body = b"x" * (3 * header_timeout.MAX_BYTES) + b"\r\n\r\nok"
    line.sendall(HEAD.replace(b"Content-Length: 2", f"Content-Length: {len(body)}".encode()) + body)
    assert answered(line).startswith(b"HTTP/1.1 200")


def test_where_it_cannot_be_had_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shoal.serving.write_timeout", None)
    told = io.StringIO()
    assert choose_protocol(Log(told)) == "auto"
    assert "slow clients are waited for" in told.getvalue()
