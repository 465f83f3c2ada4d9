"""Policy: everything a data owner declares, as one frozen value that can be read, diffed and signed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from math import floor
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field, field_serializer, field_validator, model_validator
from pydantic.json_schema import GenerateJsonSchema

from shoal.algorithms.base import Algorithm
from shoal.encoding import yaml as notation
from shoal.encoding.fragments import write_heading, write_text
from shoal.encoding.read_options import ReadOptions
from shoal.errors import Fault, PolicyError
from shoal.models.base import PrivacyModel
from shoal.perturbations.base import Perturbation
from shoal.policy.abridge import hash_data
from shoal.policy.answers import CountAnswers, RawAnswers, Renewal
from shoal.policy.consistency import check_consistency
from shoal.policy.context import Context
from shoal.policy.hygiene import Hygiene
from shoal.policy.means import MEANS, write_out_means
from shoal.policy.outputs import Generalized, Output
from shoal.policy.presets import PRESETS, find_preset, replace_presets
from shoal.policy.roles import Identifier, QuasiIdentifier, Sensitive, resolve_paths
from shoal.policy.series import Series
from shoal.policy.treatments import Coding, Treatment
from shoal.recodings.base import Form
from shoal.registry import Frozen, OneOf, find
from shoal.utility.base import Metric

NO_SUBJECT = "none"
"""What is written for the subject where each record is about another person."""
OPEN_SUBJECT = "?"
"""What a draft writes for the subject where somebody has to decide."""
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

    reading: ReadOptions | None = Field(default=None, alias="read")
    """How the table's file is read (:class:`shoal.policy.ReadOptions`); what is not said is detected. Options of a
    command or a call have the last word. A table that is handed over is as it is."""
    identifiers: dict[str, Identifier] = Field(default={})
    """Columns that name a person; never published, but as keyed pseudonyms where that is asked."""
    quasi_identifiers: dict[str, QuasiIdentifier] = Field(default={})
    """Columns that an attacker may know; generalized until the models hold. A policy that perturbs needs none."""
    sensitive: dict[str, Sensitive] = Field(default_factory=dict)
    """Columns that nobody should learn about a person; published as they are."""
    others: Literal["keep", "drop"] | None = None
    """What happens to columns that no role names; without it such a column is an error."""
    treatments: dict[str, Treatment] = Field(default_factory=dict)
    """What is done to every value of kept columns without a role, as ``treatment`` does for columns with one."""
    declared_subject: str | None = Field(default=None, alias="subject")
    """The column that says which person a record is about: every count is then a count of persons. ``none`` says that
    each record is about another person; where an identifier repeats, one of the two must be written."""
    population: Annotated[str, Field(min_length=1)] | None = None
    """The file of the population that the table was drawn from, one record for each person, with the
    quasi-identifiers; for models that ask who of them matches a class."""
    survey_weight: str | None = None
    """The column that says how many persons of the population a record stands for. Models that look at the
    population count persons by it; k, l and all others count records. Its role says whether it is published."""
    perturb: tuple[Annotated[Perturbation, OneOf("perturbations")], ...] = ()
    """What is done to columns that are no quasi-identifiers, whose values are published as others under a guarantee of
    their own (:mod:`shoal.perturbations`): after the quasi-identifiers are generalized, in this order."""
    models: tuple[Annotated[PrivacyModel, OneOf("models")], ...] = ()
    """The promises of the quasi-identifiers; all of them hold."""
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
    """What local recoding publishes of a class: its label, its range, or its set of values. ``means`` is short for an
    entry ``class-means`` of ``perturb`` (:func:`shoal.policy.means.write_out_means`)."""
    output: Output = Generalized()
    """What the release is made of: ``generalized``, ``statistics`` or ``anatomy`` (:mod:`shoal.policy.outputs`)."""
    series: Series | None = None
    """What keeps releases of a table over time safe beside each other (:mod:`shoal.policy.series`)."""
    hygiene: Hygiene = Hygiene()
    """What becomes of texts that a spreadsheet would take for formulas (:class:`shoal.policy.hygiene.Hygiene`)."""
    threshold: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None = None
    """The weight up to which a request for some columns may be answered with the data as they are
    (:func:`shoal.policy.disclosure_weights.weigh`); without it none may. A release keeps its models whatever the
    threshold."""
    raw: RawAnswers | None = None
    """What requests under the threshold may show (:class:`shoal.policy.answers.RawAnswers`)."""
    renew: Renewal | None = None
    """When a service adds persons who are new in the table (:class:`shoal.policy.answers.Renewal`)."""
    answers: CountAnswers | None = None
    """Counts with noise, or rounded, are all that a service answers (:class:`shoal.policy.answers.NoisyCounts`,
    :class:`shoal.policy.answers.RoundedCounts`); without it records of a release are."""
    seed: Annotated[int, Field(ge=0, strict=True)] = 0
    """Everything random follows from it."""
    context: Context | None = None
    """What the owner states for those who judge the release: dataset, recipients, threat model, review date … It is
    printed and signed, and changes no byte of the table."""

    @model_validator(mode="before")
    @classmethod
    def _written_out(cls, data: Any) -> Any:
        """Put models in the place of a preset's name, and an entry of ``perturb`` in that of ``publish: means``."""
        return write_out_means(replace_presets(data)) if isinstance(data, Mapping) else data

    @field_validator("identifiers", "quasi_identifiers", "sensitive", mode="before")
    @classmethod
    def _names_or_mapping(cls, value: Any) -> Any:
        if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
            return {name: {} for name in value}
        return value

    @field_serializer("identifiers", "sensitive")
    def _names_where_that_is_all(self, value: dict[str, Identifier | Sensitive]) -> Any:
        columns = {name: column.model_dump(exclude_defaults=True) for name, column in value.items()}
        return columns if any(columns.values()) else list(columns)

    @model_validator(mode="after")
    def _consistent(self) -> Policy:
        check_consistency(self)
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
        met = [name for name in self.presets if not find_preset(name).unmet(models)]
        read = {name for model in models for name in model.hidden_columns}
        unread = [name for name in self.requested_k if name not in read]
        return self.hiding(unread).replace(models=models, presets=met)

    def hiding(self, names: Sequence[str]) -> Policy:
        """Return the same policy with columns that become identifiers; each record stays that of the same person.

        An identifier may repeat only where it is said whom a record is about. These were none before, and where nothing
        was said, each record was about another person.
        """
        if not names:
            return self
        hidden = {name: Identifier() for name in names}
        rest = {name: column for name, column in self.quasi_identifiers.items() if name not in hidden}
        subject = self.declared_subject or NO_SUBJECT
        return self.replace(identifiers=hidden | self.identifiers, quasi_identifiers=rest, subject=subject)

    @property
    def needs_models(self) -> bool:
        """Whether something must be promised of the quasi-identifiers; not where they are only named for an audit."""
        return True

    @property
    def perturbed(self) -> dict[str, Perturbation]:
        """Column → what perturbs it."""
        return {name: one for one in self.perturb for name in one.columns}

    @field_validator("loss")
    @classmethod
    def _searchable(cls, loss: Metric) -> Metric:
        if loss.unsearchable:
            raise PolicyError("cannot be searched by; an audit tells it", got=loss.key(), hint=loss.unsearchable)
        return loss

    @property
    def subject(self) -> str | None:
        """The column that says which person a record is about, where one does."""
        return None if self.denies_subject else self.declared_subject

    @property
    def denies_subject(self) -> bool:
        """Whether it is written that each record is about another person: ``subject: none``."""
        return self.declared_subject is not None and self.declared_subject.casefold() == NO_SUBJECT

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that are never published: identifiers, the subject, and what each person asks for."""
        people = () if self.subject is None else (self.subject,)
        return tuple(dict.fromkeys((*self.identifiers, *people, *self.requested_k)))

    @property
    def treated(self) -> dict[str, Treatment]:
        """Column → what is done to every value of it before anything else, whatever its role."""
        roles: dict[str, QuasiIdentifier | Sensitive] = {**self.quasi_identifiers, **self.sensitive}
        return {name: role.treatment for name, role in roles.items() if role.treatment is not None} | self.treatments

    @property
    def shifted(self) -> dict[str, int]:
        """Column of dates that are shifted person by person → by how many days at most."""
        return {
            name: one.shift_days for name, one in self.treated.items() if isinstance(one, Coding) and one.shift_days
        }

    @property
    def pseudonyms(self) -> dict[str, str]:
        """Identifier → the column in which its pseudonyms are published, where they are."""
        return {name: f"{name}.pseudonym" for name, column in self.identifiers.items() if column.pseudonym}

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns that a release may have and the table has not: pseudonyms, and what the output form adds."""
        return (*self.pseudonyms.values(), *self.output.added_columns(self.quasi_identifiers))

    @property
    def requested_k(self) -> tuple[str, ...]:
        """The columns of what each person asks for."""
        return tuple(name for model in self.models for name in model.hidden_columns)

    @property
    def k(self) -> int:
        """The k that is asked of every class; 1 where none is."""
        return max((model.class_size for model in self.models), default=1)

    @property
    def raw_least(self) -> int:
        """How many persons share what an answer with the data as they are shows of each of them."""
        stated = None if self.raw is None else self.raw.least
        return max(self.k, 2) if stated is None else stated

    @property
    def renewed_from(self) -> int:
        """How many persons must be new before a service adds them."""
        stated = None if self.renew is None else self.renew.records
        return max(self.k, 2, stated or 0)

    def require_quasi_identifiers(self, purpose: str) -> None:
        """Raise where there are none, and something is about them alone."""
        if not self.quasi_identifiers:
            got = f"perturb: {', '.join(one.key() for one in self.perturb)}" if self.perturb else ""
            hint = "name the columns that others may know; a policy that perturbs alone is for anonymize and audit"
            raise PolicyError(f"there are none, and {purpose}", where="quasi_identifiers", got=got, hint=hint)

    def may_suppress(self, records: int) -> int:
        """Return how many of so many records may be suppressed, exactly: 29 of 100 for a share of 0.29."""
        return floor(Fraction(repr(self.max_suppressed)) * records)

    def check(self, table: object, **options: Any) -> list[Fault]:
        """Return every misfit between this policy and a table, all at once; options say how to read its file."""
        # by its public name: a policy is a value and imports nothing of the pipeline that it goes through
        faults: list[Fault] = import_module("shoal").check(table, self, **options)
        return faults

    @classmethod
    def of(cls, policy: object) -> Policy:
        """Return a policy given as itself, as a mapping of its keys, or as the path of its file."""
        if isinstance(policy, Policy):
            if not policy.models and not policy.perturb:
                hint = "name a model, for example {name: k-anonymity, k: 5}"
                raise PolicyError("nothing is promised: roles are for audits only", where="models", hint=hint)
            return policy
        if isinstance(drafted := getattr(policy, "policy", None), Policy):  # a draft is a text too
            return drafted
        if isinstance(policy, (str, Path)):
            return cls.read(policy)
        if isinstance(policy, Mapping):
            return cls(**policy)
        raise PolicyError("must be a Policy, a mapping or a path", where="policy", got=type(policy).__name__)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain data, without what is left at its default."""
        return self.model_dump(mode="json", exclude_defaults=True, by_alias=True)

    def effective(self) -> dict[str, Any]:
        """Return the policy as plain data with its defaults: what a person signs; a secret seed is left out."""
        whole = self._signed() | ({"seed": None} if self.has_secret_seed else {})
        return {key: value for key, value in whole.items() if value is not None}

    def _signed(self) -> dict[str, Any]:
        """All that the policy says; of the population's file its name, not the folder that it is in here.

        What few policies state (a context, a series, …) is told as stated, or not at all: others keep their hash.
        """
        named: dict[str, Any] = {} if self.population is None else {"population": Path(self.population).name}
        if self.context is not None:
            named["context"] = self.context.model_dump(mode="json", exclude_defaults=True)
        if self.reading is not None:
            named["read"] = self.reading.to_dict()
        if self.hygiene != Hygiene():
            named["hygiene"] = self.hygiene.model_dump(mode="json")
        stated: dict[str, Frozen | None] = {name: getattr(self, name) for name in ("series", "raw", "renew", "answers")}
        named |= {key: said.model_dump(mode="json") for key, said in stated.items() if said is not None}
        own_way = {"context", "reading", "hygiene", *stated, *([] if self.perturb else ["perturb"])}
        return self.model_dump(mode="json", exclude=own_way, by_alias=True) | named

    @property
    def has_secret_seed(self) -> bool:
        """Whether a promise holds only while nobody else knows the seed."""
        draws = any(model.draws for model in self.models) or any(one.is_random for one in self.perturb)
        return self.output.has_secret_seed or draws

    def to_yaml(self, *, defaults: bool = False) -> str:
        """Return the policy as YAML; with its defaults, as a person signs it, if asked."""
        return notation.dump(self.effective() if defaults else self.to_dict())

    def _repr_html_(self) -> str:
        return write_heading("Policy") + write_text(self.to_yaml())

    def write(self, path: str | Path) -> None:
        """Write the policy as YAML."""
        Path(path).write_text(self.to_yaml(), encoding="utf-8")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all that the policy says, defaults included."""
        return hash_data(self._signed())

    @classmethod
    def from_yaml(cls, text: str, *, folder: Path | None = None, source: str = "policy") -> Policy:
        """Read a policy from YAML; files that it names are looked up in ``folder``."""
        data = resolve_paths(notation.parse_mapping(text, source), folder)
        return cls(**{str(key): value for key, value in data.items()})

    @classmethod
    def read(cls, path: str | Path) -> Policy:
        """Read a policy from a YAML file."""
        path = Path(path)
        return cls.from_yaml(notation.read_text(path, "policy"), folder=path.parent, source=str(path))

    @classmethod
    def schema_json(cls) -> dict[str, Any]:  # type: ignore[override]
        """Return the JSON Schema of the YAML file, for editors: presets among the models, names for mappings."""
        schema = cls.model_json_schema()
        schema["$schema"] = GenerateJsonSchema.schema_dialect
        schema |= {"title": "shoal policy", "description": "What is promised about a release, and how it is kept."}
        some = {"minItems": 1, "minProperties": 1}
        promised = {"quasi_identifiers": some, "models": some}
        schema["anyOf"] = [
            {"required": [*promised], "properties": promised},
            {"required": ["perturb"], "properties": {"perturb": some}},
        ]
        schema["properties"]["publish"]["enum"].append(MEANS)
        names_list = {"type": "array", "items": {"type": "string"}}
        known = {"enum": sorted(PRESETS)}
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


@dataclass(frozen=True)
class Relaxation:
    """A change of a policy that was tried and makes it feasible."""

    text: str
    policy: Policy
    loss: float

    def __str__(self) -> str:
        return f"{self.text} (loss {self.loss:.4f})"
