"""Gateway: one request to all owners that hold the table; each decides on its own, their answers are united."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import Fault, Refused, Unavailable, nearest
from shoal.gateway.answering import in_order
from shoal.gateway.config import Client, GatewayConfig
from shoal.gateway.deciding import Decided, Outcome, decide
from shoal.gateway.holdings import Holding, holdings_of
from shoal.gateway.language import Join, Schema, parse
from shoal.gateway.ledger import Entry, Ledger
from shoal.gateway.request import Request
from shoal.gateway.sources import DataSource

_LONGEST = 64
"""Characters of a request's number."""
_TRIES = 20
"""How often a request is decided again because the client got another answer meanwhile."""


@dataclass(frozen=True)
class Answer:
    """What a client gets."""

    request: str
    """The number under which the ledger has it."""
    table: pl.DataFrame
    decisions: tuple[Decided, ...]
    """One for each owner that answered."""
    refusals: dict[str, tuple[Fault, ...]]
    """Owner → why it did not answer."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the table as plain data."""
        return {
            "request": self.request,
            "decisions": [decided.to_dict() for decided in self.decisions],
            "refusals": {owner: [fault.to_dict() for fault in faults] for owner, faults in self.refusals.items()},
            "notes": list(self.notes),
        }


class Gateway:
    """Answers requests of clients from the tables of owners.

    Examples
    --------
    >>> import tempfile
    >>> from shoal import datasets
    >>> folder = Path(tempfile.mkdtemp())
    >>> datasets.employees().write_csv(folder / "people.csv")
    >>> north = {"database": {"files": {"people": str(folder / "people.csv")}},
    ...          "tables": {"people": {"policy": datasets.policy("employees")}}}
    >>> config = GatewayConfig(owners={"north": north}, clients={"ann": {}}, ledger=str(folder / "ledger.sqlite"))
    >>> Gateway(config).ask("ann", "SELECT age, race, count(*) AS n FROM people GROUP BY age, race").table.rows()
    [('20 - 30', 'Others', 2), ('30 - 40', 'Colored', 2), ('40 - 50', 'Others', 2)]
    """

    def __init__(self, config: GatewayConfig, *, sources: Mapping[str, DataSource] | None = None) -> None:
        self.config = config
        self.ledger = Ledger(config.ledger)
        given = sources or {}
        held = [one for name, owner in config.owners.items() for one in holdings_of(name, owner, given.get(name))]
        self._holdings: dict[str, list[Holding]] = {}
        for holding in held:
            holding.seal = self.ledger.sealed
            self._holdings.setdefault(holding.name, []).append(holding)

    @classmethod
    def read(cls, path: str | Path) -> Gateway:
        """Return the gateway of a configuration file."""
        return cls(GatewayConfig.read(path))

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return the tables that can be asked for now, with their columns."""
        return dict(self._schema().tables)

    def ask(self, client: str, text: str, *, owner_column: bool = False, request: str | None = None) -> Answer:
        """Answer a request in SQL.

        Parameters
        ----------
        client
            Who asks; whoever calls has checked that it is them.
        owner_column
            Whether the answer names the owner of each record.
        request
            The request's number; the same number again gives the same answer without a second entry in the ledger.

        Raises
        ------
        Refused
            It is not answered by any owner, with the reason of each.
        """
        known = self.config.clients.get(client)
        if known is None or "client" not in known.roles:
            raise Refused("this client may not ask", where="client")
        if request is not None and not 0 < len(request) <= _LONGEST:
            raise Refused("the number of the request is too long", where="request", got=f"{len(request)} characters")
        asked = parse(text, self._schema(text))
        number = request or secrets.token_hex(16)
        outcomes, refusals = self._ask_owners(asked, client, number)
        if not outcomes:
            raise Refused([fault for faults in refusals.values() for fault in faults])
        table, notes = self._united(asked, outcomes, known, owner_column)
        return Answer(number, table, tuple(one.decided for one in outcomes.values()), refusals, notes)

    def _schema(self, text: str | None = None) -> Schema:
        """Return what can be asked for; tables whose name is not in the request need not be read."""
        tables: dict[str, tuple[str, ...]] = {}
        joins: list[Join] = []
        for name, holders in self._holdings.items():
            if holders[0].is_join:
                said: Any = holders[0].said
                joins.append(Join(name, said.left, said.right))
            elif text is None or name.lower() in text.lower():
                tables[name] = self._columns(holders)
            else:
                tables[name] = ()
        return Schema(tables, tuple(joins))

    @staticmethod
    def _columns(holders: list[Holding]) -> tuple[str, ...]:
        """Return the columns of a table, from the first owner that can be reached."""
        for holder in holders:
            try:
                return tuple(holder.now().frame.columns)
            except Exception:  # told when this owner is asked
                continue
        raise Unavailable("no owner of this table can be reached", where=holders[0].name)

    def _ask_owners(
        self, asked: Request, client: str, number: str
    ) -> tuple[dict[str, Outcome], dict[str, tuple[Fault, ...]]]:
        holders = self._holdings.get(asked.table, [])
        if not holders:
            raise Refused("no owner holds this table", where="from", hint=nearest(asked.table, self._holdings))
        with ThreadPoolExecutor(max_workers=min(len(holders), 8)) as pool:
            jobs = {holder.owner: pool.submit(self._ask_one, holder, asked, client, number) for holder in holders}
        outcomes, refusals = {}, {}
        for owner, job in jobs.items():
            try:
                outcomes[owner] = job.result()
            except (Refused, Unavailable) as error:
                refusals[owner] = error.faults
            except Exception:  # whatever went wrong, its text may hold data, and the other owners' answers stand
                refusals[owner] = (Fault("the owner could not answer", where=asked.table),)
        return outcomes, refusals

    def _ask_one(self, holder: Holding, asked: Request, client: str, number: str) -> Outcome:
        """Let one owner decide, and enter its answer before it leaves."""
        for _ in range(_TRIES):
            earlier = self.ledger.earlier(client, holder.family)
            outcome = decide(holder, asked, earlier)
            entry = Entry(
                request=number,
                asked=self.ledger.sealed(repr(asked)),
                client=client,
                owner=holder.owner,
                family=holder.family,
                table=holder.name,
                version=outcome.decided.version,
                action=outcome.decided.action,
                weights=outcome.weights,
                digest=self.ledger.digest(_bytes(outcome.found.table)),
                groups=outcome.groups,
                decision=outcome.decided.to_dict(),
            )
            if self.ledger.append(entry, earlier.count):
                return outcome
        raise Refused("too many requests of this client at once", where=holder.name)

    def _united(
        self, asked: Request, outcomes: Mapping[str, Outcome], client: Client, owner_column: bool
    ) -> tuple[pl.DataFrame, tuple[str, ...]]:
        """Return the records of all owners, in one order, cut to what the client may get."""
        tables = [
            _owned(one.found.table, owner, owner_column and self.config.owner_column) for owner, one in outcomes.items()
        ]
        notes = []
        table = tables[0]
        if len(tables) > 1:
            if asked.aggregates:
                notes.append("figures are those of each owner; they are not added up")
            table = in_order(_stacked(tables), asked.order_by, asked.limit, 0)
        if table.height > client.rows:
            notes.append(f"cut to the {client.rows:,} records that this client may get at once")
            table = table[: client.rows]
        return table, tuple(notes)


def _owned(table: pl.DataFrame, owner: str, column: str | bool) -> pl.DataFrame:
    if not column:
        return table
    if column in table.columns:
        raise Refused("the answer has a column of the owner column's name", where=str(column), hint="rename it: AS …")
    return table.with_columns(pl.Series(str(column), [owner] * table.height, dtype=pl.String))


def _bytes(table: pl.DataFrame) -> bytes:
    """Return what an answer holds, whatever the order of its records."""
    columns = [column.alias(f"c{place}") for place, column in enumerate(table)]
    ordered = pl.DataFrame(columns).sort([column.name for column in columns], nulls_last=False)
    return json.dumps(table.columns).encode() + ordered.write_csv(null_value="\\N", quote_style="non_numeric").encode()


def _stacked(tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Return tables under each other; where one shows values and another labels, both are texts."""
    columns = []
    for name in tables[0].columns:
        parts = [table[name] for table in tables]
        if len({part.dtype for part in parts}) > 1:
            parts = [part.cast(pl.String) for part in parts]
        columns.append(pl.concat([part.alias("part") for part in parts]).alias(name))
    return pl.DataFrame(columns)
