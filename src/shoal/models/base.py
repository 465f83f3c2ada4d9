"""PrivacyModel: which classes comply, and which value is attained?"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.catalog import Entry
from shoal.frequencies import Classes

Ints = npt.NDArray[np.int64]
Holds = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Census:
    """What an audit counted in a published table: one entry per combination that occurs in it.

    It is filled by another engine than the search uses, from the published table alone.

    Attributes
    ----------
    sizes
        Persons (or records) of each class.
    values
        Sensitive column → distinct values of each class.
    """

    sizes: Ints
    values: Mapping[str, Ints]


class PrivacyModel(Entry):
    """Base of all conditions on equivalence classes.

    A model is written twice, on purpose: :meth:`holds` and :meth:`measure` for the search, over arrays of
    frequencies; :meth:`recount` for the audit, over what was counted in the published table. Tests compare
    them; the audit trusts only the second.
    """

    family: ClassVar[str] = "models"
    monotone: ClassVar[bool] = True
    """Whether a union of classes that comply complies too, so that a search may prune."""
    absorbing: ClassVar[bool] = False
    """Whether a class that complies still does whatever joins it, so that generalizing never suppresses more."""

    @property
    def least_records(self) -> int:
        """A number of records below which no class complies (a quick necessary test)."""
        return 1

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        """The sensitive columns that the model looks at."""
        return ()

    @property
    @abstractmethod
    def asked(self) -> Any:
        """The value that is asked for."""

    @abstractmethod
    def holds(self, classes: Classes, sensitive: Mapping[str, int]) -> Holds:
        """Return for each class whether it complies; ``sensitive`` gives the place of each column."""

    @abstractmethod
    def measure(self, classes: Classes, sensitive: Mapping[str, int]) -> Any:
        """Return the value that a table of these classes attains; ``None`` without records."""

    @abstractmethod
    def recount(self, census: Census) -> Any:
        """Return the attained value again, from what an audit counted."""

    @abstractmethod
    def meets(self, attained: Any) -> bool:
        """Return whether an attained value is as good as the asked one; a table without records meets all."""

    @abstractmethod
    def relaxed(self, attained: Any) -> PrivacyModel | None:
        """Return the model that asks for just what is attainable, or ``None`` where that is nothing."""
