"""Local suppression: every value as it is, but for the fewest single cells that show ``*`` instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.local.shoal import Shoal
from shoal.algorithms.suppression.groups import CentredGroups, group_tuples
from shoal.algorithms.suppression.neighbours import least_distances
from shoal.algorithms.suppression.pairing import pair_exactly, round_bound_up
from shoal.algorithms.suppression.restoring import ColumnSet, restore_cells
from shoal.encoding.domains import STAR
from shoal.encoding.types import Bools, Ints
from shoal.errors import Fault, NotFound
from shoal.kernels.group import group
from shoal.models.base import PrivacyModel
from shoal.recodings.base import Column
from shoal.recodings.cell_suppression import CellSuppression
from shoal.recodings.local import Local
from shoal.utility.certainty_penalty import CertaintyPenalty

_ROUNDS, _MOST_ROUNDS = 30, 200_000
"""How often a lonely tuple is looked at, about, and how many rounds that makes at most."""
_MOST_PAIRED = 500
"""Of so many lonely records pairs and triples are proven to be the best, at most."""


class LocalSuppression(Algorithm):
    """Publish every value as it is, but for the fewest single cells that show ``*`` instead.

    The promise says how a ``*`` is read. Under ``k-anonymity``, and with every other model, it is *a value of its
    own*: records are put into classes, and a column in which a class does not agree is ``*`` for all of it. The search
    is that of ``shoal``. Under ``wildcard-k-anonymity`` alone it *matches anything*: records fall into disjoint groups
    of at least k around a centre, and each shows ``*`` only where it differs from the centre; any two of a group then
    agree wherever both show something. Groups are searched by ruin and recreate. Disjoint groups are more than the
    model asks: by its letter a few records that show next to nothing would do for all others, which protects nobody.

    Where an attacker knows only some columns (``scenarios`` and no other model; sdcMicro's all-m subsets are
    ``any_of: m``), each of these cells is shown again where enough records still look alike in all sets of columns that
    it is in, the dearest first.

    A column's ``weight`` is what a cell of it costs: 10 rather suppresses nine cells of weight 1. So an order of
    importance is a sequence of weights of which each is more than all cells before it would cost together.

    What is found is compared with what no grouping can do with less: for k = 2 the least weight of pairs and triples
    that cover all unique records (a linear program, and a small integer program where it does not decide), else half
    of what the k - 1 nearest records of each are away on the average; with ``*`` as a value of its own, what the
    (k - 1)th nearest is away. ``bound`` and ``proven`` stand in the manifest.

    Why it is safe: every model is counted again on what is published, as for every search.

    Cost: thirty rounds for each tuple of fewer than k records, 200,000 at most; no distances of all pairs are kept.

    References
    ----------
    Meyerson, A. and Williams, R. (2004). On the complexity of optimal k-anonymity. PODS.
    Blocki, J. and Williams, R. (2010). Resolving the complexity of some data privacy problems. ICALP (k = 2).
    Hundepool, A. et al. (2012). Statistical disclosure control. Wiley, 3.4.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [31, 31, 31, 52, 52], "town": ["A", "A", "B", "C", "C"]})
    >>> policy = shoal.Policy(
    ...     quasi_identifiers=["age", "town"],
    ...     models=[{"name": "wildcard-k-anonymity", "k": 2}],
    ...     algorithm=LocalSuppression(),
    ... )
    >>> shoal.anonymize(table, policy).table["town"].to_list()
    ['*', 'A', 'A', 'C', 'C']
    """

    falls_back: ClassVar[bool] = False
    """A table of nothing but ``*`` is no answer to who asks for few."""

    effort: Annotated[float, Field(ge=0.0, le=1000.0, allow_inf_nan=False)] = 1.0
    """How long to search for fewer cells."""

    def trial(self) -> Algorithm:
        """Return the same without any effort."""
        return self.replace(effort=0.0)

    def keeps(self, model: PrivacyModel) -> bool:
        """Also models that take ``*`` for any value are kept as they are."""
        return model.wildcard_k is not None or super().keeps(model)

    def search(self, problem: Problem) -> CellSuppression:
        """Search by the reading that the models ask for."""
        problem.begin()
        asked = [model.wildcard_k for model in problem.models]
        if None in asked:
            return self._suppress_equal(problem)
        return self._suppress_agreeing(problem, max(k for k in asked if k is not None))

    def _suppress_equal(self, problem: Problem) -> CellSuppression:
        """Suppress cells so that classes look alike; or records, to attackers who know only some columns."""
        single = tuple(model if model.wildcard_k is None else model.by_class for model in problem.models)
        columns = tuple(_as_value_or_star(column) for column in problem.columns)
        models = tuple(model for model in single if model is not None)
        plain = replace(problem, columns=columns, models=models, loss=CertaintyPenalty())
        found = Shoal(effort=self.effort).search(plain)
        blank, cells, weights = _find_differing(found, problem)
        if known := _list_known(problem):
            shown = problem.frequencies.tuples[problem.frequencies.cell_tuples[cells]].astype(np.int64)
            blank = restore_cells(blank, shown, weights, problem.weights, known)
        codes, counts = problem.frequencies.tuples.astype(np.int64), problem.frequencies.counts
        bound = _bound_equal(codes, counts, problem)
        return _finish(problem, blank, cells, weights, "a value of its own", bound)

    def _suppress_agreeing(self, problem: Problem, k: int) -> CellSuppression:
        """Suppress cells so that the records of groups agree."""
        codes, counts = problem.frequencies.tuples.astype(np.int64), problem.frequencies.counts
        found, bounds = [], []
        parts = _separate_fixed(problem)
        for number in range(int(parts.max()) + 1):
            inside = np.flatnonzero(parts == number)
            groups, bound = self._group(codes[inside], counts[inside], k, problem)
            found.append(replace(groups, tuples=inside[groups.tuples], lost=inside[groups.lost]))
            bounds.append(bound)
        joined = CentredGroups(
            np.concatenate([one.tuples for one in found]),
            np.concatenate([one.records for one in found]),
            np.concatenate([one.centres for one in found]),
            np.concatenate([one.lost for one in found]),
        )
        blank, cells, weights = _cut_cells(joined, problem)
        return _finish(problem, blank, cells, weights, "matches anything", sum(bounds))

    def _group(self, codes: Ints, counts: Ints, k: int, problem: Problem) -> tuple[CentredGroups, float]:
        """Return the groups of some tuples, and what none can go below."""
        weights, lonely = problem.weights, int((counts < k).sum())
        rounds = round(self.effort * min(_ROUNDS * lonely, _MOST_ROUNDS))
        problem.progress("grouping records", 0, lonely)
        groups = group_tuples(codes, counts, k, weights, rounds=rounds, seed=problem.seed + 1)
        bound = round_bound_up(float(counts @ least_distances(codes, counts, k, weights)) / (2 * (k - 1)), weights)
        if k == 2 and lonely <= _MOST_PAIRED and not len(groups.lost):
            groups, bound = pair_exactly(codes, counts, weights, groups, bound)
        return groups, bound


def _list_known(problem: Problem) -> list[ColumnSet]:
    """Return what attackers know of the columns, where that and nothing else is asked, and records are counted."""
    names = [column.name for column in problem.columns]
    asked = [(model.scenario_k, model.scenarios(names)) for model in problem.models]
    if problem.frequencies.subjects is not None or any(k is None for k, _ in asked):
        return []
    return [ColumnSet(tuple(map(names.index, known)), k) for k, sets in asked for known in sets if k is not None]


def _as_value_or_star(column: Column) -> Column:
    """Return a column that shows its values or ``*``, whatever its hierarchy."""
    levels, size = column.levels, column.levels.size
    nothing = np.full((1, size), np.nan)
    flat = replace(
        levels,
        codes=np.stack([levels.codes[0], np.zeros_like(levels.codes[0])]),
        labels=(levels.labels[0], (STAR,)),
        penalties=np.stack([levels.penalties[0], np.ones(size)]),
        lows=np.concatenate([levels.lows[:1], nothing]),
        highs=np.concatenate([levels.highs[:1], nothing]),
        nested=True,
    )
    limits = None if column.limits is None else (column.limits >= levels.height).astype(np.int64)
    return replace(column, levels=flat, form="labels", max_level=1, limits=limits, rounded_ends=None)


def _separate_fixed(problem: Problem) -> Ints:
    """Return the part of each tuple: values that a boundary keeps from being suppressed are shared within a part."""
    codes = problem.frequencies.tuples.astype(np.int64)
    fixed = [
        np.where(column.limits[held] < column.levels.height, held + 1, 0)
        for column, held in zip(problem.columns, codes.T, strict=True)
        if column.limits is not None
    ]
    if not fixed:
        return np.zeros(len(codes), np.int64)
    return group(fixed, [int(column.max(initial=0)) + 1 for column in fixed])[0]


def _find_differing(found: Local, problem: Problem) -> tuple[Bools, Ints, Ints]:
    """Return in which columns the class of each piece does not agree, and cell and records of each piece."""
    frequencies = problem.frequencies
    cells = np.arange(len(found.members)) if found.cells is None else found.cells
    weights = frequencies.cell_counts if found.weights is None else found.weights
    codes = frequencies.tuples[frequencies.cell_tuples[cells]].astype(np.int64)
    inside = found.members >= 0
    blank = np.ones(codes.shape, bool)
    for column in range(codes.shape[1]):
        low = np.full(found.count, np.iinfo(np.int64).max)
        high = np.full(found.count, -1)
        np.minimum.at(low, found.members[inside], codes[inside, column])
        np.maximum.at(high, found.members[inside], codes[inside, column])
        blank[inside, column] = (low != high)[found.members[inside]]
    return blank, cells.astype(np.int64), weights


def _cut_cells(groups: CentredGroups, problem: Problem) -> tuple[Bools, Ints, Ints]:
    """Share the records of each tuple's pieces out to its cells, in their order."""
    frequencies = problem.frequencies
    codes = frequencies.tuples.astype(np.int64)
    blank = np.concatenate([codes[groups.tuples] != groups.centres, np.ones((len(groups.lost), codes.shape[1]), bool)])
    tuples = np.concatenate([groups.tuples, groups.lost])
    records = np.concatenate([groups.records, frequencies.counts[groups.lost]])
    order = np.argsort(tuples, kind="stable")
    blank, tuples, records = blank[order], tuples[order], records[order]
    rest = frequencies.counts - np.bincount(tuples, records, len(frequencies.counts)).astype(np.int64)
    whole = np.flatnonzero(rest)
    tuples, records = np.append(tuples, whole), np.append(records, rest[whole])
    blank = np.concatenate([blank, np.zeros((len(whole), codes.shape[1]), bool)])
    order = np.argsort(tuples, kind="stable")
    blank, records = blank[order], records[order]
    # pieces and cells both stand in the order of their tuples: a cut wherever one of them ends
    mine, theirs = np.cumsum(records), np.cumsum(frequencies.cell_counts)
    ends = np.union1d(mine, theirs)
    piece, cell = np.searchsorted(mine, ends), np.searchsorted(theirs, ends)
    return blank[piece], cell.astype(np.int64), np.diff(ends, prepend=0).astype(np.int64)


def _bound_equal(codes: Ints, counts: Ints, problem: Problem) -> float:
    """Return what no classes of k equal records go below: each record loses the cells in which the (k - 1)th nearest
    differs at least."""
    k = problem.k
    if k < 2:
        return 0.0
    nearer = least_distances(codes, counts, k - 1, problem.weights) if k > 2 else np.zeros(len(counts))
    return float(counts @ (least_distances(codes, counts, k, problem.weights) - nearer))


def _finish(problem: Problem, blank: Bools, cells: Ints, weights: Ints, reading: str, bound: float) -> CellSuppression:
    """Return the recoding, if no more records are suppressed than may be."""
    suppressed = int(weights[blank.all(axis=1)].sum())
    if suppressed > problem.max_suppressed:
        raise NotFound(
            Fault(
                f"not found: groups of records that share a value; {suppressed:,} records would show nothing",
                got=f"{problem.max_suppressed:,} may be suppressed",
                hint="allow them to be suppressed (max_suppressed), or treat or generalize columns of many values",
            )
        )
    cost = float((weights @ blank) @ problem.weights)
    names = tuple(column.name for column in problem.columns)
    return CellSuppression(blank, cells, weights, names, reading, min(bound, cost), cost)
