"""unite_answers(): the answers of several owners under each other, in one order, cut to what a client may get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.engines.columns import to_texts
from shoal.gateway.evaluation import sort_and_limit
from shoal.gateway.request import Order, Request


@dataclass(frozen=True)
class UnionLayout:
    """How the answers of owners are put together; it holds no value of a request, so it may be kept."""

    order_by: tuple[Order, ...] = ()
    limit: int | None = None
    aggregates: bool = False
    owner_column: str | None = None
    """What the column is called that names the owner of each record."""

    @classmethod
    def of(cls, request: Request, owner_column: str | None) -> UnionLayout:
        """Return the layout of a request's answer."""
        return cls(request.order_by, request.limit, request.aggregates, owner_column)


def unite_answers(
    parts: Mapping[str, pl.DataFrame], layout: UnionLayout, rows: int | None = None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the records of all owners, and what has to be said about them.

    Parameters
    ----------
    parts
        Owner → its answer.
    rows
        The most records that the client may get.

    Examples
    --------
    >>> parts = {"north": pl.DataFrame({"n": [3]}), "south": pl.DataFrame({"n": [2]})}
    >>> unite_answers(parts, UnionLayout(owner_column="owner"), rows=1)
    (shape: (1, 2)
    ...
    │ 2   ┆ south │
    ..., ('cut to the 1 records that this client may get at once',))
    """
    tables = [_add_owner(table, owner, layout.owner_column) for owner, table in parts.items()]
    notes = []
    table = tables[0]
    if len(tables) > 1:
        if layout.aggregates:
            notes.append("figures are those of each owner; they are not added up")
        table = sort_and_limit(stack_tables(tables), layout.order_by, layout.limit, 0)
    if rows is not None and table.height > rows:
        notes.append(f"cut to the {rows:,} records that this client may get at once")
        table = table[:rows]
    return table, tuple(notes)


def _add_owner(table: pl.DataFrame, owner: str, column: str | None) -> pl.DataFrame:
    if column is None:
        return table
    return table.with_columns(pl.Series(column, [owner] * table.height, dtype=pl.String))


def stack_tables(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return tables under each other; where one shows values and another labels, both are texts."""
    columns = []
    for name in tables[0].columns:
        parts = [table[name] for table in tables]
        if len({part.dtype for part in parts}) > 1:
            parts = [to_texts(part) for part in parts]
        columns.append(pl.concat([part.alias("part") for part in parts]).alias(name))
    return pl.DataFrame(columns)
