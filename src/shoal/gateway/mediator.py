"""Gateway: one request to all owners that hold the table; each decides on its own, their answers are united."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import Fault, Refused, ShoalError, Unavailable, nearest
from shoal.gateway.client_history import ClientHistory
from shoal.gateway.config import GatewayConfig
from shoal.gateway.count_decisions import decide_counts
from shoal.gateway.decisions import Decision, OwnerAnswer, decide
from shoal.gateway.families import open_owned_tables
from shoal.gateway.language import Join, Schema, parse_sql
from shoal.gateway.ledger import Ledger, LedgerEntry
from shoal.gateway.owned_tables import OwnedTable
from shoal.gateway.request import Request
from shoal.gateway.sources import DataSource
from shoal.gateway.union import UnionLayout, unite_answers

_MAX_NUMBER = 64
"""Characters of a request's number."""
_OWNERS = 8
"""Owners that are asked at once, where several hold a table."""
_PARSED = 2_000
"""Texts that need not be parsed again."""
_SHORT = 1_000
"""Characters of such a text: a long list of values takes more room than it saves time."""
_TRIES = 20
"""How often a request is decided again because the client got another answer meanwhile."""


@dataclass(frozen=True)
class AnswerPart:
    """What one owner gave."""

    table: pl.DataFrame
    digest: str
    """Its hash in the ledger."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a client gets."""

    request: str
    """The number under which the ledger has it."""
    table: pl.DataFrame
    decisions: tuple[Decision, ...]
    """One for each owner that answered."""
    refusals: dict[str, tuple[Fault, ...]]
    """Owner → why it did not answer."""
    notes: tuple[str, ...] = ()
    parts: Mapping[str, AnswerPart] = field(default_factory=dict, repr=False)
    """Owner → what it gave, as the ledger has it."""
    layout: UnionLayout = field(default_factory=UnionLayout, repr=False)
    """How the table was put together from the parts."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the table as plain data."""
        return {
            "request": self.request,
            "decisions": [decision.to_dict() for decision in self.decisions],
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
        self.ledger = Ledger(config.ledger, config.ledger_key, config.ledger_head)
        self._pool = ThreadPoolExecutor(_OWNERS, thread_name_prefix="shoal-owner")
        self.on_error: Callable[[Exception], None] = lambda error: None
        """Is called with errors inside, which clients do not see."""
        self._tables: dict[str, list[OwnedTable]] = {}
        for table in open_owned_tables(config, self.ledger, sources or {}):
            self._tables.setdefault(table.name, []).append(table)

    @classmethod
    def read(cls, path: str | Path) -> Gateway:
        """Return the gateway of a configuration file."""
        return cls(GatewayConfig.read(path))

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return the tables that can be asked for now, with their columns."""
        columns = {}
        for name, tables in self._tables.items():
            if not tables[0].is_join:
                with suppress(Unavailable, Refused):
                    columns[name] = self._read_columns(tables)
        return columns

    def joins(self) -> tuple[Join, ...]:
        """Return the joins that can be asked for."""
        return self._read_schema("").joins

    def list_owners(self) -> dict[str, list[str]]:
        """Return the owners of each table and join."""
        return {name: [table.owner for table in tables] for name, tables in self._tables.items()}

    def list_tables_of(self, owner: str) -> list[OwnedTable]:
        """Return the tables of an owner, without joins."""
        every = chain.from_iterable(self._tables.values())
        return [table for table in every if table.owner == owner and not table.is_join]

    def check_owners(self) -> dict[str, bool]:
        """Return for each owner whether its tables can be reached; nothing of them is read."""
        reachable: dict[str, bool] = {}
        for table in chain.from_iterable(self._tables.values()):
            reachable[table.owner] = reachable.get(table.owner, True) and table.is_reachable()
        return reachable

    def prepare(self) -> None:
        """Read and anonymize every table: the first request would wait for it, and tell that it is the first."""
        for table in chain.from_iterable(self._tables.values()):
            try:
                version = table.read_current()
                if table.policy.answers is not None:
                    version.counts.prepare()
                    continue
                version.raw.prepare()
                table.release(version, client="")
            except (Refused, Unavailable):  # told when it is asked for
                continue
            except Exception as error:
                self.on_error(error)

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
        if request is not None and not 0 < len(request) <= _MAX_NUMBER:
            raise Refused("the number of the request is too long", where="request", got=f"{len(request)} characters")
        parsed = self._parse(client, text)
        column = self.config.owner_column if owner_column else None
        if column in [item.name for item in parsed.items]:
            hint = "rename it: AS …"
            raise Refused("the answer has a column of the owner column's name", where=str(column), hint=hint)
        number = request or secrets.token_hex(16)
        answers, refusals = self._ask_owners(parsed, client, number)
        parts = {owner: AnswerPart(answer.evaluation.table, digest) for owner, (answer, digest) in answers.items()}
        layout = UnionLayout.of(parsed, column)
        table, notes = unite_answers({owner: part.table for owner, part in parts.items()}, layout, known.rows)
        return Answer(
            request=number,
            table=table,
            decisions=tuple(answer.decision for answer, _ in answers.values()),
            refusals=refusals,
            notes=notes,
            parts=parts,
            layout=layout,
        )

    def _parse(self, client: str, text: str) -> Request:
        schema = self._read_schema(text)
        if len(text) > _SHORT:
            return parse_sql(text, schema)
        return _parse_once(client, text, tuple(schema.tables.items()), schema.joins)

    def _read_schema(self, text: str) -> Schema:
        """Return what can be asked for; tables whose name is not in the request need not be read."""
        columns: dict[str, tuple[str, ...]] = {}
        joins: list[Join] = []
        for name, tables in self._tables.items():
            if tables[0].is_join:
                config: Any = tables[0].config
                joins.append(Join(name, config.left, config.right))
            elif name.lower() in text.lower():
                columns[name] = self._read_columns(tables)
            else:
                columns[name] = ()
        return Schema(columns, tuple(joins))

    def _read_columns(self, tables: list[OwnedTable]) -> tuple[str, ...]:
        """Return the columns of a table, from the first owner that can be reached."""
        refused: Refused | None = None
        for table in tables:
            try:
                return tuple(table.read_current().first.columns)
            except Unavailable:
                continue
            except Refused as error:
                refused = error
            except Exception as error:  # a column that cannot be published, say
                self.on_error(error)
        raise refused or Unavailable("no owner of this table can be reached", where=tables[0].name)

    def _ask_owners(
        self, request: Request, client: str, number: str
    ) -> tuple[dict[str, tuple[OwnerAnswer, str]], dict[str, tuple[Fault, ...]]]:
        tables = self._tables.get(request.table, [])
        if not tables:
            raise Refused("no owner holds this table", where="from", hint=nearest(request.table, self._tables))
        at_once = self._pool.map if len(tables) > 1 else map
        outcomes = list(at_once(lambda table: self._ask_safely(table, request, client, number), tables))
        replies = {table.owner: outcome for table, outcome in zip(tables, outcomes, strict=True)}
        answers = {owner: reply for owner, reply in replies.items() if not isinstance(reply, ShoalError)}
        errors = {owner: reply for owner, reply in replies.items() if isinstance(reply, ShoalError)}
        if not answers:
            kind = Refused if any(isinstance(error, Refused) for error in errors.values()) else Unavailable
            raise kind([fault for error in errors.values() for fault in error.faults])
        return answers, {owner: error.faults for owner, error in errors.items()}

    def _ask_safely(
        self, table: OwnedTable, request: Request, client: str, number: str
    ) -> tuple[OwnerAnswer, str] | ShoalError:
        """Ask one owner; whatever goes wrong must not spoil the other owners' answers.

        An answer that fails its verification is one of these: the log says so, the client is told nothing of it.
        """
        try:
            return self._ask_owner(table, request, client, number)
        except (Refused, Unavailable) as error:
            return error
        except Exception as error:  # its text may hold data
            self.on_error(error)
            return Unavailable("the owner could not answer", where=request.table)

    def _ask_owner(self, table: OwnedTable, request: Request, client: str, number: str) -> tuple[OwnerAnswer, str]:
        """Let one owner decide, and enter its answer or refusal before it leaves; return it with its hash."""
        for turn in range(_TRIES):
            history = table.read_history(client, cached=turn == 0)
            try:
                answer: OwnerAnswer | Refused = self._decide(table, request, client, history)
            except Refused as refused:
                answer = refused
            if isinstance(answer, Refused):
                entry = self._note_refusal(table, request, client, number, answer)
            else:
                entry = self._note_answer(table, request, client, number, answer)
            if self.ledger.append(entry, history.newest):
                if isinstance(answer, Refused):
                    raise answer
                return answer, entry.digest
        raise Refused("too many requests of this client at once", where=table.name)

    def _decide(self, table: OwnedTable, request: Request, client: str, history: ClientHistory) -> OwnerAnswer:
        if table.policy.answers is None:
            return decide(table, client, request, history)
        return decide_counts(table, client, self.ledger.seal(repr(request)), request)

    def _note_answer(
        self, table: OwnedTable, request: Request, client: str, number: str, answer: OwnerAnswer
    ) -> LedgerEntry:
        return LedgerEntry(
            request=number,
            request_hash=self.ledger.seal(repr(request)),
            client=client,
            owner=table.owner,
            source=table.identity,
            table=table.name,
            related=table.related_sources,
            origin=table.origin,
            version=answer.decision.version,
            action=answer.decision.action,
            weights=answer.weights,
            digest=self.ledger.digest(answer.evaluation.content_hash),
            decision=answer.decision.to_dict(),
            budget=answer.budget,
        )

    def _note_refusal(
        self, table: OwnedTable, request: Request, client: str, number: str, refused: Refused
    ) -> LedgerEntry:
        """Return the entry of a refusal; the number stays free, for the same request may be answered another time."""
        return LedgerEntry(
            request=f"{number}!{secrets.token_hex(4)}",
            request_hash=self.ledger.seal(repr(request)),
            client=client,
            owner=table.owner,
            source=table.identity,
            table=table.name,
            related=table.related_sources,
            origin=table.origin,
            version="",
            action="refuse",
            weights={},
            digest="",
            decision={"columns": list(request.touched), "faults": [fault.to_dict() for fault in refused.faults]},
        )


@lru_cache(_PARSED)
def _parse_once(
    client: str, text: str, tables: tuple[tuple[str, tuple[str, ...]], ...], joins: tuple[Join, ...]
) -> Request:
    """Return what a client's text asks for; reading SQL costs more than answering what was answered before."""
    return parse_sql(text, Schema(dict(tables), joins))
