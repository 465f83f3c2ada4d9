"""estimate_policy(), estimate_losses(): about what a policy would lose, in moments; nothing is published or audited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from shoal.algorithms.local.mondrian import Mondrian
from shoal.encoding.types import Progress, silent
from shoal.engines.dictionary import TableDictionary
from shoal.engines.keys import TRIAL_KEY
from shoal.engines.memory.source import open_in_memory
from shoal.errors import Infeasible, Misfit
from shoal.models.k_anonymity import KAnonymity
from shoal.pipeline.anonymize import explain_on
from shoal.pipeline.prepare import look_up
from shoal.pipeline.solve import Solution, solve
from shoal.policy import Policy
from shoal.utility.certainty_penalty import CertaintyPenalty


def estimate_policy(table: object, policy: Policy, *, progress: Progress = silent) -> dict[str, Any]:
    """Return about what a release would lose and attain: what the same search finds without any effort.

    Raises
    ------
    Misfit
        Policy and table do not fit each other.
    Infeasible
        The promises cannot be kept, with changes that were tried and work.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> round(estimate_policy(table, policy)["loss"], 4), estimate_policy(table, policy)["attained"]
    (0.2917, {'k-anonymity': 2})
    """
    words = look_up(open_in_memory(table, policy.reading).table, policy, TRIAL_KEY)
    if not policy.output.generalizes or not policy.quasi_identifiers:
        return {}
    try:
        return _describe(_try(words, policy, progress))
    except Infeasible as error:
        raise explain_on(words, error) from None


def estimate_losses(
    table: object, policy: Policy, values: Sequence[int], *, progress: Progress = silent
) -> list[dict[str, Any]]:
    """Return about what a release would lose for each k; ``None`` where there would be none.

    Full-domain searches do it themselves, without effort. For local recodings Mondrian's cuts stand, which take moments
    at any k; the others lose less, as a rule.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> [(row["k"], row["loss"] is None) for row in estimate_losses(table, policy, [2, 4, 5])]
    [(2, False), (4, False), (5, True)]
    """
    policy.require_quasi_identifiers("what is lost of them is told")
    source = open_in_memory(table, policy.reading).table
    others = [model for model in policy.models if model.only_asks != "records"]
    policy = policy if policy.algorithm.needs_hierarchies else policy.replace(algorithm=Mondrian())
    rows = []
    for number, k in enumerate(values):
        progress("trying k", number, len(values))
        rows.append(
            {
                "k": k,
                "algorithm": policy.algorithm.key(),
                "loss": _loss_of(source, policy.asking([KAnonymity(k=k), *others])),
            }
        )
    return rows


def _loss_of(source: Any, policy: Policy) -> float | None:
    try:
        return _try(look_up(source, policy, TRIAL_KEY), policy, silent).loss
    except (Infeasible, Misfit):
        return None


def _try(words: TableDictionary, policy: Policy, progress: Progress) -> Solution:
    return solve(replace(words, policy=policy.replace(algorithm=policy.algorithm.trial())), progress)


def _describe(solution: Solution) -> dict[str, Any]:
    outcome = solution.outcome()
    return {
        "loss": solution.loss,
        "attained": solution.attained,
        "suppressed": solution.publication.suppressed,
        "records": outcome.records,
        "classes": outcome.classes,
        "columns": dict(_column_losses(solution)),
    }


def _column_losses(solution: Solution) -> Iterator[tuple[str, float]]:
    """Yield what is lost of each column, from 0 (as it is) to 1 (not shown)."""
    measured = CertaintyPenalty().measure(solution.outcome())
    yield from measured.columns.items()
