"""What cannot be done with a table that was counted, or cut, or given alone: one list, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.encoding.read_options import ReadOptions
from shoal.errors import Fault
from shoal.policy import Policy
from shoal.policy.outputs import Generalized

NO_ORDER = "the table was given by its counts, without an order"
NO_ORIGINAL = "the original table was not given"
ONE_BY_ONE = Fault("attacks need the records one by one", got="a counted table", hint="expand it")
WHOLE_RECORDS = Fault("statistics need whole records", got="columns that were counted apart")
BOTH_TABLES = Fault("statistics compare the published table with the original", hint="give original=")
SPARK_CONNECT = Fault(
    "tables of Spark Connect cannot be anonymized",
    "table",
    hint="use a classic session, or write the table with Spark and give the path of its files",
)
"""No Java of ours reaches its records: nothing could be pinned, nor written all or not at all."""
READ_IN_PARTS = ("csv", "parquet")
"""The formats of files that are larger than memory."""
NOT_READ_IN_PARTS = Fault(
    "only CSV and Parquet can be read in parts", hint="convert them to Parquet or CSV, one of the two"
)
_FIT = "let more combinations be counted together (--memory; on Spark --fits), or generalize the columns first"


def find_uncountable(policy: Policy) -> list[Fault]:
    """Return what a policy asks for that does not follow from how often each record occurs."""
    return [
        Fault("each record is drawn by itself, and here they were counted", f"models[{number}]", model.key())
        for number, model in enumerate(policy.models)
        if model.draws
    ]


def _perturbed(policy: Policy) -> Iterator[Fault]:
    for number, one in enumerate(policy.perturb):
        what = "a perturbation looks at all records together, and a block knows its own"
        yield Fault(what, f"perturb[{number}]", one.key(), _FIT)


def find_unreadable_by_spark(reading: ReadOptions | None) -> list[Fault]:
    """Return what is said of reading that Spark does not do: it would be read otherwise than on one machine.

    Examples
    --------
    >>> print(*find_unreadable_by_spark(ReadOptions(delimiter=";", decimal=",")))
    read.decimal: Spark does not read files so; got ','. Hint: read them on one machine (--memory), or convert them.
    """
    said = {} if reading is None else reading.to_dict()
    known = {"delimiter", "quote", "encoding", "missing"} | (
        {"header"} if isinstance(said.get("header"), bool) else set()
    )
    hint = "read them on one machine (--memory), or convert them"
    return [
        Fault("Spark does not read files so", f"read.{name}", repr(value), hint)
        for name, value in said.items()
        if name not in known and value is not False
    ]


def find_uncuttable(policy: Policy) -> list[Fault]:
    """Return what a policy asks for that does not hold of a table because it holds of each of its blocks."""
    return [
        *_whole_tables(policy),
        *_whole_columns(policy),
        *_treated(policy),
        *_rewritten(policy),
        *_models(policy),
        *_hierarchies(policy),
        *_perturbed(policy),
    ]


def _whole_tables(policy: Policy) -> Iterator[Fault]:
    if policy.algorithm.needs_hierarchies:
        what = "one recoding for the whole table is sought, and the table has too many combinations to hold"
        yield Fault(what, "algorithm", policy.algorithm.key(), _FIT)
    if policy.subject is not None:
        what = "persons are not counted in blocks: the records of one may lie in several"
        yield Fault(what, "subject", hint=_FIT)
    if policy.series is not None:
        what = "persons are followed through releases one by one, and no block knows those of the others"
        yield Fault(what, "series", policy.series.way, "let the table be read into memory (without --memory)")
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


def _treated(policy: Policy) -> Iterator[Fault]:
    for name in policy.treated:
        if name not in policy.quasi_identifiers:
            what = "columns that are published as they are stay where they lie, and are not treated in blocks"
            yield Fault(what, f"{name}.treatment", hint=f"treat the column before, or {_FIT}")


def _rewritten(policy: Policy) -> Iterator[Fault]:
    if policy.hygiene.prefixes:
        what = "columns that are published as they are stay where they lie, and their texts are not rewritten in blocks"
        yield Fault(what, "hygiene.formulas", "prefix", f"say refuse, or {_FIT}")


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
