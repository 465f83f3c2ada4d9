"""check(): every misfit between a policy and a table, all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.encoding.domains import Domain
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.engines.keys import TRIAL_KEY
from shoal.engines.limits import find_uncountable
from shoal.engines.memory.source import open_in_memory
from shoal.engines.treatments import treat, treatment_faults
from shoal.errors import Fault, HierarchyError, Misfit, TableError, examples, nearest
from shoal.hierarchies._ambiguity import find_ambiguous_labels, find_ambiguous_values
from shoal.hierarchies.base import Hierarchy
from shoal.models.k_anonymity import KAnonymity
from shoal.pipeline.attainable import unattainable_faults
from shoal.pipeline.formulas import formula_misfits
from shoal.pipeline.model_faults import across_faults, count_faults, lead_faults, model_faults
from shoal.pipeline.output_forms import output_faults
from shoal.pipeline.perturb import perturbation_faults
from shoal.pipeline.population import population_faults, unread_population_faults
from shoal.pipeline.pseudonyms import pseudonym_misfits
from shoal.pipeline.repeats import find_repeating_identifiers, repeats_faults
from shoal.pipeline.requested_k import requested_k_faults
from shoal.pipeline.series_fit import series_misfits
from shoal.policy import Policy, QuasiIdentifier, Sensitive
from shoal.policy.disclosure_weights import weigh
from shoal.policy.policy import OPEN_SUBJECT
from shoal.policy.presets import SAFE_HARBOR
from shoal.profiling.profile import profile_column
from shoal.profiling.safe_harbor import safe_harbor_faults
from shoal.recodings.range_ends import is_nearly_unique

_LOOKED_AT = 2_000
"""So many values of a column that is kept are looked at."""


def check(table: object, policy: Policy | Mapping[str, Any] | str | Path, **options: Any) -> list[Fault]:
    """Return every misfit between a policy and a table; options say how to read its file, over what the policy says.

    The policy is one, a draft, a mapping of its keys, or the path of its file.

    Examples
    --------
    >>> policy = Policy(quasi_identifiers=["age"], others="keep", models=[{"name": "k-anonymity", "k": 5}])
    >>> for fault in check(pl.DataFrame({"ages": [21, 24]}), policy):
    ...     print(fault)
    quasi_identifiers.age: no such column in the table. Hint: did you mean 'ages'?
    models[0].k: more than there are records; got 5 of 2. Hint: ask for at most 2.
    """
    policy = policy if isinstance(policy, Policy) else Policy.of(policy)
    return check_table(open_in_memory(table, policy.reading, **options).table, policy)


def check_table(table: CountedTable, policy: Policy) -> list[Fault]:
    """Return every misfit between a policy and a table that is open."""
    words = TableDictionary(treat(table, policy, TRIAL_KEY), policy)
    faults = [
        *(find_uncountable(policy) if table.is_counted else ()),
        *_treatments(table.frame, policy),
        *repeats_faults(find_repeating_identifiers(table, policy)),
        *word_faults(words),
        *_context(table.frame.columns, policy),
    ]
    misfits = any(fault.kind != "warning" for fault in faults)
    return faults if misfits or not policy.quasi_identifiers else [*faults, *unattainable_faults(words)]


def require_fit(given: CountedTable, words: TableDictionary) -> None:
    """Raise every misfit of a table, as it was given and as it was treated."""
    counted = find_uncountable(words.policy) if given.is_counted else ()
    repeats = repeats_faults(find_repeating_identifiers(given, words.policy))
    faults = [*counted, *_treatments(given.frame, words.policy), *repeats, *word_faults(words)]
    misfits = [fault for fault in faults if fault.kind == "fault"]
    if misfits:
        raise Misfit(misfits)


def layout_faults(names: Sequence[str], policy: Policy) -> list[Fault]:
    """Return the misfits that the names of a table's columns tell, before any record is read."""
    frame = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    return [*_columns(frame, policy), *_undeclared(TableDictionary(CountedTable(frame), policy))]


