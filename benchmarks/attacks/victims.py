"""What attacks are run against: a part of Adult, whose records have names, behind a gateway of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from shoal import datasets
from shoal.errors import Refused, Unavailable
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Answer, Gateway
from shoal.gateway.sources import DataSource

K = 10
RECORDS = 4_000
WEIGHTS = {"age": 4, "education": 3, "marital-status": 3, "native-country": 3, "race": 2, "sex": 1}
SENSITIVE = ("occupation", "hours-per-week")


class Memory(DataSource):
    """Tables in memory that may change."""

    def __init__(self, **tables: pl.DataFrame) -> None:
        self.tables, self.changes = tables, 0

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table."""
        return tuple(self.tables[table].columns)

    def version(self, table: str) -> str:
        """Return a name that changes with the tables."""
        return f"{table} {self.changes}"

    def read(self, table: str) -> pl.DataFrame:
        """Return a table."""
        return self.tables[table]

    def change(self, **tables: pl.DataFrame) -> None:
        """Put other tables in their place."""
        self.tables |= tables
        self.changes += 1


@cache
def people(records: int = RECORDS) -> pl.DataFrame:
    """Return the first records, each with a name."""
    table = datasets.adult().head(records).select(*WEIGHTS, *SENSITIVE).drop_nulls()
    return table.with_columns(name=pl.format("p{}", pl.int_range(pl.len())))


def promise(**said: Any) -> dict[str, Any]:
    """Return a policy for them."""
    roles = {name: {"weight": weight} for name, weight in WEIGHTS.items()}
    return {
        "identifiers": ["name"],
        "quasi_identifiers": roles,
        "sensitive": list(SENSITIVE),
        "models": [
            {"name": "k-anonymity", "k": K},
            {"name": "distinct-l-diversity", "on": "occupation", "l": 3},
        ],
        "algorithm": "mondrian",
        "threshold": 4,
        **said,
    }


@contextmanager
def open_gateway(
    source: DataSource, tables: dict[str, dict[str, Any]], clients: int = 1, folder: str | None = None
) -> Iterator[Gateway]:
    """Open a gateway for clients ``c0``, ``c1``, … with a ledger that is gone at the end, or in a folder."""
    with tempfile.TemporaryDirectory() as own:
        said = {"database": {"duckdb": "not opened"}, "tables": tables}
        config = GatewayConfig(
            owners={"north": said},
            clients={f"c{number}": {} for number in range(clients)},
            ledger=str(Path(folder or own) / "ledger.sqlite"),
        )
        yield Gateway(config, sources={"north": source})


def ask(gateway: Gateway, client: str, text: str) -> Answer | None:
    """Return an answer; nothing where it is refused."""
    try:
        return gateway.ask(client, text)
    except (Refused, Unavailable):
        return None


def write_list(names: Any) -> str:
    """Write columns as SQL names them."""
    return ", ".join(f'"{name}"' for name in names)
