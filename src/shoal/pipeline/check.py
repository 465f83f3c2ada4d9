"""check(): every misfit between a policy and a table, all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from shoal.algorithms.base import ACROSS
from shoal.encoding.domains import Domain
from shoal.engines.columns import column_domain, domain_of, ordered_texts, plain
from shoal.engines.counted import Times, count_missing, records_of, untallied
from shoal.engines.memory.source import Source, open_table
from shoal.engines.treatments import faults as treatment_faults
from shoal.engines.treatments import treated
from shoal.errors import Fault, HierarchyError, TableError, examples, nearest
from shoal.hierarchies._ambiguity import ambiguous_labels, ambiguous_values
from shoal.hierarchies.base import Hierarchy
from shoal.models.base import PrivacyModel
from shoal.models.k_anonymity import KAnonymity
from shoal.models.personal_k import PersonalK
from shoal.pipeline.output_forms import output_faults
from shoal.pipeline.population import population_faults, unreadable
from shoal.pipeline.pseudonyms import pseudonym_faults
from shoal.pipeline.requested_k import ask_faults
from shoal.policy import Policy, QuasiIdentifier, Sensitive
from shoal.policy.disclosure_weights import weigh
from shoal.policy.presets import SAFE_HARBOR
from shoal.profiling.safe_harbor import safe_harbor_faults


def check(table: object, policy: Policy) -> list[Fault]:
    """Return every misfit between a policy and a table.

    Examples
    --------
    >>> policy = Policy(quasi_identifiers=["age"], others="keep", models=[{"name": "k-anonymity", "k": 5}])
    >>> for fault in check(pl.DataFrame({"ages": [21, 24]}), policy):
    ...     print(fault)
    quasi_identifiers.age: no such column in the table. Hint: did you mean 'ages'?
    models[0].k: more than there are records; got 5 of 2. Hint: ask for at most 2.
    """
    source = open_table(table)
    tally = [] if source.times is None else untallied(policy)
    return [*tally, *_treatments(source.frame, policy), *_faults(treated(source, policy), policy)]


def layout_faults(names: Sequence[str], policy: Policy) -> list[Fault]:
    """Return the misfits that the names of a table's columns tell, before any record is read."""
    frame = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    return [*_columns(frame, policy), *_undeclared(frame, policy, None)]


