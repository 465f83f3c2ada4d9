"""The gateway under load: many clients at once over HTTP, mixed requests, on Adult in a DuckDB file.

Twice: each client asks again as soon as it has its answer, which no rate would let it do; and each keeps to the 60
requests in a minute that it may send by default. ``BENCH_SECONDS`` (60, each time) and ``BENCH_CLIENTS`` (200) change
it. The load is made by this process, the service is another: both share the machine's cores.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.results import ROOT, Result
from shoal import datasets
from shoal.gateway.keys import generate_key, hash_key

NAME = "gateway"
_SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
_CLIENTS = int(os.environ.get("BENCH_CLIENTS", "200"))
_PACES = {"at once": 0.0, "60 a minute": 1.0}
"""How soon a client asks again: the mean seconds between an answer and the next request."""
_WARM = 0.25
"""The part of the time that is not measured: caches fill, keys are checked for the first time."""
_WEIGHTS = {"age": 4, "education": 3, "marital-status": 3, "native-country": 3, "workclass": 2, "race": 2, "sex": 1}
_THRESHOLD = 3
_BAR = 0.5
_SAYS = {
    "as it is": b'"action":"release"',
    "select": b'"action":"anonymize"',
    "1,000 rows": b'"action":"anonymize"',
    "aggregate": b'"action":"anonymize"',
    "refused": b'"Refused"',
}
"""What the answer to each kind of request has to say."""
_GROUPS = ("education", "age", "race", "sex", "workclass")


@dataclass
class Seen:
    """What all clients saw once it was warm."""

    seconds: list[float] = field(default_factory=list)
    kinds: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    size: int = 0
    cpu: float = 0.0
    """CPU seconds of the service."""
    front: float = 0.0
    """Those of the process that listens."""
    load: float = 0.0
    """Those of the load."""
    memory: tuple[float, float] = (0.0, 0.0)
    """MB of the service when it was warm, and at the end."""


def run() -> Iterator[Result]:
    """Yield requests in a second, latencies, errors and memory."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        keys = _configured(folder)
        command = [sys.executable, "-m", "shoal", "gateway", "--config", str(folder / "gateway.yaml"), "--port", "0"]
        with (folder / "log").open("w") as log:
            service = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT)
        try:
            port = _port(folder / "log", service)
            for name, pause in _PACES.items():
                yield from _results(name, asyncio.run(_load(port, keys, service.pid, pause)))
        finally:
            service.terminate()
            service.wait(30)


def _results(pace: str, seen: Seen) -> Iterator[Result]:
    took = _SECONDS * (1 - _WARM)
    cuts = statistics.quantiles(seen.seconds, n=100)
    mixed = ", ".join(f"{status}: {count:,}" for status, count in sorted(seen.statuses.items()))
    by_kind = "; ".join(
        f"{kind} {statistics.median(one) * 1000:.0f} / {statistics.quantiles(one, n=100)[98] * 1000:.0f} ms"
        for kind, one in sorted(seen.kinds.items())
    )
    each = [f"{seconds / len(seen.seconds) * 1000:.2f}" for seconds in (seen.cpu, seen.front, seen.load)]
    cost = f"{each[0]} ms of CPU each ({each[1]} to listen), {seen.cpu / took:.0%} of a core; the load {each[2]} ms"
    note = f"{_CLIENTS} clients; {mixed}; {seen.size / took / 1e6:.1f} MB/s; the service: {cost}"
    note += f"\n    p50 / p99 by kind: {by_kind}"
    yield Result(NAME, f"{pace}: requests in a second", len(seen.seconds) / took, "/s", more_is_better=True, note=note)
    yield Result(NAME, f"{pace}: p50", cuts[49])
    yield Result(NAME, f"{pace}: p99, once warm", cuts[98], target=_BAR)
    wrong = sum(seen.errors.values())
    yield Result(NAME, f"{pace}: errors that are no refusal", wrong, "", target=1, note=", ".join(seen.errors))
    before, after = seen.memory
    told = f"{before:.0f} MB when warm, {after:.0f} MB at the end"
    yield Result(NAME, f"{pace}: memory at the end / when warm", after / before, "", target=1.15, note=told)


def _configured(folder: Path) -> list[str]:
    """Write a database, a policy and a configuration; return the clients' keys."""
    import duckdb

    adult = datasets.adult().to_arrow()  # noqa: F841 - DuckDB finds it by its name
    with duckdb.connect(str(folder / "adult.duckdb")) as db:
        db.execute("CREATE TABLE adult AS SELECT * FROM adult")
    policy = datasets.policy("adult")
    weighed = {name: said.replace(weight=_WEIGHTS.get(name, 2)) for name, said in policy.quasi_identifiers.items()}
    policy.replace(quasi_identifiers=weighed, threshold=_THRESHOLD).write(folder / "adult.yaml")
    keys = [generate_key(f"c{number}") for number in range(_CLIENTS)]
    clients = {key.partition(".")[0]: {"key": hash_key(key), "rate": 1_000_000, "rows": 1_000} for key in keys}
    owner = {"database": {"duckdb": "adult.duckdb"}, "tables": {"adult": {"policy": "adult.yaml"}}}
    config: dict[str, Any] = {"owners": {"census": owner}, "clients": clients, "ledger": "ledger.sqlite"}
    (folder / "gateway.yaml").write_text(json.dumps(config))
    return keys


