"""What is promised of each published column: one file per guarantee.

*Truth* means that a column matches what is promised of it. Whoever makes a column (a recoding, an output form, a
perturbation) uses a guarantee or adds one here; nothing else asks how a column was made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from shoal.errors import PolicyError
from shoal.guarantees.base import ColumnView, Guarantee, JointGuarantee, PerturbedView, PromiseTest
from shoal.guarantees.exact import Exact
from shoal.registry import find, lazy_family, names

if TYPE_CHECKING:
    from shoal.guarantees.aggregates import Aggregates
    from shoal.guarantees.covers import Covers
    from shoal.guarantees.derived import Derived
    from shoal.guarantees.omitted import Omitted
    from shoal.guarantees.perturbs import Perturbs
    from shoal.guarantees.pseudonym import Pseudonym
    from shoal.policy import Policy

__all__ = [
    "Aggregates",
    "ColumnView",
    "Covers",
    "Derived",
    "Exact",
    "Guarantee",
    "JointGuarantee",
    "Omitted",
    "PerturbedView",
    "Perturbs",
    "PromiseTest",
    "Pseudonym",
    "declare_guarantee",
    "declare_guarantees",
]

__getattr__ = lazy_family("guarantees")


def declare_guarantee(column: str, policy: Policy) -> Guarantee:
    """Return what a policy promises of a column: what some guarantee claims, else that it is published as it is.

    Examples
    --------
    >>> from shoal.policy import Policy
    >>> roles = {"identifiers": ["name"], "quasi_identifiers": ["age"], "sensitive": ["illness"]}
    >>> policy = Policy(**roles, models=[{"name": "k-anonymity", "k": 5}])
    >>> [declare_guarantee(column, policy).key() for column in ("name", "age", "illness")]
    ['omitted', 'covers', 'exact']
    """
    claims = [claim for name in names("guarantees") if (claim := _entry(name).declare(column, policy)) is not None]
    if len(claims) > 1:
        keys = ", ".join(claim.key() for claim in claims)
        raise PolicyError("more than one guarantee is declared for a column", where=column, got=keys)
    return claims[0] if claims else Exact()


def declare_guarantees(columns: Iterable[str], policy: Policy) -> dict[str, Guarantee]:
    """Return column → what is promised of it; also of the columns that must not be there."""
    return {name: declare_guarantee(name, policy) for name in dict.fromkeys((*columns, *policy.hidden))}


def _entry(name: str) -> type[Guarantee]:
    entry = find("guarantees", name)
    assert issubclass(entry, Guarantee)
    return entry
