"""unattainable_faults(): what no recoding can keep, found before any search: the most general table is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shoal.algorithms.feasibility import find_unattainable
from shoal.engines.dictionary import TableDictionary
from shoal.errors import Fault, Infeasible
from shoal.pipeline.encode import encode
from shoal.policy import Policy, QuasiIdentifier, Sensitive


def unattainable_faults(words: TableDictionary) -> Iterator[Fault]:
    """Yield why no recoding of a table keeps its policy, where that is certain.

    A search through levels can publish a column without a hierarchy only as it is: where the classes that these columns
    make fail with everything else generalized, no level helps. Records behind boundaries are looked at likewise.

    Why it is safe: it only refuses. Models that look across classes are not judged here, nor those that a class may
    break only because others joined it; and where a sample is drawn nothing is told of the data.
    """
    policy, as_they_are = words.policy, words.policy.algorithm.needs_hierarchies
    if policy.has_secret_seed or not _may_block(policy):
        return
    try:
        problem = policy.algorithm.to_classwise(encode(words).problem(policy))
    except Infeasible as error:
        yield from (Fault(fault.what, fault.where, fault.got, fault.hint, "infeasible") for fault in error.faults)
        return
    single = tuple(model for model in problem.models if model.classwise or not policy.algorithm.looks_across)
    problem = replace(problem, models=single)
    failing = find_unattainable(problem, as_they_are=as_they_are)
    records = int(problem.frequencies.counts[failing].sum())
    if records <= problem.most_suppressed:
        return
    fixed = [column.name for column in problem.columns if as_they_are and column.max_level == 0 and not column.limits]
    bounded = [column.name for column in problem.columns if column.boundaries]
    yield Fault(
        "no recoding keeps the models",
        ", ".join(f"quasi_identifiers.{name}" for name in (*fixed, *bounded)) or "models",
        f"{records:,} records that comply at no level, {problem.most_suppressed:,} may be suppressed",
        _hint(policy.algorithm.key(), fixed),
        "infeasible",
    )


def _may_block(policy: Policy) -> bool:
    """Whether anything but the size of the table stands in the way; that is told without counting."""
    roles: list[QuasiIdentifier | Sensitive] = [*policy.quasi_identifiers.values(), *policy.sensitive.values()]
    if any(role.missing == "suppress" for role in roles):
        return True
    fixed = policy.algorithm.needs_hierarchies
    return any(column.boundaries or (fixed and not column.hierarchy) for column in policy.quasi_identifiers.values())


def _hint(search: str, fixed: list[str]) -> str:
    if not fixed:
        return "lift boundaries, or allow more suppression (max_suppressed)"
    return f"give {', '.join(fixed)} a hierarchy, or use a search that needs none: {search} publishes it as it is"
