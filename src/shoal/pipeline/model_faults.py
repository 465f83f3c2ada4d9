"""What models ask of a table that it does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from shoal.algorithms.base import suggest_whole_table_searches
from shoal.engines.columns import order_texts
from shoal.engines.dictionary import TableDictionary
from shoal.errors import Fault, TableError
from shoal.models.base import PrivacyModel
from shoal.policy import Policy


def count_faults(words: TableDictionary) -> Iterator[Fault]:
    """Yield where a model asks for more persons, or records, than there are."""
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


def across_faults(records: int, policy: Policy) -> Iterator[Fault]:
    """Yield what models ask of whole tables that the search does not see, or of a population that is too small."""
    search = policy.algorithm
    for number, model in enumerate(policy.models):
        single, where = model.by_class, f"models[{number}]"
        if search.keeps(model):
            pass
        elif single is None:
            what = f"{model.key()} looks at whole tables, and {search.key()} at some classes at a time"
            yield Fault(what, where, hint=suggest_whole_table_searches())
        else:
            what = f"kept as {single.key()} {single.asked}, which is more than {model.key()} asks"
            got = f"{search.key()} looks at some classes at a time"
            yield Fault(what, where, got, suggest_whole_table_searches(), "warning")
        size = getattr(model, "population_size", None)
        if size is not None and size < records:
            yield Fault("the population is smaller than the table", f"{where}.population_size", f"{size} persons")


def lead_faults(policy: Policy) -> Iterator[Fault]:
    """Yield where a search is led by a model that the policy does not name."""
    search, asked = policy.algorithm, ", ".join(model.key() for model in policy.models)
    if not search.is_led_by(policy.models):
        led = " or ".join(search.needs_models)
        hint = f"name a model {led}, or take another algorithm, such as shoal"
        yield Fault(f"{search.key()} is led by {led}, which no model of the policy is", "algorithm", asked, hint)


def model_faults(words: TableDictionary, model: PrivacyModel, where: str) -> Iterator[Fault]:
    """Yield what a model asks of its sensitive columns that they do not have."""
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
        role, domain = policy.sensitive[name], words.occurring(name)
        if "hierarchy" in model.needs and (role.hierarchy is None or not role.hierarchy.nested):
            hint = f"give one under sensitive.{name}: {{hierarchy: tree, file: …}}"
            yield Fault(f"{name} has no hierarchy that nests", f"{where}.distance", hint=hint)
        if "order" in model.needs and order_texts(domain, role) is None and len(domain):
            hint = f"say it under sensitive.{name}: {{hierarchy: ordering, order: […]}}"
            yield Fault(f"the values of {name} have no order", f"{where}.distance", f"{domain.kind} values", hint)
        elif "order" in model.needs and column.null_count() and role.missing not in ("wildcard", "suppress"):
            hint = f"say sensitive.{name}: {{missing: wildcard}}, or suppress"
            yield Fault("a missing value has no place in an order", f"{where}.distance", name, hint)
