"""Gateway: one request to all owners that hold the table; each decides on its own, their answers are united."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import Fault, Refused, ShoalError, Unavailable, nearest
from shoal.gateway.config import GatewayConfig
from shoal.gateway.deciding import Decided, Outcome, decide
from shoal.gateway.language import Join, Schema, parse
from shoal.gateway.ledger import Entry, Ledger
from shoal.gateway.owned_tables import Holding, holdings_of
from shoal.gateway.request import Request
from shoal.gateway.sources import DataSource
from shoal.gateway.uniting import Layout, united

_LONGEST = 64
"""Characters of a request's number."""
_OWNERS = 8
"""Owners that are asked at once, where several hold a table."""
_UNDERSTOOD = 2_000
"""Texts whose meaning is remembered."""
_SHORT = 1_000
"""Characters of a text whose meaning is remembered: a long list of values takes more place than it saves time."""
_TRIES = 20
"""How often a request is decided again because the client got another answer meanwhile."""


@dataclass(frozen=True)
class Part:
    """What one owner gave."""

    table: pl.DataFrame
    digest: str
    """Its hash in the ledger."""


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
    parts: Mapping[str, Part] = field(default_factory=dict, repr=False)
    """Owner → what it gave, as the ledger has it."""
    layout: Layout = field(default_factory=Layout, repr=False)
    """How the table was put together from the parts."""

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
        self.ledger = Ledger(config.ledger, config.ledger_key)
        given = sources or {}
        held = [one for name, owner in config.owners.items() for one in holdings_of(name, owner, given.get(name))]
        self._pool = ThreadPoolExecutor(_OWNERS, thread_name_prefix="shoal-owner")
        self.failed: Callable[[Exception], None] = lambda error: None
        """Is told of errors inside, which clients do not see."""
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
        found = {}
        for name, holders in self._holdings.items():
            if not holders[0].is_join:
                with suppress(Unavailable):
                    found[name] = self._columns(holders)
        return found

    def joins(self) -> tuple[Join, ...]:
        """Return the joins that can be asked for."""
        return self._schema("").joins

    def holders(self) -> dict[str, list[str]]:
        """Return the owners of each table and join."""
        return {name: [holder.owner for holder in holders] for name, holders in self._holdings.items()}

    def reachable(self) -> dict[str, bool]:
        """Return for each owner whether its tables can be reached; nothing of them is read."""
        found: dict[str, bool] = {}
        for holding in (one for holders in self._holdings.values() for one in holders):
            found[holding.owner] = found.get(holding.owner, True) and holding.reachable()
        return found

    def prepare(self) -> None:
        """Read and anonymize every table with one recoding, so that the first request need not wait for it."""
        for holding in (one for holders in self._holdings.values() for one in holders):
            try:
                if holding.said.recoding == "one":
                    holding.whole(holding.now())
            except (Refused, Unavailable):  # told when it is asked for
                continue
            except Exception as error:
                self.failed(error)

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
        Unavailable
            No owner can be reached, or could enter its answer in the ledger.
        """
        known = self.config.clients.get(client)
        if known is None or "client" not in known.roles:
            raise Refused("this client may not ask", where="client")
        if request is not None and not 0 < len(request) <= _LONGEST:
            raise Refused("the number of the request is too long", where="request", got=f"{len(request)} characters")
        asked = self._parsed(text)
        column = self.config.owner_column if owner_column else None
        if column in [item.name for item in asked.items]:
            hint = "rename it: AS …"
            raise Refused("the answer has a column of the owner column's name", where=str(column), hint=hint)
        number = request or secrets.token_hex(16)
        outcomes, refusals = self._ask_owners(asked, client, number)
        decisions = tuple(outcome.decided for outcome, _ in outcomes.values())
        parts = {owner: Part(outcome.found.table, digest) for owner, (outcome, digest) in outcomes.items()}
        layout = Layout.of(asked, column)
        table, notes = united({owner: part.table for owner, part in parts.items()}, layout, known.rows)
        return Answer(number, table, decisions, refusals, notes, parts, layout)

    def _parsed(self, text: str) -> Request:
        schema = self._schema(text)
        if len(text) > _SHORT:
            return parse(text, schema)
        return _understood(text, tuple(schema.tables.items()), schema.joins)

    def _schema(self, text: str) -> Schema:
        """Return what can be asked for; tables whose name is not in the request need not be read."""
        tables: dict[str, tuple[str, ...]] = {}
        joins: list[Join] = []
        for name, holders in self._holdings.items():
            if holders[0].is_join:
                said: Any = holders[0].said
                joins.append(Join(name, said.left, said.right))
            elif name.lower() in text.lower():
                tables[name] = self._columns(holders)
            else:
                tables[name] = ()
        return Schema(tables, tuple(joins))

    def _columns(self, holders: list[Holding]) -> tuple[str, ...]:
        """Return the columns of a table, from the first owner that can be reached."""
        for holder in holders:
            try:
                return tuple(holder.now().frame.columns)
            except Unavailable:
                continue
            except Exception as error:  # a column that cannot be published, say
                self.failed(error)
        raise Unavailable("no owner of this table can be reached", where=holders[0].name)

    def _ask_owners(
        self, asked: Request, client: str, number: str
    ) -> tuple[dict[str, tuple[Outcome, str]], dict[str, tuple[Fault, ...]]]:
        holders = self._holdings.get(asked.table, [])
        if not holders:
            raise Refused("no owner holds this table", where="from", hint=nearest(asked.table, self._holdings))
        at_once = self._pool.map if len(holders) > 1 else map
        tried = list(at_once(lambda holder: self._tried(holder, asked, client, number), holders))
        answers = {holder.owner: found for holder, found in zip(holders, tried, strict=True)}
        outcomes = {owner: found for owner, found in answers.items() if not isinstance(found, ShoalError)}
        errors = {owner: found for owner, found in answers.items() if isinstance(found, ShoalError)}
        if not outcomes:
            kind = Refused if any(isinstance(error, Refused) for error in errors.values()) else Unavailable
            raise kind([fault for error in errors.values() for fault in error.faults])
        return outcomes, {owner: error.faults for owner, error in errors.items()}

    def _tried(self, holder: Holding, asked: Request, client: str, number: str) -> tuple[Outcome, str] | ShoalError:
        """Ask one owner; whatever goes wrong must not spoil the other owners' answers."""
        try:
            return self._ask_one(holder, asked, client, number)
        except (Refused, Unavailable) as error:
            return error
        except Exception as error:  # its text may hold data
            self.failed(error)
            return Unavailable("the owner could not answer", where=asked.table)

    def _ask_one(self, holder: Holding, asked: Request, client: str, number: str) -> tuple[Outcome, str]:
        """Let one owner decide, and enter its answer before it leaves; return it with its hash."""
        for turn in range(_TRIES):
            earlier = self.ledger.earlier(client, holder.family, remembered=turn == 0)
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
                digest=self.ledger.digest(outcome.found.content),
                groups=outcome.groups,
                decision=outcome.decided.to_dict(),
            )
            if self.ledger.append(entry, earlier.newest):
                return outcome, entry.digest
        raise Refused("too many requests of this client at once", where=holder.name)


@lru_cache(_UNDERSTOOD)
def _understood(text: str, tables: tuple[tuple[str, tuple[str, ...]], ...], joins: tuple[Join, ...]) -> Request:
    """Return the meaning of a text; reading SQL costs more than answering what was answered before."""
    return parse(text, Schema(dict(tables), joins))
