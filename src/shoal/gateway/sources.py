"""Sources: owners' tables, in DuckDB, in PostgreSQL, or in files.

Nothing that a client writes reaches a database: a source reads declared columns of a declared table, and the only
texts that it sends are built here from those names.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import MissingExtra, ShoalError, Unavailable
from shoal.tables.source import open_table, read


def quoted(name: str) -> str:
    """Return a name as SQL quotes it.

    Examples
    --------
    >>> print(quoted('a "b"; --'))
    "a ""b""; --"
    """
    if "\0" in name:
        raise ValueError("a name with a NUL")
    return '"' + name.replace('"', '""') + '"'


def select(table: str, columns: Sequence[str]) -> str:
    """Return the one statement that reads a table.

    Examples
    --------
    >>> select("people", ["age", "sex"])
    'SELECT "age", "sex" FROM "people"'
    """
    return f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(table)}"


class DataSource(ABC):
    """Where an owner's tables are."""

    @abstractmethod
    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table."""

    @abstractmethod
    def version(self, table: str) -> str:
        """Return a text that changes when the table does."""

    @abstractmethod
    def read(self, table: str) -> pl.DataFrame:
        """Return a whole table."""

    def reachable(self, table: str) -> bool:
        """Return whether the table is there, without reading a record."""
        try:
            return bool(self.columns(table))
        except Unavailable:
            return False


class Files(DataSource):
    """Tables that are files: CSV, Parquet and whatever else shoal reads, with the types that it gives them.

    DuckDB could read them too, but would take the ZIP code 02139 for a number: the same policy has to give the same
    release through every door.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = dict(files)

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a file."""
        return tuple(self.read(table).columns)

    def reachable(self, table: str) -> bool:
        """Return whether the file is there."""
        return self.files[table].is_file()

    def version(self, table: str) -> str:
        """Return when the file changed last, and its size."""
        return _stamp([self.files[table]])

    def read(self, table: str) -> pl.DataFrame:
        """Return the table of a file."""
        try:
            return read(self.files[table])
        except (ShoalError, OSError):
            raise Unavailable("the file cannot be read", where=table) from None


class DuckDB(DataSource):
    """Tables of a DuckDB database: a file, opened to read only, or a connection of the caller's."""

    def __init__(self, database: object) -> None:
        try:
            import duckdb
        except ImportError:
            raise MissingExtra.of("duckdb", "gateway", "reading a DuckDB database") from None
        self._duckdb = duckdb
        self.path = Path(database) if isinstance(database, (str, Path)) else None
        self._connection: Any = None if self.path else database

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table."""
        described = self._with(lambda db: db.execute(f"SELECT * FROM {quoted(table)} LIMIT 0").description, table)
        return tuple(str(column[0]) for column in described)

    def version(self, table: str) -> str:
        """Return when the file changed last; in memory, a hash of what the table holds."""
        if self.path is not None:
            return _stamp([self.path, self.path.with_name(self.path.name + ".wal")])
        names = ", ".join(map(quoted, self.columns(table)))
        statement = f"SELECT count(*), sum(hash({names})::HUGEINT), bit_xor(hash({names})) FROM {quoted(table)}"
        return _hashed(self._with(lambda db: db.execute(statement).fetchone(), table))

    def read(self, table: str) -> pl.DataFrame:
        """Return a whole table."""
        statement = select(table, self.columns(table))
        frame: pl.DataFrame = self._with(lambda db: open_table(db.sql(statement)).frame, table)
        return frame

    def _with(self, use: Callable[[Any], Any], table: str) -> Any:
        try:
            if self._connection is not None:
                return use(self._connection.cursor())
            settings = {"enable_external_access": "false", "lock_configuration": "true"}
            with self._duckdb.connect(str(self.path), read_only=True, config=settings) as connection:
                return use(connection)
        except self._duckdb.Error:  # its text may hold values
            raise Unavailable("the database cannot be read", where=table) from None


class PostgreSQL(DataSource):
    """Tables of a PostgreSQL database, in transactions that cannot write."""

    def __init__(self, url: str, *, timeout: int = 30) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra.of("psycopg", "gateway", "reading a PostgreSQL database") from None
        self._psycopg = psycopg
        self._url, self._timeout = url, timeout

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table."""
        return tuple(self._fetch(f"SELECT * FROM {quoted(table)} LIMIT 0", table)[0])

    def version(self, table: str) -> str:
        """Return a hash of what the table holds, whatever the order of its records."""
        row = f"ROW({', '.join(map(quoted, self.columns(table)))})::text"
        hashed = f"count(*), sum(hashtextextended({row}, 0)), sum(hashtextextended({row}, 1))"
        return _hashed(self._fetch(f"SELECT {hashed} FROM {quoted(table)}", table)[1][0])

    def read(self, table: str) -> pl.DataFrame:
        """Return a whole table."""
        names, rows = self._fetch(select(table, self.columns(table)), table)
        columns = {name: [_plain(row[place]) for row in rows] for place, name in enumerate(names)}
        return open_table(
            pl.DataFrame({name: pl.Series(values, strict=False) for name, values in columns.items()})
        ).frame

    def _fetch(self, statement: str, table: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        settings = f"-c default_transaction_read_only=on -c statement_timeout={self._timeout * 1000}"
        try:
            with self._psycopg.connect(self._url, connect_timeout=self._timeout, options=settings) as connection:
                cursor = connection.execute(statement)  # built from declared names only
                return [column.name for column in cursor.description or ()], cursor.fetchall()
        except self._psycopg.Error:  # its text may hold values, and the address
            raise Unavailable("the database cannot be read", where=table) from None


def _plain(value: Any) -> Any:
    return (int(value) if value == value.to_integral_value() else float(value)) if isinstance(value, Decimal) else value


def _stamp(paths: Sequence[Path]) -> str:
    try:
        found = [(path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in paths if path.exists()]
    except OSError:
        found = []
    if not found:
        raise Unavailable("the file cannot be read", where=paths[0].name)
    return _hashed(found)


def _hashed(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:32]
