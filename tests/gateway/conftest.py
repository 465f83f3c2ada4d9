"""A gateway over the example's tables, in a folder of its own."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway
from shoal.gateway.sources import DataSource

EXAMPLE = Path(__file__).parents[2] / "examples" / "gateway"


class Memory(DataSource):
    """Tables in memory that a test may change, or take down."""

    def __init__(self, **tables: pl.DataFrame) -> None:
        self.tables = tables
        self.changes = 0
        self.reads = 0

    def columns(self, table: str) -> tuple[str, ...]:
        return tuple(self.tables[table].columns)

    def version(self, table: str) -> str:
        return f"{table} {self.changes}"

    def read(self, table: str) -> pl.DataFrame:
        self.reads += 1
        return self.tables[table]

    def change(self, **tables: pl.DataFrame) -> None:
        self.tables |= tables
        self.changes += 1


def copy_example(folder: Path) -> Path:
    """Copy the examples, and return a configuration of all their owners: ``people``, and ``staff`` of two of them."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("*.sqlite*"))
    path, parts = folder / "hussien15.yaml", folder / "two_owners.yaml"
    (owners,) = re.findall(r"(?ms)^owners:\n(.*?)^clients:", parts.read_text(encoding="utf-8"))
    path.write_text(path.read_text(encoding="utf-8").replace("clients:\n", f"{owners}clients:\n"), encoding="utf-8")
    return path


@pytest.fixture
def example(tmp_path: Path) -> Gateway:
    return Gateway.read(copy_example(tmp_path / "example"))


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Gateway]:
    """Return a gateway over tables in memory: ``opened(source, policy)``, or more of the configuration."""

    def make(source: DataSource, policy: Any = None, *, recoding: str = "one", **owner: Any) -> Gateway:
        tables = owner.pop("tables", None) or {"people": {"policy": policy, "recoding": recoding}}
        said = {"database": {"duckdb": "not opened"}, "tables": tables, **owner}
        clients = {name: {} for name in ("ann", "bob", "cyd")}
        config = GatewayConfig(owners={"north": said}, clients=clients, ledger=str(tmp_path / "ledger.sqlite"))
        return Gateway(config, sources={"north": source})

    return make


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A PostgreSQL server of the machine's own, started for these tests."""
    initdb, pg_ctl = shutil.which("initdb"), shutil.which("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip("no PostgreSQL server on this machine")
    folder = Path(tempfile.mkdtemp(prefix="shoal-postgresql-"))
    who: dict[str, Any] = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        nobody = pwd.getpwnam("nobody")
        who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    try:
        subprocess.run(
            [initdb, "-D", data, "-U", "shoal", "-A", "trust", "-E", "UTF8"],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **who,
        )
        subprocess.run(
            [pg_ctl, "-D", data, "-o", options, "-l", folder / "log", "-w", "start"],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **who,
        )
        try:
            yield f"postgresql://shoal@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run(
                [pg_ctl, "-D", data, "-m", "immediate", "stop"],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **who,
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