def _port(log: Path, service: subprocess.Popen[bytes]) -> int:
    for _ in range(600):
        for line in log.read_text().splitlines():
            if '"started"' in line:
                return int(json.loads(line)["port"])
        if service.poll() is not None:
            raise RuntimeError(f"the service ended: {log.read_text()[-2000:]}")
        time.sleep(0.1)
    raise RuntimeError("the service did not start")


def _asked(chance: random.Random) -> tuple[str, str]:
    """Return the kind and the text of a request."""
    kind = chance.choices(["as it is", "select", "1,000 rows", "aggregate", "refused"], [30, 30, 5, 25, 10])[0]
    age, limit = chance.randrange(20, 70, 2), chance.choice([10, 20, 50, 100])
    if kind == "as it is":  # under the threshold, and the same columns every time
        return kind, f"SELECT sex, race FROM adult WHERE race <> 'Other' ORDER BY race LIMIT {limit}"
    if kind == "select":
        return kind, f"SELECT age, education, race, occupation FROM adult WHERE age >= {age} LIMIT {limit}"
    if kind == "1,000 rows":
        return kind, f"SELECT * FROM adult WHERE age < {age + 20} LIMIT 1000"
    if kind == "aggregate":
        group = chance.choice(_GROUPS)
        return kind, f"SELECT {group}, count(*) AS n, avg(age) AS mean FROM adult WHERE age > {age} GROUP BY {group}"
    return kind, chance.choice(
        ["SELECT upper(age) FROM adult", "SELECT age FROM adult UNION SELECT age FROM adult", "DROP TABLE adult"]
    )


async def _load(port: int, keys: list[str], service: int, pause: float) -> Seen:
    seen, began = Seen(), time.perf_counter()
    warm, ends = began + _SECONDS * _WARM, began + _SECONDS
    clients = [asyncio.create_task(_client(port, key, n, seen, warm, ends, pause)) for n, key in enumerate(keys)]
    await asyncio.sleep(warm - time.perf_counter())
    before, cpu, load = _memory(service), _cpu(service), time.process_time()
    await asyncio.gather(*clients)
    seen.memory = before, _memory(service)
    after = _cpu(service)
    seen.cpu, seen.front, seen.load = sum(after) - sum(cpu), after[0] - cpu[0], time.process_time() - load
    return seen


async def _client(port: int, key: str, number: int, seen: Seen, warm: float, ends: float, pause: float) -> None:
    """Ask again and again over one connection."""
    chance = random.Random(number)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    await asyncio.sleep(chance.random() * pause)
    while time.perf_counter() < ends:
        kind, text = _asked(chance)
        began = time.perf_counter()
        try:
            status, body = await _exchange(reader, writer, key, text)
        except (OSError, asyncio.IncompleteReadError) as error:
            seen.errors[type(error).__name__] += 1
            return
        now = time.perf_counter()
        if status != (403 if kind == "refused" else 200) or _SAYS[kind] not in body:
            seen.errors[f"{kind}: {status}"] += 1
        if began >= warm:
            seen.seconds.append(now - began)
            seen.kinds.setdefault(kind, []).append(now - began)
            seen.statuses[status] += 1
            seen.size += len(body)
        await asyncio.sleep(pause * 2 * chance.random())
    writer.close()


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str, text: str
) -> tuple[int, bytes]:
    """Send one request and read its answer; by hand, for the load must not cost more than the service."""
    body = json.dumps({"sql": text}).encode()
    head = f"POST /query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    told = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(told.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return int(told[9:12]), await reader.readexactly(length)


def _list_processes(service: int) -> list[int]:
    """Return a process and those that any of its threads began."""
    begun = " ".join(one.read_text() for one in Path(f"/proc/{service}/task").glob("*/children"))
    return [service, *sorted(map(int, begun.split()))]


def _memory(service: int) -> float:
    """Return the memory of all processes of the service in MB."""
    pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in _list_processes(service))
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _cpu(service: int) -> list[float]:
    """Return the CPU seconds that each process of the service took so far, that which listens first."""
    taken = [
        Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11:13] for one in _list_processes(service)
    ]
    return [sum(map(int, one)) / os.sysconf("SC_CLK_TCK") for one in taken]
