"""OwnerView: what only the owner of a table knows of each published record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from shoal.errors import Fault

RequestedK = Mapping[str, Sequence[int | None] | pl.Series] | pl.DataFrame
"""Column → what the person of each published record asks for."""


@dataclass(frozen=True, kw_only=True)
class OwnerView:
    """What only the owner knows of each published record, in order; nothing of it is published.

    Attributes
    ----------
    subjects
        The person whom each record is about.
    requested_k
        For each column of requested sizes, what the person of each record asks for.
    weights
        The survey weight of each record.
    rows
        The original record of each one, from 0.
    """

    subjects: pl.Series | None = field(default=None, repr=False)
    requested_k: RequestedK | None = field(default=None, repr=False)
    weights: pl.Series | None = field(default=None, repr=False)
    rows: pl.Series | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        *,
        subjects: object = None,
        requested_k: RequestedK | None = None,
        weights: object = None,
        rows: object = None,
    ) -> OwnerView:
        """Return the same of lists and other sequences."""
        return cls(
            subjects=_to_series(subjects),
            requested_k=requested_k,
            weights=_to_series(weights),
            rows=_to_series(rows),
        )

    def fit(self, records: int) -> tuple[OwnerView, list[Fault]]:
        """Return what fits a table of so many published records, and a fault for all that does not.

        Rows stay as they are: whether they are the original records is for the check of truth to say.

        Examples
        --------
        >>> view, faults = OwnerView.of(subjects=["ann", "bob"], weights=[1.5]).fit(2)
        >>> view.weights is None, [str(fault) for fault in faults]
        (True, ['weights do not fit the published table; got 1 for 2 records.'])
        """
        faults = []
        columns: dict[str, Any] = {"subjects": self.subjects, "weights": self.weights}
        for name, column in columns.items():
            if column is not None and len(column) != records:
                faults.append(_misfit(name, len(column), records))
                columns[name] = None
        kept: dict[str, Any] = {}
        for name, column in self._requested_columns().items():
            if len(column) == records:
                kept[name] = column
            else:
                faults.append(_misfit("asks", len(column), records, name))
        return replace(self, **columns, requested_k=kept), faults

    def _requested_columns(self) -> Mapping[str, Sequence[int | None] | pl.Series]:
        given = self.requested_k
        if given is None:
            return {}
        return given.to_dict() if isinstance(given, pl.DataFrame) else given


def _to_series(given: object) -> pl.Series | None:
    return given if given is None or isinstance(given, pl.Series) else pl.Series(list(given))  # type: ignore[call-overload]


def _misfit(what: str, given: int, records: int, where: str = "") -> Fault:
    return Fault(f"{what} do not fit the published table", where, f"{given} for {records} records")
