"""Suppress: the value as it is, or ``*``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from shoal.encoding.domains import Domain
from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Hierarchy


class Suppress(Hierarchy):
    """The value as it is, or ``*``.

    The shortest hierarchy there is, for columns with few values such as sex.

    Examples
    --------
    >>> Suppress().build(Domain.of("text", ["Female", "Male"]), missing=None).labels
    (('Female', 'Male'), ('*',))
    """

    data_independent: ClassVar[bool] = True

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield nothing: the base puts ``*`` on top."""
        yield from ()
