"""The service as a process: the example as its page shows it, a polite end, and what is left when it is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest

from shoal.gateway.ledger import Ledger
from tests.gateway.conftest import EXAMPLE, copy_example

pytestmark = pytest.mark.service

SHOAL = [sys.executable, "-c", "from shoal.cli import run; run()"]
TABLE_6 = """\
name,marital_status,age,race,sex,salary
*,Married,40 - 50,Others,Person,-50000
*,Married,40 - 50,Others,Person,50000+
*,Not_married,20 - 30,Others,Person,-50000
*,Not_married,20 - 30,Others,Person,50000+
*,Not_married,30 - 40,Colored,Person,-50000
*,Not_married,30 - 40,Colored,Person,50000+
"""
KEY = {"Authorization": "Bearer demo-client"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder that holds the example where the project has it."""
    copy_example(tmp_path / "examples" / "gateway")
    return tmp_path


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(root: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    port = free_port()
    command = [*SHOAL, "gateway", "--config", "examples/gateway/hussien15.yaml", "--port", str(port), *more]
    service = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert service.stdout is not None
    try:
        line = service.stdout.readline()
        assert '"started"' in line, line + service.stdout.read()
        yield service, port
    finally:
        service.kill()
        service.wait(30)


def query(root: Path, *said: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SHOAL, "query", *said], cwd=root, capture_output=True, text=True, check=False, **more)


def test_the_two_commands_of_the_page_print_table_6(root: Path) -> None:
    with running(root) as (_, port):
        url = f"http://127.0.0.1:{port}"
        done = query(root, "SELECT * FROM people", "--url", url, "--key", "demo-client", "--format", "csv")
        assert done.stdout == TABLE_6 and done.returncode == 0, done.stderr
    shown = (EXAMPLE.parents[1] / "docs" / "gateway.md").read_text()
    assert TABLE_6 in shown and "shoal gateway --config examples/gateway/hussien15.yaml --port 8765\n" in shown
    assert 'shoal query "SELECT * FROM people" --url http://127.0.0.1:8765 --key demo-client --format csv\n' in shown


def test_query_on_the_command_line(root: Path) -> None:
    with running(root) as (_, port):
        url = ("--url", f"http://127.0.0.1:{port}")
        env = {**os.environ, "SHOAL_GATEWAY_KEY": "demo-client"}
        shown = query(root, "SELECT * FROM staff", "--owner-column", *url, env=env)
        assert "south" in shown.stdout and "anonymized (weight 20, threshold 6)" in shown.stderr
        written = query(root, "SELECT * FROM people", *url, "--format", "parquet", "--out", "six.parquet", env=env)
        assert written.returncode == 0 and (root / "six.parquet").read_bytes()[:4] == b"PAR1"
        refused = query(root, "SELECT upper(name) FROM people", *url, "--format", "csv", "--out", "no.csv", env=env)
        assert refused.returncode == 1 and "UPPER is not answered" in refused.stderr
        assert not (root / "no.csv").exists() and "Traceback" not in refused.stderr
        wrong = query(root, "SELECT * FROM people", *url, "--key", "demo-clien")
        assert wrong.returncode == 1 and "The key is not good" in wrong.stderr
    down = query(root, "SELECT * FROM people", *url, env=env)
    assert down.returncode == 1 and "cannot be reached" in down.stderr and "Traceback" not in down.stderr
    assert query(root, "SELECT 1", *url, env={**os.environ, "SHOAL_GATEWAY_KEY": ""}).returncode == 2


def test_sigterm_ends_it_politely(root: Path) -> None:
    folder = root / "examples" / "gateway"
    with duckdb.connect(str(folder / "south.duckdb")) as db:  # some libraries complain at the end
        db.read_csv(str(folder / "south.csv")).create("staff")
    path = folder / "hussien15.yaml"
    path.write_text(path.read_text().replace("files: {staff: south.csv}", "duckdb: south.duckdb"))
    with running(root) as (service, port):
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=KEY, timeout=60) as http:
            answer = http.post("/query", json={"sql": "SELECT * FROM staff"}).json()
            assert len(answer["decisions"]) == 2
            service.send_signal(signal.SIGTERM)
        assert service.wait(20) == 143
        assert service.stdout is not None
        lines = [json.loads(line) for line in service.stdout.read().splitlines()]
        assert lines[-1]["event"] == "ended" and "failed" not in {line["event"] for line in lines}


