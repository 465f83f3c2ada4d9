"""compose_classes(): classes composed of the nearest records that the models let them take, as a start of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shoal.algorithms.clustering.composition import ClassComposition
from shoal.algorithms.clustering.sequence import complete_classes, order_by_rule
from shoal.algorithms.clustering.snake import sort_records
from shoal.algorithms.clustering.units import Units
from shoal.encoding.types import Ints
from shoal.kernels.group import number_values

_CHUNK = 1000
"""Records of a stretch: among them the nearest are looked for."""
_QUOTA = 0.5
"""The share of them that classes are composed of; the others then join these."""
_LARGE = 4000
"""Records of a class above which none is composed around a unit that needs so many."""
_AROUND = 4
"""Where a class is larger than a stretch, the nearest are looked for among so many times its records."""
_WINDOW = 2000
"""Classes among which each record that is left looks for one."""
_REFUSED = 0.5
"""The share of a part of the rest that finds no class, above which a size of classes is given up."""
_SIZES = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 6.0, 10.0, 20.0)
"""Sizes of a class that are tried, by its least size: the more is asked of it, the more records it needs."""
_WORSE = 2
"""So many sizes in turn that cost more than a smaller one, and no larger ones are tried."""


def compose_classes(units: Units, *, at_once: bool) -> Iterator[Ints]:
    """Yield the class of each unit, -1 for suppressed ones: for the least size of classes, or for some larger ones.

    Classes take what is nearest in turn, out of a stretch of a sequence, as far as they can still comply in the end;
    then each record that is left joins the class that still complies with it and costs least (as in k-member; that
    classes take the values of their records in a bounded proportion is from SABRE and BUREL). Kinds that need much
    larger classes than others are left out, if so many may be suppressed.

    References
    ----------
    Cao, J., Karras, P., Kalnis, P. and Tan, K.-L. (2011). SABRE: a sensitive attribute bucketization and
    redistribution framework for t-closeness. VLDB Journal 20(1).
    Cao, J. and Karras, P. (2012). Publishing microdata with a robust privacy guarantee. PVLDB 5(11).
    """
    if units.composition is None:
        return
    order = sort_records(order_by_rule(units), units.codes)
    order = order[~np.isin(order, find_demanding(units))]
    yield from _try_sizes(units, units.composition, order, _SIZES[:1] if at_once else _SIZES[1:])


def find_demanding(units: Units) -> Ints:
    """Return the units of kinds that need the largest classes, as many as may be suppressed."""
    if units.composition is None or not units.problem.max_suppressed:
        return np.zeros(0, np.int64)
    kinds = units.composition.kinds
    needed = units.composition.needed[kinds]
    ranked = np.argsort(-needed, kind="stable")
    ranked = ranked[needed[ranked] > 2 * needed.min()]
    # a kind is left out as a whole, or not at all
    last = np.flatnonzero(np.diff(kinds[ranked], append=-1) != 0) + 1
    fits = last[last <= units.problem.max_suppressed]
    result: Ints = ranked[: int(fits.max(initial=0))]
    return result


def _try_sizes(units: Units, composition: ClassComposition, order: Ints, sizes: Sequence[float]) -> Iterator[Ints]:
    """Yield classes of one size after the other, as long as larger ones cost less."""
    least, worse, index = np.inf, 0, 0
    large = _compose_large(units, composition, order)
    while index < len(sizes) and worse <= _WORSE:
        size = int(np.ceil(sizes[index] * composition.conditions.least))
        members = _compose(units, composition, order, size, large) if size <= len(order) else None
        index += 1 if members is not None else 2  # what asks much asks for much more
        if members is None:
            continue
        units.problem.progress("composing classes", int(members.max()) + 1, 0)
        cost = units.cost(members)
        worse = 0 if cost < least else worse + 1
        if cost < least:
            least = cost
            yield members


def _compose(units: Units, composition: ClassComposition, order: Ints, size: int, large: Ints) -> Ints | None:
    """Compose classes of about a size of the units of a sequence besides ``large`` ones; ``None`` where none forms."""
    from shoal.kernels.compose import GOLDEN, compose_sequence, place_rest

    data = (units.costs, units.boxes, composition.places)
    members, conditions, needed = large, composition.conditions, composition.needed
    count = int(large.max(initial=-1)) + 1
    left = order[members[order] < 0]
    more = np.full(len(units), -1, np.int64)
    formed = compose_sequence(*data, composition.kinds, conditions, left, needed, size, _QUOTA, _CHUNK, more)
    members, count = np.where(more >= 0, more + count, members), count + formed
    if count == 0:
        return None
    index = np.empty(len(units), np.int64)
    index[order] = np.arange(len(order))
    first = np.full(count, len(units), np.int64)
    inside = members >= 0
    np.minimum.at(first, members[inside], index[inside])
    rank = np.argsort(first, kind="stable")  # number the classes along the sequence: a record asks those around it
    number = np.empty(count, np.int64)
    number[rank] = np.arange(count)
    members[inside] = number[members[inside]]
    rest = order[members[order] < 0]
    rest = rest[np.argsort(np.arange(len(rest)) * GOLDEN % 1.0, kind="stable")]  # so that all classes grow alike
    alone = len(rest) + 1
    while 0 < len(rest) < alone:  # classes that took others may take more
        alone = len(rest)
        for part in np.array_split(rest, max(len(rest) // _CHUNK, 1)):
            near = np.searchsorted(first[rank], index[part]).astype(np.int64)
            left = place_rest(*data, conditions, part, near, _WINDOW, members, count)
            if len(part) >= _CHUNK and left > _REFUSED * len(part):
                return None  # hardly anybody finds a class: too much is asked of ones of this size
        rest = rest[members[rest] < 0]
    return _finish(units, members)


def _compose_large(units: Units, composition: ClassComposition, order: Ints) -> Ints:
    """Compose a class around each unit that needs a larger one than a stretch has; the others are in none."""
    from shoal.kernels.blocks import start_random
    from shoal.kernels.compose import compose_pool

    members, count, state = np.full(len(units), -1, np.int64), 0, start_random(0, 0, 0)
    data = (units.costs, units.boxes, composition.places, composition.kinds, composition.conditions)
    sizes = composition.needed[composition.kinds[order]]
    for index in np.flatnonzero((sizes > _CHUNK // 2) & (sizes <= min(_LARGE, len(order)))).tolist():
        seed, around = order[index], _AROUND * int(sizes[index])
        if members[seed] >= 0:
            continue
        pool = order[max(index - around // 2, 0) : index + around // 2 + 1]
        pool = np.append(seed, pool[(members[pool] < 0) & (pool != seed)])
        # the least share of the pool: one class
        found = compose_pool(*data, pool, int(sizes[index]), 1e-12, 0.0, state, members, count)
        if found == count:
            break  # so it will be with others
        count = found
    return members


def _finish(units: Units, members: Ints) -> Ints:
    """Suppress those that no class took, within what is allowed, else let them join their neighbours."""
    out = members < 0
    if int(units.records[out].sum()) > units.problem.max_suppressed:
        members = np.where(out, int(members.max()) + np.cumsum(out), members)
    kept = np.flatnonzero(members >= 0)
    inside = units.only(kept)
    result = np.full(len(units), -1, np.int64)
    result[kept] = complete_classes(inside, number_values(members[kept]))
    return result
