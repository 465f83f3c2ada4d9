"""Policy: everything a data owner declares, as one frozen value that can be read, diffed and signed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as dc_replace
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field, field_serializer, field_validator, model_validator
from pydantic.json_schema import GenerateJsonSchema

from shoal.algorithms.base import Algorithm
from shoal.encoding import yaml as notation
from shoal.errors import Fault, PolicyError, nearest
from shoal.models.base import PrivacyModel
from shoal.policy import presets
from shoal.policy.outputs import Generalized, Output
from shoal.policy.roles import Identifier, QuasiIdentifier, Sensitive, resolved
from shoal.recodings.base import Form
from shoal.registry import Frozen, OneOf, find
from shoal.utility.base import Metric

__all__ = ["Identifier", "Policy", "QuasiIdentifier", "Relaxation", "Sensitive"]

Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class Policy(Frozen):
    """Everything a data owner declares: roles, hierarchies, promises, and how to keep them.

    Examples
    --------
    >>> policy = Policy(quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [5, 10]}, "sex": "suppress"},
    ...                 sensitive=["illness"], models=[{"name": "k-anonymity", "k": 5}])
    >>> Policy.from_yaml(policy.to_yaml()) == policy
    True
    """

    identifiers: dict[str, Identifier] = Field(default={})
    """Columns that name a person; never published, but as keyed pseudonyms where that is asked."""
    quasi_identifiers: Annotated[dict[str, QuasiIdentifier], Field(min_length=1)]
    """Columns that an attacker may know; generalized until the models hold."""
    sensitive: dict[str, Sensitive] = Field(default_factory=dict)
    """Columns that nobody should learn about a person; published as they are."""
    others: Literal["keep", "drop"] | None = None
    """What happens to columns that no role names; without it such a column is an error."""
    subject: str | None = None
    """The column that says which person a record is about: every count is then a count of persons."""
    population: Annotated[str, Field(min_length=1)] | None = None
    """The file of the population that the table was drawn from, one record for each person, with the
    quasi-identifiers; for models that ask who of them matches a class."""
    survey_weight: str | None = None
    """The column that says how many persons of the population a record stands for. Models that look at the
    population count persons by it; k, l and all others count records. Its role says whether it is published."""
    models: Annotated[tuple[Annotated[PrivacyModel, OneOf("models")], ...], Field(min_length=1)]
    """The promises; all of them hold."""
    presets: tuple[str, ...] = ()
    """The published rules that the policy follows (:mod:`shoal.policy.presets`): their models are among its models,
    and what they ask of columns is checked. ``models: [{preset: NAME}]`` puts both here."""
    algorithm: Annotated[Algorithm, OneOf("algorithms")] = Field(
        default_factory=lambda: cast("Algorithm", find("algorithms", "shoal")())
    )
    """The search."""
    loss: Annotated[Metric, OneOf("utility")] = Field(
        default_factory=lambda: cast("Metric", find("utility", "certainty-penalty")())
    )
    """What the search minimizes."""
    max_suppressed: Share = 0.0
    """The share of records that may be suppressed."""
    suppressed: Literal["star", "drop"] = "star"
    """Whether suppressed records are published as ``*`` (left out where they would not comply), or always left out."""
    publish: Form = "labels"
    """What local recoding publishes of a class: its label, its range, or its set of values."""
    output: Output = Generalized()
    """What the release is made of: ``generalized``, ``statistics`` or ``anatomy`` (:mod:`shoal.policy.outputs`)."""
    threshold: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None = None
    """The weight up to which a request for some columns may be answered with the data as they are
    (:func:`shoal.policy.disclosure_weights.weigh`); without it none may. A release keeps its models whatever the
    threshold."""
    seed: Annotated[int, Field(ge=0, strict=True)] = 0
    """Everything random follows from it."""

    @model_validator(mode="before")
    @classmethod
    def _presets_among_models(cls, data: Any) -> Any:
        """Put the models of a preset in the place of its name."""
        if not isinstance(data, Mapping) or not isinstance(data.get("models"), (list, tuple)):
            return data
        models, named = [], list(data.get("presets") or ())
        for number, item in enumerate(data["models"]):
            if not isinstance(item, Mapping) or "preset" not in item:
                models.append(item)
                continue
            if len(item) > 1:
                raise PolicyError("a preset has no parameters", where=f"models[{number}]", got=repr(dict(item)))
            models += presets.find(item["preset"]).models
            named += [item["preset"]] if item["preset"] not in named else []
        if not models and data["models"]:
            raise PolicyError(
                f"{', '.join(named)} asks for no model, and a policy needs one",
                where="models",
                hint="add one beside it, for example {name: k-anonymity, k: 5}",
            )
        return {**data, "models": models, **({"presets": named} if named else {})}

    @field_validator("identifiers", "quasi_identifiers", "sensitive", mode="before")
    @classmethod
    def _names_or_mapping(cls, value: Any) -> Any:
        if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
            return {name: {} for name in value}
        return value

    @field_serializer("identifiers", "sensitive")
    def _names_where_that_is_all(self, value: dict[str, Identifier | Sensitive]) -> Any:
        said = {name: column.model_dump(exclude_defaults=True) for name, column in value.items()}
        return said if any(said.values()) else list(said)

    @model_validator(mode="after")
    def _as_strict_as_its_presets(self) -> Policy:
        for name in self.presets:
            for asked in presets.find(name).unmet(self.models):
                raise PolicyError(
                    f"{name} asks for {asked.key()} {asked.asked}, and no model promises it",
                    where="presets",
                    hint=f"write models: [{{preset: {name}}}], or leave the preset out",
                )
        return self

    def asking(self, models: Sequence[PrivacyModel]) -> Policy:
        """Return the same policy with other models; it no longer follows presets that ask for more.

        What each person asks for stays hidden where no model reads it any more: it becomes an identifier.

        Examples
        --------
        >>> from shoal.models.k_anonymity import KAnonymity
        >>> policy = Policy(quasi_identifiers=["age"], others="keep", models=[{"name": "personal-k", "on": "own"}])
        >>> policy.asking([KAnonymity(k=2)]).hidden
        ('own',)
        """
        met = [name for name in self.presets if not presets.find(name).unmet(models)]
        read = {name for model in models for name in model.hidden_columns}
        unread = {name: Identifier() for name in self.requested_k if name not in read}
        return self.replace(models=models, presets=met, identifiers=unread | self.identifiers)

    @field_validator("loss")
    @classmethod
    def _searchable(cls, loss: Metric) -> Metric:
        if loss.unsearchable:
            raise PolicyError("cannot be searched by; an audit tells it", got=loss.key(), hint=loss.unsearchable)
        return loss

    @model_validator(mode="after")
    def _columns_have_names(self) -> Policy:
        roles = {role: getattr(self, role) for role in ("identifiers", "quasi_identifiers", "sensitive")}
        roles |= {role: (getattr(self, role),) for role in ("subject", "survey_weight")}
        for role, names_given in roles.items():
            if "" in names_given:
                raise PolicyError("a column without a name", where=role, hint="name it in the table, and here")
        return self

    @model_validator(mode="after")
    def _one_role_each(self) -> Policy:
        seen: dict[str, str] = {}
        for role in ("identifiers", "quasi_identifiers", "sensitive"):
            for name in getattr(self, role):
                if name in seen:
                    raise PolicyError(f"the column {name!r} has two roles", where=role, got=f"also in {seen[name]}")
                seen[name] = role
        for number, model in enumerate(self.models):
            for name in model.sensitive_columns:
                if name not in self.sensitive and name not in model.hidden_columns:
                    raise PolicyError(
                        "must name a sensitive column",
                        where=f"models[{number}].on",
                        got=repr(name),
                        hint=nearest(name, self.sensitive) or "declare it under sensitive",
                    )
        if self.subject is not None and seen.get(self.subject, "identifiers") != "identifiers":
            raise PolicyError(
                "the subject column cannot be published",
                where="subject",
                got=f"{self.subject!r} is in {seen[self.subject]}",
            )
        return self

    @model_validator(mode="after")
    def _populations_are_named(self) -> Policy:
        if self.survey_weight is not None and self.subject is not None:
            raise PolicyError(
                "weights are those of records: they cannot be added up where persons are counted",
                where="survey_weight",
                got=f"subject: {self.subject}",
                hint="leave one of them out",
            )
        table, known = self.population is not None, self.population is not None or self.survey_weight is not None
        for number, model in enumerate(self.models):
            if ("everyone" in model.needs and not table) or ("population" in model.needs and not known):
                other = "" if "everyone" in model.needs else ", or survey_weight: (a column)"
                raise PolicyError(
                    f"{model.key()} needs to know the population",
                    where=f"models[{number}]",
                    hint=f"say population: (a file with a record for each person){other}",
                )
        return self

    @model_validator(mode="after")
    def _scenarios_are_known(self) -> Policy:
        for number, model in enumerate(self.models):
            for names_known in model.scenarios(tuple(self.quasi_identifiers)):
                for name in names_known:
                    if name not in self.quasi_identifiers:
                        raise PolicyError(
                            "must name quasi-identifiers",
                            where=f"models[{number}].known",
                            got=repr(name),
                            hint=nearest(name, self.quasi_identifiers),
                        )
        return self

    @model_validator(mode="after")
    def _output_can_keep_it(self) -> Policy:
        faults = list(self.output.faults(self))
        if faults:
            raise PolicyError(faults)
        return self

    @model_validator(mode="after")
    def _drawn_fairly(self) -> Policy:
        for number, model in enumerate(self.models):
            faults = list(_of_a_sample(self)) if model.draws else []
            if faults:
                what = f"{model.key()} would not hold"
                raise PolicyError([dc_replace(fault, what=f"{what}: {fault.what}") for fault in faults])
            if model.draws and sum(other.draws for other in self.models) > 1:
                raise PolicyError("a sample is drawn once", where=f"models[{number}]")
        return self

    @model_validator(mode="after")
    def _asks_are_hidden(self) -> Policy:
        roles: dict[str, str] = dict.fromkeys(self.quasi_identifiers, "in quasi_identifiers")
        roles |= dict.fromkeys(self.sensitive, "in sensitive")
        roles |= {} if self.subject is None else {self.subject: "the subject"}
        for number, model in enumerate(self.models):
            for name in model.hidden_columns:
                if name in roles:
                    raise PolicyError(
                        "the column of what each person asks for has no other role, and is not published",
                        where=f"models[{number}].on",
                        got=f"{name!r} is {roles[name]}",
                    )
                roles[name] = f"in models[{number}] too"
        return self

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that are never published: identifiers, the subject, and what each person asks for."""
        people = () if self.subject is None else (self.subject,)
        return tuple(dict.fromkeys((*self.identifiers, *people, *self.requested_k)))

    @property
    def pseudonyms(self) -> dict[str, str]:
        """Identifier → the column in which its pseudonyms are published, where they are."""
        return {name: f"{name}.pseudonym" for name, column in self.identifiers.items() if column.pseudonym}

    @property
    def requested_k(self) -> tuple[str, ...]:
        """The columns of what each person asks for."""
        return tuple(name for model in self.models for name in model.hidden_columns)

    @property
    def k(self) -> int:
        """The k that is asked of every class; 1 where none is."""
        return max((model.class_size for model in self.models), default=1)

    def may_suppress(self, records: int) -> int:
        """Return how many of so many records may be suppressed, exactly: 29 of 100 for a share of 0.29."""
        return floor(Fraction(repr(self.max_suppressed)) * records)

    def check(self, table: object) -> list[Fault]:
        """Return every misfit between this policy and a table, all at once."""
        from shoal.pipeline.check import check

        return check(table, self)

    @classmethod
    def of(cls, policy: object) -> Policy:
        """Return a policy given as itself, as a mapping of its keys, or as the path of its file."""
        if isinstance(policy, Policy):
            if not policy.models:
                hint = "name a model, for example {name: k-anonymity, k: 5}"
                raise PolicyError("nothing is promised: roles are for audits only", where="models", hint=hint)
            return policy
        if isinstance(policy, (str, Path)):
            return cls.read(policy)
        if isinstance(policy, Mapping):
            return cls(**policy)
        raise PolicyError("must be a Policy, a mapping or a path", where="policy", got=type(policy).__name__)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain data, without what is left at its default."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def effective(self) -> dict[str, Any]:
        """Return the policy as plain data with its defaults: what a person signs; a secret seed is left out."""
        whole = self._signed() | ({"seed": None} if self.has_secret_seed else {})
        return {key: value for key, value in whole.items() if value is not None}

    def _signed(self) -> dict[str, Any]:
        """All that the policy says; of the population's file its name, not the folder that it is in here."""
        named = {} if self.population is None else {"population": Path(self.population).name}
        return self.model_dump(mode="json") | named

    @property
    def has_secret_seed(self) -> bool:
        """Whether a promise holds only while nobody else knows the seed."""
        return self.output.has_secret_seed or any(model.draws for model in self.models)

    def to_yaml(self, *, defaults: bool = False) -> str:
        """Return the policy as YAML; with its defaults, as a person signs it, if asked."""
        return notation.dump(self.effective() if defaults else self.to_dict())

    def write(self, path: str | Path) -> None:
        """Write the policy as YAML."""
        Path(path).write_text(self.to_yaml(), encoding="utf-8")

    @property
    def hash(self) -> str:
        """SHA-256 of all that the policy says, defaults included."""
        return hashlib.sha256(json.dumps(self._signed(), sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @classmethod
    def from_yaml(cls, text: str, *, folder: Path | None = None, source: str = "policy") -> Policy:
        """Read a policy from YAML; files that it names are looked up in ``folder``."""
        said = resolved(notation.mapping(text, source), folder)
        return cls(**{str(key): value for key, value in said.items()})

    @classmethod
    def read(cls, path: str | Path) -> Policy:
        """Read a policy from a YAML file."""
        path = Path(path)
        return cls.from_yaml(notation.text_of(path, "policy"), folder=path.parent, source=str(path))

    @classmethod
    def schema_json(cls) -> dict[str, Any]:  # type: ignore[override]
        """Return the JSON Schema of the YAML file, for editors."""
        schema = cls.model_json_schema()
        schema["$schema"] = GenerateJsonSchema.schema_dialect
        schema |= {"title": "shoal policy", "description": "What is promised about a release, and how it is kept."}
        names_list = {"type": "array", "items": {"type": "string"}}
        known = {"enum": sorted(presets.PRESETS)}
        schema["properties"]["presets"]["items"] = known
        schema["properties"]["models"]["items"]["oneOf"].append(
            {"type": "object", "properties": {"preset": known}, "required": ["preset"], "additionalProperties": False}
        )
        for role in ("identifiers", "quasi_identifiers", "sensitive"):
            mapping = {key: value for key, value in schema["properties"][role].items() if key != "description"}
            schema["properties"][role] = {
                "description": schema["properties"][role].get("description", ""),
                "anyOf": [mapping, names_list],
            }
        return schema


_SECRET = 2**64
"""A seed below this could be guessed."""


def _of_a_sample(policy: Policy) -> Iterator[Fault]:
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


@dataclass(frozen=True)
class Relaxation:
    """A change of the policy that was tried and works."""

    text: str
    policy: Policy
    loss: float

    def __str__(self) -> str:
        return f"{self.text} (loss {self.loss:.4f})"
