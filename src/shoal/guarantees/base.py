"""Guarantee: what is promised of a published column, and how an audit finds the records for which it is not kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import numpy as np
import polars as pl

from shoal.encoding.types import Ints
from shoal.models.base import PrivacyModel
from shoal.registry import Entry

if TYPE_CHECKING:
    from shoal.policy import Policy


class ColumnView(Protocol):
    """A published column beside the original one, record by record, as an audit that knows the records sees them."""

    @property
    def published(self) -> pl.Series:
        """What each record shows."""

    @property
    def original(self) -> pl.Series:
        """What the original record of each published one holds, as the policy's treatment left it."""

    @property
    def classes(self) -> pl.Series:
        """The class of each published record: those that show the same in every quasi-identifier."""

    def find_changed(self) -> pl.Series:
        """Return which records show another value than their own."""

    def find_uncovered(self) -> pl.Series:
        """Return which records show a text that does not hold their value, or is above its boundary; a suppressed
        record shows ``*``, which holds all."""


class Guarantee(Entry):
    """Base of all guarantees."""

    family: ClassVar[str] = "guarantees"
    broken: ClassVar[str]
    """What is told of a column that does not keep it."""
    keeps_values: ClassVar[bool] = False
    """Whether each cell is a value of the original: then none may be there more often than before."""

    @classmethod
    @abstractmethod
    def declare(cls, column: str, policy: Policy) -> Self | None:
        """Return the guarantee, with its parameters, where a policy promises it of a column; else ``None``."""

    @abstractmethod
    def find_false(self, view: ColumnView) -> pl.Series | None:
        """Return for which records it is not kept; ``None`` where that is not asked record by record."""


@dataclass(frozen=True, kw_only=True)
class PerturbedView:
    """The columns of one perturbation, published and original, as an audit sees them; in plain types.

    Attributes
    ----------
    published
        The perturbed columns of the published table.
    original
        The same records as they were, row for row, with the further columns that the perturbation reads; ``None`` where
        nobody says which original record each published one is, or there is no original.
    before
        The columns of the original table in its own order, also of records that are not published; ``None`` without.
    weights
        How many persons each published record stands for, where that is known.
    """

    published: pl.DataFrame
    original: pl.DataFrame | None = None
    before: pl.DataFrame | None = None
    weights: pl.Series | None = None


@dataclass(frozen=True, kw_only=True)
class PromiseTest:
    """One thing that was promised of perturbed columns, and what came out."""

    name: str
    asks: str
    holds: bool = False
    got: str = ""
    """What was found."""
    not_run: str = ""
    """Why it could not be asked; empty where it was."""
    asked: float | None = None
    """The number that is promised, where it is one."""
    attained: float | None = None

    @property
    def outcome(self) -> str:
        """``passed``, ``failed`` or ``not run``."""
        return "not run" if self.not_run else "passed" if self.holds else "failed"


class JointGuarantee(Guarantee):
    """Base of what is promised of the columns of a perturbation together."""

    bounded: ClassVar[str] = ""
    """The measure that a proven bound of the perturbation is about, by its name in :meth:`measure`."""
    columns: tuple[str, ...]
    """The columns of the perturbation."""

    @property
    def class_models(self) -> tuple[PrivacyModel, ...]:
        """Models that hold in the classes of records that show the same in these columns; an audit recounts them."""
        return ()

    @classmethod
    def declare(cls, column: str, policy: Policy) -> Self | None:
        """Return it for the columns of perturbations that promise it."""
        perturbation = policy.perturbed.get(column)
        if perturbation is None or perturbation.guarantee != cls.key():
            return None
        return cls(columns=perturbation.columns, **perturbation.promise())

    def find_false(self, view: ColumnView) -> None:
        """Return nothing: it is asked of all its columns together."""

    @abstractmethod
    def test(self, view: PerturbedView) -> Iterator[PromiseTest]:
        """Yield what is promised, tested; with code that no perturbation shares."""

    def measure(self, view: PerturbedView) -> dict[str, float]:
        """Return what was lost, by name; nothing where the original records are not known."""
        return {}


def number_classes(published: pl.DataFrame) -> Ints:
    """Return the class of each record: those that show the same in every column.

    Examples
    --------
    >>> number_classes(pl.DataFrame({"a": [2, 1, 2], "b": ["x", "x", None]}))
    array([2, 0, 1])
    """
    classes = np.zeros(published.height, np.int64)
    for column in published:
        ranks = column.alias("values").rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
        joined = classes * (int(ranks.max(initial=0)) + 1) + ranks
        classes = np.unique(joined, return_inverse=True)[1].astype(np.int64)
    return classes


NO_SUCH_RECORDS = "the original of just these records is not known"
"""Why a test of a whole column was not run."""
NO_RECORDS = "the original records of the published ones are not known"
"""Why a test of records was not run."""
