"""Series: a table that is released again and again; what keeps the releases safe beside each other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from shoal.errors import Fault
from shoal.policy.abridge import hash_data
from shoal.policy.outputs import Generalized
from shoal.policy.roles import QuasiIdentifier, Sensitive
from shoal.registry import Frozen

if TYPE_CHECKING:
    from shoal.policy.policy import Policy

_COUNTED_ALONE = {"counts", "distinct", "values", "order", "hierarchy"}
"""What a model may look at where classes are made of some of the records: nothing of the whole table."""


def hash_promise(policy: Policy) -> str:
    """Return the SHA-256 of what all releases of a series have in common.

    How much may be suppressed, hierarchies, weights, the search and what is stated beside may change from one release
    to the next: what keeps releases safe beside each other does not depend on them.
    """
    told = policy.model_dump(mode="json", include={"models", "series", "others"})
    columns = {role: sorted(getattr(policy, role)) for role in ("quasi_identifiers", "sensitive", "identifiers")}
    return hash_data({**told, **columns, "subject": policy.subject})


class SeriesWay(Frozen):
    """Base of the ways to release a table several times."""

    way: str

    @property
    def least_values(self) -> int:
        """How many sensitive values are possible for each person in all releases together."""
        return 1

    def faults(self, policy: Policy) -> Iterator[Fault]:
        """Yield what of a policy does not go with releases over time."""
        if policy.subject is None:
            hint = "say subject: (the column that tells persons apart)"
            yield Fault("who is the same person in several releases is not said", "subject", hint=hint)
        if policy.perturb or any(model.draws for model in policy.models):
            what = "a record that is drawn or perturbed anew in each release is told better by each"
            yield Fault(what, "perturb" if policy.perturb else "models", hint="leave it out")
        if policy.pseudonyms:
            yield Fault("pseudonyms link a person's records in all releases", "identifiers", hint="leave them out")
        if policy.output != Generalized():
            yield Fault("releases over time are of the form generalized", "output", policy.output.form)
        if policy.hygiene.prefixes:
            yield Fault("texts are compared with those of earlier releases", "hygiene.formulas", hint="say refuse")
        yield from self.own_faults(policy)

    @abstractmethod
    def own_faults(self, policy: Policy) -> Iterator[Fault]:
        """Yield what does not go with this way."""


class AppendOnly(SeriesWay):
    """Classes that were published stay as they are, to the letter; who is new is published in classes of their own.

    Why it is safe: what a release adds to the one before is a table of the new persons that keeps every model by
    itself, and nothing else changes. So whoever compares releases learns what they learn of each of these tables.

    Examples
    --------
    >>> AppendOnly(way="append-only").least_values
    1
    """

    way: Literal["append-only"]

    def own_faults(self, policy: Policy) -> Iterator[Fault]:
        """Yield models that two tables may keep and their union not."""
        for index, model in enumerate(policy.models):
            if model.hidden_columns or not (model.monotone or model.absorbing):
                what = "two classes that look alike may break it together"
                yield Fault(what, f"models[{index}]", model.key())


class MInvariance(SeriesWay):
    """Each person is among the same m sensitive values, each as likely, in every release.

    At the first release a person gets a *signature*: a set of at least m sensitive values, one of them the person's.
    In every release each class holds, of each signature in it, all values equally often. Persons keep their signature
    in all releases that they are in, whether their quasi-identifiers changed, or they left and came back; who cannot
    be balanced with others of the signature is held back (suppressed). A person whose value changes to one outside
    the signature gets another one, as if somebody had left and somebody else had come (as in τ-safety); the two have
    no value in common, or who thinks that nothing changed would be left with what is in both.

    Why it is safe: exchange the values of a signature among themselves, for all its persons in all releases: every
    release stays what it is. So of whom is in which release, and of all releases together, follows of nobody more than
    one of m values, each as often as the others in the worlds that are possible. Classes that look alike in two
    releases differ by nobody or by k persons; and where records may be shown as ``*`` (``suppressed: star``), k of each
    value of one signature always are, so that nobody can be excluded from one.

    Records that are held back are the default, not counterfeits: an invented record would break the promise that each
    published record is true of somebody.

    Cost: the records sorted once per cut, times the columns.

    References
    ----------
    Xiao, X. and Tao, Y. (2007). m-invariance: towards privacy preserving re-publication of dynamic datasets. SIGMOD.
    Anjum, A., Raschia, G., Gelgon, M. et al. (2017). τ-safety: a privacy model for sequential publication with
    arbitrary updates. Computers & Security 66.

    Examples
    --------
    >>> MInvariance(way="m-invariance", m=3).least_values
    3
    """

    way: Literal["m-invariance"]
    m: Annotated[int, Field(ge=2, strict=True)]
    """How many sensitive values are possible for each person, in all releases together."""
    own: ClassVar[str] = "m-invariance divides the table in its own way"

    @property
    def least_values(self) -> int:
        """As many as a signature has."""
        return self.m

    def own_faults(self, policy: Policy) -> Iterator[Fault]:
        """Yield what is not balanced: other columns as they are, models of the whole table, searches of their own."""
        if len(policy.sensitive) != 1:
            yield Fault("signatures are of one sensitive column", "sensitive", f"{len(policy.sensitive)} columns")
        if policy.others == "keep":
            what = "columns that are published as they are would tell persons of a class apart in several releases"
            yield Fault(what, "others", "keep", "say others: drop")
        if "algorithm" in policy.model_fields_set:
            yield Fault(self.own, "algorithm", policy.algorithm.key(), "leave it out")
        for name, column in policy.quasi_identifiers.items():
            if column.boundaries:
                yield Fault(f"{self.own}, without boundaries", f"quasi_identifiers.{name}.boundaries")
        roles: dict[str, QuasiIdentifier | Sensitive] = {**policy.quasi_identifiers, **policy.sensitive}
        for name, role in roles.items():
            if role.missing in ("suppress", "wildcard"):
                yield Fault("a missing value is one of its own here", f"{name}.missing", role.missing, "say own-value")
        for index, model in enumerate(policy.models):
            if not model.classwise or model.hidden_columns or {*model.needs} - _COUNTED_ALONE:
                yield Fault(
                    "is not promised of a series: it looks at more than a class", f"models[{index}]", model.key()
                )


Series = Annotated[AppendOnly | MInvariance, Field(discriminator="way")]