def test_what_is_no_http_leaves_no_traceback(root: Path) -> None:
    with running(root) as (service, port):
        for bad in (
            b"\x16\x03\x01\x02\x00\x01",
            b"GET \x00 / HTTP/9\r\n\r\n",
            b"POST /query HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        ):
            with socket.create_connection(("127.0.0.1", port)) as raw:
                raw.sendall(bad)
                raw.shutdown(socket.SHUT_WR)
                raw.recv(1000)
        assert httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
        service.terminate()
        service.wait(20)
        assert service.stdout is not None
        text = service.stdout.read()
        assert "Traceback" not in text and [json.loads(line) for line in text.splitlines()]


def test_a_port_that_is_taken_and_a_wrong_configuration_are_told(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [*SHOAL, "gateway", "--config", "examples/gateway/hussien15.yaml", "--port", port]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cannot listen" in done.stderr and "Traceback" not in done.stderr
    (root / "bad.yaml").write_text("owners: {}\nledger: x\nserver: {body: 1}\n")
    done = subprocess.run(
        [*SHOAL, "gateway", "--config", "bad.yaml"], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "server.body" in done.stderr and "Traceback" not in done.stderr


def test_tls(root: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on this machine")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*made, "-keyout", "k.pem", "-out", "c.pem", *named], cwd=root, check=True, capture_output=True)
    with running(root, "--tls-cert", "c.pem", "--tls-key", "k.pem") as (_, port):
        url = ("--url", f"https://127.0.0.1:{port}", "--key", "demo-client")
        done = query(root, "SELECT * FROM people", *url, "--format", "csv", "--certificate", "c.pem")
        assert done.stdout == TABLE_6, done.stderr
        assert query(root, "SELECT * FROM people", *url).returncode == 1  # nobody vouches for it
        wrong = query(root, "SELECT * FROM people", *url, "--certificate", "k.pem")
        assert wrong.returncode == 1 and "certificate cannot be read" in wrong.stderr
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://127.0.0.1:{port}/health")


def test_a_key_is_made_once_and_only_its_hash_is_kept(root: Path) -> None:
    done = subprocess.run([*SHOAL, "gateway-key", "ward 7"], capture_output=True, text=True, check=True)
    key, line = done.stdout.splitlines()[0].rpartition(": ")[2], done.stdout.splitlines()[-1]
    assert key.startswith("ward 7.") and key not in line and '"ward 7": {key: \'$argon2id$' in line
    path = root / "examples" / "gateway" / "hussien15.yaml"
    path.write_text(path.read_text().replace("clients:\n", f"clients:\n{line}\n"))
    with running(root) as (_, port):
        done = query(
            root, "SELECT race FROM people", "--url", f"http://127.0.0.1:{port}", "--key", key, "--format", "csv"
        )
        assert done.returncode == 0 and done.stdout.startswith("race\n"), done.stderr


class Askers:
    """Clients that ask under numbers of their own, and note what they got."""

    def __init__(self, port: int, begin: int) -> None:
        self.url, self.got, self.sent = f"http://127.0.0.1:{port}", {}, {}  # type: ignore[var-annotated]
        self.threads = [threading.Thread(target=self._ask, args=(begin, index)) for index in range(4)]
        for thread in self.threads:
            thread.start()

    def _ask(self, begin: int, index: int) -> None:
        with httpx.Client(base_url=self.url, headers=KEY, timeout=10) as http:
            for count in range(10_000):
                number = f"{begin}-{index}-{count}"
                text = ("SELECT * FROM people", "SELECT salary, count(*) AS n FROM staff GROUP BY salary")[count % 2]
                self.sent[number] = text
                try:
                    response = http.post("/query", json={"sql": text, "request": number})
                except httpx.HTTPError:
                    return
                assert response.status_code == 200, response.text
                self.got[number] = response.json()


def test_killed_under_load_nothing_is_lost_and_nothing_is_twice(root: Path) -> None:
    folder = root / "examples" / "gateway"
    path = folder / "hussien15.yaml"
    path.write_text(path.read_text().replace("rate: 60", "rate: 1000000"))
    got: dict[str, Any] = {}
    sent: dict[str, str] = {}
    for begin, wait in enumerate((0.35, 0.5, 0.77)):
        with running(root) as (service, port):
            threading.Thread(target=service.stdout.read, daemon=True).start()  # type: ignore[union-attr]
            askers = Askers(port, begin)
            while len(askers.got) < 20:
                time.sleep(0.01)
            time.sleep(wait)
            os.kill(service.pid, signal.SIGKILL)
            for thread in askers.threads:
                thread.join()
        got |= askers.got
        sent |= askers.sent
        ledger = Ledger(folder / "hussien15.ledger.sqlite")
        ledger.verify()
        entered = {entry["request"] for entry in ledger.entries()}
        assert set(got) <= entered <= set(sent)
    assert len(sent) > len(got) >= 60
    with running(root) as (service, port):
        threading.Thread(target=service.stdout.read, daemon=True).start()  # type: ignore[union-attr]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=KEY, timeout=10) as http:
            for number in [*(set(sent) - set(got)), *list(got)[::7]]:
                response = http.post("/query", json={"sql": sent[number], "request": number})
                assert response.status_code == 200, response.text
                assert response.json()["records"] == got.get(number, response.json())["records"]
            for number in list(got)[-5:]:
                assert http.get(f"/releases/{number}").json() == got[number]
    entries = Ledger(folder / "hussien15.ledger.sqlite").entries()
    owners = {number: 1 + ("staff" in text) for number, text in sent.items()}
    assert len(entries) == sum(owners.values()) == len({(entry["request"], entry["owner"]) for entry in entries})
