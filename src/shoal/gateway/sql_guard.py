"""parse_bounded(): a general SQL parser takes exponential time for some short texts; this one stops it.

Twice: what no request needs is refused before it is parsed, and the parser may take so many steps. The steps are
counted, not the time: the same text is refused on every machine, however busy. Each of these limits is far above what
the language of requests has any use for: what is refused here would be refused after parsing, by its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from shoal.errors import Refused, import_extra

MAX_STEPS = 20
"""Steps of the parser for each token, forwards or back to try something else; a usual request takes one or two."""
_LEAST_STEPS = 2_000
MAX_TOKENS = 5_000
"""Words and signs of a request: two for each value of a list."""
MAX_DEPTH = 60
"""Brackets in brackets."""
MAX_CALLS = 3
"""Brackets in brackets that follow a name, as in ``f(g(x))``: the parser tries each as a type and as a function."""
MAX_BRANCHES = 3
"""How often each word may occur at which the parser tries several ways, one inside the other."""
_CONDITIONS = frozenset({"L_PAREN", "WHERE", "ON", "AND", "OR", "NOT"})
"""What stands before a bracket around a condition."""
_OPENING = frozenset({"L_PAREN", "L_BRACKET", "L_BRACE"})
_CLOSING = frozenset({"R_PAREN", "R_BRACKET", "R_BRACE"})
_BRANCHING = frozenset({"JOIN", "STRAIGHT_JOIN", "UNION", "EXCEPT", "INTERSECT", "SELECT", "WITH", "CASE", "ARROW"})
_HINT = "ask for less at a time"


def check_tokens(tokens: Sequence[Any]) -> None:
    """Refuse what is too long, too deep or too much of one thing for a parser; this takes one look at each token.

    Examples
    --------
    >>> from sqlglot import tokenize
    >>> check_tokens(tokenize("SELECT sex, count(*) FROM people WHERE NOT (age > 30 OR (sex = 'M')) GROUP BY sex"))
    >>> check_tokens(tokenize("SELECT DECIMAL(DECIMAL(DECIMAL(DECIMAL(1)))) FROM people"))
    Traceback (most recent call last):
        ...
    shoal.errors.Refused: request: functions or types nested so deeply are not answered; got more than 3. Hint: ...
    """
    kinds = [token.token_type.name for token in tokens]
    if len(kinds) > MAX_TOKENS:
        raise _refuse("so many words and signs", MAX_TOKENS)
    _check_brackets(kinds)
    counts = Counter(kind for kind in kinds if kind in _BRANCHING)
    for kind, count in counts.items():
        if count > MAX_BRANCHES:
            raise _refuse(f"so many times {kind.replace('_', ' ')}", MAX_BRANCHES)


def parse_bounded(tokens: Sequence[Any], text: str) -> list[Any]:
    """Return the statements of a text, or refuse one that takes its parser too many steps.

    Examples
    --------
    >>> from sqlglot import tokenize
    >>> text = "SELECT sex FROM people"
    >>> parse_bounded(tokenize(text), text)[0].sql()
    'SELECT sex FROM people'
    """
    check_tokens(tokens)
    return list(_make_parser()(max(_LEAST_STEPS, MAX_STEPS * len(tokens))).parse(list(tokens), text))


@cache
def _make_parser() -> Any:
    dialect = import_extra("sqlglot", "gateway", "reading SQL").Dialect.get_or_raise(None)

    class BoundedParser(dialect.parser_class):  # type: ignore[misc,name-defined]
        """sqlglot's parser with so many steps to take."""

        def __init__(self, steps: int) -> None:
            super().__init__(dialect=dialect)
            self._steps_left = steps

        def _advance(self, times: int = 1) -> None:
            self._steps_left -= 1
            if self._steps_left < 0:
                raise Refused("the request takes too long to read", where="request", hint=_HINT)
            super()._advance(times)

    return BoundedParser


def _check_brackets(kinds: list[str]) -> None:
    """Refuse brackets that are nested too deeply."""
    open_calls: list[bool] = []
    calls = 0
    for before, kind in pairwise(["L_PAREN", *kinds]):
        if kind in _OPENING:
            is_call = before not in _CONDITIONS
            open_calls.append(is_call)
            calls += is_call
            if calls > MAX_CALLS:
                raise _refuse("functions or types nested so deeply", MAX_CALLS)
            if len(open_calls) > MAX_DEPTH:
                raise _refuse("brackets nested so deeply", MAX_DEPTH)
        elif kind in _CLOSING and open_calls:
            calls -= open_calls.pop()


def _refuse(what: str, most: int) -> Refused:
    return Refused(f"{what} are not answered", where="request", got=f"more than {most:,}", hint=_HINT)
