"""Tables by their address: ``duckdb:///people.db?table=people``, ``postgresql://user@host/base?table=people``.

Nothing is written: a DuckDB file is opened to read only, a session of PostgreSQL cannot write. The one statement that
is sent is built here from a quoted name. No error quotes an address with a password in it.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from uuid import UUID

import polars as pl

from shoal.errors import TableError, import_extra, nearest

_SCHEMES = ("duckdb", "postgresql", "postgres")


def is_address(table: object) -> bool:
    """Return whether a table is given by the address of a database.

    Examples
    --------
    >>> is_address("duckdb:///people.db?table=people"), is_address("people.csv")
    (True, False)
    """
    return isinstance(table, str) and table.partition("://")[0] in _SCHEMES and "://" in table


def read_address(address: str) -> pl.DataFrame:
    """Return the table that an address leads to; the one that there is, where it names none."""
    parts = urlsplit(address)
    asked = dict(parse_qsl(parts.query))
    name = asked.pop("table", None)
    where = f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
    if parts.scheme == "duckdb":
        return _read_duckdb(parts.path, name, where)
    bare = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(asked), ""))
    return _read_postgresql(bare, name, where)


def read_connection(connection: Any) -> pl.DataFrame:
    """Return the one table of a connection to DuckDB."""
    return _read_relation(connection, None, "the connection")


def quote_path(name: str) -> str:
    """Return a name as SQL quotes it; ``schema.table`` are two."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def _read_duckdb(path: str, name: str | None, where: str) -> pl.DataFrame:
    duckdb = import_extra("duckdb", "duckdb", "reading a DuckDB database")
    relative = Path(path.removeprefix("/"))
    file = relative if relative.is_file() else Path(path)
    if not file.is_file():
        raise TableError(
            "no such file", where=where, hint="duckdb:///people.db is in this folder, duckdb:////data/… not"
        )
    try:
        with duckdb.connect(str(file), read_only=True) as connection:
            return _read_relation(connection, name, where)
    except duckdb.Error as error:
        raise TableError("the database cannot be read", where=where, got=" ".join(str(error).split())[:200]) from None


def _read_relation(connection: Any, name: str | None, where: str) -> pl.DataFrame:
    tables = [
        table if schema == "main" else f"{schema}.{table}"
        for schema, table in connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
        ).fetchall()
    ]
    chosen = quote_path(choose_table(tables, name, where))
    frame: pl.DataFrame = connection.sql(f"SELECT * FROM {chosen}").pl()
    return frame


def choose_table(tables: list[str], name: str | None, where: str) -> str:
    """Return the table that is asked for, or the only one.

    Examples
    --------
    >>> choose_table(["people"], None, "duckdb:///people.db")
    'people'
    """
    if name is None and len(tables) == 1:
        return tables[0]
    if name is None:
        hint = "name one: ?table=…, or for a connection connection.table(…)"
        raise TableError("there is not one table", where=where, got=", ".join(tables[:10]) or "none", hint=hint)
    if name not in tables:
        raise TableError("no such table", where=where, got=repr(name), hint=nearest(name, tables))
    return name


_TABLES = """SELECT table_schema, table_name FROM information_schema.tables
WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"""


def _read_postgresql(url: str, name: str | None, where: str) -> pl.DataFrame:
    psycopg = import_extra("psycopg", "gateway", "reading a PostgreSQL database")
    try:
        with psycopg.connect(url, options="-c default_transaction_read_only=on", connect_timeout=10) as connection:
            known = connection.execute(_TABLES).fetchall()
            tables = [table if schema == "public" else f"{schema}.{table}" for schema, table in known]
            cursor = connection.execute(f"SELECT * FROM {quote_path(choose_table(tables, name, where))}")
            names, rows = [column.name for column in cursor.description], cursor.fetchall()
    except psycopg.Error as error:  # its text may hold the password of the address
        got = type(error).__name__
        raise TableError("the database cannot be read", where=where, got=got, hint="is the address right?") from None
    columns = {name: [to_plain_value(row[index]) for row in rows] for index, name in enumerate(names)}
    return pl.DataFrame({name: pl.Series(values, strict=False) for name, values in columns.items()})


def to_plain_value(value: Any) -> Any:
    """Return a value of a database as a table has it: whole numbers and fractions where nothing is rounded."""
    if isinstance(value, Decimal):
        if value.is_finite() and value == value.to_integral_value():
            return int(value)
        number = float(value)  # where it would round, a text, as in files
        return number if not value.is_finite() or Decimal(repr(number)) == value else str(value)
    return str(value) if isinstance(value, UUID) else value
