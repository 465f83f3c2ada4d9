"""What the parts of a policy must be to each other, whatever table it is for; checked when it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.algorithms.base import suggest_whole_table_searches
from shoal.errors import Fault, PolicyError, nearest
from shoal.models.base import PrivacyModel
from shoal.policy.presets import find_preset
from shoal.registry import find, names
from shoal.utility.base import Metric

if TYPE_CHECKING:
    from shoal.policy.policy import Policy


def check_consistency(policy: Policy) -> None:
    """Raise what contradicts itself in a policy."""
    for check in _CHECKS:
        check(policy)


def _check_presets(policy: Policy) -> None:
    """A policy is as strict as the presets that it follows."""
    for name in policy.presets:
        for asked in find_preset(name).unmet(policy.models):
            raise PolicyError(
                f"{name} asks for {asked.key()} {asked.asked}, and no model promises it",
                where="presets",
                hint=f"write models: [{{preset: {name}}}], or leave the preset out",
            )


def _check_names(policy: Policy) -> None:
    """Every column has a name."""
    roles = {role: getattr(policy, role) for role in ("identifiers", "quasi_identifiers", "sensitive")}
    roles |= {role: (getattr(policy, role),) for role in ("subject", "survey_weight")}
    for role, names_given in roles.items():
        if "" in names_given:
            raise PolicyError("a column without a name", where=role, hint="name it in the table, and here")


def _check_roles(policy: Policy) -> None:
    """Each column has one role, and models look at sensitive columns."""
    seen: dict[str, str] = {}
    for role in ("identifiers", "quasi_identifiers", "sensitive"):
        for name in getattr(policy, role):
            if name in seen:
                raise PolicyError(f"the column {name!r} has two roles", where=role, got=f"also in {seen[name]}")
            seen[name] = role
    for number, model in enumerate(policy.models):
        for name in model.sensitive_columns:
            if name not in policy.sensitive and name not in model.hidden_columns:
                raise PolicyError(
                    "must name a sensitive column",
                    where=f"models[{number}].on",
                    got=repr(name),
                    hint=nearest(name, policy.sensitive) or "declare it under sensitive",
                )
    if policy.subject is not None and seen.get(policy.subject, "identifiers") != "identifiers":
        raise PolicyError(
            "the subject column cannot be published",
            where="subject",
            got=f"{policy.subject!r} is in {seen[policy.subject]}",
        )


def _check_treatments(policy: Policy) -> None:
    """Columns without a role are treated only where they are kept; a shift is that of a person, in all columns."""
    roles = {*policy.quasi_identifiers, *policy.sensitive, *policy.hidden}
    for name in policy.treatments:
        if (policy.others != "keep" and name not in policy.perturbed) or name in roles:
            what = "is for columns without a role that are kept"
            hint = "say treatment: beside the column's role" if name in roles else "say others: keep"
            raise PolicyError(what, where=f"treatments.{name}", got="a column with a role" * (name in roles), hint=hint)
    if policy.shifted and policy.subject is None:
        name = next(iter(policy.shifted))
        hint = "say subject: (the column that tells persons apart)"
        raise PolicyError("the dates of a person are shifted together", where=f"{name}.treatment", hint=hint)
    if len({*policy.shifted.values()}) > 1:
        got = ", ".join(f"{name}: {days}" for name, days in policy.shifted.items())
        what = "all dates of a person are shifted by the same number of days, or the time between them is lost"
        raise PolicyError(what, where="shift_days", got=got, hint="name the same number in all columns")


def _check_population(policy: Policy) -> None:
    """A model that looks at the population is told it."""
    if policy.survey_weight is not None and policy.subject is not None:
        raise PolicyError(
            "weights are those of records: they cannot be added up where persons are counted",
            where="survey_weight",
            got=f"subject: {policy.subject}",
            hint="leave one of them out",
        )
    table, known = policy.population is not None, policy.population is not None or policy.survey_weight is not None
    for number, model in enumerate(policy.models):
        if ("everyone" in model.needs and not table) or ("population" in model.needs and not known):
            other = "" if "everyone" in model.needs else ", or survey_weight: (a column)"
            raise PolicyError(
                f"{model.key()} needs to know the population",
                where=f"models[{number}]",
                hint=f"say population: (a file with a record for each person){other}",
            )


def _check_scenarios(policy: Policy) -> None:
    """What attackers know are quasi-identifiers."""
    for number, model in enumerate(policy.models):
        for names_known in model.scenarios(tuple(policy.quasi_identifiers)):
            for name in names_known:
                if name not in policy.quasi_identifiers:
                    raise PolicyError(
                        "must name quasi-identifiers",
                        where=f"models[{number}].known",
                        got=repr(name),
                        hint=nearest(name, policy.quasi_identifiers),
                    )


def _check_output(policy: Policy) -> None:
    """The form of the release can keep the promises."""
    faults = list(policy.output.faults(policy))
    if faults:
        raise PolicyError(faults)


def _check_series(policy: Policy) -> None:
    """What is released again and again can be kept safe."""
    faults = [] if policy.series is None else list(policy.series.faults(policy))
    if faults:
        raise PolicyError(faults)


def _check_sample(policy: Policy) -> None:
    """Where a sample is drawn, the release depends on a record through it alone."""
    for number, model in enumerate(policy.models):
        faults = list(_sample_faults(policy)) if model.draws else []
        if faults:
            what = f"{model.key()} would not hold"
            raise PolicyError([replace(fault, what=f"{what}: {fault.what}") for fault in faults])
        if model.draws and sum(other.draws for other in policy.models) > 1:
            raise PolicyError("a sample is drawn once", where=f"models[{number}]")


def _check_requested_k(policy: Policy) -> None:
    """The column of what each person asks for has no other role."""
    roles: dict[str, str] = dict.fromkeys(policy.quasi_identifiers, "in quasi_identifiers")
    roles |= dict.fromkeys(policy.sensitive, "in sensitive")
    roles |= {} if policy.subject is None else {policy.subject: "the subject"}
    for number, model in enumerate(policy.models):
        for name in model.hidden_columns:
            if name in roles:
                raise PolicyError(
                    "the column of what each person asks for has no other role, and is not published",
                    where=f"models[{number}].on",
                    got=f"{name!r} is {roles[name]}",
                )
            roles[name] = f"in models[{number}] too"


def _check_loss(policy: Policy) -> None:
    """Who compares class by class can only be asked for a loss that adds up over cells."""
    if policy.algorithm.goes_by(policy.loss):
        return
    additive = [name for name in names("utility") if _adds_up(name)]
    raise PolicyError(
        f"{policy.algorithm.key()} searches by losses that add up over cells; this one does not, as it is asked for",
        where="loss",
        got=" ".join([policy.loss.key(), *(f"{name}={value}" for name, value in policy.loss.parameters().items())]),
        hint=f"take {', '.join(additive)}; or {suggest_whole_table_searches()}",
    )


def _adds_up(name: str) -> bool:
    """Whether a loss adds up over cells as it is by default."""
    metric = find("utility", name)()
    return isinstance(metric, Metric) and not metric.unsearchable and metric.priced_by is not None


def _check_promises(policy: Policy) -> None:
    """Something is promised, and of something."""
    if policy.perturb and not policy.quasi_identifiers and not policy.models:
        return
    needed = ("quasi_identifiers", "models") if policy.needs_models else ("quasi_identifiers",)
    faults = [
        Fault("must not be empty" if key in policy.model_fields_set else "is required", where=key)
        for key in needed
        if not getattr(policy, key)
    ]
    if faults and policy.perturb:
        faults = [
            replace(fault, hint="models count classes of quasi-identifiers: name both or none") for fault in faults
        ]
    if faults:
        raise PolicyError(faults)


def _check_perturbations(policy: Policy) -> None:
    """Each column is perturbed once, and nothing else is done with it after its treatment."""
    seen: dict[str, str] = {}
    for number, one in enumerate(policy.perturb):
        where = f"perturb[{number}]"
        for fault in one.contradictions():
            raise PolicyError(replace(fault, where=f"{where}.{fault.where}" if fault.where else where))
        for name in one.columns:
            if name in seen:
                what = f"the column {name!r} is perturbed twice: what happened to it first could not be tested"
                raise PolicyError(what, where=f"{where}.columns", got=f"also in {seen[name]}")
            seen[name] = where
            _require_perturbable(policy, name, f"{where}.columns")
        if one.counts_records and policy.subject is not None:
            what, hint = (
                f"{one.key()} counts records, and a person may have several",
                "say subject: none, or leave it out",
            )
            raise PolicyError(what, where=where, got=f"subject: {policy.subject}", hint=hint)
        for place, model in enumerate(one.class_models):
            _require_sensitive(policy, model, f"{where}.models[{place}]")
    if policy.perturb and policy.output.form != "generalized":
        what = "columns are perturbed in a release of the form generalized only"
        raise PolicyError(what, where="output", got=policy.output.form, hint="leave out the one or the other")


def _require_sensitive(policy: Policy, model: PrivacyModel, where: str) -> None:
    """Raise that a model of perturbed classes looks at a column that is not sensitive, or perturbed itself."""
    for name in model.sensitive_columns:
        if name not in policy.sensitive:
            hint = f"say sensitive: [{name}]"
            raise PolicyError("looks at a column that is not sensitive", where=where, got=repr(name), hint=hint)
        if name in policy.perturbed:
            raise PolicyError("of perturbed values it promises nothing", where=where, got=repr(name))


def _require_perturbable(policy: Policy, name: str, where: str) -> None:
    """Raise that a column that is perturbed has a role that does not go with that."""
    if name in policy.quasi_identifiers:
        raise PolicyError(
            "a quasi-identifier is generalized, and not perturbed too",
            where=where,
            got=repr(name),
            hint="the order is fixed: treat, generalize the quasi-identifiers, perturb other columns; "
            "take it out of quasi_identifiers, or out of here",
        )
    if name in policy.hidden:
        raise PolicyError("a column that is never published is not perturbed", where=where, got=repr(name))
    for number, model in enumerate(policy.models):
        if name in model.sensitive_columns:
            raise PolicyError(
                f"models[{number}] ({model.key()}) looks at this column: of perturbed values it promises nothing",
                where=where,
                got=repr(name),
                hint="leave out the model, or the perturbation",
            )


_CHECKS: tuple[Callable[[Policy], None], ...] = (
    _check_promises,
    _check_presets,
    _check_names,
    _check_roles,
    _check_treatments,
    _check_perturbations,
    _check_population,
    _check_scenarios,
    _check_output,
    _check_series,
    _check_sample,
    _check_requested_k,
    _check_loss,
)

_SECRET = 2**64
"""A seed below this could be guessed."""


def _sample_faults(policy: Policy) -> Iterator[Fault]:
    """Yield what would let the release depend on one record other than through a random sample of all."""
    if not policy.algorithm.data_independent:
        got = policy.algorithm.key()
        yield Fault("its levels follow the data", "algorithm", got, "give the levels: {name: fixed-levels, levels: …}")
    for name, column in policy.quasi_identifiers.items():
        where = f"quasi_identifiers.{name}"
        if column.hierarchy is not None and not column.hierarchy.data_independent:
            yield Fault("the hierarchy is made from the data", where, column.hierarchy.key(), "say the labels yourself")
        if column.missing == "wildcard":
            yield Fault("a missing value would be in several classes", where, "missing: wildcard")
    if policy.sensitive:
        hint = "make them quasi-identifiers, or identifiers"
        yield Fault("these would be published as they are", "sensitive", ", ".join(policy.sensitive), hint)
    if policy.others == "keep":
        yield Fault("they would be published as they are", "others", "keep", "say others: drop")
    more = [*policy.pseudonyms, *([] if policy.output.beside is None else [policy.output.form])]
    if more:
        yield Fault("more would be told than the texts of a sample", "output", ", ".join(more), "leave them out")
    if policy.subject is not None:
        yield Fault("it protects records, not persons with several", "subject", policy.subject)
    if policy.perturb:
        got = ", ".join(one.key() for one in policy.perturb)
        yield Fault("what they publish depends on the records that are not drawn", "perturb", got)
    yield from _release_faults(policy)


def _release_faults(policy: Policy) -> Iterator[Fault]:
    """Yield what of the release as a whole would depend on one record."""
    if policy.requested_k:
        yield Fault("other models must not read further columns", "models", ", ".join(policy.requested_k))
    if policy.suppressed != "drop":
        hint = "say suppressed: drop"
        yield Fault("how many are suppressed would be published", "suppressed", policy.suppressed, hint)
    if policy.max_suppressed != 1.0:
        hint = "say max_suppressed: 1"
        yield Fault("how many may be suppressed is up to chance", "max_suppressed", str(policy.max_suppressed), hint)
    if policy.seed < _SECRET:
        hint = "draw a secret one: python -c 'import secrets; print(secrets.randbits(128))'"
        yield Fault("the seed can be guessed, and with it the sample", "seed", str(policy.seed), hint)
