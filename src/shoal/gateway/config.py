"""gateway.yaml: owners, their tables and policies, and clients; one frozen value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from shoal.encoding import yaml as notation
from shoal.errors import PolicyError, nearest
from shoal.gateway.stores import is_url
from shoal.policy import Policy
from shoal.registry import Frozen

Name = Annotated[str, Field(pattern=r"^[^\x00-\x1f]{1,63}$")]
Recoding = Literal["one", "each"]


class DatabaseConfig(Frozen):
    """Where an owner's tables are; exactly one of these."""

    files: dict[Name, str] | None = None
    """Table → its file (CSV, Parquet, …)."""
    duckdb: str | None = None
    """The path of a DuckDB database; it is opened to read only."""
    postgresql: str | None = None
    """The URL of a PostgreSQL database; ``$NAME`` takes it from the environment, so that no password
    is written here."""

    @model_validator(mode="after")
    def _exactly_one(self) -> DatabaseConfig:
        if sum(kind is not None for kind in (self.files, self.duckdb, self.postgresql)) != 1:
            raise PolicyError("name exactly one database", hint="files, duckdb or postgresql")
        return self

    def url(self) -> str:
        """Return the URL of the PostgreSQL database."""
        text = self.postgresql or ""
        if not text.startswith("$"):
            return text
        if text[1:] not in os.environ:
            raise PolicyError("no such variable in the environment", where="postgresql", got=text)
        return os.environ[text[1:]]


class TableConfig(Frozen):
    """A table that clients may ask for."""

    policy: Policy
    """What is promised of it: a policy's file, or the policy itself."""
    recoding: Recoding = "one"
    """``one``: one recoding of the whole table for every request, so that no two answers can be intersected. ``each``:
    the columns of each request are recoded on their own, as in the paper; answers that could be intersected with what
    a client already has are refused."""
    source: Name | None = None
    """What the table is called in the database, where that is another name."""

    @field_validator("policy", mode="before")
    @classmethod
    def _a_file_or_itself(cls, value: Any) -> Policy:
        return Policy.of(value)

    @model_validator(mode="after")
    def _can_be_followed(self) -> TableConfig:
        if self.recoding == "each" and self.policy.survey_weight is not None:
            raise PolicyError("records cannot be told apart by weights", where="recoding", got="each", hint="say one")
        if self.recoding == "each" and self.policy.has_secret_seed:
            raise PolicyError("each request would draw another sample", where="recoding", got="each", hint="say one")
        return self

    def shows(self, column: str) -> bool:
        """Whether anonymized answers show anything of a column."""
        policy = self.policy
        return column not in policy.hidden and (
            policy.others == "keep" or column in policy.quasi_identifiers or column in policy.sensitive
        )


class JoinConfig(TableConfig):
    """Two tables that may be joined: a table of its own, with a policy of its own."""

    left: tuple[Name, Name]
    """The first table and its key."""
    right: tuple[Name, Name]
    """The second table and its key."""

    @model_validator(mode="after")
    def _counts_persons(self) -> JoinConfig:
        if self.policy.subject is None:
            what = "a join repeats persons, so its policy must say which column tells who a record is about"
            raise PolicyError(what, where="policy.subject", hint="say subject: (the key)")
        return self


class OwnerConfig(Frozen):
    """Somebody who holds tables."""

    database: DatabaseConfig
    tables: Annotated[dict[Name, TableConfig], Field(min_length=1)]
    joins: dict[Name, JoinConfig] = Field(default={})

    @model_validator(mode="after")
    def _tables_have_files(self) -> OwnerConfig:
        for name, table in self.tables.items():
            if self.database.files is not None and (table.source or name) not in self.database.files:
                raise PolicyError("no file is named for this table", where=f"tables.{name}", hint="database.files")
        return self

    @model_validator(mode="after")
    def _tables_are_about_different_data(self) -> OwnerConfig:
        tables: dict[str, str] = {}
        for name, table in self.tables.items():
            source = table.source or name
            where = source if self.database.files is None else os.path.normpath(self.database.files[source])
            if tables.setdefault(where, name) != name:
                what = "two tables of the same data: they are recoded apart, and could be laid over each other"
                raise PolicyError(what, where=f"tables.{name}", got=f"the same as {tables[where]}")
        return self

    @model_validator(mode="after")
    def _joins_join_tables(self) -> OwnerConfig:
        for name, join in self.joins.items():
            if name in self.tables:
                raise PolicyError("a join needs a name of its own", where=f"joins.{name}")
            for side in ("left", "right"):
                table = getattr(join, side)[0]
                if table not in self.tables:
                    hint = nearest(table, self.tables)
                    raise PolicyError("no such table", where=f"joins.{name}.{side}", got=repr(table), hint=hint)
            if all(self.tables[table].shows(key) for table, key in (join.left, join.right)):
                what = "both tables give the key away: whoever has their answers could join them"
                raise PolicyError(what, where=f"joins.{name}", hint="say under identifiers in one of their policies")
        return self


class ClientConfig(Frozen):
    """Somebody who may ask."""

    key: str | None = None
    """The hash of the client's key, as argon2 writes it; the service checks it."""
    expires: date | None = None
    """The last day on which the key is good."""
    roles: tuple[Literal["client", "owner", "auditor"], ...] = ("client",)
    rows: Annotated[int, Field(ge=1)] = 100_000
    """The most records of one answer."""
    rate: Annotated[int, Field(ge=1)] = 60
    """The most requests in a minute; the service counts them."""