def _treatments(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield what a treatment cannot be applied to, and what a preset asks of columns; of the table as it is."""
    yield from treatment_faults(frame, policy)
    if SAFE_HARBOR in policy.presets:
        yield from safe_harbor_faults(frame, policy)


def word_faults(words: TableDictionary) -> Iterator[Fault]:
    """Yield every misfit of a table that is treated."""
    table, policy, frame = words.table, words.policy, words.table.frame
    yield from _columns(frame, policy)
    yield from _undeclared(words)
    yield from _shifts(policy)
    if policy.subject is not None and policy.subject in frame.columns:
        yield from _persons(words, policy.subject)
    yield from _threshold(policy)
    yield from lead_faults(policy)
    yield from formula_misfits(table, policy)
    yield from output_faults(words)
    yield from perturbation_faults(words)
    yield from pseudonym_misfits(words)
    yield from series_misfits(words)
    yield from count_faults(words)
    unread = list(unread_population_faults(policy))
    if unread:
        yield from unread
        policy = policy.asking([KAnonymity(k=2)]).replace(population=None)  # look at the rest
        words = TableDictionary(table, policy)
    yield from population_faults(words)
    yield from across_faults(table.records, policy)
    for name in policy.quasi_identifiers:
        if name in frame.columns:
            yield from _quasi_identifier(words, name)
    for name, role in policy.sensitive.items():
        if name in frame.columns:
            yield from _sensitive(words, name, role)
    yield from _secret(policy)
    for number, model in enumerate(policy.models):
        if all(name in frame.columns for name in model.sensitive_columns):
            if model.requested_k is not None:
                yield from requested_k_faults(words, model.requested_k, f"models[{number}]")
            else:
                yield from model_faults(words, model, f"models[{number}]")


def _sensitive(words: TableDictionary, name: str, role: Sensitive) -> Iterator[Fault]:
    where = f"sensitive.{name}"
    try:
        column = words.values(name)
    except TableError as error:
        yield replace(error.faults[0], where=where)
        return
    yield from _forbidden(words.table, column, role, where)
    for fault in _near_unique(words.table, column, where) if name not in words.policy.perturbed else ():
        yield replace(fault, hint="who knows the value knows the record: round it, or group it", kind="warning")
    if role.hierarchy is not None and column.null_count() < len(column):
        yield from _hierarchy(words.occurring(name), name, role.hierarchy, where)


def _forbidden(
    table: CountedTable, column: pl.Series, role: Sensitive | QuasiIdentifier, where: str
) -> Iterator[Fault]:
    """Missing values where the policy allows none."""
    missing = table.count_missing(column) if role.missing == "error" else 0
    if missing:
        yield Fault("missing values, which the policy forbids", where, f"{missing} records")


def _secret(policy: Policy) -> Iterator[Fault]:
    if policy.has_secret_seed:
        hint = "publish the release alone: seed, policy, audit, report and manifest stay with you"
        drawn = "groups" if policy.output.has_secret_seed else "numbers" if policy.perturb else "sample"
        yield Fault(f"must stay secret: who knows it can draw the {drawn} again", "seed", hint=hint, kind="warning")


def _columns(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    roles: dict[str, list[str]] = {
        "identifiers": list(policy.identifiers),
        "quasi_identifiers": list(policy.quasi_identifiers),
        "sensitive": list(policy.sensitive),
        "subject": [policy.subject] if policy.subject is not None else [],
        "survey_weight": [policy.survey_weight] if policy.survey_weight is not None else [],
        "models": list(policy.requested_k),
        "treatments": list(policy.treatments),
    }
    for role, names in roles.items():
        for name in names:
            if name == OPEN_SUBJECT and role == "subject" and name not in frame.columns:
                what = "it must be decided whom a record is about: a class may be one person, many times"
                hint = "name a column that numbers persons; or write none, if each record is about another person"
                yield Fault(what, "subject", hint=hint)
            elif name not in frame.columns:
                yield Fault("no such column in the table", f"{role}.{name}", hint=nearest(name, frame.columns))
    if policy.denies_subject and policy.declared_subject in frame.columns:
        what = "says that each record is about another person, and is a column's name too"
        yield Fault(what, "subject", repr(policy.declared_subject), "give that column another name")


def _context(names: Sequence[str], policy: Policy) -> Iterator[Fault]:
    """Columns of which the owner states something and which are not there."""
    for name in policy.context.variables if policy.context is not None else ():
        if name not in names:
            where = f"context.variables.{name}"
            yield Fault("no such column in the table", where, hint=nearest(name, names), kind="warning")


def _undeclared(words: TableDictionary) -> Iterator[Fault]:
    policy = words.policy
    declared = {*policy.hidden, *policy.quasi_identifiers, *policy.sensitive, *policy.perturbed}
    rest = [name for name in words.table.frame.columns if name not in declared]
    if rest and policy.others is None:
        yield Fault(
            "columns without a role",
            "others",
            examples(rest),
            "declare each, or say others: keep or others: drop",
        )
    for name in rest if policy.others == "keep" else []:
        yield from _kept(words, name)


def _shifts(policy: Policy) -> Iterator[Fault]:
    """What shifted dates still tell, where they are published as they are."""
    for name in policy.shifted:
        if name not in policy.quasi_identifiers:
            what = "the days between a person's dates stay as they were: who knows some of them may find the person"
            hint = "make it a quasi-identifier where they may be known, and keep the key to yourself"
            yield Fault(what, f"{name}.treatment", hint=hint, kind="warning")


def _threshold(policy: Policy) -> Iterator[Fault]:
    """A threshold that all published columns together stay under lets every request through."""
    if policy.threshold is None:
        return
    if policy.raw_least == 1:
        yield Fault(
            "requests under the threshold are answered with everybody's data as they are, sensitive columns too",
            "raw.least",
            "1",
            "leave it out: then no such answer shows what fewer than k persons share",
            "warning",
        )
    weighed = weigh(policy, policy.quasi_identifiers)
    if weighed.action == "release":
        yield Fault(
            "every request for quasi-identifiers may be answered with the data as they are",
            "threshold",
            f"{policy.threshold:g}, all columns weigh {weighed.total:g}",
            "lower it, or raise the weights",
            "warning",
        )


def _kept(words: TableDictionary, name: str) -> Iterator[Fault]:
    """Near-unique columns that are kept as they are single people out whatever else is generalized."""
    where = f"others.{name}"
    try:
        column = words.values(name)
    except TableError as error:
        yield replace(error.faults[0], where=where)
        return
    yield from _near_unique(words.table, column, where)
    values = column.alias("values").drop_nulls().unique().head(_LOOKED_AT)  # polars reads some names as patterns
    look = profile_column(values.alias(name))
    if found := look.pattern or look.scheme:
        yield Fault("would be published as it is", where, f"values that look like {found}", "make it an identifier")


def _persons(words: TableDictionary, name: str) -> Iterator[Fault]:
    """What makes more persons of one: records of nobody, and one number written in several ways."""
    column = words.values(name)
    missing = words.table.count_missing(column)
    if missing:
        what = "records of unknown persons: they may be about any of the others, and no class can count on them"
        yield Fault(what, "subject", f"{missing:,} without {name}", "leave these records out, or say whose each is")
    if column.dtype != pl.String:
        return
    written = column.alias("written").drop_nulls().unique()
    folded = written.str.strip_chars().str.to_lowercase().str.replace(r"\.0+$", "").str.replace(r"^0+(\d)", "$1")
    twice = pl.DataFrame([written, folded.alias("person")]).filter(pl.col("person").is_duplicated()).sort("person")
    if twice.height:
        got = examples(twice["written"].head(2).to_list())
        yield Fault("one person seems to be written in several ways", "subject", got, "write each in one way first")


def _near_unique(table: CountedTable, column: pl.Series, where: str) -> Iterator[Fault]:
    present = column.alias("values").drop_nulls()
    records = table.records - table.count_missing(column)
    if records >= 20 and present.n_unique() > 0.9 * records:
        yield Fault(
            "is nearly unique and would be published as it is",
            where,
            f"{present.n_unique()} values in {records} records",
            "make it an identifier, or a quasi-identifier",
        )


def _quasi_identifier(words: TableDictionary, name: str) -> Iterator[Fault]:
    where, spec = f"quasi_identifiers.{name}", words.policy.quasi_identifiers[name]
    try:
        column = words.values(name)
    except TableError as error:
        yield replace(error.faults[0], where=where)
        return
    yield from _forbidden(words.table, column, spec, where)
    domain = words.occurring(name)
    yield from _declared_domain(domain, spec, f"{where}.domain")
    yield from _exposing_ends(words, name, where)
    whole = words.domain(name)
    yield from (replace(fault, where=where) for fault in find_ambiguous_values(whole))
    if spec.hierarchy is not None and len(domain):
        yield from _published_hierarchy(words, name, spec.hierarchy, where)


def _exposing_ends(words: TableDictionary, name: str, where: str) -> Iterator[Fault]:
    """Warn of ranges whose ends are values of persons, where nearly everybody has a value of his own."""
    domain, spec = words.occurring(name), words.policy.quasi_identifiers[name]
    publish = spec.publish or words.policy.publish
    if not is_nearly_unique(domain, words.persons) or (spec.hierarchy is not None and publish != "ranges"):
        return
    got = f"{len(domain):,} values of {words.persons:,}"
    if spec.ends == "exact":
        what, hint = "ranges would end at values that only one person has", "say ends: rounded"
    else:
        what, hint = "most have a value of their own: ranges end at round values", "is it an identifier?"
    yield Fault(what, where, got, hint, kind="warning")


def _declared_domain(domain: Domain, spec: QuasiIdentifier, where: str) -> Iterator[Fault]:
    if not isinstance(spec.domain, tuple):
        return
    low, high = spec.domain
    if not domain.ordered:
        yield Fault("a domain of two numbers needs a column of numbers", where, f"{domain.kind} values")
    elif len(domain) and not low <= domain.values[0] <= domain.values[-1] <= high:
        yield Fault("values outside the domain", where, f"{domain.texts[0]} to {domain.texts[-1]}")


def _hierarchy(domain: Domain, name: str, hierarchy: Hierarchy, where: str) -> Iterator[Fault]:
    faults = list(_unfit(domain, name, hierarchy, where))
    yield from faults
    if all(fault.kind == "warning" for fault in faults):
        yield from _unbuilt(lambda: hierarchy.build(domain, missing=None), where)


def _published_hierarchy(words: TableDictionary, name: str, hierarchy: Hierarchy, where: str) -> Iterator[Fault]:
    domain, boundaries = words.domain(name), words.policy.quasi_identifiers[name].boundaries
    faults = list(_unfit(domain, name, hierarchy, where))
    yield from faults
    if any(fault.kind != "warning" for fault in faults):
        return
    for label in boundaries:
        if not hierarchy.knows(label, domain):
            yield Fault("no such label in the hierarchy", f"{where}.boundaries", repr(label))
    unbuilt = list(_unbuilt(lambda: words.levels(name), where))
    yield from unbuilt
    if not unbuilt:
        ambiguous = find_ambiguous_labels(hierarchy, words.levels(name), boundaries)
        yield from (replace(fault, where=where) for fault in ambiguous)


def _unfit(domain: Domain, name: str, hierarchy: Hierarchy, where: str) -> Iterator[Fault]:
    yield from (replace(fault, where=where) for fault in hierarchy.faults(domain))
    if name in hierarchy.leaves() and name not in domain.texts:
        yield Fault("the column's own name is a value of the tree: a header row?", where, kind="warning")


def _unbuilt(build: Callable[[], object], where: str) -> Iterator[Fault]:
    try:
        build()
    except HierarchyError as error:
        yield from (replace(fault, where=f"{where}, {fault.where}" if fault.where else where) for fault in error.faults)
