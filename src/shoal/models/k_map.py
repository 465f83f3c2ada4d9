"""k-map: every published record matches at least k persons of the population."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from shoal.frequencies.frequencies import Background, Classes
from shoal.models._thresholds import Threshold
from shoal.models.base import Census, Holds, Need, PrivacyModel


class KMap(PrivacyModel):
    """Every published record matches at least k persons of the population that the table was drawn from.

    The policy names the population's table (``population: people.csv``, one record for each person), or the column of
    a survey's weights (``survey_weight: weight``): then a class stands for as many persons as the weights of its
    records add up to, rounded down.

    Why it is safe: someone who does not know who is in the table finds at least k persons of the population who match
    a record, so a link to one of them is right with a chance of at most 1/k. A person matches a class if what it shows
    covers the person's value in every quasi-identifier: a label the values under it, a range those in between, a set
    its members, ``*`` all. With weights it is as good as the weights are. Someone who knows that a person is in the
    table is held back by ``k-anonymity`` only.

    Cost: full-domain searches roll the population up together with the table; local ones look at every distinct tuple
    of the population for each class.

    References
    ----------
    Sweeney, L. (2001). Computational disclosure control: a primer on data privacy protection. PhD thesis, MIT.
    El Emam, K. and Dankar, F. K. (2008). Protecting privacy using k-anonymity. Journal of the American Medical
    Informatics Association 15(5).

    Examples
    --------
    >>> KMap(k=5).meets(5), KMap(k=5).meets(4)
    (True, False)
    """

    absorbing: ClassVar[bool] = True
    thresholds = (Threshold("k"),)
    protects_from: ClassVar[str] = "Linking a record to one of fewer than k persons of the population who match it."
    leaves_open: ClassVar[str] = "An attacker who knows that a person is in the table; and reading sensitive values."

    k: Annotated[int, Field(ge=2, strict=True)]
    """The least number of persons of the population that match a record."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """Who matches each class."""
        return ("counts", "persons", "population")

    @property
    def class_size(self) -> int:
        """The k is that of the population, not of the table."""
        return 1

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether k persons match it."""
        return (classes.persons(background) >= self.k) & (classes.sizes > 0)

    def measure(self, classes: Classes, background: Background) -> int | None:
        """Return the least number of persons that match a class."""
        return int(classes.persons(background).min()) if classes.count else None

    def recount(self, census: Census) -> int | None:
        """Return the least number that the audit counted; 0 where it could not."""
        if census.persons is None:
            return 0 if len(census.sizes) else None
        return min(census.persons.tolist(), default=None)