def _treatments(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield what a treatment cannot be applied to, and what a preset asks of columns; of the table as it is."""
    for name, column in policy.quasi_identifiers.items():
        if column.treatment is not None and name in frame.columns:
            yield from treatment_faults(frame[name], column.treatment, f"quasi_identifiers.{name}.treatment")
    if SAFE_HARBOR in policy.presets:
        yield from safe_harbor_faults(frame, policy)


def _faults(source: Source, policy: Policy) -> Iterator[Fault]:
    frame, times = source.frame, source.times
    yield from _columns(frame, policy)
    yield from _undeclared(frame, policy, times)
    yield from _threshold(policy)
    yield from output_faults(frame, policy)
    yield from pseudonym_faults(frame, policy)
    yield from _counts(frame, policy, times)
    unread = list(unreadable(policy))
    if unread:
        yield from unread
        policy = policy.asking([KAnonymity(k=2)]).replace(population=None)  # look at the rest
    yield from population_faults(frame, policy)
    yield from _across(source.records, policy)
    for name, spec in policy.quasi_identifiers.items():
        if name in frame.columns:
            yield from _quasi_identifier(frame, name, spec, policy, times)
    for name, role in policy.sensitive.items():
        if name in frame.columns:
            yield from _sensitive(frame[name], role, times)
    yield from _secret(policy)
    for number, model in enumerate(policy.models):
        if all(name in frame.columns for name in model.sensitive_columns):
            if isinstance(model, PersonalK):
                yield from ask_faults(frame, model, policy, f"models[{number}]")
            else:
                yield from _model(frame, model, policy, f"models[{number}]")


def _sensitive(values: pl.Series, role: Sensitive, times: Times) -> Iterator[Fault]:
    where = f"sensitive.{values.name}"
    try:
        column = plain(values)
    except TableError as error:
        yield replace(error.faults[0], where=where)
        return
    yield from _forbidden(column, role, where, times)
    for fault in _near_unique(column, where, times):
        yield replace(fault, hint="who knows the value knows the record: round it, or group it", kind="warning")
    if role.hierarchy is not None and column.null_count() < len(column):
        yield from _hierarchy(domain_of(column), values.name, role.hierarchy, (), where)


def _forbidden(column: pl.Series, role: Sensitive | QuasiIdentifier, where: str, times: Times) -> Iterator[Fault]:
    """Missing values where the policy allows none."""
    missing = count_missing(column, times) if role.missing == "error" else 0
    if missing:
        yield Fault("missing values, which the policy forbids", where, f"{missing} records")


def _secret(policy: Policy) -> Iterator[Fault]:
    if policy.has_secret_seed:
        hint = "publish the release alone: seed, policy, audit, report and manifest stay with you"
        drawn = "groups" if policy.output.has_secret_seed else "sample"
        yield Fault(f"must stay secret: who knows it can draw the {drawn} again", "seed", hint=hint, kind="warning")


def _columns(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    roles: dict[str, list[str]] = {
        "identifiers": list(policy.identifiers),
        "quasi_identifiers": list(policy.quasi_identifiers),
        "sensitive": list(policy.sensitive),
        "subject": [policy.subject] if policy.subject is not None else [],
        "survey_weight": [policy.survey_weight] if policy.survey_weight is not None else [],
        "models": list(policy.requested_k),
    }
    for role, names in roles.items():
        for name in names:
            if name not in frame.columns:
                yield Fault("no such column in the table", f"{role}.{name}", hint=nearest(name, frame.columns))


def _undeclared(frame: pl.DataFrame, policy: Policy, times: Times) -> Iterator[Fault]:
    declared = {*policy.hidden, *policy.quasi_identifiers, *policy.sensitive}
    rest = [name for name in frame.columns if name not in declared]
    if rest and policy.others is None:
        yield Fault(
            "columns without a role",
            "others",
            examples(rest),
            "declare each, or say others: keep or others: drop",
        )
    for name in rest if policy.others == "keep" else []:
        yield from _kept(frame[name], times)


def _threshold(policy: Policy) -> Iterator[Fault]:
    """A threshold that all published columns together stay under lets every request through."""
    if policy.threshold is None:
        return
    weighed = weigh(policy, [*policy.quasi_identifiers, *policy.sensitive])
    if weighed.action == "release":
        yield Fault(
            "every request for what is published may be answered with the data as they are",
            "threshold",
            f"{policy.threshold:g}, all columns weigh {weighed.total:g}",
            "lower it, or raise the weights",
            "warning",
        )


def _kept(column: pl.Series, times: Times) -> Iterator[Fault]:
    """Near-unique columns that are kept as they are single people out whatever else is generalized."""
    where = f"others.{column.name}"
    try:
        column = plain(column)
    except TableError as error:
        yield replace(error.faults[0], where=where)
        return
    yield from _near_unique(column, where, times)


def _near_unique(column: pl.Series, where: str, times: Times) -> Iterator[Fault]:
    present = column.alias("values").drop_nulls()
    records = len(present) if times is None else int(times.filter(column.is_not_null()).sum())
    if records >= 20 and present.n_unique() > 0.9 * records:
        yield Fault(
            "is nearly unique and would be published as it is",
            where,
            f"{present.n_unique()} values in {records} records",
            "make it an identifier, or a quasi-identifier",
        )


def _counts(frame: pl.DataFrame, policy: Policy, times: Times) -> Iterator[Fault]:
    persons, unit = records_of(frame, times), "records"
    if policy.subject is not None and policy.subject in frame.columns:
        try:
            persons, unit = plain(frame[policy.subject]).alias("subject").n_unique(), "persons"
        except TableError as error:
            yield replace(error.faults[0], where="subject", hint="persons need a plain column")
            return
    if not frame.height:
        yield Fault("the table has no records", kind="infeasible")
        return
    for number, model in enumerate(policy.models):
        k = 0 if "persons" in model.needs else getattr(model, "k", 0)
        if k > persons:
            yield Fault(
                f"more than there are {unit}",
                f"models[{number}].k",
                f"{k} of {persons}",
                f"ask for at most {persons}",
                "infeasible",
            )


def _across(records: int, policy: Policy) -> Iterator[Fault]:
    """What models ask of whole tables that the search does not see, or of a population that is too small."""
    search = policy.algorithm
    for number, model in enumerate(policy.models):
        single, where = model.by_class, f"models[{number}]"
        if single is None and not search.looks_across:
            what = f"{model.key()} looks at whole tables, and {search.key()} at some classes at a time"
            yield Fault(what, where, hint=ACROSS)
        elif single is not None and single is not model and not search.looks_across:
            what = f"kept as {single.key()} {single.asked}, which is more than {model.key()} asks"
            yield Fault(what, where, f"{search.key()} looks at some classes at a time", ACROSS, kind="warning")
        size = getattr(model, "population_size", None)
        if size is not None and size < records:
            yield Fault("the population is smaller than the table", f"{where}.population_size", f"{size} persons")


def _model(frame: pl.DataFrame, model: PrivacyModel, policy: Policy, where: str) -> Iterator[Fault]:
    """What a model asks of its sensitive columns that they do not have."""
    try:
        columns = {name: plain(frame[name]) for name in model.sensitive_columns}
    except TableError:  # told already
        return
    wild = [name for name in columns if policy.sensitive[name].missing in ("wildcard", "suppress")]
    table = pl.DataFrame([column.alias(str(index)) for index, column in enumerate(columns.values())])
    present = table.drop_nulls([str(index) for index, name in enumerate(columns) if name in wild]) if wild else table
    values = present.unique().height if columns and frame.height else 0
    if columns and frame.height and model.least_values > max(values, 1):
        yield Fault(
            "more sensitive values than there are",
            where,
            f"{model.key()} needs {model.least_values} of {values}",
            kind="infeasible",
        )
    for name, column in columns.items():
        role, domain = policy.sensitive[name], domain_of(column)
        if "hierarchy" in model.needs and (role.hierarchy is None or not role.hierarchy.nested):
            hint = f"give one under sensitive.{name}: {{hierarchy: tree, file: …}}"
            yield Fault(f"{name} has no hierarchy that nests", f"{where}.distance", hint=hint)
        if "order" in model.needs and ordered_texts(domain, role) is None and len(domain):
            hint = f"say it under sensitive.{name}: {{hierarchy: ordering, order: […]}}"
            yield Fault(f"the values of {name} have no order", f"{where}.distance", f"{domain.kind} values", hint)
        elif "order" in model.needs and column.null_count() and role.missing not in ("wildcard", "suppress"):
            hint = f"say sensitive.{name}: {{missing: wildcard}}, or suppress"
            yield Fault("a missing value has no place in an order", f"{where}.distance", name, hint)


def _quasi_identifier(
    frame: pl.DataFrame, name: str, spec: QuasiIdentifier, policy: Policy, times: Times
) -> Iterator[Fault]:
    where = f"quasi_identifiers.{name}"
    try:
        column = plain(frame[name])
    except TableError as error:
        yield replace(error.faults[0], where=where)
        return
    yield from _forbidden(column, spec, where, times)
    domain = domain_of(column)
    yield from _declared_domain(domain, spec, f"{where}.domain")
    whole = column_domain(frame, name, policy, times)
    yield from (replace(fault, where=where) for fault in ambiguous_values(whole))
    if spec.hierarchy is not None and len(domain):
        yield from _hierarchy(whole, name, spec.hierarchy, spec.boundaries, where, are_published=True)


def _declared_domain(domain: Domain, spec: QuasiIdentifier, where: str) -> Iterator[Fault]:
    if not isinstance(spec.domain, tuple):
        return
    low, high = spec.domain
    if not domain.ordered:
        yield Fault("a domain of two numbers needs a column of numbers", where, f"{domain.kind} values")
    elif len(domain) and not low <= domain.values[0] <= domain.values[-1] <= high:
        yield Fault("values outside the domain", where, f"{domain.texts[0]} to {domain.texts[-1]}")


def _hierarchy(
    domain: Domain,
    name: str,
    hierarchy: Hierarchy,
    boundaries: Sequence[str],
    where: str,
    *,
    are_published: bool = False,
) -> Iterator[Fault]:
    """Yield what is wrong with a hierarchy for a column, whose labels are published or only compared."""
    faults = list(hierarchy.faults(domain))
    yield from (replace(fault, where=where) for fault in faults)
    if name in hierarchy.leaves() and name not in domain.texts:
        yield Fault("the column's own name is a value of the tree: a header row?", where, kind="warning")
    if faults:
        return
    for label in boundaries:
        if not hierarchy.knows(label, domain):
            yield Fault("no such label in the hierarchy", f"{where}.boundaries", repr(label))
    try:
        levels = hierarchy.build(domain, missing=None)
    except HierarchyError as error:
        yield from (replace(fault, where=f"{where}, {fault.where}" if fault.where else where) for fault in error.faults)
        return
    if are_published:
        yield from (replace(fault, where=where) for fault in ambiguous_labels(hierarchy, levels, boundaries))
