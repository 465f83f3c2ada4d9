"""The same table under several names: what is light in each is heavy together, and finds who is alone by it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import polars as pl

from benchmarks.attacks import Found
from benchmarks.attacks.victims import K, Memory, ask, open_gateway, people, promise
from shoal.errors import ShoalError
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway
from shoal.gateway.sources import DataSource

_COLUMNS = ("age", "native-country")


def run(draw: Random) -> Iterator[Found]:
    """Yield the persons who are fewer than k alike in columns that came as they are, one from each name."""
    table = people()
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=draw.randrange(2**31))
    part = table.head(table.height - 7)
    for how, copy in {"a copy": table, "a copy in another order": shuffled, "most of it": part}.items():
        yield _attack(f"{how}, as another table", Memory(people=table, staff=copy), table)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.duckdb"
        with duckdb.connect(str(path)) as db:
            db.from_arrow(table.to_arrow()).create("people")
            db.execute("CREATE VIEW staff AS SELECT * FROM people WHERE age IS NOT NULL")
        yield _attack_database("a view", {"duckdb": str(path)}, table)
        table.write_parquet(Path(folder) / "people.parquet")
        (Path(folder) / "staff.parquet").symlink_to("people.parquet")
        files = {name: str(Path(folder) / f"{name}.parquet") for name in ("people", "staff")}
        yield _attack_database("a link", {"files": files}, table)


def _attack(how: str, source: DataSource, table: pl.DataFrame) -> Found:
    with open_gateway(source, _offer()) as gateway:
        return _count(how, gateway, table)


def _attack_database(how: str, database: dict[str, Any], table: pl.DataFrame) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        owners = {"north": {"database": database, "tables": _offer()}}
        config = GatewayConfig(owners=owners, clients={"c0": {}}, ledger=f"{folder}/ledger.sqlite")
        try:
            return _count(how, Gateway(config), table)
        except ShoalError:
            return Found(how, 0, table.height, "refused at start")


def _offer() -> dict[str, dict[str, Any]]:
    return {name: {"policy": promise()} for name in ("people", "staff")}


def _count(how: str, gateway: Gateway, table: pl.DataFrame) -> Found:
    known = []
    for name, column in zip(("people", "staff"), _COLUMNS, strict=True):
        answer = ask(gateway, "c0", f'SELECT "{column}" FROM {name}')
        if answer is not None and answer.decisions[0].action == "release":
            known.append(column)
    if len(known) < len(_COLUMNS):
        return Found(how, 0, table.height)
    sizes = table.group_by(known).len()["len"]
    return Found(how, int(sizes.filter(sizes < K).sum()), table.height)
