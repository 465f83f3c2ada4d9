"""pair_exactly(): the least suppression for k = 2, proven: pairs and triples that cover all unique records."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.algorithms.suppression.groups import CentredGroups, find_modes
from shoal.encoding.types import Floats, Ints

_NODES, _MOST, _NEAR = 2_000, 200_000, 1e-7


def pair_exactly(
    codes: Ints, counts: Ints, weights: Floats, found: CentredGroups, bound: float
) -> tuple[CentredGroups, float]:
    """Return groups of at least two records that suppress the least, and what none can go below.

    A group of four or more falls into smaller ones that cost no more, so every unique record is alone with a record
    that has others like itself, in a pair, or in a triple: a covering program. Its linear relaxation is the bound;
    where that is reached nothing is left to prove. Else an integer program chooses among those groups that could be in
    a better answer by their reduced costs.

    References
    ----------
    Blocki, J. and Williams, R. (2010). Resolving the complexity of some data privacy problems. ICALP.
    """
    rows = np.flatnonzero(counts == 1)
    if len(rows) < 2:
        return found, bound
    present = found.cost(codes, weights)
    groups, costs = _list_pairs(codes, counts, weights, rows)
    lower, duals = _relax(groups, costs, len(rows))
    while len(more := _price_triples(codes[rows], weights, duals, _NEAR)[0]):
        groups, costs = [*groups, *more], np.append(costs, _cost_triples(codes[rows], weights, more))
        lower, duals = _relax(groups, costs, len(rows))
    bound = max(bound, round_bound_up(lower, weights))
    if present <= bound + _NEAR:
        return found, present
    triples = _price_triples(codes[rows], weights, duals, -(present - lower) - _NEAR, _MOST + 1)[0]
    if len(triples) > _MOST:
        return found, bound
    known = set(groups)
    more = [triple for triple in triples if triple not in known]
    groups = [*groups, *more]
    costs = np.append(costs, _cost_triples(codes[rows], weights, more)) if more else costs
    chosen, proven = _choose(groups, costs, len(rows))
    if proven is not None:
        bound = max(bound, min(round_bound_up(proven, weights), present))
    if not len(chosen):
        return found, bound
    better = _read(codes, counts, weights, rows, [groups[index] for index in chosen])
    shows = bool((codes[better.tuples] == better.centres).any(axis=1).all())  # else somebody would show nothing
    return (better, bound) if shows and better.cost(codes, weights) < present - _NEAR else (found, bound)


def round_bound_up(value: float, weights: Floats) -> float:
    """Return the least sum of weights that is no less: of whole weights the next whole number."""
    whole = bool((weights == np.round(weights)).all())
    return float(np.ceil(value - _NEAR)) if whole else value


def _list_pairs(codes: Ints, counts: Ints, weights: Floats, rows: Ints) -> tuple[list[tuple[int, ...]], Floats]:
    """Return what covers one or two unique records: the nearest record that has others like it, and each other."""
    groups: list[tuple[int, ...]] = []
    costs: list[float] = []
    hosts = np.flatnonzero(counts > 1)
    alone = np.full(len(rows), np.inf)
    if len(hosts):
        for index, row in enumerate(rows.tolist()):
            alone[index] = float(((codes[hosts] != codes[row]) @ weights).min())
            groups.append((index,))
            costs.append(alone[index])
    for one in range(len(rows)):
        apart = (codes[rows[one + 1 :]] != codes[rows[one]]) @ weights
        near = np.flatnonzero(apart < alone[one] + alone[one + 1 :]) + one + 1
        groups += [(one, other) for other in near.tolist()]
        costs += apart[near - one - 1].tolist()
    return groups, np.array(costs)


def _cost_triples(codes: Ints, weights: Floats, triples: list[tuple[int, ...]]) -> Floats:
    """Return what triples cost around the centre of what most of them have."""
    if not triples:
        return np.zeros(0)
    one, two, three = (codes[list(column)] for column in zip(*triples, strict=True))
    equal = (one == two).astype(np.int64) + (one == three) + (two == three)
    return np.asarray(np.where(equal == 3, 0, np.where(equal == 1, 1, 2)) @ weights)


def _matrix(groups: list[tuple[int, ...]], count: int) -> Any:
    from scipy.sparse import csc_array

    indices = np.array([index for one in groups for index in one], np.int64)
    starts = np.append(0, np.cumsum([len(one) for one in groups]))
    return csc_array((np.ones(len(indices)), indices, starts), shape=(count, len(groups)))


def _relax(groups: list[tuple[int, ...]], costs: Floats, count: int) -> tuple[float, Floats]:
    """Return the least cost of a fractional cover, and what each record pays in it."""
    from scipy.optimize import linprog

    answer = linprog(costs, A_ub=-_matrix(groups, count), b_ub=-np.ones(count), bounds=(0, None), method="highs")
    return float(answer.fun), np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0)


def _price_triples(
    codes: Ints, weights: Floats, duals: Floats, least: float, most: int = 3_000
) -> tuple[list[tuple[int, ...]], Floats]:
    """Return the triples that cost less than their records pay by more than ``least``, the cheapest first."""
    found: list[tuple[int, ...]] = []
    gains: list[float] = []
    for one in range(len(codes) - 2):
        rest = codes[one + 1 :]
        apart = codes[one] != rest
        # for each column: 0, 1 or 2 stars by how many of the three agree
        two, three = np.triu_indices(len(rest), 1)
        if not len(two):
            continue
        worth = duals[one] + duals[one + 1 :][two] + duals[one + 1 :][three]
        open_ = np.flatnonzero(worth > least)
        two, three, worth = two[open_], three[open_], worth[open_]
        cost = np.zeros(len(two))
        for column, weight in enumerate(weights.tolist()):
            first, second = apart[two, column], apart[three, column]
            same = rest[two, column] == rest[three, column]
            cost += weight * np.where(first & second, np.where(same, 1, 2), (first | second).astype(np.int64))
        gain = worth - cost
        good = np.flatnonzero(gain > least)
        found += [(one, int(two[index]) + one + 1, int(three[index]) + one + 1) for index in good.tolist()]
        gains += gain[good].tolist()
    order = np.argsort(-np.array(gains), kind="stable")[:most]
    return [found[index] for index in order.tolist()], np.array(gains)[order]


def _choose(groups: list[tuple[int, ...]], costs: Floats, count: int) -> tuple[list[int], float | None]:
    """Return the cheapest cover among some groups, and what none of these covers goes below."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    answer = milp(
        costs,
        constraints=LinearConstraint(_matrix(groups, count), 1, np.inf),
        integrality=np.ones(len(groups)),
        bounds=Bounds(0, 1),
        options={"node_limit": _NODES},  # not of time: the answer must not depend on the machine
    )
    if answer.x is None:
        return [], None
    return np.flatnonzero(answer.x > 0.5).tolist(), float(answer.mip_dual_bound)


def _read(codes: Ints, counts: Ints, weights: Floats, rows: Ints, chosen: list[tuple[int, ...]]) -> CentredGroups:
    """Return the groups of a cover, each around what most of it have; who is alone goes to the nearest host."""
    hosts = np.flatnonzero(counts > 1)
    disjoint = _without_repeats(chosen)
    index = np.array([row for one in disjoint for row in one], np.int64)
    group = np.repeat(np.arange(len(disjoint)), [len(one) for one in disjoint])
    held = codes[rows[index]]
    centres = find_modes(held, np.ones(len(index), np.int64), group)
    for place in np.flatnonzero(np.bincount(group)[group] == 1).tolist():
        centres[place] = codes[hosts[int(np.argmin((codes[hosts] != held[place]) @ weights))]]
    return CentredGroups(rows[index], np.ones(len(index), np.int64), centres, np.zeros(0, np.int64))


def _without_repeats(chosen: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return disjoint groups: those that share a record become one."""
    joined: list[set[int]] = []
    for one in chosen:
        apart = [other for other in joined if not other & set(one)]
        meeting = [other for other in joined if other & set(one)]
        joined = [*apart, set(one).union(*meeting)]
    return [tuple(sorted(group)) for group in joined]
