"""gateway.yaml: owners, their tables and policies, and clients; one frozen value."""

from __future__ import annotations

import os
from contextvars import ContextVar
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from shoal.encoding import yaml as notation
from shoal.errors import PolicyError, nearest
from shoal.gateway.stores import is_url
from shoal.policy import Policy
from shoal.registry import Frozen

Name = Annotated[str, Field(pattern=r"^[^\x00-\x1f]{1,63}$")]
Recoding = Literal["one", "each"]
_FOLDER: ContextVar[Path] = ContextVar("the folder of the file that is read", default=Path())


def _seen_from_folder(path: str) -> str:
    return path if is_url(path) else str(_FOLDER.get() / path)


FilePath = Annotated[str, AfterValidator(_seen_from_folder)]
"""A path, seen from the folder of the configuration that names it."""


class DatabaseConfig(Frozen):
    """Where an owner's tables are; exactly one of these."""

    files: dict[Name, FilePath] | None = None
    """Table → its file (CSV, Parquet, …)."""
    duckdb: FilePath | None = None
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
    the columns that a client asks for first are recoded on their own, as in the paper, for this client; later requests
    are answered from that recoding, or refused."""
    source: Name | None = None
    """What the table is called in the database, where that is another name."""
    formerly: tuple[str, ...] | None = None
    """What the ledger knows the same data as, where they moved: what clients got of them still counts. An empty list
    says that these data are new."""
    edition: Annotated[int, Field(ge=1)] = 1
    """Raise it to answer from the table as it is now. Clients who have answers from an earlier edition get none of this
    one: they could compare them, person by person."""

    @field_validator("policy", mode="before")
    @classmethod
    def _a_file_or_itself(cls, value: Any) -> Policy:
        return Policy.of(_FOLDER.get() / value if isinstance(value, str) else value)

    @model_validator(mode="after")
    def _can_be_followed(self) -> TableConfig:
        if self.recoding == "each" and self.policy.survey_weight is not None:
            raise PolicyError(
                "a part of the columns has no weights of its own", where="recoding", got="each", hint="say one"
            )
        if self.policy.series is not None:
            what = "a gateway follows its versions in its own way (renew), not as a series of releases"
            raise PolicyError(what, where="policy.series", hint="leave it out, or publish such a table as releases")
        if self.policy.perturb:
            what = "a gateway answers from generalized tables, whose records it can show again; not from perturbed ones"
            got, hint = self.policy.perturb[0].key(), "publish such a table as a release"
            raise PolicyError(what, where="policy.perturb", got=got, hint=hint)
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
        if self.formerly is not None:
            raise PolicyError("a join lies nowhere", where="formerly", hint="say it of the tables that it joins")
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
    longest: Annotated[float, Field(gt=0)] = 120
    """How long an answer may take; then the process that works on it is ended."""
    processes: Annotated[int, Field(ge=1, le=64)] | None = None
    """Processes that answer, each with the tables in its memory; one for each core by default, up to four."""
    workers: Annotated[int, Field(ge=1, le=256)] = 16
    """Requests that are answered at once, by all processes."""
    waiting: Annotated[int, Field(ge=0)] = 512
    """Requests that may wait for a worker."""
    unread: Annotated[int, Field(ge=1_000)] = 67_108_864
    """Bytes of answers that one client may leave unread."""
    attempts: Annotated[int, Field(ge=1)] = 10
    """Wrong keys for one client, or for nobody we know, that one address may try in a minute."""
    proxies: tuple[str, ...] = ()
    """Addresses of proxies that may say for whom they ask (``X-Forwarded-For``)."""


class RetentionConfig(Frozen):
    """The answers that clients may fetch again."""

    folder: FilePath | None = None
    """Where they lie; beside the ledger by default."""
    days: Annotated[int, Field(ge=1)] = 30
    """How long."""
    size: Annotated[int, Field(ge=0)] = 1_000_000_000
    """How many bytes; the oldest go first."""

    def find_folder(self, ledger: Path) -> Path:
        """Return where they lie."""
        return Path(self.folder or f"{ledger}.releases")


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
    ledger: FilePath
    """The ledger: a file, or the URL of a PostgreSQL database (``$NAME`` takes it from the environment)."""
    ledger_key: FilePath | None = None
    """The file of the key of the ledger's hashes, made if it is not there; beside the ledger by default."""
    ledger_head: tuple[FilePath, ...] = ()
    """Where the ledger's head is kept besides beside its key: files (with an ending), or folders in which each head is
    a file of its own that is never written again."""
    owner_column: Name = "owner"
    """What the column is called that names the owner of each record, where a client asks for it."""
    server: ServerConfig = ServerConfig()
    """The limits of the service."""
    releases: RetentionConfig = RetentionConfig()
    """The answers that are kept."""

    @field_validator("ledger_head", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _joins_mean_the_same(self) -> GatewayConfig:
        keys: dict[str, tuple[Any, Any]] = {}
        for name, owner in self.owners.items():
            for join, config in owner.joins.items():
                if keys.setdefault(join, (config.left, config.right)) != (config.left, config.right):
                    raise PolicyError("owners declare this join differently", where=f"owners.{name}.joins.{join}")
        return self

    def list_warnings(self) -> list[str]:
        """Return what an owner may not have meant: tables of which everybody is shown as they are."""
        return [
            f"{name}.{table}: light requests show everybody as they are, sensitive columns too (raw.least: 1)"
            for name, owner in self.owners.items()
            for table, config in {**owner.tables, **owner.joins}.items()
            if config.policy.threshold is not None and config.policy.raw_least == 1
        ]

    def locate(self, ending: str) -> Path:
        """Return a file beside the ledger, or beside its key where that lies on a server."""
        place = self.ledger_key if is_url(self.ledger) and self.ledger_key is not None else self.ledger
        return Path(f"{place}.{ending}")

    @classmethod
    def from_yaml(cls, text: str, *, folder: Path, source: str = "gateway.yaml") -> GatewayConfig:
        """Read a configuration; files that it names are looked up in ``folder``."""
        before = _FOLDER.set(folder)
        try:
            return cls(**{str(key): value for key, value in notation.parse_mapping(text, source).items()})
        finally:
            _FOLDER.reset(before)

    @classmethod
    def read(cls, path: str | Path) -> GatewayConfig:
        """Read a configuration from a YAML file."""
        path = Path(path)
        return cls.from_yaml(notation.read_text(path, "configuration"), folder=path.parent, source=str(path))
