"""parse_sql(): SQL text → Request, by an allow-list; everything else is refused by the name of the construct."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from shoal.errors import Refused, import_extra, nearest
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
from shoal.gateway.sql_guard import parse_bounded

if TYPE_CHECKING:
    from sqlglot import exp

MAX_LENGTH = 10_000
"""Characters of a request."""
MAX_DEPTH = 60
"""Nested conditions of a request."""
MAX_TESTS = 200
"""Comparisons of a request."""
MAX_GROUPS = 6
"""Columns to group by."""
MAX_FIGURES = 20
"""Counts, sums and the like of one request: each is worked out for every group, and again to verify it."""
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


def parse_sql(text: str, schema: Schema) -> Request:
    """Return what a client asks for, or refuse it by the name of the construct that is not on the list.

    The text is parsed by sqlglot; every node of the tree, and every part of every node, must be on the list. What comes
    out holds names of the declared schema and plain values only, so nothing that a client writes reaches a database.
    A refusal names constructs, tables and columns; it repeats no value and no other text of the request.

    Examples
    --------
    >>> schema = Schema({"people": ("age", "sex")})
    >>> parse_sql("SELECT sex, count(*) AS n FROM people WHERE age >= 30 GROUP BY sex", schema).touched
    ('sex', 'age')
    >>> parse_sql("SELECT * FROM people UNION SELECT * FROM people", schema)
    Traceback (most recent call last):
        ...
    shoal.errors.Refused: request: UNION is not answered. Hint: select, from, inner join, where, ...
    """
    statement = _parse_statement(text)
    try:
        return _Reader(schema).read_request(statement)
    except RecursionError:
        raise _refusal("a condition that is nested so deeply") from None


def _refusal(construct: str, where: str = "request", hint: str = _ALLOWED) -> Refused:
    return Refused(f"{construct} is not answered", where=where, hint=hint)


def _parse_statement(text: str) -> exp.Select:
    sqlglot = import_extra("sqlglot", "gateway", "reading SQL")
    if len(text) > MAX_LENGTH:
        raise Refused("the request is too long", where="request", got=f"{len(text):,} characters")
    if any(ord(sign) < 32 and sign not in "\n\r\t" for sign in text) or "\x7f" in text:
        raise _refusal("a control character")
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it would write requests, and the values in them
    try:
        tokens = sqlglot.tokenize(text)
        if any(token.comments for token in tokens):
            raise _refusal("a comment", hint="leave it out: a comment may hide text")
        statements = [statement for statement in parse_bounded(tokens, text) if statement is not None]
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):  # its text would repeat the request
        raise Refused("the request is not SQL that is understood", where="request", hint=_ALLOWED) from None
    if len(statements) != 1 or ";" in [token.text for token in tokens[:-1]]:
        raise Refused(
            f"{len(statements)} statements in one request", where="request", hint="ask for one thing at a time"
        )
    if not isinstance(statements[0], sqlglot.exp.Select):
        raise _refusal(_name_construct(statements[0]))
    return cast("exp.Select", statements[0])


def _name_construct(node: object) -> str:
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


def _allow_only(node: exp.Expression, *keys: str) -> None:
    """Refuse a node that has any part beside these."""
    for key, part in node.args.items():
        if part and key.rstrip("_") not in keys:
            first = part[0] if isinstance(part, list) else part
            names = {"with": "WITH", "hint": "a hint", "db": "a schema-qualified name", "catalog": "a qualified name"}
            raise _refusal(names.get(key.rstrip("_")) or _name_part(key.rstrip("_").upper(), first))


def _name_part(key: str, part: object) -> str:
    called = key if isinstance(part, (bool, str)) else _name_construct(part)
    return key if called in (key, "COLUMN") else f"{key} ({called})"


@dataclass
class _Reader:
    """Reads one statement; knows the tables that it names."""

    schema: Schema
    aliases: dict[str, str] = field(default_factory=dict)
    """What the request calls a table → the table."""
    tests: int = 0

    def read_request(self, select: exp.Select) -> Request:
        _allow_only(select, "expressions", "from", "joins", "where", "group", "order", "limit")
        source = select.args.get("from_") or select.args.get("from")
        if source is None:
            raise _refusal("a request without a table")
        _allow_only(source, "this")
        table = self.read_table(source.this)
        joined = select.args.get("joins") or []
        name, keys = self.read_join(table, joined) if joined else (table, ())
        items = tuple(item for node in select.expressions for item in self.read_items(node))
        if not items:
            raise _refusal("a SELECT of nothing", hint="name the columns")
        group = select.args.get("group")
        where = select.args.get("where")
        request = Request(
            table=name,
            items=items,
            where=None if where is None else self.read_condition(where.this, 0),
            group_by=() if group is None else self.read_grouping(group),
            order_by=self.read_order(select.args.get("order"), items),
            limit=_read_limit(select.args.get("limit")),
            joined_by=keys,
        )
        return _check_consistency(request)

    def read_table(self, node: Any) -> str:
        if type(node).__name__ != "Table":
            raise _refusal(_name_construct(node), where="from")
        if type(node.this).__name__ != "Identifier":
            raise _refusal(f"a table function ({_name_construct(node.this)})", where="from")
        _allow_only(node, "this", "alias")
        name = self.resolve_name(node.this.name, self.schema.tables, "from")
        alias = node.args.get("alias")
        if alias is not None:
            _allow_only(alias, "this")
        called = name if alias is None else alias.name
        if called in self.aliases:
            raise _refusal("a table joined with itself, or a name used twice", where="from")
        self.aliases[called] = name
        return name

    def read_join(self, table: str, nodes: list[exp.Expression]) -> tuple[str, tuple[str, ...]]:
        """Return the declared join of two tables, and its key columns."""
        if len(nodes) > 1:
            raise _refusal("a join of more than two tables", where="join")
        node = nodes[0]
        if node.args.get("side") or str(node.args.get("kind") or "INNER").upper() != "INNER" or not node.args.get("on"):
            raise _refusal("a join that is not INNER JOIN … ON", where="join")
        _allow_only(node, "this", "kind", "on")
        other = self.read_table(node.this)
        on = node.args["on"]
        if type(on).__name__ != "EQ" or {type(on.this).__name__, type(on.expression).__name__} != {"Column"}:
            raise _refusal("a join by anything but one key = key", where="join")
        ends = {self.locate(on.this), self.locate(on.expression)}
        for declared in self.schema.joins:
            if ends == {declared.left, declared.right} and {table, other} == {declared.left[0], declared.right[0]}:
                return declared.name, tuple(dict.fromkeys((declared.left[1], declared.right[1])))
        raise Refused(
            "a join over keys that are not declared", where="join", hint="ask the owner which joins there are"
        )

    def locate(self, node: exp.Column) -> tuple[str, str]:
        """Return the table and the name of a column."""
        _allow_only(node, "this", "table")
        if type(node.this).__name__ != "Identifier":
            raise _refusal(_name_construct(node.this))
        qualifier = node.args.get("table")
        if qualifier is not None:
            table = self.aliases[self.resolve_name(qualifier.name, self.aliases, "column")]
            return table, self.resolve_name(node.name, self.schema.tables[table], "column")
        every = [name for table in self.aliases.values() for name in self.schema.tables[table]]
        name = self.resolve_name(node.name, every, "column")
        tables = [table for table in self.aliases.values() if name in self.schema.tables[table]]
        return tables[0], name  # the same name in both tables of a join is its key: one column

    def read_column(self, node: Any) -> str:
        if type(node).__name__ != "Column":
            raise _refusal(_name_construct(node))
        return self.locate(node)[1]

    @staticmethod
    def resolve_name(name: str, names: Any, where: str) -> str:
        """Return a declared name as it is declared; names differ in case only where the declared ones do."""
        if name in names:
            return name
        alike = {one for one in names if one.lower() == name.lower()}
        if len(alike) == 1:
            return cast("str", alike.pop())
        raise Refused("no such name", where=where, got=repr(name[:40]), hint=nearest(name[:40], set(names)))

    def read_items(self, node: Any) -> list[Item]:
        """Return the columns of the answer that one entry of the select list stands for."""
        alias = None
        if type(node).__name__ == "Alias":
            _allow_only(node, "this", "alias")
            alias, node = node.alias, node.this
        kind = type(node).__name__
        if kind == "Star" or (kind == "Column" and type(node.this).__name__ == "Star"):
            if alias is not None:
                raise _refusal("a name for *")
            return self.expand_star(node)
        if kind in _FUNCTIONS:
            function = _FUNCTIONS[kind]
            _allow_only(node, "this", "big_int")
            column = None if function == "count" and type(node.this).__name__ == "Star" else self.read_column(node.this)
            return [Item(alias or (f"{function}_{column}" if column else function), column, function)]
        column = self.read_column(node)
        return [Item(alias or column, column)]

    def expand_star(self, node: Any) -> list[Item]:
        tables = list(self.aliases.values())
        if type(node).__name__ == "Column":
            _allow_only(node, "this", "table")
            tables = [self.aliases[self.resolve_name(node.args["table"].name, self.aliases, "column")]]
            node = node.this
        _allow_only(node)
        names = dict.fromkeys(name for table in tables for name in self.schema.tables[table])
        return [Item(name, name) for name in names]

    def read_grouping(self, node: exp.Expression) -> tuple[str, ...]:
        _allow_only(node, "expressions")
        names = tuple(dict.fromkeys(self.read_column(one) for one in node.expressions))
        if len(names) > MAX_GROUPS:
            raise _refusal(f"a grouping by more than {MAX_GROUPS} columns", where="group by")
        return names

    def read_order(self, node: exp.Expression | None, items: tuple[Item, ...]) -> tuple[Order, ...]:
        if node is None:
            return ()
        _allow_only(node, "expressions")
        keys = [self.read_sort_key(one, items) for one in node.expressions]
        return tuple({key.name: key for key in reversed(keys)}.values())[::-1]  # later ones of the same sort nothing

    def read_sort_key(self, node: Any, items: tuple[Item, ...]) -> Order:
        descending = bool(node.args.get("desc"))
        _allow_only(node, "this", "desc", "nulls_first")
        if bool(node.args.get("nulls_first")) is descending:
            raise _refusal("NULLS FIRST or LAST", where="order by")
        if type(node.this).__name__ == "Column" and not node.this.args.get("table"):
            for item in items:
                if item.name == node.this.name:
                    return Order(item.name, descending)
        column = self.read_column(node.this)
        for item in items:
            if item.column == column and item.function is None:
                return Order(item.name, descending)
        raise _refusal("a column that is not selected", where="order by", hint="select what you sort by")

    def read_condition(self, node: Any, depth: int) -> Condition:
        if depth > MAX_DEPTH:
            raise _refusal("a condition that is nested so deeply", where="where")
        kind = type(node).__name__
        if kind == "Paren":
            _allow_only(node, "this")
            return self.read_condition(node.this, depth + 1)
        if kind in ("And", "Or"):
            _allow_only(node, "this", "expression")
            parts = tuple(self.read_condition(part, depth + 1) for part in node.flatten())
            return Every(parts) if kind == "And" else Some(parts)
        if kind == "Not":
            _allow_only(node, "this")
            return Not(self.read_condition(node.this, depth + 1))
        return self.read_test(node, kind)

    def read_test(self, node: Any, kind: str) -> Condition:
        self.tests += 1
        if self.tests > MAX_TESTS:
            raise _refusal(f"more than {MAX_TESTS} comparisons", where="where")
        if kind in _SIGNS:
            _allow_only(node, "this", "expression")
            turned = type(node.this).__name__ != "Column"
            column, value = (node.expression, node.this) if turned else (node.this, node.expression)
            if type(column).__name__ != "Column" or type(value).__name__ == "Column":
                raise _refusal("a comparison of anything but a column with a literal", where="where")
            sign = _TURNED[_SIGNS[kind]] if turned else _SIGNS[kind]
            return Compare(self.read_column(column), sign, _read_value(value))
        if kind == "In":
            _allow_only(node, "this", "expressions")
            return Among(self.read_column(node.this), tuple(_read_value(one) for one in node.expressions))
        if kind == "Between":
            _allow_only(node, "this", "low", "high")
            column_name, low, high = (
                self.read_column(node.this),
                _read_value(node.args["low"]),
                _read_value(node.args["high"]),
            )
            return Every((Compare(column_name, ">=", low), Compare(column_name, "<=", high)))
        if kind == "Is" and type(node.expression).__name__ == "Null":
            _allow_only(node, "this", "expression")
            return IsNull(self.read_column(node.this))
        raise _refusal(_name_construct(node), where="where")


def _read_value(node: Any) -> Value:
    kind = type(node).__name__
    if kind == "Neg" and type(node.this).__name__ == "Literal" and not node.this.is_string:
        return -cast("float", _read_value(node.this))
    if kind == "Boolean":
        return bool(node.this)
    if kind != "Literal":
        raise _refusal(_name_construct(node), where="where")
    text = str(node.this)
    if node.is_string:
        return text
    if not re.fullmatch(r"(\d{1,18}|\d{0,18}\.\d{1,18}|\d{1,18}\.)([eE][-+]?\d{1,2})?", text):
        raise _refusal("a number of this form", where="where")
    return int(text) if text.isdigit() else float(text)


def _read_limit(node: Any) -> int | None:
    if node is None:
        return None
    if type(node).__name__ != "Limit":
        raise _refusal(_name_construct(node), where="limit")
    _allow_only(node, "expression")
    count = node.expression
    if type(count).__name__ != "Literal" or count.is_string or not str(count.this).isdigit() or len(count.this) > 12:
        raise _refusal("a limit that is not a whole number", where="limit")
    return int(count.this)


def _check_consistency(request: Request) -> Request:
    """Return a request whose parts fit each other."""
    names = [item.name for item in request.items]
    if len(set(names)) != len(names):
        raise _refusal("a name that occurs twice in the select list", hint="give one of them another name: AS …")
    figures = [item for item in request.items if item.function]
    columns = [item.column for item in request.items if not item.function]
    if len(figures) > MAX_FIGURES:
        raise _refusal(f"more than {MAX_FIGURES} aggregates", hint="ask for some at a time")
    if len(set(columns)) != len(columns):
        raise _refusal("a column that is selected twice", hint="name it once")
    if request.aggregates:
        for item in request.items:
            if item.function is None and item.column not in request.group_by:
                raise _refusal("a column beside aggregates that is not grouped by", hint="add it to GROUP BY")
        if not figures:
            raise _refusal("GROUP BY without an aggregate", hint="add count(*)")
    return request
