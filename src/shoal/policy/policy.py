"""Policy: everything a data owner declares, as one frozen value that can be read, diffed and signed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from math import floor
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field, field_serializer, field_validator, model_validator

from shoal.algorithms.base import Algorithm
from shoal.encoding import yaml as notation
from shoal.errors import Fault, PolicyError
from shoal.models.base import PrivacyModel
from shoal.policy.abridge import hash_data
from shoal.policy.consistency import check_consistency
from shoal.policy.outputs import Generalized, Output
from shoal.policy.presets import find_preset
from shoal.policy.roles import Identifier, QuasiIdentifier, Sensitive, resolve_paths
from shoal.policy.schema import file_schema
from shoal.recodings.base import Form
from shoal.registry import Frozen, OneOf, find
from shoal.utility.base import Metric

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
            models += find_preset(item["preset"]).models
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
        unread = {name: Identifier() for name in self.requested_k if name not in read}
        return self.replace(models=models, presets=met, identifiers=unread | self.identifiers)

    @field_validator("loss")
    @classmethod
    def _searchable(cls, loss: Metric) -> Metric:
        if loss.unsearchable:
            raise PolicyError("cannot be searched by; an audit tells it", got=loss.key(), hint=loss.unsearchable)
        return loss

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
        # by its public name: a policy is a value and imports nothing of the pipeline that it goes through
        faults: list[Fault] = import_module("shoal").check(table, self)
        return faults

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

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all that the policy says, defaults included."""
        return hash_data(self._signed())

    @classmethod
    def from_yaml(cls, text: str, *, folder: Path | None = None, source: str = "policy") -> Policy:
        """Read a policy from YAML; files that it names are looked up in ``folder``."""
        data = resolve_paths(notation.mapping(text, source), folder)
        return cls(**{str(key): value for key, value in data.items()})

    @classmethod
    def read(cls, path: str | Path) -> Policy:
        """Read a policy from a YAML file."""
        path = Path(path)
        return cls.from_yaml(notation.text_of(path, "policy"), folder=path.parent, source=str(path))

    @classmethod
    def schema_json(cls) -> dict[str, Any]:  # type: ignore[override]
        """Return the JSON Schema of the YAML file, for editors."""
        return file_schema(cls)
