"""Request: what a client asks for, as plain data; no text of the client's goes any further."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

Value = str | int | float | bool
Sign = Literal["=", "<>", "<", "<=", ">", ">="]
Function = Literal["count", "sum", "avg", "min", "max"]


@dataclass(frozen=True)
class Compare:
    """A column compared with a value."""

    column: str
    sign: Sign
    value: Value


@dataclass(frozen=True)
class Among:
    """A column that has one of some values."""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class IsNull:
    """A column whose value is missing."""

    column: str


@dataclass(frozen=True)
class Not:
    """The contrary of a condition."""

    part: Condition


@dataclass(frozen=True)
class Every:
    """All of some conditions."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Some:
    """At least one of some conditions."""

    parts: tuple[Condition, ...]


Condition = Compare | Among | IsNull | Not | Every | Some


@dataclass(frozen=True)
class Item:
    """One column of the answer: a column of the table, or an aggregate of one (of records, where it names none)."""

    name: str
    """What it is called in the answer."""
    column: str | None
    function: Function | None = None


class Order(NamedTuple):
    """A column of the answer to sort by."""

    name: str
    descending: bool = False


@dataclass(frozen=True)
class Request:
    """What a client asks for."""

    table: str
    """The logical table, or the declared join."""
    items: tuple[Item, ...]
    where: Condition | None = None
    group_by: tuple[str, ...] = ()
    order_by: tuple[Order, ...] = ()
    limit: int | None = None
    joined_by: tuple[str, ...] = ()
    """The key columns of a join."""

    @property
    def aggregates(self) -> bool:
        """Whether it asks for figures about groups, not for records."""
        return bool(self.group_by) or any(item.function for item in self.items)

    @cached_property
    def touched(self) -> tuple[str, ...]:
        """Every column that the request touches, wherever it names it, each once.

        Examples
        --------
        >>> request = Request("people", (Item("sex", "sex"),), where=Not(Compare("age", ">", 30)), group_by=("sex",))
        >>> request.touched
        ('sex', 'age')
        """
        shown = [item.column for item in self.items if item.column is not None]
        ordered = {order.name for order in self.order_by}
        sorted_by = [item.column for item in self.items if item.name in ordered and item.column is not None]
        return tuple(dict.fromkeys([*shown, *iterate_columns(self.where), *self.group_by, *sorted_by, *self.joined_by]))


def iterate_columns(condition: Condition | None) -> Iterator[str]:
    """Yield the columns that a condition names."""
    match condition:
        case Compare() | Among() | IsNull():
            yield condition.column
        case Not():
            yield from iterate_columns(condition.part)
        case Every() | Some():
            for part in condition.parts:
                yield from iterate_columns(part)
