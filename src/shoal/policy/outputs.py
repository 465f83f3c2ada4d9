"""Output forms: what a release is made of, and what each form asks of a policy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import BeforeValidator, Field, model_serializer

from shoal.errors import Fault, PolicyError, nearest
from shoal.models.base import PrivacyModel
from shoal.policy.roles import QuasiIdentifier, Sensitive
from shoal.registry import Frozen

Name = Annotated[str, Field(min_length=1)]


class Declared(Protocol):
    """What an output form looks at in a policy."""

    @property
    def quasi_identifiers(self) -> Mapping[str, QuasiIdentifier]:
        """Columns that an attacker may know."""

    @property
    def sensitive(self) -> Mapping[str, Sensitive]:
        """Columns that nobody should learn about a person."""

    @property
    def others(self) -> str | None:
        """What happens to columns without a role."""

    @property
    def subject(self) -> str | None:
        """The column that tells persons apart."""

    @property
    def models(self) -> Sequence[PrivacyModel]:
        """The promises."""


class OutputForm(Frozen):
    """Base of all forms of a release."""

    form: str
    beside: ClassVar[str | None] = None
    """The second table of a release: it is written as ``release-NAME``."""
    has_secret_seed: ClassVar[bool] = False
    """Whether somebody who knows the seed could undo part of it."""
    generalizes: ClassVar[bool] = True
    """Whether quasi-identifiers are published as texts that cover their values, not as they are."""
    has_statistics: ClassVar[bool] = False
    """Whether the second table tells statistics of each class."""

    @property
    def has_ends(self) -> bool:
        """Whether each quasi-identifier of numbers or dates has its ends beside it."""
        return False

    @property
    def numbered(self) -> str | None:
        """The column that numbers classes or groups, where there is one."""
        return None

    def added_columns(self, quasi_identifiers: Iterable[str]) -> list[str]:
        """Return the columns that the form may add to those of the table: ends, class numbers."""
        ends = [f"{name}.{end}" for name in quasi_identifiers for end in ("low", "high")] if self.has_ends else []
        return [*ends, *([] if self.numbered is None else [self.numbered])]

    @abstractmethod
    def faults(self, policy: Declared) -> Iterator[Fault]:
        """Yield what a policy declares that this form cannot keep."""

    @model_serializer(mode="plain")
    def _dump(self) -> dict[str, Any]:
        fields = type(self).model_fields.items()
        fields_set = {name: getattr(self, name) for name, field in fields if getattr(self, name) != field.default}
        return {"form": self.form, **fields_set}


class Generalized(OutputForm):
    """The published table alone: a text for each quasi-identifier, ``[20, 24]`` or ``{a, b}``.

    With ``ends``, columns ``age.low`` and ``age.high`` follow each column of numbers or dates; with ``typed`` too, and
    a table of pandas has the column itself as intervals where every cell is one.

    Why it is safe: both ends are read off the text alone, so they tell nothing more. ``[20, 25)`` gives 20 and 25 (the
    text says whether an end belongs to it), a single value itself twice, a set its least and its greatest value,
    ``1995-01`` the first and the last day. Nothing is given for ``*``, a missing value, a set with a missing value in
    it and a label that is no range: the ends of the domain would tell the least and the greatest value of the table.

    Examples
    --------
    >>> Generalized(ends=True).model_dump()
    {'form': 'generalized', 'ends': True}
    """

    form: Literal["generalized"] = "generalized"
    ends: bool = False
    """Whether the ends of what is shown stand in columns of their own."""
    typed: bool = False
    """Whether columns of numbers and dates come in types that a program calculates with: with their ends beside them,
    and as intervals where the library has such a type and every cell is one (pandas)."""

    @property
    def has_ends(self) -> bool:
        """Whether that is asked."""
        return self.ends or self.typed

    def faults(self, policy: Declared) -> Iterator[Fault]:
        """Every policy can be kept."""
        yield from ()


class Statistics(OutputForm):
    """The generalized table with its classes numbered, and beside it what each class held.

    The second table has the mean and the variance (that of the class itself: divided by its records) of each
    quasi-identifier of numbers or dates, these in days since 1970, and how often each value of the others occurs.

    Why it is safe, and where not: records of a class still look alike, so every model that counts classes holds as it
    does without the statistics. But *the values of a class are as good as told*, only not who has which: mean and
    variance of two numbers are the two numbers, and those of more whole numbers in a narrow range mostly are these
    numbers too (in 10,000 records of Adult: all ages of 76 % of the classes that show a range at k = 5, of 54 % at
    k = 10). A distribution names the values that occur, so that a person with another value is known not to be in the
    class. Whoever knows all of a class but one gets the last one's values. Models that count whom the texts could mean
    would not hold, and are refused. Suppressed records have no statistics, and fewer than k known values no mean.

    References
    ----------
    Inan, A., Kantarcioglu, M. and Bertino, E. (2009). Using anonymized data for classification. ICDE. Named as
    *QI-statistics* in Hussien, A. A. et al. (2015), section 2.6.2.

    Examples
    --------
    >>> Statistics(number="cluster").model_dump()
    {'form': 'statistics', 'number': 'cluster'}
    """

    form: Literal["statistics"] = "statistics"
    beside: ClassVar[str | None] = "statistics"
    has_statistics: ClassVar[bool] = True
    ends: bool = False
    """Whether the ends of what is shown stand in columns of their own."""
    number: Name = "class"
    """The column that numbers the classes, in both tables."""

    @property
    def has_ends(self) -> bool:
        """Whether that is asked."""
        return self.ends

    @property
    def numbered(self) -> str:
        """The column that numbers the classes."""
        return self.number

    def faults(self, policy: Declared) -> Iterator[Fault]:
        """Yield models that statistics break, classes that may be single records, persons who weigh too much."""
        for index, model in enumerate(policy.models):
            if {"persons", "everyone", "population"} & {*model.needs} or model.scenarios(
                tuple(policy.quasi_identifiers)
            ):
                what = f"{model.key()} counts whom the texts could mean, and statistics rule some of them out"
                yield Fault(what, f"models[{index}]", hint="say output: generalized")
        if least_class(policy) < 2:
            hint = "ask for k-anonymity too"
            yield Fault(
                "statistics of a single record are its values, and no model keeps them away", "output", hint=hint
            )
        if policy.subject is not None:
            yield Fault("statistics count records, and each must be about another person", "subject", policy.subject)
        if self.number in STATISTICS:
            yield Fault("is a column of the statistics", "output.number", repr(self.number), "choose another name")


def least_class(policy: Declared) -> int:
    """Return how many records every class has that keeps the policy; no mean is told of fewer values.

    Examples
    --------
    >>> from shoal.policy import Policy
    >>> least_class(Policy(quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": 5}]))
    5
    """
    return max((model.least_records for model in policy.models if model.classwise), default=1)


STATISTICS = ("column", "value", "records", "mean", "variance")
"""What the table of statistics says besides the class."""


class Anatomy(OutputForm):
    """Two tables: quasi-identifiers as they are with a group number, and the sensitive values of each group.

    Groups have at least l records, all with different sensitive values, l being that of the policy's
    ``distinct-l-diversity``.

    Why it is safe, and where not: whoever finds a person's record learns their group, and in it no value has a share
    of more than 1/l. *Only the link to the sensitive value is protected*: quasi-identifiers are published exactly, so
    everyone can be found to be in the table, and k-anonymity is not claimed. Who is put together follows from the
    whole table and the seed, so that it cannot be worked out again: keep the seed to yourself.

    References
    ----------
    Xiao, X. and Tao, Y. (2006). Anatomy: simple and effective privacy preservation. VLDB, 139-150.

    Examples
    --------
    >>> Anatomy().beside
    'sensitive'
    """

    form: Literal["anatomy"] = "anatomy"
    beside: ClassVar[str | None] = "sensitive"
    has_secret_seed: ClassVar[bool] = True
    generalizes: ClassVar[bool] = False
    number: Name = "group"
    """The column that numbers the groups, in both tables."""

    @property
    def numbered(self) -> str:
        """The column that numbers the groups."""
        return self.number

    def faults(self, policy: Declared) -> Iterator[Fault]:
        """Yield what anatomy does not keep: other models, other columns, several records of a person."""
        for index, model in enumerate(policy.models):
            if model.only_asks != "values" or len(model.sensitive_columns) != 1:
                what = f"anatomy publishes quasi-identifiers as they are and cannot promise {model.key()}"
                yield Fault(what, f"models[{index}]", hint="ask for distinct-l-diversity on one column")
        if len(policy.models) != 1 or len(policy.sensitive) != 1:
            got = f"{len(policy.models)} models, {len(policy.sensitive)} sensitive columns"
            yield Fault("anatomy protects one sensitive column by one model", "output", got)
        if policy.others == "keep":
            yield Fault("they would stand beside exact quasi-identifiers", "others", "keep", "say others: drop")
        if policy.subject is not None:
            yield Fault("each record must be about another person", "subject", policy.subject)
        roles: dict[str, QuasiIdentifier | Sensitive] = {**policy.quasi_identifiers, **policy.sensitive}
        for name, role in roles.items():
            if role.missing not in ("own-value", "error"):
                hint = "say own-value or error"
                yield Fault("anatomy publishes values as they are", f"{name}.missing", role.missing, hint)
        if {self.number, "records"} & {*roles} or self.number == "records":
            got = f"{self.number!r} and 'records'"
            hint = "say output: {form: anatomy, number: …}, or rename columns"
            yield Fault("these columns are added and must have names of their own", "output.number", got, hint)


_FORMS: dict[str, type[Generalized | Statistics | Anatomy]] = {
    "generalized": Generalized,
    "statistics": Statistics,
    "anatomy": Anatomy,
}


def _parse_form(value: object) -> object:
    """Return the form that a name or a mapping stands for."""
    if isinstance(value, OutputForm):
        return value
    if isinstance(value, str):
        value = {"form": value}
    if not isinstance(value, Mapping):
        raise PolicyError(
            "must be the name of a form, or a mapping", got=repr(value), hint="one of: " + ", ".join(_FORMS)
        )
    form = value.get("form", "generalized")
    if form not in _FORMS:
        raise PolicyError("no such output form", where="form", got=repr(form), hint=nearest(str(form), _FORMS))
    return _FORMS[form](**{str(key): item for key, item in value.items()})


def _or_its_name(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [*schema.pop("oneOf"), {"enum": list(_FORMS)}]


Output = Annotated[
    Generalized | Statistics | Anatomy,
    Field(discriminator="form", json_schema_extra=_or_its_name),
    BeforeValidator(_parse_form),
]
