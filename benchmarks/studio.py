"""The studio: the first page, clicks on Adult, the preview of k against loss, a large upload, what a page weighs.

Clicks are timed at the server by an HTTP client on this machine, changes with the page that they lead to; the studio is
the process that ``shoal studio`` is.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

import shoal
from benchmarks.results import Result

NAME = "studio"
_STEPS = ("data", "columns", "promises", "explore", "risk", "release", "columns/hierarchy?column=education")
_ROUNDS = 8
_UPLOAD = 500 * 10**6


def run() -> Iterator[Result]:
    """Yield each measure of the issue."""
    with tempfile.TemporaryDirectory() as name, _serve(Path(name)) as (client, process):
        yield Result(NAME, "first page", _time(client, "GET", "/data"), target=0.5)
        _wait(client, "/data/looking")
        for step in _STEPS:  # as a person comes there the second time
            client.get(f"/{step}")
        yield _click(client)
        yield _weigh(client)
        yield from _preview(client)
        yield from _upload(client, process)


@contextmanager
def _serve(folder: Path) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """Begin a studio on Adult, and let a client in."""
    shoal.datasets.adult().write_csv(folder / "adult.csv")
    shoal.datasets.policy("adult").write(folder / "policy.yaml")
    command = [
        sys.executable,
        "-c",
        "from shoal.cli import run; run()",
        "studio",
        "adult.csv",
        "--policy",
        "policy.yaml",
    ]
    process = subprocess.Popen([*command, "--no-open"], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"(http://\S+?)/\?token=(\S+)", process.stdout.readline())
    assert found is not None
    headers = {"origin": found[1]}
    try:
        with httpx.Client(base_url=found[1], follow_redirects=True, headers=headers, timeout=600) as client:
            client.get("/", params={"token": found[2]})
            yield client, process
    finally:
        process.terminate()
        process.wait(30)


def _time(client: httpx.Client, method: str, path: str, **fields: str) -> float:
    start = time.perf_counter()
    client.request(method, path, data=fields or None).raise_for_status()
    return time.perf_counter() - start


def _wait(client: httpx.Client, path: str, until: str = "") -> float:
    """Return the seconds until a part of a page is there, or something on it."""
    start = time.perf_counter()
    while True:
        text = client.get(path).raise_for_status().text
        if (until and until in text) or "data-poll" not in text:
            return time.perf_counter() - start
        time.sleep(0.02)


def _click(client: httpx.Client) -> Result:
    """Go through the steps and change roles and promises again and again."""
    seconds = []
    for turn in range(_ROUNDS):
        seconds += [_time(client, "GET", f"/{step}") for step in _STEPS]
        role = "sensitive" if turn % 2 else "quasi_identifiers"
        seconds.append(_time(client, "POST", "/columns/role", column="race", role=role))
        seconds.append(_time(client, "POST", "/promises/model", name="k-anonymity", number="0", k=str(5 + turn)))
        seconds.append(_time(client, "POST", "/policy/undo", step="promises"))
    p95 = sorted(seconds)[int(0.95 * len(seconds))]
    note = f"{len(seconds)} clicks on Adult, median {sorted(seconds)[len(seconds) // 2]:.3f} s"
    return Result(NAME, "a click, 95 of 100", p95, target=0.3, note=note)


def _weigh(client: httpx.Client) -> Result:
    files = sum(len(client.get(f"/static/studio.{ending}").content) for ending in ("js", "css"))
    weights = {step: len(client.get(f"/{step}").content) + files for step in _STEPS}
    heaviest = max(weights, key=lambda step: weights[step])
    return Result(NAME, "the heaviest page", weights[heaviest] / 1000, unit="kB", target=200, note=heaviest)


def _preview(client: httpx.Client) -> Iterator[Result]:
    """Time the preview of eight k, everything compiled: once for another policy first."""
    for algorithm in ("mondrian", "shoal"):
        client.post("/promises/search", data={"name": algorithm})
        for share in ("1", "3"):
            client.post("/promises/rest", data={"max_suppressed": share})
            seconds = _wait(client, "/explore/preview", until="<figure")
            _wait(client, "/explore/preview")  # what the policy's own search loses at its k follows
        yield Result(NAME, f"preview of 8 k, {algorithm}", seconds, target=3.0)


def _upload(client: httpx.Client, process: subprocess.Popen[str]) -> Iterator[Result]:
    """Upload so much; nobody looks at it then: what counts is how it is taken."""
    before = _peak(process)

    def pieces() -> Iterator[bytes]:
        for _ in range(_UPLOAD // 10**6):
            yield b"x" * 10**6

    start = time.perf_counter()
    headers = {"x-file-name": "large.csv"}
    client.post("/data/upload", content=pieces(), headers=headers, follow_redirects=False)
    note = f"in {time.perf_counter() - start:.1f} s"
    peak = _peak(process)
    yield Result(NAME, "memory that a 500 MB upload adds", peak - before, unit="MB", target=150, note=note)
    yield Result(NAME, "memory of the process at most", peak, unit="MB", target=150, note="with all that it imports")


def _peak(process: subprocess.Popen[str]) -> float:
    """Return the most memory that a process needed, in MB."""
    status = Path(f"/proc/{process.pid}/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1000 if found else resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
