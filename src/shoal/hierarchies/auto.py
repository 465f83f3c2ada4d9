"""Auto: build every hierarchy that fits a column, and keep the one that loses least."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.domains import Domain
from shoal.errors import HierarchyError
from shoal.hierarchies._steps import Step, check_coarsening
from shoal.hierarchies.base import Hierarchy, Levels
from shoal.hierarchies.cardinality_based import CardinalityBased
from shoal.hierarchies.conventional import Conventional
from shoal.hierarchies.dates import Dates
from shoal.hierarchies.divisor_based import DivisorBased
from shoal.hierarchies.dynamic_concept import DynamicConcept
from shoal.hierarchies.improved_on_the_fly import ImprovedOnTheFly
from shoal.hierarchies.mask import Mask
from shoal.hierarchies.on_the_fly import OnTheFly
from shoal.hierarchies.quantiles import Quantiles
from shoal.hierarchies.rare import Rare
from shoal.hierarchies.similarity import Similarity
from shoal.hierarchies.suppress import Suppress


@dataclass(frozen=True)
class TriedHierarchy:
    """A hierarchy that was tried, and what it costs."""

    hierarchy: Hierarchy
    steps: tuple[Step, ...]
    levels: Levels
    losses: dict[int, float]
    """Records that each label must have → certainty penalty of the column at the lowest level where it has."""

    @property
    def loss(self) -> float:
        """The mean of the losses."""
        return float(np.mean(list(self.losses.values()))) if self.losses else 1.0


class Auto(Hierarchy):
    """Build every hierarchy that fits a column, and keep the one that loses least at the policy's k.

    A column is rarely alone: with other quasi-identifiers its labels must hold more than k records. So each candidate
    is measured at k, 4 k, 16 k, … records, at the lowest level whose labels all hold so many, and the mean certainty
    penalty decides. Ties go to the candidate with fewer levels, then to the first. :meth:`compare` returns what was
    compared.

    References
    ----------
    Yaseen, S. et al. (2018), V, wishes for it: an intelligent mechanism to produce hierarchies automatically.

    Examples
    --------
    >>> ages = Domain("integer", np.arange(20, 30), tuple(map(str, range(20, 30))), counts=np.full(10, 9), k=10)
    >>> [(c.hierarchy.key(), round(c.loss, 3)) for c in Auto().compare(ages)][:2]
    [('conventional', 0.311), ('quantiles', 0.311)]
    """

    reads_records: ClassVar[bool] = True

    k: int | None = Field(default=None, ge=1)
    """The fewest records of a label; the policy's k by default."""

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield the levels of the best candidate."""
        yield from self.compare(domain)[0].steps

    def compare(self, domain: Domain) -> list[TriedHierarchy]:
        """Return every candidate, the best first; those whose labels do not nest come last and are never kept."""
        found = []
        for hierarchy in _fitting(domain):
            try:
                steps = tuple(hierarchy.steps(domain))
            except HierarchyError:
                continue
            # kept is only one whose labels nest, so that every search can use it
            levels = Levels.of(domain, list(steps), missing=None, nested=not any(check_coarsening(steps)))
            found.append(TriedHierarchy(hierarchy, steps, levels, self._losses(domain, levels)))
        return sorted(found, key=lambda one: (not one.levels.nested, round(one.loss, 9), one.levels.height))

    def _losses(self, domain: Domain, levels: Levels) -> dict[int, float]:
        records = levels.domain.records
        total = int(records.sum())
        wanted, losses = domain.k if self.k is None else self.k, {}
        while wanted <= total:
            level = next(n for n in range(levels.height + 1) if _fewest(levels, n, records) >= wanted)
            losses[wanted] = float(levels.penalties[level] @ records / total)
            wanted *= 4
        return losses


def _fewest(levels: Levels, level: int, records: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    held = np.bincount(levels.codes[level], weights=records)
    return int(held[held > 0].min()) if len(held) else 0


def _fitting(domain: Domain) -> list[Hierarchy]:
    if not len(domain):
        return [Suppress()]
    if domain.ordered:
        numbers: list[Hierarchy] = [Conventional(), CardinalityBased(), DivisorBased(), OnTheFly()]
        numbers += [ImprovedOnTheFly(), DynamicConcept(), Quantiles(), Suppress()]
        return [Dates(), *numbers] if domain.kind in ("date", "datetime") else numbers
    texts: list[Hierarchy] = [Suppress(), Rare()]
    if domain.profiles is not None and len(domain) > 2:
        texts.append(Similarity())
    lengths = {len(text) for text in domain.texts}
    if len(lengths) == 1 and 2 <= min(lengths) <= 12:
        texts.append(Mask(keep=list(range(min(lengths) - 1, 0, -1))))
    return texts
