"""Grid: places on the map in cells of growing size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from shoal.encoding.domains import Domain
from shoal.errors import Fault, examples
from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Hierarchy

_PLACE = re.compile(r"\s*[(\[]?\s*([-+]?\d+(?:\.\d+)?)\s*[,; ]\s*([-+]?\d+(?:\.\d+)?)\s*[)\]]?\s*")


class Grid(Hierarchy):
    """Put places, written ``latitude, longitude`` in one column, into cells of a grid of degrees.

    Level 1 has the smallest cells, each level above larger ones; a cell says where it begins and ends, north first:
    ``48.1 to 48.2 N, 11.5 to 11.6 E``. A degree of latitude is 111 km everywhere; one of longitude 111 km at the
    equator, 79 km at 45 degrees, 56 km at 60: cells get narrower towards the poles. Two columns, one of latitudes and
    one of longitudes, take ``intervals`` each: then ranges of both are chosen apart.

    Why it is safe: cells lie where the degrees do, whatever the data; a cell with one person in it is as good as the
    place itself, so k is what protects, not the size. Places that are written apart (``48.10`` and ``48.1``) are
    values of their own below level 1.

    References
    ----------
    Gruteser, M. and Grunwald, D. (2003). Anonymous usage of location-based services through spatial and temporal
    cloaking. MobiSys, 31-42. Cells that halve there are multiples here, so that people can read them.

    Examples
    --------
    >>> places = Domain.of("text", ["-33.87, 151.21", "48.137, 11.575", "48.19, 11.51"])
    >>> Grid(cells=[0.1, 1]).build(places, missing=None).labels[1][1:]
    ('48.1 to 48.2 N, 11.5 to 11.6 E',)
    """

    data_independent: ClassVar[bool] = True

    cells: Annotated[tuple[Annotated[float, Field(gt=0, le=90)], ...], Field(min_length=1)]
    """How many degrees a cell is high and wide at level 1, 2, …; each a multiple of the one before."""

    @field_validator("cells")
    @classmethod
    def _nested(cls, cells: tuple[float, ...]) -> tuple[float, ...]:
        for below, above in pairwise(cells):
            if above <= below or (Fraction(repr(above)) / Fraction(repr(below))).denominator != 1:
                raise ValueError(f"each cell must be a multiple of the one before; {above:g} is not of {below:g}")
        return cells

    def faults(self, domain: Domain) -> Iterator[Fault]:
        """Yield a fault where values are not places."""
        wrong = [text for text in domain.texts if read_place(text) is None]
        if wrong:
            got = f"{len(wrong)} of {len(domain)} values: {examples(wrong)}"
            hint = "write them as latitude, longitude in degrees: 48.137, 11.575; columns of one number take intervals"
            yield Fault("a grid needs a column of places", got=got, hint=hint)

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield one level per size of cells."""
        places = [read_place(text) for text in domain.texts]
        for cell in self.cells:
            size = Fraction(repr(cell))
            yield Step.of(
                [text if at is None else _cell(at, size) for text, at in zip(domain.texts, places, strict=True)]
            )


def read_place(text: str) -> tuple[Fraction, Fraction] | None:
    """Return latitude and longitude of a place, ``None`` where a text is none.

    Examples
    --------
    >>> [place and tuple(map(float, place)) for place in map(read_place, ["(48.5; 11.25)", "-1 2", "91, 0", "Bonn"])]
    [(48.5, 11.25), (-1.0, 2.0), None, None]
    """
    found = _PLACE.fullmatch(text)
    if found is None:
        return None
    latitude, longitude = Fraction(found[1]), Fraction(found[2])
    return (latitude, longitude) if abs(latitude) <= 90 and abs(longitude) <= 180 else None


def _cell(place: tuple[Fraction, Fraction], size: Fraction) -> str:
    first, second = (_side(degrees // size, size) for degrees in place)
    return f"{first} N, {second} E"


@cache
def _side(index: int, size: Fraction) -> str:
    low, high = index * size, (index + 1) * size
    return f"{float(low):.10g} to {float(high):.10g}"