class ServerConfig(Frozen):
    """What the service bears: how much, how long, how many at once."""

    body: Annotated[int, Field(ge=1_000)] = 65_536
    """The most bytes of a request."""
    seconds: Annotated[float, Field(gt=0)] = 30
    """How long a client waits for an answer; the work goes on, and its number gets the answer later."""
    workers: Annotated[int, Field(ge=1, le=256)] = 8
    """Requests that are answered at once."""
    waiting: Annotated[int, Field(ge=0)] = 512
    """Requests that may wait for a worker."""
    attempts: Annotated[int, Field(ge=1)] = 10
    """Wrong keys that one address may try in a minute."""
    proxies: tuple[str, ...] = ()
    """Addresses of proxies that may say for whom they ask (``X-Forwarded-For``)."""


class RetentionConfig(Frozen):
    """The answers that clients may fetch again."""

    folder: str | None = None
    """Where they lie; beside the ledger by default."""
    days: Annotated[int, Field(ge=1)] = 30
    """How long."""
    size: Annotated[int, Field(ge=0)] = 1_000_000_000
    """How many bytes; the oldest go first."""


class GatewayConfig(Frozen):
    """Everything that a gateway is told.

    Examples
    --------
    >>> policy = {"quasi_identifiers": ["age"], "models": [{"name": "k-anonymity", "k": 2}]}
    >>> config = GatewayConfig(
    ...     owners={"north": {"database": {"files": {"people": "a.csv"}}, "tables": {"people": {"policy": policy}}}},
    ...     clients={"demo": {}}, ledger="ledger.sqlite")
    >>> config.owners["north"].tables["people"].recoding
    'one'
    """

    owners: Annotated[dict[Name, OwnerConfig], Field(min_length=1)]
    clients: dict[Name, ClientConfig] = Field(default={})
    ledger: str
    """The ledger: a file, or the URL of a PostgreSQL database (``$NAME`` takes it from the environment)."""
    ledger_key: str | None = None
    """The file of the key of the ledger's hashes, made if it is not there; beside the ledger by default."""
    owner_column: Name = "owner"
    """What the column is called that names the owner of each record, where a client asks for it."""
    server: ServerConfig = ServerConfig()
    """The limits of the service."""
    releases: RetentionConfig = RetentionConfig()
    """The answers that are kept."""

    @model_validator(mode="after")
    def _joins_mean_the_same(self) -> GatewayConfig:
        keys: dict[str, tuple[Any, Any]] = {}
        for name, owner in self.owners.items():
            for join, config in owner.joins.items():
                if keys.setdefault(join, (config.left, config.right)) != (config.left, config.right):
                    raise PolicyError("owners declare this join differently", where=f"owners.{name}.joins.{join}")
        return self

    @classmethod
    def from_yaml(cls, text: str, *, folder: Path, source: str = "gateway.yaml") -> GatewayConfig:
        """Read a configuration; files that it names are looked up in ``folder``."""
        data = _resolve_paths(notation.mapping(text, source), folder)
        return cls(**{str(key): value for key, value in data.items()})

    @classmethod
    def read(cls, path: str | Path) -> GatewayConfig:
        """Read a configuration from a YAML file."""
        path = Path(path)
        return cls.from_yaml(notation.text_of(path, "configuration"), folder=path.parent, source=str(path))


def _resolve_paths(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Make the paths of a configuration absolute, seen from its folder."""
    resolved = dict(data)
    if isinstance(resolved.get("ledger"), str) and not is_url(resolved["ledger"]):
        resolved["ledger"] = str(folder / resolved["ledger"])
    if isinstance(resolved.get("ledger_key"), str):
        resolved["ledger_key"] = str(folder / resolved["ledger_key"])
    releases = resolved.get("releases")
    if isinstance(releases, dict) and isinstance(releases.get("folder"), str):
        resolved["releases"] = {**releases, "folder": str(folder / releases["folder"])}
    owners = resolved.get("owners")
    if isinstance(owners, dict):
        resolved["owners"] = {
            name: _resolve_owner(owner, folder) if isinstance(owner, dict) else owner for name, owner in owners.items()
        }
    return resolved


def _resolve_owner(owner: dict[str, Any], folder: Path) -> dict[str, Any]:
    resolved = dict(owner)
    database = resolved.get("database")
    if isinstance(database, dict):
        database = dict(database)
        if isinstance(database.get("files"), dict):
            database["files"] = {table: str(folder / str(file)) for table, file in database["files"].items()}
        if isinstance(database.get("duckdb"), str):
            database["duckdb"] = str(folder / database["duckdb"])
        resolved["database"] = database
    for part in ("tables", "joins"):
        if isinstance(resolved.get(part), dict):
            resolved[part] = {name: _read_policy(table, folder) for name, table in resolved[part].items()}
    return resolved


def _read_policy(table: Any, folder: Path) -> Any:
    if isinstance(table, dict) and isinstance(table.get("policy"), str):
        return {**table, "policy": Policy.read(folder / table["policy"])}
    return table
