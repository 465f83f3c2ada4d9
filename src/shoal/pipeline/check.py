"""check(): every misfit between a policy and a table, all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import polars as pl

from shoal.algorithms.base import suggest_whole_table_searches
from shoal.encoding.domains import Domain
from shoal.engines.columns import domain_of, ordered_texts, plain
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.engines.limits import uncountable
from shoal.engines.memory.source import open_table
from shoal.engines.treatments import faults as treatment_faults
from shoal.engines.treatments import treat
from shoal.errors import Fault, HierarchyError, Misfit, TableError, examples, nearest
from shoal.hierarchies._ambiguity import ambiguous_labels, ambiguous_values
from shoal.hierarchies.base import Hierarchy
from shoal.models.base import PrivacyModel
from shoal.models.k_anonymity import KAnonymity
from shoal.pipeline.output_forms import output_faults
from shoal.pipeline.population import population_faults, unreadable
from shoal.pipeline.pseudonyms import pseudonym_faults
from shoal.pipeline.requested_k import requested_k_faults
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
    return check_table(open_table(table).table, policy)


def check_table(table: CountedTable, policy: Policy) -> list[Fault]:
    """Return every misfit between a policy and a table that is open."""
    words = TableDictionary(treat(table, policy), policy)
    return [*(uncountable(policy) if table.is_counted else ()), *_treatments(table.frame, policy), *word_faults(words)]


def require_fit(given: CountedTable, words: TableDictionary) -> None:
    """Raise every misfit of a table, as it was given and as it was treated."""
    counted = uncountable(words.policy) if given.is_counted else ()
    faults = [*counted, *_treatments(given.frame, words.policy), *word_faults(words)]
    misfits = [fault for fault in faults if fault.kind == "fault"]
    if misfits:
        raise Misfit(misfits)


def layout_faults(names: Sequence[str], policy: Policy) -> list[Fault]:
    """Return the misfits that the names of a table's columns tell, before any record is read."""
    frame = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    return [*_columns(frame, policy), *_undeclared(CountedTable(frame), policy)]


