"""Recoding: what does each tuple look like, and who shares a class?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt

from shoal.encoding.domains import STAR
from shoal.encoding.types import Bools, Codes, Floats, Ints
from shoal.frequencies.frequencies import Frequencies
from shoal.hierarchies.base import Levels
from shoal.kernels.group import group
from shoal.recodings.range_ends import RangeEnds

Form = Literal["labels", "ranges", "sets"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A quasi-identifier as a search sees it."""

    name: str
    levels: Levels
    form: Form
    """How local recoding publishes a class: its label, its range, or its set of values."""
    weight: float = 1.0
    max_level: int = 0
    """The highest level that full-domain recoding may use (0 without a hierarchy)."""
    limits: Ints | None = None
    """The highest level that each code may be shown at, where the policy sets boundaries."""
    rounded_ends: RangeEnds | None = None
    """Where ranges end, where that is not at values of the column."""

    @cached_property
    def ends(self) -> RangeEnds:
        """Where ranges begin and end."""
        return self.rounded_ends or RangeEnds.exact(self.levels)

    @property
    def points(self) -> Floats:
        """Each value as a share of the column's range; not a number where it is missing or has no order."""
        result, domain = np.full(self.levels.size, np.nan), self.levels.domain
        if domain.ordered:
            result[: len(domain)] = domain.values.astype(np.float64) / (domain.span or 1.0)
        return result

    @property
    def bounded_by(self) -> Ints:
        """The number of the boundary of each code: a class stays within the boundaries if its codes share one.

        The boundary of a code is the first one above it. If two codes have different ones, then one of the two codes
        is not under the other's, so what shows both is above it.
        """
        levels = self.levels
        limits = np.full(levels.size, levels.height, np.int64) if self.limits is None else self.limits
        labels = levels.codes[limits, np.arange(levels.size)]
        _, first, index = np.unique(limits * levels.size + labels, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[index].astype(np.int64)

    @property
    def boundaries(self) -> tuple[str, ...]:
        """The labels that some value may not be shown above."""
        if self.limits is None:
            return ()
        held = np.flatnonzero(self.limits < self.levels.height).tolist()
        return tuple(dict.fromkeys(str(self.levels.text(int(self.limits[code]), code)) for code in held))

    @property
    def log_value_counts(self) -> float:
        """log2 of the records with the same value, summed over the records: what the raw column tells least."""
        own = self.levels.own.astype(np.float64)
        return float((own * np.log2(np.maximum(own, 1.0))).sum())


@dataclass(frozen=True)
class ColumnLabels:
    """What a column shows in each class: texts, and which of them each class has."""

    texts: tuple[str | None, ...]
    ids: Ints
    penalties: Floats
    """The certainty penalty of each class."""
    levels: Ints
    """The level whose labels are as wide as what each class shows (for boundaries)."""
    stands_for: Ints
    """Records of the original table whose value could be what each class shows."""
    covers: Callable[[], Bools] = field(repr=False)
    """Gives ``[text, code]``: whether a text may stand for a value."""

    def take(self, classes: npt.NDArray[np.generic]) -> ColumnLabels:
        """Return what some classes show, given by their numbers or by a mask."""
        return replace(
            self,
            ids=self.ids[classes],
            penalties=self.penalties[classes],
            levels=self.levels[classes],
            stands_for=self.stands_for[classes],
        )

    @property
    def stars(self) -> Bools:
        """Which classes show ``*``."""
        return np.array([text == STAR for text in self.texts], bool)[self.ids]

    def replace_classes(self, classes: Bools, others: ColumnLabels) -> ColumnLabels:
        """Return the same, but for some classes (a mask) what others show, one for each, at the same levels."""
        ids, penalties, stands_for = self.ids.copy(), self.penalties.copy(), self.stands_for.copy()
        ids[classes] = len(self.texts) + others.ids
        penalties[classes], stands_for[classes] = others.penalties, others.stands_for

        def covers() -> Bools:
            return np.vstack([self.covers(), others.covers()])

        return ColumnLabels(self.texts + others.texts, ids, penalties, self.levels, stands_for, covers)


@dataclass(frozen=True)
class ClassAssignment:
    """A recoding worked out: the class of each piece, and what each class shows.

    A piece is a cell of the frequencies, or a part of one where a search split it; class -1 is suppressed.
    """

    members: Ints
    cells: Ints | None
    weights: Ints
    count: int
    columns: tuple[ColumnLabels, ...]


@dataclass(frozen=True)
class Proof:
    """How sure it is that no other recoding of the same kind loses less.

    Examples
    --------
    >>> Proof(loss=0.25, bound=0.25, nodes=12960, looked=3000).proven
    True
    >>> print(Proof(loss=0.25, bound=0.2, nodes=12960, looked=300, stopped="after 5 s"))
    loss 0.2500, no node can go below 0.2000 (gap 0.0500): not proven, stopped after 5 s; looked at 300 of 12,960 nodes
    >>> print(Proof(loss=0.0182, bound=0.0118))
    loss 0.0182; no local recoding can go below 0.0118
    >>> print(Proof(loss=0.3750, bound=0.0118))
    loss 0.3750; no local recoding can go below 0.0118 (a weak bound)
    >>> print(Proof(loss=0.0118, bound=0.0118))
    loss 0.0118; no local recoding can go below 0.0118: proven to be the best
    """

    loss: float
    """The loss that the search counted for its answer."""
    bound: float | None
    """What no recoding of the same kind goes below; ``None`` where that is not known."""
    nodes: int | None = None
    """How many recodings of that kind there are; ``None`` for local ones, which nobody counts."""
    looked: int = 0
    """How many of them were counted; the others were ruled out."""
    stopped: str = ""
    """Why the search ended early, if it did."""
    notes: tuple[str, ...] = ()
    """What the search could not make use of, or how the bound was found."""

    @property
    def gap(self) -> float | None:
        """How much lower the loss of another recoding could be: 0 where none is better."""
        return None if self.bound is None else max(self.loss - self.bound, 0.0)

    @property
    def weak(self) -> bool:
        """Whether the bound is less than half of the loss, so that it tells little."""
        return self.bound is not None and 2.0 * self.bound < self.loss

    @property
    def proven(self) -> bool:
        """Whether no other recoding of the same kind loses less."""
        return self.gap is not None and self.gap <= 1e-9 * max(abs(self.loss), 1.0)

    def __str__(self) -> str:
        text = f"loss {self.loss:,.4f}"
        if self.nodes is None:
            text += "" if self.bound is None else f"; no local recoding can go below {self.bound:,.4f}"
            text += " (a weak bound)" if self.weak else ""
            text += ": proven to be the best" if self.proven else ""
            return text + (f"; stopped {self.stopped}" if self.stopped else "")
        if self.bound is not None and self.gap is not None:
            text += f", no node can go below {self.bound:,.4f} (gap {0.0 if self.proven else self.gap:.4f})"
        text += ": proven" if self.proven else ": not proven"
        text += f", stopped {self.stopped}" if self.stopped else ""
        return f"{text}; looked at {self.looked:,} of {self.nodes:,} nodes"

    def to_dict(self) -> dict[str, Any]:
        """Return the proof as plain data."""
        data: dict[str, Any] = {
            "text": str(self),
            "loss": self.loss,
            "bound": self.bound,
            "gap": 0.0 if self.proven else self.gap,
            "proven": self.proven,
            **({"weak": True} if self.weak else {}),
        }
        return (
            data
            | ({} if self.nodes is None else {"nodes": self.nodes, "looked": self.looked})
            | ({"stopped": self.stopped} if self.stopped else {})
            | ({"notes": list(self.notes)} if self.notes else {})
        )


@dataclass(frozen=True)
class Round:
    """One step of a search that tells its steps: a column raised, and what the models then attain.

    Examples
    --------
    >>> print(Round("sex", 2.0, 1, {"k-anonymity": 1}, 6))
    sex (weight 2) to level 1: k-anonymity 1; records that break a model: 6
    """

    column: str | None
    """The column that was raised; ``None`` before the first."""
    weight: float
    level: int
    attained: dict[str, Any]
    """Model → what all records attain, nobody suppressed."""
    failing: int
    """Records in classes that break a model."""

    def __str__(self) -> str:
        what = "as it is" if self.column is None else f"{self.column} (weight {self.weight:g}) to level {self.level}"
        attained = ", ".join(f"{name} {value}" for name, value in self.attained.items())
        return f"{what}: {attained}; records that break a model: {self.failing:,}"

    def to_dict(self) -> dict[str, Any]:
        """Return the step as plain data."""
        raised = {} if self.column is None else {"column": self.column, "weight": self.weight, "level": self.level}
        attained = {name: None if value == inf else value for name, value in self.attained.items()}
        return {**raised, "attained": attained, "failing": self.failing, "text": str(self)}


class RecodingSummary(Protocol):
    """What a release says of how it was made: a recoding; or the groups of an anatomy, or the blocks of Spark."""

    @property
    def proof(self) -> Proof | None:
        """How near the best it is, where that is known."""

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The steps of the search, where it tells them."""

    def to_dict(self) -> dict[str, Any]:
        """Return what the manifest says."""


class Recoding(ABC):
    """What a search may answer: plain data that says what each tuple is published as."""

    proof: Proof | None = None
    """How near the search knows its answer to be to the best of its kind."""
    rounds: tuple[Round, ...] = ()
    """How the search came to its answer, where it tells its steps."""
    kind: ClassVar[str]
    """Its name in the manifest."""

    @abstractmethod
    def draft(self, frequencies: Frequencies, columns: tuple[Column, ...]) -> ClassAssignment:
        """Work the recoding out."""

    @abstractmethod
    def extend(self, frequencies: Frequencies) -> Recoding:
        """Return the recoding for frequencies that have more tuples and cells at their end, all suppressed."""

    @abstractmethod
    def summarize(self) -> dict[str, Any]:
        """Return what the manifest says of the recoding itself, as plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Return what the manifest says, and how the search came to it."""
        proof = {} if self.proof is None else {"proof": self.proof.to_dict()}
        rounds = {"rounds": [one.to_dict() for one in self.rounds]} if self.rounds else {}
        return {"recoding": self.kind, **self.summarize(), **proof, **rounds}


@dataclass(frozen=True)
class GlobalRecoding(Recoding):
    """A recoding that publishes a value the same way in every record that is not suppressed."""

    suppressed: Bools = field(repr=False)
    """For each tuple whether it is suppressed."""

    @abstractmethod
    def number_codes(self, column: Column) -> Ints:
        """Return a number for what each code of a column is published as."""

    @abstractmethod
    def show(self, column: Column, codes: Codes, chosen: Ints) -> ColumnLabels:
        """Return what is shown for the chosen of all codes that are published."""

    def draft(self, frequencies: Frequencies, columns: tuple[Column, ...]) -> ClassAssignment:
        """Group the tuples by what they are published as."""
        kept = ~self.suppressed
        codes = frequencies.tuples[kept].T
        numbers = [self.number_codes(column) for column in columns]
        groups, rows = group(
            [own[held] for own, held in zip(numbers, codes, strict=True)],
            [int(own.max(initial=0)) + 1 for own in numbers],
        )
        members = np.full(len(kept), -1, np.int64)
        members[kept] = groups
        shown = tuple(self.show(column, held, rows) for column, held in zip(columns, codes, strict=True))
        return ClassAssignment(members[frequencies.cell_tuples], None, frequencies.cell_counts, len(rows), shown)

    def extend(self, frequencies: Frequencies) -> Self:
        """Suppress the tuples that the search did not see."""
        more = np.ones(len(frequencies.tuples) - len(self.suppressed), bool)
        return replace(self, suppressed=np.append(self.suppressed, more))
