"""Personal k: every person is among as many as they themselves ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Background, Classes, Frequencies
from shoal.models._conditions import Condition
from shoal.models.base import Census, Holds, Need, PrivacyModel, RequestedK

_STEPS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


class PersonalK(PrivacyModel):
    """Every class is as large as its most demanding member asks.

    A column of the original table holds each person's own k: how many persons they want to be among. It is read and
    never published. With ``most``, whoever asks for more is promised that many. Attained is ``own k`` where every
    ask is kept, else the size of the smallest class that is too small for someone in it: with ``most`` at that
    number the promise would hold.

    Why it is safe: someone who knows a person's quasi-identifiers finds at least as many records as that person
    asked for. A union of classes that comply complies: it is no smaller than either, and asks for no more than the
    more demanding of the two. A class that complies need not when a more demanding record joins it (it is not
    absorbing). With a ``subject`` column persons are counted; all records of a person must ask for the same.

    What it does not protect from: a class much larger than its neighbours hints that somebody in it asks for much.
    People who fear that alone should be given a k-anonymity for all besides. It says nothing of sensitive values.

    What an audit can say: the published table shows the sizes of classes and nobody's k, so that an audit of it alone
    cannot confirm this promise and says so. With the original table it can where every class is as large as anyone
    asks whom the class's texts could mean; with what each published record asks for (the owner's ``subjects`` file)
    it counts exactly.

    Cost: one pass over the cells.

    References
    ----------
    Sarrafi Aghdam, M. R. (2017). Achieving high data utility k-anonymization using similarity-based clustering model.
    PhD thesis, SOKENDAI, 5.1. Gedik, B. and Liu, L. (2008). Protecting location privacy with personalized
    k-anonymity: architecture and algorithms. IEEE Transactions on Mobile Computing 7(1).

    Examples
    --------
    >>> from shoal.testing import background_of, classes_of
    >>> rows = [[2, 1, 0, 0], [1, 0, 1, 0]]  # so many members ask for 1, 2, 3; the last count is of unknown requested_k
    >>> PersonalK(on="own_k").holds(classes_of(rows), background_of(rows, ["own_k"]))
    array([ True, False])
    >>> PersonalK(on="own_k").measure(classes_of(rows), background_of(rows, ["own_k"]))
    2
    """

    protects_from: ClassVar[str] = "Finding a person's record among fewer than that person asks for."
    leaves_open: ClassVar[str] = (
        "Guessing from an unusually large class that somebody in it asks for much; reading a sensitive value that all "
        "records of a class share."
    )

    on: str
    """The column that holds each person's own k, a whole number from 1; it is never published."""
    default: Annotated[int, Field(ge=1, strict=True)] | None = None
    """The k of those who gave none; without it a missing k is an error."""
    most: Annotated[int, Field(ge=2, strict=True)] | None = None
    """Whoever asks for more is promised this many; without it there is no limit."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """Sizes, and what each person asks for."""
        return ("counts", "asks")

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        """The column of asks."""
        return (self.on,)

    @property
    def requested_k(self) -> RequestedK:
        """Where each person's own k is read."""
        return RequestedK(self.on, self.default, self.most)

    @property
    def hidden_columns(self) -> tuple[str, ...]:
        """The column of asks is never published."""
        return (self.on,)

    @property
    def least_records(self) -> int:
        """Who asks for 1 may stand alone."""
        return 1

    def least_of(self, background: Background) -> int:
        """Return the smallest ask: every class holds somebody."""
        requested_k = self._asks(background)
        return int(requested_k.min()) if len(requested_k) else 1

    def least_with(self, background: Background, frequencies: Frequencies) -> Ints:
        """Return what each record asks for itself; an unknown ask is taken for the smallest."""
        asks, codes = self._asks(background), frequencies.sensitive[:, background.columns[self.on].place]
        known = (codes >= 0) & (codes < len(asks))
        least: Ints = np.where(known, asks[np.where(known, codes, 0)], self.least_of(background)).astype(np.int64)
        return least

    @property
    def asked(self) -> str:
        """Everyone's own k, up to what is promised at most."""
        return "own k" if self.most is None else f"own k up to {self.most}"

    def _asks(self, background: Background) -> Ints:
        """What each value of the column asks for."""
        requested_k = background.columns[self.on].requested_k
        assert requested_k is not None, f"{self.on} is not a column of asks"
        return requested_k if self.most is None else np.minimum(requested_k, self.most)

    def _demands(self, classes: Classes, background: Background) -> Ints:
        """What the most demanding member of each class asks for; an unknown ask is taken for the greatest."""
        requested_k = self._asks(background)
        histogram = classes.histogram(background.known((self.on,)))
        known: Ints = histogram.most(requested_k[histogram.values], 1)
        return np.where(histogram.wild > 0, requested_k.max(initial=1), known)

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it has as many persons as each of them asks for."""
        return classes.sizes >= self._demands(classes, background)

    def conditions(self, background: Background) -> Sequence[Condition]:
        """Ask for as many records as each person does."""
        asked = self._asks(background)[background.table((self.on,)).values]
        return (Condition("requests", (self.on,), asked.astype(np.float64)),)

    def measure(self, classes: Classes, background: Background) -> str | int | None:
        """Return ``own k``, or the size of the smallest class that is too small for someone in it."""
        small = ~self.holds(classes, background)
        if not classes.count:
            return None
        return int(classes.sizes[small].min()) if small.any() else self.asked

    def recount(self, census: Census) -> str | int | None:
        """Compare each count of the census with what is asked in its class."""
        sizes, requested_k = census.sizes.tolist(), census.requested_k[self.on].tolist()
        if not sizes:
            return None
        promised = [ask if self.most is None or ask < self.most else self.most for ask in requested_k]
        return min((size for size, ask in zip(sizes, promised, strict=True) if size < ask), default=self.asked)

    def meets(self, attained: str | int | None) -> bool:
        """Every ask is kept, or there is nobody."""
        return attained in (None, self.asked)

    def relaxed(self, attained: str | int | None) -> PersonalK | None:
        """Return the same model that promises at most what is attainable."""
        if not isinstance(attained, int) or attained < 2:
            return None
        return self.replace(most=attained)

    @property
    def weaker_thresholds(self) -> Sequence[int]:
        """Round numbers to promise at most, the least first."""
        return [step for step in _STEPS if self.most is None or step < self.most]
