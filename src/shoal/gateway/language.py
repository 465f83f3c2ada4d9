"""parse(): SQL text → Request, by an allow-list; everything else is refused by the name of the construct."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from shoal.errors import MissingExtra, Refused, nearest
from shoal.gateway.request import (
    Among,
    Compare,
    Condition,
    Every,
    Function,
    IsNull,
    Item,
    Not,
    Order,
    Request,
    Sign,
    Some,
    Value,
)

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST = 10_000
"""Characters of a request."""
DEEPEST = 60
"""Nested conditions of a request."""
MOST_TESTS = 200
"""Comparisons of a request."""
MOST_GROUPS = 6
"""Columns to group by: what would give a small cell back is looked for in all of their combinations."""
_SIGNS: dict[str, Sign] = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_TURNED: dict[Sign, Sign] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FUNCTIONS: dict[str, Function] = {"Count": "count", "Sum": "sum", "Avg": "avg", "Min": "min", "Max": "max"}
_ALLOWED = "select, from, inner join, where, group by, order by and limit are understood; see the docs"


@dataclass(frozen=True)
class Join:
    """A declared join: which columns of which two tables are equal."""

    name: str
    left: tuple[str, str]
    right: tuple[str, str]


@dataclass(frozen=True)
class Schema:
    """The tables that may be asked for, their columns, and the joins that are declared."""

    tables: Mapping[str, tuple[str, ...]]
    joins: tuple[Join, ...] = ()


def parse(text: str, schema: Schema) -> Request:
    """Return what a client asks for, or refuse it by the name of the construct that is not on the list.

    The text is parsed by sqlglot; every node of the tree, and every part of every node, must be on the list. What comes
    out holds names of the declared schema and plain values only, so nothing that a client writes reaches a database.
    A refusal names constructs, tables and columns; it repeats no value and no other text of the request.

    Examples
    --------
    >>> schema = Schema({"people": ("age", "sex")})
    >>> parse("SELECT sex, count(*) AS n FROM people WHERE age >= 30 GROUP BY sex", schema).touched
    ('sex', 'age')
    >>> parse("SELECT * FROM people UNION SELECT * FROM people", schema)
    Traceback (most recent call last):
        ...
    shoal.errors.Refused: request: UNION is not answered. Hint: select, from, inner join, where, ...
    """
    statement = _statement(text)
    try:
        return _Reader(schema).request(statement)
    except RecursionError:
        raise _refused("a condition that is nested so deeply") from None


def _refused(construct: str, where: str = "request", hint: str = _ALLOWED) -> Refused:
    return Refused(f"{construct} is not answered", where=where, hint=hint)


def _statement(text: str) -> exp.Select:
    """Return the one SELECT that a text holds."""
    try:
        import sqlglot
        from sqlglot import exp
    except ImportError:
        raise MissingExtra.of("sqlglot", "gateway", "reading SQL") from None
    if len(text) > LONGEST:
        raise Refused("the request is too long", where="request", got=f"{len(text):,} characters")
    if any(ord(sign) < 32 and sign not in "\n\r\t" for sign in text) or "\x7f" in text:
        raise _refused("a control character")
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it would write requests, and the values in them
    try:
        tokens = sqlglot.tokenize(text)
        if any(token.comments for token in tokens):
            raise _refused("a comment", hint="leave it out: a comment may hide text")
        found = [one for one in sqlglot.parse(text) if one is not None]
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):  # its text would repeat the request
        raise Refused("the request is not SQL that is understood", where="request", hint=_ALLOWED) from None
    if len(found) != 1 or ";" in [token.text for token in tokens[:-1]]:
        raise Refused(f"{len(found)} statements in one request", where="request", hint="ask for one thing at a time")
    if not isinstance(found[0], exp.Select):
        raise _refused(_called(found[0]))
    return found[0]


def _called(node: object) -> str:
    """Return what people call a construct: the words of its class, in capitals as in SQL."""
    known = {
        "Subquery": "a sub-query",
        "Select": "a sub-query",
        "Window": "a window function",
        "Anonymous": "a function",
        "Placeholder": "a parameter",
        "Parameter": "a parameter",
        "Literal": "a literal here",
        "Distinct": "DISTINCT",
        "Command": "a command",
        "Star": "* here",
    }
    name = type(node).__name__
    return known.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).upper()


def _only(node: exp.Expression, *keys: str) -> None:
    """Refuse a node that has any part beside these."""
    for key, part in node.args.items():
        if part and key.rstrip("_") not in keys:
            first = part[0] if isinstance(part, list) else part
            told = {"with": "WITH", "hint": "a hint", "db": "a schema-qualified name", "catalog": "a qualified name"}
            raise _refused(told.get(key.rstrip("_")) or _part(key.rstrip("_").upper(), first))


def _part(key: str, part: object) -> str:
    called = key if isinstance(part, (bool, str)) else _called(part)
    return key if called in (key, "COLUMN") else f"{key} ({called})"


@dataclass
class _Reader:
    """Reads one statement; knows the tables that it names."""

    schema: Schema
    aliases: dict[str, str] = field(default_factory=dict)
    """What the request calls a table → the table."""
    tests: int = 0

    def request(self, select: exp.Select) -> Request:
        _only(select, "expressions", "from", "joins", "where", "group", "order", "limit")
        source = select.args.get("from_") or select.args.get("from")
        if source is None:
            raise _refused("a request without a table")
        _only(source, "this")
        table = self.table(source.this)
        joined = select.args.get("joins") or []
        name, keys = self.join(table, joined) if joined else (table, ())
        items = tuple(item for node in select.expressions for item in self.items(node))
        if not items:
            raise _refused("a SELECT of nothing", hint="name the columns")
        group = select.args.get("group")
        where = select.args.get("where")
        asked = Request(
            table=name,
            items=items,
            where=None if where is None else self.condition(where.this, 0),
            group_by=() if group is None else self.grouped(group),
            order_by=self.ordered(select.args.get("order"), items),
            limit=_limit(select.args.get("limit")),
            joined_by=keys,
        )
        return _sensible(asked)

    def table(self, node: Any) -> str:
        if type(node).__name__ != "Table":
            raise _refused(_called(node), where="from")
        if type(node.this).__name__ != "Identifier":
            raise _refused(f"a table function ({_called(node.this)})", where="from")
        _only(node, "this", "alias")
        name = self.known(node.this.name, self.schema.tables, "from")
        alias = node.args.get("alias")
        if alias is not None:
            _only(alias, "this")
        called = name if alias is None else alias.name
        if called in self.aliases:
            raise _refused("a table joined with itself, or a name used twice", where="from")
        self.aliases[called] = name
        return name

    def join(self, table: str, nodes: list[exp.Expression]) -> tuple[str, tuple[str, ...]]:
        """Return the declared join of two tables, and its key columns."""
        if len(nodes) > 1:
            raise _refused("a join of more than two tables", where="join")
        node = nodes[0]
        if node.args.get("side") or str(node.args.get("kind") or "INNER").upper() != "INNER" or not node.args.get("on"):
            raise _refused("a join that is not INNER JOIN … ON", where="join")
        _only(node, "this", "kind", "on")
        other = self.table(node.this)
        on = node.args["on"]
        if type(on).__name__ != "EQ" or {type(on.this).__name__, type(on.expression).__name__} != {"Column"}:
            raise _refused("a join by anything but one key = key", where="join")
        ends = {self.located(on.this), self.located(on.expression)}
        for declared in self.schema.joins:
            if ends == {declared.left, declared.right} and {table, other} == {declared.left[0], declared.right[0]}:
                return declared.name, tuple(dict.fromkeys((declared.left[1], declared.right[1])))
        raise Refused(
            "a join over keys that are not declared", where="join", hint="ask the owner which joins there are"
        )

    def located(self, node: exp.Column) -> tuple[str, str]:
        """Return the table and the name of a column."""
        _only(node, "this", "table")
        if type(node.this).__name__ != "Identifier":
            raise _refused(_called(node.this))
        asked = node.args.get("table")
        if asked is not None:
            table = self.aliases[self.known(asked.name, self.aliases, "column")]
            return table, self.known(node.name, self.schema.tables[table], "column")
        every = [name for table in self.aliases.values() for name in self.schema.tables[table]]
        name = self.known(node.name, every, "column")
        tables = [table for table in self.aliases.values() if name in self.schema.tables[table]]
        return tables[0], name  # the same name in both tables of a join is its key: one column

    def column(self, node: Any) -> str:
        if type(node).__name__ != "Column":
            raise _refused(_called(node))
        return self.located(node)[1]

    @staticmethod
    def known(name: str, names: Any, where: str) -> str:
        """Return a declared name as it is declared; names differ in case only where the declared ones do."""
        if name in names:
            return name
        alike = {one for one in names if one.lower() == name.lower()}
        if len(alike) == 1:
            return cast("str", alike.pop())
        raise Refused("no such name", where=where, got=repr(name[:40]), hint=nearest(name[:40], set(names)))

    def items(self, node: Any) -> list[Item]:
        """Return the columns of the answer that one entry of the select list stands for."""
        alias = None
        if type(node).__name__ == "Alias":
            _only(node, "this", "alias")
            alias, node = node.alias, node.this
        kind = type(node).__name__
        if kind == "Star" or (kind == "Column" and type(node.this).__name__ == "Star"):
            if alias is not None:
                raise _refused("a name for *")
            return self.star(node)
        if kind in _FUNCTIONS:
            function = _FUNCTIONS[kind]
            _only(node, "this", "big_int")
            column = None if function == "count" and type(node.this).__name__ == "Star" else self.column(node.this)
            return [Item(alias or (f"{function}_{column}" if column else function), column, function)]
        column = self.column(node)
        return [Item(alias or column, column)]

    def star(self, node: Any) -> list[Item]:
        tables = list(self.aliases.values())
        if type(node).__name__ == "Column":
            _only(node, "this", "table")
            tables = [self.aliases[self.known(node.args["table"].name, self.aliases, "column")]]
            node = node.this
        _only(node)
        names = dict.fromkeys(name for table in tables for name in self.schema.tables[table])
        return [Item(name, name) for name in names]

    def grouped(self, node: exp.Expression) -> tuple[str, ...]:
        _only(node, "expressions")
        names = tuple(dict.fromkeys(self.column(one) for one in node.expressions))
        if len(names) > MOST_GROUPS:
            raise _refused(f"a grouping by more than {MOST_GROUPS} columns", where="group by")
        return names

    def ordered(self, node: exp.Expression | None, items: tuple[Item, ...]) -> tuple[Order, ...]:
        if node is None:
            return ()
        _only(node, "expressions")
        return tuple(self.order(one, items) for one in node.expressions)

    def order(self, node: Any, items: tuple[Item, ...]) -> Order:
        descending = bool(node.args.get("desc"))
        _only(node, "this", "desc", "nulls_first")
        if bool(node.args.get("nulls_first")) is descending:
            raise _refused("NULLS FIRST or LAST", where="order by")
        if type(node.this).__name__ == "Column" and not node.this.args.get("table"):
            for item in items:
                if item.name == node.this.name:
                    return Order(item.name, descending)
        column = self.column(node.this)
        for item in items:
            if item.column == column and item.function is None:
                return Order(item.name, descending)
        raise _refused("a column that is not selected", where="order by", hint="select what you sort by")

    def condition(self, node: Any, depth: int) -> Condition:
        if depth > DEEPEST:
            raise _refused("a condition that is nested so deeply", where="where")
        kind = type(node).__name__
        if kind == "Paren":
            _only(node, "this")
            return self.condition(node.this, depth + 1)
        if kind in ("And", "Or"):
            _only(node, "this", "expression")
            parts = tuple(self.condition(part, depth + 1) for part in node.flatten())
            return Every(parts) if kind == "And" else Some(parts)
        if kind == "Not":
            _only(node, "this")
            return Not(self.condition(node.this, depth + 1))
        return self.test(node, kind)

    def test(self, node: Any, kind: str) -> Condition:
        self.tests += 1
        if self.tests > MOST_TESTS:
            raise _refused(f"more than {MOST_TESTS} comparisons", where="where")
        if kind in _SIGNS:
            _only(node, "this", "expression")
            turned = type(node.this).__name__ != "Column"
            column, value = (node.expression, node.this) if turned else (node.this, node.expression)
            if type(column).__name__ != "Column" or type(value).__name__ == "Column":
                raise _refused("a comparison of anything but a column with a literal", where="where")
            sign = _TURNED[_SIGNS[kind]] if turned else _SIGNS[kind]
            return Compare(self.column(column), sign, _value(value))
        if kind == "In":
            _only(node, "this", "expressions")
            return Among(self.column(node.this), tuple(_value(one) for one in node.expressions))
        if kind == "Between":
            _only(node, "this", "low", "high")
            column_name, low, high = self.column(node.this), _value(node.args["low"]), _value(node.args["high"])
            return Every((Compare(column_name, ">=", low), Compare(column_name, "<=", high)))
        if kind == "Is" and type(node.expression).__name__ == "Null":
            _only(node, "this", "expression")
            return IsNull(self.column(node.this))
        raise _refused(_called(node), where="where")


def _value(node: Any) -> Value:
    """Return a literal as a plain value."""
    kind = type(node).__name__
    if kind == "Neg" and type(node.this).__name__ == "Literal" and not node.this.is_string:
        return -cast("float", _value(node.this))
    if kind == "Boolean":
        return bool(node.this)
    if kind != "Literal":
        raise _refused(_called(node), where="where")
    text = str(node.this)
    if node.is_string:
        return text
    if not re.fullmatch(r"(\d{1,18}|\d{0,18}\.\d{1,18}|\d{1,18}\.)([eE][-+]?\d{1,2})?", text):
        raise _refused("a number of this form", where="where")
    return int(text) if text.isdigit() else float(text)


def _limit(node: Any) -> int | None:
    if node is None:
        return None
    if type(node).__name__ != "Limit":
        raise _refused(_called(node), where="limit")
    _only(node, "expression")
    count = node.expression
    if type(count).__name__ != "Literal" or count.is_string or not str(count.this).isdigit() or len(count.this) > 12:
        raise _refused("a limit that is not a whole number", where="limit")
    return int(count.this)


def _sensible(asked: Request) -> Request:
    names = [item.name for item in asked.items]
    if len(set(names)) != len(names):
        raise _refused("a name that occurs twice in the select list", hint="give one of them another name: AS …")
    if asked.aggregates:
        for item in asked.items:
            if item.function is None and item.column not in asked.group_by:
                raise _refused("a column beside aggregates that is not grouped by", hint="add it to GROUP BY")
        if not any(item.function for item in asked.items):
            raise _refused("GROUP BY without an aggregate", hint="add count(*)")
    return asked
