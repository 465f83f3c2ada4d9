"""solve(): encode, search, and make the answer final; a solution, not yet a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.bounds.lower_bound import LowerBound
from shoal.algorithms.feasibility import Remainder, find_blocking_boundaries, find_coarsest_classes, find_unattainable
from shoal.encoding.types import Floats, Progress, silent
from shoal.engines.dictionary import TableDictionary
from shoal.errors import Infeasible, NotFound
from shoal.frequencies.frequencies import Classes
from shoal.models.base import name_models
from shoal.pipeline.encode import Encoded, encode
from shoal.pipeline.relaxations import Limits
from shoal.policy import Policy
from shoal.recodings.base import Column, ColumnLabels, Proof, Recoding
from shoal.recodings.equivalence_classes import EquivalenceClasses, finish_recoding
from shoal.recodings.full_domain import FullDomain
from shoal.recodings.local import Local
from shoal.utility.base import Outcome
from shoal.utility.certainty_penalty import CertaintyPenalty


@dataclass(frozen=True)
class Solution:
    """What a search decided for a table."""

    policy: Policy
    encoded: Encoded
    recoding: Recoding
    publication: EquivalenceClasses

    @cached_property
    def attained(self) -> dict[str, Any]:
        """What each model attains, as the search counts it."""
        classes = self.publication.classes
        return {
            title: model.measure(classes, self.encoded.background)
            for title, model in zip(name_models(self.policy.models), self.policy.models, strict=True)
        }

    @property
    def loss(self) -> float:
        """The loss that the policy names.

        Some losses depend on what suppressed records would have shown, which only a search through full-domain
        recodings knows: then it is what the search counted, and for other recodings the form that an audit counts.
        """
        loss, outcome = self.policy.loss, self.outcome()
        if not loss.known(outcome):
            if self.recoding.proof is not None and not isinstance(self.recoding, Local):  # there it is the penalty's
                return self.recoding.proof.loss
            loss = loss.auditable()
        return loss.measure(outcome).total

    @property
    def bound(self) -> float | None:
        """The certainty penalty that no local recoding can go below, where the recoding is local and it was sought."""
        return self.recoding.proof.bound if isinstance(self.recoding, Local) and self.recoding.proof else None

    def bounded(self, how: LowerBound | None = None, progress: Progress = silent) -> Solution:
        """Return the same decision with a bound on what any local recoding loses, where this one is local.

        By default the bound takes about a tenth of the time of the search.
        """
        if not isinstance(self.recoding, Local):
            return self
        problem = self.encoded.problem(self.policy, progress)
        # who stopped the search does not want to wait for what it would have been compared with
        search = self.policy.algorithm.trial() if self.recoding.stopped else self.policy.algorithm
        found = (how or LowerBound.beside(search, problem)).of(problem)
        forced, records = self.encoded.forced_suppression, self.encoded.frequencies.records
        total = (found.total * (records - forced) + forced) / records
        loss = CertaintyPenalty().measure(self.outcome()).total
        proof = Proof(loss, total, stopped=self.recoding.stopped, notes=(found.how,))
        return replace(self, recoding=replace(self.recoding, proof=proof))

    def outcome(self) -> Outcome:
        """Return what became of the table."""
        publication, classes = self.publication, self.publication.classes
        starred = publication.starred if classes.count > 1 else -1
        kept = np.where(np.arange(classes.count) == starred, 0, classes.records)
        columns = list(zip(self.encoded.columns, publication.columns, strict=True))
        return Outcome(
            records=self.encoded.frequencies.records,
            columns=tuple(self.policy.quasi_identifiers),
            weights=np.array([column.weight for column in self.encoded.columns]),
            suppressed=publication.suppressed - publication.held,  # those cost what their class costs
            classes=int((kept > 0).sum()),
            squares=int((kept * kept).sum()),
            penalty=np.array([kept @ shown.penalties for _, shown in columns]),
            exact=np.array([kept @ (shown.penalties == 0.0) for _, shown in columns], np.float64),
            generalization_height=np.array([kept @ _climbs(shown, column) for column, shown in columns]),
            log_cover_size=np.array([kept @ np.log2(np.maximum(shown.stands_for, 1)) for _, shown in columns]),
            log_value_counts=np.array([column.log_value_counts for column, _ in columns]),
            distinct=np.array([column.levels.size for column, _ in columns], np.float64),
            heights=np.array([column.levels.height for column, _ in columns], np.float64),
            starred=publication.suppressed - publication.held - publication.dropped,
            k=self.policy.k,
        )


def _climbs(shown: ColumnLabels, column: Column) -> Floats:
    """The level of what each class shows, as a share of the height; ``*`` is the top."""
    return np.where(shown.stars, 1.0, shown.levels / max(column.levels.height, 1))


def solve(words: TableDictionary, progress: Progress = silent) -> Solution:
    """Encode a table, search, and make the recoding final."""
    progress("counting", 0, 0)
    if not words.table.frame.height:
        raise Infeasible("the table has no records")
    return solve_encoded(encode(words), words.policy, progress)


def solve_encoded(encoded: Encoded, policy: Policy, progress: Progress = silent) -> Solution:
    """Search, and make the recoding final.

    Raises
    ------
    Infeasible
        Nothing complies; :class:`~shoal.errors.NotFound` where the search only gave up.
    """
    if policy.algorithm.needs_hierarchies:  # full-domain searches count who is beyond a boundary themselves
        return _solve_levels(encoded, policy, progress)
    encoded = _suppress_unattainable(encoded, policy.algorithm.to_classwise(encoded.problem(policy, progress)))
    problem = policy.algorithm.to_classwise(encoded.problem(policy, progress))
    try:
        return finish_solution(policy.algorithm.search(problem), encoded, policy)
    except Infeasible as error:
        if not problem.attainable or not policy.algorithm.falls_back:
            raise
        found = list(_fall_back(problem, encoded, policy))
        if not found:
            raise _not_found(error) from None
    return min(found, key=lambda decision: CertaintyPenalty().measure(decision.outcome()).total)


def _solve_levels(encoded: Encoded, policy: Policy, progress: Progress) -> Solution:
    problem = policy.algorithm.to_classwise(encoded.problem(policy, progress))
    try:
        return finish_solution(policy.algorithm.search(problem), encoded, policy)
    except Infeasible:
        if encoded.starred:  # what breaks a model as a class of stars may comply where it is left out
            return _solve_levels(replace(encoded, starred=False), policy, progress)
        if not _may_star(encoded, policy) or not problem.attainable:
            raise
        found = _complying(_as_stars(problem, [column.max_level for column in encoded.columns]), encoded, policy)
        if found is None:
            raise
        return found


def _may_star(encoded: Encoded, policy: Policy) -> bool:
    """Whether some records are suppressed whatever a search does, and what is published may follow from the data."""
    forced = bool(encoded.forced_suppression) or any(column.limits is not None for column in encoded.columns)
    fixed = policy.algorithm.data_independent or any(model.draws for model in policy.models)
    return forced and not fixed


def _as_stars(problem: Problem, levels: Sequence[int]) -> FullDomain:
    """Return the recoding of all records at some levels, the top of each column, but for those behind a boundary.

    By themselves they may fail, and comply as stars among those who are suppressed anyway; a search that looks at one
    class after the other takes such a class for suppressed.
    """
    beyond = np.zeros(len(problem.frequencies.tuples), bool)
    for column, level, codes in zip(problem.columns, levels, problem.frequencies.tuples.T, strict=True):
        beyond |= False if column.limits is None else column.limits[codes] < level
    return FullDomain(beyond, {column.name: level for column, level in zip(problem.columns, levels, strict=True)})


def _fall_back(problem: Problem, encoded: Encoded, policy: Policy) -> Iterator[Solution]:
    """Yield what can be published after a search found nothing: some records given up, the others searched again."""
    tops = [column.levels.height for column in encoded.columns]
    stars = [[_as_stars(problem, tops)]] if _may_star(encoded, policy) else []
    for recodings in chain(stars, (_recodings(remainder, policy) for remainder in find_coarsest_classes(problem))):
        complying = (_complying(recoding, encoded, policy) for recoding in recodings)
        found = next((decision for decision in complying if decision is not None), None)
        if found is not None:
            yield found


def _complying(recoding: Recoding, encoded: Encoded, policy: Policy) -> Solution | None:
    """Return a decision that keeps every model as it is counted here, if the recoding is one."""
    try:
        decision = finish_solution(recoding, encoded, policy)
    except Infeasible:
        return None
    pairs = zip(policy.models, decision.attained.values(), strict=True)
    return decision if all(model.meets(attained) for model, attained in pairs) else None


def _recodings(remainder: Remainder, policy: Policy) -> Iterator[Recoding]:
    """Yield what a search finds among the records that are not given up, then the classes that they are in."""
    if remainder.given_up:
        try:
            found = policy.algorithm.search(remainder.restrict())
        except Infeasible:
            found = None
        if isinstance(found, Local):  # no other recoding tells records of one combination apart
            yield remainder.extend(found)
    yield remainder.recoding()


def _not_found(error: Infeasible) -> Infeasible:
    """Return an error as what it is where nothing was proven."""
    if isinstance(error, NotFound):
        return error
    first, *rest = error.faults
    return NotFound([replace(first, what=f"not found: {first.what}"), *rest], blocking=error.blocking)


def finish_solution(recoding: Recoding, encoded: Encoded, policy: Policy) -> Solution:
    """Make a recoding final, and raise where what it publishes is not what the policy asks for."""
    recoding = recoding.extend(encoded.frequencies)
    if encoded.part is not None:
        recoding = _of_a_part(recoding, encoded, policy)
    publication = finish_classes(recoding, encoded, policy)
    if not publication.classes.count:
        raise Infeasible("every record would be suppressed")
    allowed, silent_records = encoded.may_suppress(policy), publication.shows_nothing(alone=encoded.part is None)
    if silent_records > allowed:
        raise Infeasible(f"{silent_records} records would be suppressed or show nothing, {allowed} may")
    decision = Solution(policy, encoded, recoding, publication)
    for (title, attained), model in zip(decision.attained.items(), policy.models, strict=True):
        # a search by classes knows neither what becomes of the starred, nor who is in several classes
        across = model.by_class is not model or not (model.classwise or policy.algorithm.looks_across)
        if across and not model.meets(attained):
            raise Infeasible(f"{title} asks for {model.asked}, what can be published attains {attained}")
    return decision


def finish_classes(recoding: Recoding, encoded: Encoded, policy: Policy) -> EquivalenceClasses:
    """Return what a recoding publishes, whether or not the policy asks for something else."""
    return finish_recoding(
        recoding,
        encoded.frequencies,
        encoded.columns,
        policy.models,
        encoded.background,
        star=policy.suppressed == "star",
    )


def _of_a_part(recoding: Recoding, encoded: Encoded, policy: Policy) -> Recoding:
    """Return a recoding whose classes say something: beside other blocks one that shows ``*`` looks suppressed.

    Where the search left nothing else to show, all records of the block are one class with its ranges or values.
    """
    if isinstance(recoding, Local):
        return replace(recoding, part=True)
    if finish_classes(recoding, encoded, policy).shows_nothing(alone=False) <= encoded.may_suppress(policy):
        return recoding
    cells = len(encoded.frequencies.cell_counts)
    members = np.where(np.arange(cells) < cells - encoded.forced_cells, 0, -1)
    return Local(members.astype(np.int64), part=True)


def _suppress_unattainable(encoded: Encoded, problem: Problem) -> Encoded:
    """Bar the records that no recoding within the boundaries can keep: a search would give others up for them."""
    out = find_unattainable(problem)
    records = int(problem.frequencies.counts[out].sum())
    if records > problem.max_suppressed:
        raise Infeasible(
            f"records that cannot comply within the boundaries: {records}, may be suppressed: {problem.max_suppressed}"
        )
    return encoded.suppress(out) if records else encoded


def find_limits(words: TableDictionary) -> Limits:
    """Return what stands in the way of every recoding."""
    policy = words.policy
    if not words.table.frame.height:
        return Limits([None for _ in policy.models], {}, blocked=True)
    encoded = encode(words)
    blocked = encoded.forced_suppression > encoded.may_suppress(policy) or not encoded.searchable.records
    whole = Classes.of(encoded.frequencies, np.zeros(len(encoded.frequencies.cell_counts), np.int64), 1)
    people = encoded.population
    whole = replace(whole, matches=None if people is None else lambda: np.array([people.size], np.int64))
    ceilings = [model.measure(whole, encoded.background) for model in policy.models]
    boundaries: dict[str, dict[str, int]] = {}
    if not blocked and any(column.boundaries for column in policy.quasi_identifiers.values()):
        problem = policy.algorithm.to_classwise(encoded.problem(policy))
        boundaries = find_blocking_boundaries(problem, as_they_are=policy.algorithm.needs_hierarchies)
    return Limits(ceilings, boundaries, blocked=blocked)
