"""What cannot be done with a table that was counted, or cut into blocks: one list, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.errors import Fault
from shoal.policy import Policy
from shoal.policy.outputs import Generalized

_FIT = "let the driver take more combinations (fits=, --fits), or generalize the columns first"


def uncountable(policy: Policy) -> list[Fault]:
    """Return what a policy asks for that does not follow from how often each record occurs."""
    return [
        Fault("each record is drawn by itself, and here they were counted", f"models[{number}]", model.key())
        for number, model in enumerate(policy.models)
        if model.draws
    ]


def uncuttable(policy: Policy, combinations: int) -> list[Fault]:
    """Return what a policy asks for that does not hold of a table because it holds of each of its blocks."""
    return [*_whole_tables(policy, combinations), *_whole_columns(policy), *_models(policy), *_hierarchies(policy)]


def _whole_tables(policy: Policy, combinations: int) -> Iterator[Fault]:
    if policy.algorithm.needs_hierarchies:
        what = "one recoding for the whole table is sought, and the table has too many combinations for the driver"
        yield Fault(what, "algorithm", f"{policy.algorithm.key()}, {combinations:,} combinations", _FIT)
    if policy.subject is not None:
        what = "persons are not counted in blocks: the records of one may lie in several"
        yield Fault(what, "subject", hint=_FIT)
    if policy.output != Generalized():
        what = "this form of release is made of all classes together, and no block knows those of the others"
        yield Fault(what, "output", policy.output.form, _FIT)


def _whole_columns(policy: Policy) -> Iterator[Fault]:
    if policy.pseudonyms:
        what = "pseudonyms of different values must differ, and no block knows the values of the others"
        yield Fault(what, "identifiers", hint=_FIT)
    if policy.population is not None or policy.survey_weight is not None:
        where = "population" if policy.survey_weight is None else "survey_weight"
        yield Fault("a population is compared with the whole table, not with blocks of it", where, hint=_FIT)


def _models(policy: Policy) -> Iterator[Fault]:
    for index, model in enumerate(policy.models):
        if model.hidden_columns:
            what = "what persons ask for is met among all records, and a block knows its own"
            yield Fault(what, f"models[{index}]", model.key(), _FIT)
        elif not (model.monotone or model.absorbing):
            what = "two classes of different blocks that look alike may break it together"
            yield Fault(what, f"models[{index}]", model.key(), _FIT)


def _hierarchies(policy: Policy) -> Iterator[Fault]:
    for name, column in policy.quasi_identifiers.items():
        if column.hierarchy is not None and column.hierarchy.reads_records:
            hint = "build it from a sample and name its file"
            yield Fault(
                "this hierarchy is built from whole records", f"quasi_identifiers.{name}", column.hierarchy.key(), hint
            )