def _treatments(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield what a treatment cannot be applied to, and what a preset asks of columns; of the table as it is."""
    for name, column in policy.quasi_identifiers.items():
        if column.treatment is not None and name in frame.columns:
            yield from treatment_faults(frame[name], column.treatment, f"quasi_identifiers.{name}.treatment")
    if SAFE_HARBOR in policy.presets:
        yield from safe_harbor_faults(frame, policy)


def word_faults(words: TableDictionary) -> Iterator[Fault]:
    """Yield every misfit of a table that is treated."""
    table, policy, frame = words.table, words.policy, words.table.frame
    yield from _columns(frame, policy)
    yield from _undeclared(table, policy)
    yield from _threshold(policy)
    yield from output_faults(table, policy)
    yield from pseudonym_faults(table, policy)
    yield from _counts(words)
    unread = list(unreadable(policy))
    if unread:
        yield from unread
        policy = policy.asking([KAnonymity(k=2)]).replace(population=None)  # look at the rest
        words = TableDictionary(table, policy)
    yield from population_faults(words)
    yield from _across(table.records, policy)
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
                yield from _model(words, model, f"models[{number}]")


def _sensitive(words: TableDictionary, name: str, role: Sensitive) -> Iterator[Fault]:
    where = f"sensitive.{name}"
    try:
        column = words.values(name)
    except TableError as error:
        yield replace(error.faults[0], where=where)
        return
    yield from _forbidden(words.table, column, role, where)
    for fault in _near_unique(words.table, column, where):
        yield replace(fault, hint="who knows the value knows the record: round it, or group it", kind="warning")
    if role.hierarchy is not None and column.null_count() < len(column):
        yield from _hierarchy(domain_of(column), name, role.hierarchy, where)


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


def _undeclared(table: CountedTable, policy: Policy) -> Iterator[Fault]:
    declared = {*policy.hidden, *policy.quasi_identifiers, *policy.sensitive}
    rest = [name for name in table.frame.columns if name not in declared]
    if rest and policy.others is None:
        yield Fault(
            "columns without a role",
            "others",
            examples(rest),
            "declare each, or say others: keep or others: drop",
        )
    for name in rest if policy.others == "keep" else []:
        yield from _kept(table, name)


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


def _kept(table: CountedTable, name: str) -> Iterator[Fault]:
    """Near-unique columns that are kept as they are single people out whatever else is generalized."""
    where = f"others.{name}"
    try:
        column = plain(table.frame[name])
    except TableError as error:
        yield replace(error.faults[0], where=where)
        return
    yield from _near_unique(table, column, where)


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


def _counts(words: TableDictionary) -> Iterator[Fault]:
    frame, policy = words.table.frame, words.policy
    persons, unit = words.table.records, "records"
    if policy.subject is not None and policy.subject in frame.columns:
        try:
            persons, unit = words.values(policy.subject).alias("subject").n_unique(), "persons"
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
            yield Fault(what, where, hint=suggest_whole_table_searches())
        elif single is not None and single is not model and not search.looks_across:
            what = f"kept as {single.key()} {single.asked}, which is more than {model.key()} asks"
            got = f"{search.key()} looks at some classes at a time"
            yield Fault(what, where, got, suggest_whole_table_searches(), "warning")
        size = getattr(model, "population_size", None)
        if size is not None and size < records:
            yield Fault("the population is smaller than the table", f"{where}.population_size", f"{size} persons")


def _model(words: TableDictionary, model: PrivacyModel, where: str) -> Iterator[Fault]:
    """What a model asks of its sensitive columns that they do not have."""
    frame, policy = words.table.frame, words.policy
    try:
        columns = {name: words.values(name) for name in model.sensitive_columns}
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


def _quasi_identifier(words: TableDictionary, name: str) -> Iterator[Fault]:
    where, spec = f"quasi_identifiers.{name}", words.policy.quasi_identifiers[name]
    try:
        column = words.values(name)
    except TableError as error:
        yield replace(error.faults[0], where=where)
        return
    yield from _forbidden(words.table, column, spec, where)
    domain = domain_of(column)
    yield from _declared_domain(domain, spec, f"{where}.domain")
    whole = words.domain(name)
    yield from (replace(fault, where=where) for fault in ambiguous_values(whole))
    if spec.hierarchy is not None and len(domain):
        yield from _published_hierarchy(words, name, spec.hierarchy, where)


def _declared_domain(domain: Domain, spec: QuasiIdentifier, where: str) -> Iterator[Fault]:
    if not isinstance(spec.domain, tuple):
        return
    low, high = spec.domain
    if not domain.ordered:
        yield Fault("a domain of two numbers needs a column of numbers", where, f"{domain.kind} values")
    elif len(domain) and not low <= domain.values[0] <= domain.values[-1] <= high:
        yield Fault("values outside the domain", where, f"{domain.texts[0]} to {domain.texts[-1]}")


def _hierarchy(domain: Domain, name: str, hierarchy: Hierarchy, where: str) -> Iterator[Fault]:
    """Yield what is wrong with a hierarchy for the values of a column."""
    faults = list(_unfit(domain, name, hierarchy, where))
    yield from faults
    if all(fault.kind == "warning" for fault in faults):
        yield from _unbuilt(lambda: hierarchy.build(domain, missing=None), where)


def _published_hierarchy(words: TableDictionary, name: str, hierarchy: Hierarchy, where: str) -> Iterator[Fault]:
    """Yield what is wrong with a hierarchy whose labels are published."""
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
        ambiguous = ambiguous_labels(hierarchy, words.levels(name), boundaries)
        yield from (replace(fault, where=where) for fault in ambiguous)


def _unfit(domain: Domain, name: str, hierarchy: Hierarchy, where: str) -> Iterator[Fault]:
    yield from (replace(fault, where=where) for fault in hierarchy.faults(domain))
    if name in hierarchy.leaves() and name not in domain.texts:
        yield Fault("the column's own name is a value of the tree: a header row?", where, kind="warning")


def _unbuilt(build: Callable[[], object], where: str) -> Iterator[Fault]:
    """Yield why a hierarchy cannot be built."""
    try:
        build()
    except HierarchyError as error:
        yield from (replace(fault, where=f"{where}, {fault.where}" if fault.where else where) for fault in error.faults)
