"""select_shared(): the records that answers with the data as they are may be cut from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from shoal.encoding.types import Bools, Ints
from shoal.engines.columns import to_plain
from shoal.errors import PolicyError
from shoal.policy import Policy

_MOST = 2_000
"""Sets of columns that are looked at; a threshold that lets more through protects nothing."""
_STEPS = 200_000
"""Steps in which they must be found."""


def select_shared(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the records whose values at least so many persons share, whatever columns a client puts together.

    A client may have any columns whose weights stay under the threshold, from as many requests as it likes. So for each
    set of columns that is as large as the threshold allows, a record stays only if enough persons have its values in
    all of these columns, counted among the records that stay. What smaller sets show is then shared by as many at
    least. What is left out is left out of every answer: no two answers can be subtracted.

    Cost: a pass over the records for each such set, until nothing changes.

    Examples
    --------
    >>> frame = pl.DataFrame({"age": [30, 30, 41, 30], "sex": ["F", "F", "F", "M"]})
    >>> light = {"age": {"weight": 1}, "sex": {"weight": 1}}
    >>> promise = Policy(quasi_identifiers=light, models=[{"name": "k-anonymity", "k": 2}], threshold=2)
    >>> select_shared(frame, promise).rows()
    [(30, 'F'), (30, 'F')]
    >>> select_shared(frame, promise.replace(threshold=1)).rows()
    [(30, 'F'), (30, 'F')]
    """
    least, light = policy.raw_least, list_light_sets(policy)
    if least == 1 or not light:
        return frame
    columns = {name: _number(frame[name]) for name in {name for names in light for name in names}}
    persons = None if policy.subject is None else _number(frame[policy.subject])
    kept = np.ones(frame.height, bool)
    before = -1
    while before != (before := int(kept.sum())):
        for names in light:
            kept &= _find_shared([columns[name] for name in names], persons, kept, least)
    return frame.filter(pl.Series(kept, dtype=pl.Boolean))


def list_light_sets(policy: Policy) -> list[tuple[str, ...]]:
    """Return the largest sets of quasi-identifiers that a client may have as they are.

    Examples
    --------
    >>> from shoal import datasets
    >>> list_light_sets(datasets.policy("employees"))
    [('marital_status', 'sex'), ('age',), ('race', 'sex')]
    """
    if policy.threshold is None:
        return []
    weights = {name: Fraction(repr(column.weight)) for name, column in policy.quasi_identifiers.items()}
    room = Fraction(repr(policy.threshold))
    names = list(weights)
    sets: list[tuple[int, ...]] = []
    for step, found in enumerate(_extend((), Fraction(0), 0, list(weights.values()), room), start=1):
        sets += [] if found is None else [found]
        if len(sets) > _MOST or step == _STEPS:
            hint = "raise the weights, lower the threshold, or leave it out"
            raise PolicyError("the threshold lets too many sets of columns through", where="threshold", hint=hint)
    return [tuple(names[index] for index in found) for found in sets]


def _extend(
    chosen: tuple[int, ...], total: Fraction, start: int, weights: Sequence[Fraction], room: Fraction
) -> Iterator[tuple[int, ...] | None]:
    """Yield the sets that no further column fits into; ``None`` for a step that found none."""
    if start == len(weights):
        left = set(range(len(weights))) - set(chosen)
        largest = chosen and all(total + weights[index] > room for index in left)
        yield chosen if largest else None
        return
    if total + weights[start] <= room:
        yield from _extend((*chosen, start), total + weights[start], start + 1, weights, room)
    # without this one: only if later ones could fill the room that it leaves
    if weights[start] > 0 and total + weights[start] + sum(weights[start + 1 :]) > room:
        yield from _extend(chosen, total, start + 1, weights, room)


def _find_shared(columns: Sequence[Ints], persons: Ints | None, kept: Bools, least: int) -> Bools:
    """Return which records have values that enough persons share, among those that are kept."""
    rows = np.flatnonzero(kept)
    groups, count = _combine([column[rows] for column in columns])
    if persons is None:
        sizes = np.bincount(groups, minlength=count)
    else:
        pairs, _ = _combine([groups, persons[rows]])
        _, firsts = np.unique(pairs, return_index=True)
        sizes = np.bincount(groups[firsts], minlength=count)
    shared = np.zeros(len(kept), bool)
    shared[rows] = sizes[groups] >= least
    return shared


def _combine(columns: Sequence[Ints]) -> tuple[Ints, int]:
    """Return the number of each record's combination, and how many there are."""
    numbers = np.zeros(len(columns[0]), np.int64)
    for codes in columns:
        width = int(codes.max(initial=0)) + 1
        _, numbers = np.unique(numbers * width + codes, return_inverse=True)
        numbers = numbers.ravel()
    return numbers, int(numbers.max(initial=-1)) + 1


def _number(column: pl.Series) -> Ints:
    return to_plain(column).rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
