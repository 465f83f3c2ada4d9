"""Treatments: what is done to every value of a column before anything else, whatever its role."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from math import isfinite
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from shoal.errors import PolicyError, nearest
from shoal.registry import Frozen

SafeHarborTreatment = Literal["zip3", "age-90", "year"]
"""What HIPAA's Safe Harbor asks: ``zip3`` keeps three digits of a ZIP code (000 where few people live), ``age-90``
makes 90 of every age over 89, ``year`` keeps the year of a date."""


def _parse_bound(value: object) -> object:
    """Return a bound as it is compared: a number, or a date as text."""
    if isinstance(value, bool) or (isinstance(value, float) and not isfinite(value)):
        raise ValueError("must be a number or a date")
    if isinstance(value, str):
        datetime.fromisoformat(value)
    return value.isoformat() if isinstance(value, date) else value


Bound = Annotated[int | float | str, BeforeValidator(_parse_bound)]


class Coding(Frozen):
    """Top and bottom coding, rounding, and dates that are shifted: what is left of a column of numbers or dates.

    Values above ``top`` become ``top``, values below ``bottom`` become ``bottom``, numbers become the nearest multiple
    of ``round``; dates are shifted first. ``top: 90`` thus reads "90 or more".

    Why it is safe, and where not: nobody sees more of the column than what is left, and models are counted on that.
    Coding hides how far out the largest and the smallest values lie, by which one person can be known; rounding hides
    the last digits, by which a number is found in another table. *Neither makes anybody one of several*: that is what
    the models promise, of quasi-identifiers only. Whoever knows that a value is the only one above ``top`` still finds
    it.

    ``shift_days`` moves all dates of a person by one secret number of days, up to so many back or forth and never by
    none, so that the time between two events of a person stays as it was. The number follows from the key of the owner
    and the person (``subject``) alone: the same in all columns and in all tables with the same key. It hides *when*
    something happened from whoever has not the key. *It does not hide* how much time lies between the events of a
    person (a pattern of visits that somebody knows is found again, and one known date gives away all other dates of
    that person), nor that the first and the last dates of a table are near its ends. The owner of the key can undo it:
    such dates are pseudonymous, not anonymous. Make them quasi-identifiers where they may be known.

    Examples
    --------
    >>> Coding(top=90, bottom=18).model_dump(), str(Coding(round=100))
    ({'top': 90, 'bottom': 18}, 'round 100')
    """

    top: Bound | None = None
    """Stands for itself and every greater value."""
    bottom: Bound | None = None
    """Stands for itself and every smaller value."""
    round: Annotated[int | float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Numbers become the nearest multiple of it; in the middle, the greater one."""
    shift_days: Annotated[int, Field(ge=7, le=36_500, strict=True)] | None = None
    """The most days by which the dates of a person are shifted."""

    @model_validator(mode="after")
    def _fits_together(self) -> Coding:
        bounds = [bound for bound in (self.bottom, self.top) if bound is not None]
        if not bounds and self.round is None and self.shift_days is None:
            raise ValueError("says nothing: name top, bottom, round or shift_days")
        kinds = {isinstance(bound, str) for bound in bounds} | ({False} if self.round is not None else set())
        kinds |= {True} if self.shift_days is not None else set()
        if len(kinds) > 1:
            raise ValueError("numbers and dates do not go together in one treatment")
        if len(bounds) == 2 and not bounds[0] < bounds[1]:  # type: ignore[operator]
            raise ValueError(f"bottom must be less than top; got {bounds[0]} and {bounds[1]}")
        for bound in bounds if self.round is not None else ():
            if (Fraction(repr(bound)) / Fraction(repr(self.round))).denominator != 1:
                raise ValueError(f"top and bottom must be multiples of round; {bound} is not one of {self.round}")
        return self

    @property
    def is_of_dates(self) -> bool:
        """Whether it treats dates."""
        return self.shift_days is not None or isinstance(self.top if self.bottom is None else self.bottom, str)

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.model_dump().items())

    @model_serializer(mode="plain")
    def _dump(self) -> dict[str, Any]:
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}


def _parse(value: object) -> object:
    """Return the treatment that a name or a mapping stands for."""
    named = get_args(SafeHarborTreatment)
    if value is None or value in named or isinstance(value, Coding):
        return value
    if not isinstance(value, Mapping):
        hint = nearest(str(value), named) or "name one of " + ", ".join(named) + ", or say for example {top: 90}"
        raise PolicyError("no such treatment", got=repr(value), hint=hint)
    return Coding(**{str(key): item for key, item in value.items()})


Treatment = Annotated[SafeHarborTreatment | Coding, BeforeValidator(_parse)]
"""What is done to a column: a rule by its name, or a :class:`Coding`."""
