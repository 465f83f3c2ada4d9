"""A studio as tests see it: its pages by an HTTP client, its tasks in this process."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import httpx
from starlette.testclient import TestClient

from shoal.studio.app import create_studio
from shoal.studio.children import TaskFailed, TaskProblem
from shoal.studio.guard import Doorkeeper
from shoal.studio.studio import Studio
from shoal.studio.tasks import TASKS

HOST = "127.0.0.1:8000"
OWN = {"origin": f"http://{HOST}", "x-fragment": "1"}
PATIENTS = """name,age,zip,illness
Ann,21,1000,flu
Bob,24,1010,cold
Cy,36,1100,flu
Di,38,1110,cold
Ed,52,2000,flu
Fi,55,2010,asthma
"""
POLICY = """identifiers: [name]
quasi_identifiers:
  age: {hierarchy: intervals, widths: [5, 10, 20]}
  zip: {hierarchy: mask, keep: [3, 2, 1]}
sensitive: [illness]
models:
- {name: k-anonymity, k: 2}
algorithm: {name: mondrian}
"""


class ChildHere:
    """Does tasks in this process: what a child does, without the second that a process takes to begin."""

    is_alive = True

    def run(self, task: str, arguments: Mapping[str, Any], progress: Callable[[str, int, int], None]) -> Any:
        try:
            return TASKS[task](progress=progress, **arguments)
        except Exception as error:
            raise TaskFailed(TaskProblem.of(error)) from None

    def interrupt(self) -> None: ...

    def kill(self) -> None: ...


class Served:
    """A studio behind its guard."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.studio = Studio(folder / "project", make_child=ChildHere, **options)  # type: ignore[arg-type]
        self.keeper = Doorkeeper(frozenset([HOST]))
        self.app = create_studio(self.studio, self.keeper)
        self.client = self.browse()
        self.client.get("/", params={"token": self.keeper.token})

    def browse(self) -> TestClient:
        """Return a browser that was not let in yet."""
        return TestClient(self.app, base_url=f"http://{HOST}", raise_server_exceptions=True)

    def open(self, folder: Path, table: str = PATIENTS, policy: str = POLICY) -> Served:
        """Take a table and a policy, and wait until they were looked at."""
        (folder / "table.csv").write_text(table)
        if policy:
            self.studio.take_text(policy)
        self.studio.take_data(folder / "table.csv")
        self.wait("/data/looking")
        return self

    def get(self, path: str, **query: str) -> httpx.Response:
        return self.client.get(path, params=query)

    def post(self, path: str, **fields: Any) -> httpx.Response:
        return self.client.post(path, data=fields, headers=OWN)

    def wait(self, path: str) -> str:
        """Return a part of a page when its job has ended, as text."""
        end = time.monotonic() + 300  # what is compiled the first time takes longer than anything else
        while time.monotonic() < end:
            part = self.client.get(path)
            assert part.status_code == 200, part.text
            if "data-poll" not in part.text:
                return read(part.text)
            time.sleep(0.02)
        raise AssertionError(f"{path} never ends: {part.text}")

    @property
    def text(self) -> str:
        return self.studio.project.text


def read(page: str) -> str:
    """Return what a person reads of a page."""
    return " ".join(unescape(re.sub("<[^>]+>", " ", page)).split())
