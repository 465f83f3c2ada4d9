"""δ-presence: nobody can tell who of the population is in the published table, and who is not."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Background, Classes
from shoal.models._across import tables_of
from shoal.models._exact import compare_ratio, decimal, find_greatest_ratio
from shoal.models._formatting import brief, list_thresholds, round_down, round_up
from shoal.models.base import Census, Holds, Need, PrivacyModel

Attained = tuple[float, float]
"""The least and the greatest chance."""
UNKNOWN: Attained = (0.0, 1.0)
"""What is attained where chances cannot be told, because somebody matches several classes."""


class DeltaPresence(PrivacyModel):
    """For each person of the population, the chance to be in the published table is between δ-min and δ-max.

    The policy names the population's table (``population: people.csv``, one record for each person). The chance of a
    person who matches a class is its records by the persons who match it. Whoever matches no class may be among the
    starred records, or is in the table for sure not: where δ-min is more than 0, everyone must match one.

    Why it is safe: being in the table may itself be what must not be known (a table of patients). Someone who has the
    whole population and knows how values are generalized cannot be surer than δ-max that a person is in the table, nor
    surer than 1 - δ-min that they are not. It needs that every person matches at most one class, so only searches
    for full-domain recodings keep it; others say so before they start. Starred records are taken to be of persons who
    match no class, which holds where whole classes are suppressed, and left out where that would break the bounds.

    Cost: the population is rolled up together with the table. Where nobody is suppressed, generalizing keeps chances
    between those that were.

    References
    ----------
    Nergiz, M. E., Atzori, M. and Clifton, C. (2007). Hiding the presence of individuals from shared databases. SIGMOD.

    Examples
    --------
    >>> DeltaPresence(delta_min=0.05, delta_max=0.15).meets((0.05, 0.15))
    True
    >>> DeltaPresence(delta_max=0.5).meets((0.0, 0.6))
    False
    """

    classwise: ClassVar[bool] = False
    protects_from: ClassVar[str] = "Telling that a person is in the table, or that they are not."
    leaves_open: ClassVar[str] = "Reading sensitive values of a class; and an attacker who knows who is in the table."

    delta_min: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)] = 0.0
    """The least chance of anyone to be in the table."""
    delta_max: Annotated[float, Field(gt=0.0, le=1.0, allow_inf_nan=False)]
    """The greatest chance of anyone to be in the table."""

    @model_validator(mode="after")
    def _in_order(self) -> DeltaPresence:
        if self.delta_min > self.delta_max:
            raise ValueError("delta_min must be at most delta_max")
        return self

    @property
    def needs(self) -> tuple[Need, ...]:
        """Who matches each class."""
        return ("counts", "persons", "population", "everyone")

    @property
    def asked(self) -> Attained:
        """The bounds."""
        return self.delta_min, self.delta_max

    def fits(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether the chance of those who match it is between the bounds."""
        persons = _apart(classes, background)
        above = compare_ratio(classes.sizes, np.maximum(persons, 1), decimal(self.delta_max)) > 0
        below = compare_ratio(classes.sizes, np.maximum(persons, 1), decimal(self.delta_min)) < 0
        fits: Holds = (classes.sizes > 0) & (persons > 0) & ~above & ~below
        return fits if classes.kept is None else fits & classes.kept

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it stays: its own chance fits, and so does that of whoever matches none."""
        kept, persons = self.fits(classes, background), _apart(classes, background)
        for begin, end in tables_of(classes) if self.delta_min > 0.0 else ():
            inside = slice(begin, end)
            rest = _size(background) - int(persons[inside][kept[inside]].sum())
            out = background.whole.records - int(classes.records[inside][kept[inside]].sum())
            chance = Fraction(out if background.starred else 0, max(rest, 1))
            kept[inside] &= not rest or decimal(self.delta_min) <= chance <= decimal(self.delta_max)
        return kept

    def measure(self, classes: Classes, background: Background) -> Attained | None:
        """Return the least and the greatest chance."""
        if not classes.count:
            return None
        sizes, persons = classes.sizes, _apart(classes, background)
        if (persons <= 0).any() or int(persons.sum()) > _size(background):
            return UNKNOWN
        everyone = int(persons.sum()) == _size(background)
        least = 1 / find_greatest_ratio(persons, sizes) if everyone else Fraction(0)
        return round_down(least), round_up(min(find_greatest_ratio(sizes, persons), Fraction(1)))

    def recount(self, census: Census) -> Attained | None:
        """Look at every class again; the starred one matches whom no other does."""
        if not len(census.sizes):
            return None
        if census.persons is None or census.population is None:
            return UNKNOWN
        pairs, absent = list(zip(census.sizes.tolist(), census.persons.tolist(), strict=True)), census.uncovered
        starred = [size for size, persons in pairs if persons == census.population] if len(pairs) > 1 else []
        if starred:
            pairs = [pair for pair in pairs if pair[1] < census.population] + [(starred[0], absent)]
            absent = 0
        matched = sum(persons for _, persons in pairs)
        if len(starred) > 1 or min(persons for _, persons in pairs) <= 0 or matched + absent != census.population:
            return UNKNOWN  # somebody matches two classes
        chances = [Fraction(size, persons) for size, persons in pairs] + [Fraction(0)] * (absent > 0)
        return round_down(min(chances)), round_up(min(max(chances), Fraction(1)))

    def meets(self, attained: Attained | None) -> bool:
        """Compare the decimals that are written."""
        return attained is None or (self.delta_min <= attained[0] and attained[1] <= self.delta_max)

    def relaxed(self, attained: Attained | None) -> DeltaPresence | None:
        """Return the same model with the attainable bounds."""
        if attained is None or attained[1] >= 1.0:
            return None
        return DeltaPresence(delta_min=brief(attained[0], up=False), delta_max=brief(attained[1], up=True))

    @property
    def weaker_thresholds(self) -> Sequence[Attained]:
        """No least chance, then higher greatest ones."""
        return [(0.0, share) for share in (*list_thresholds(self.delta_max, 1.0)[1:], self.delta_max)]


def _size(background: Background) -> int:
    return 0 if background.population is None else background.population.size


def _apart(classes: Classes, background: Background) -> Ints:
    """Return the persons of each class; a starred one beside others has those whom no other class of its table has."""
    persons, everyone = classes.persons(background), _size(background)
    result = persons.copy()
    for begin, end in tables_of(classes):
        starred = np.flatnonzero(persons[begin:end] == everyone) + begin
        if end - begin > 1 and len(starred):
            result[starred] = max(everyone - int(persons[begin:end].sum()) + len(starred) * everyone, 0)
    return result
