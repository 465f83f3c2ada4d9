"""Class means: the classes of a k-anonymous table, shown as means instead of ranges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from shoal.algorithms.base import Algorithm, Problem
from shoal.encoding.domains import Domain
from shoal.encoding.types import Floats, Ints
from shoal.errors import Fault, Infeasible
from shoal.frequencies.frequencies import Background, Frequencies
from shoal.hierarchies import Suppress
from shoal.kernels.group import group
from shoal.models.k_anonymity import KAnonymity
from shoal.perturbations._class_models import number_sensitive_values
from shoal.perturbations._microaggregation import Microaggregation
from shoal.perturbations.base import ColumnValues, Microdata
from shoal.recodings.base import ClassAssignment, Column
from shoal.registry import OneOf, find
from shoal.utility import CertaintyPenalty


def _default_algorithm() -> Algorithm:
    algorithm = find("algorithms", "mondrian")()
    assert isinstance(algorithm, Algorithm)
    return algorithm


class ClassMeans(Microaggregation):
    """The classes that an algorithm makes for k-anonymity, each shown as its mean, median or mode instead of a range.

    The algorithm puts records into classes as it does for quasi-identifiers without hierarchies, so that k-anonymity
    and the ``models`` hold in them; then each class shows the mean of its numbers and dates, or what ``by`` says.
    ``publish: means`` in a policy is short for this: its quasi-identifiers, models and algorithm become such an entry.

    Why it is safe: the records of a class show the same. Classes that happen to have equal means show the same too:
    they are one class then, of more records, and a union of classes that keep k-anonymity and the models allowed here
    keeps them too. The audit counts the classes by what is shown, and the models in them.

    Cost: that of the algorithm. It knows nothing of squared errors: a microaggregation of the same k loses less.

    References
    ----------
    LeFevre, K., DeWitt, D. J., & Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE. (Classes, and
    their means as a summary.)

    Examples
    --------
    >>> from shoal.perturbations import ColumnValues, Microdata
    >>> data = Microdata(columns={"age": ColumnValues.of_numbers([21, 60, 23, 62])})
    >>> ClassMeans(columns=["age"], k=2).perturb(data).columns["age"].values
    array([22., 61., 22., 61.])
    """

    algorithm: Annotated[Algorithm, OneOf("algorithms")] = Field(default_factory=_default_algorithm)
    """What makes the classes: an algorithm of local recoding."""

    def contradictions(self) -> Iterator[Fault]:
        """Yield also an algorithm that needs hierarchies."""
        yield from super().contradictions()
        if self.algorithm.needs_hierarchies:
            what = "publishes levels of hierarchies, and a mean needs none"
            yield Fault(what, "algorithm", self.algorithm.key(), "take an algorithm of local recoding, as mondrian")

    def classify(self, data: Microdata, rows: Ints, points: Floats, weights: Floats) -> Ints:
        """Return the class of each of some records, as the algorithm puts them."""
        present = [name for name in self.columns if not data.columns[name].missing[rows].any()]
        if not present:
            return np.zeros(len(rows), np.int64)
        held = [data.columns[name].take(rows) for name in present]
        coded = [np.unique(column.codes, return_inverse=True) for column in held]
        columns = tuple(
            _describe(name, column, values) for name, column, (values, _) in zip(present, held, coded, strict=True)
        )
        known, sensitive = number_sensitive_values(self.models, data)
        cell_of_record, frequencies = _count([codes for _, codes in coded], sensitive[rows])
        problem = Problem(
            frequencies=frequencies,
            columns=columns,
            models=(KAnonymity(k=self.k), *self.models),
            background=Background(frequencies, known, quasi_identifiers=tuple(present)),
            loss=CertaintyPenalty(),
        )
        recoding = self.algorithm.search(self.algorithm.to_classwise(problem))
        classes = _share_out(recoding.draft(frequencies, columns), cell_of_record)
        if classes.min() < 0 or np.bincount(classes).min() < self.k:
            what = f"{self.algorithm.key()} leaves records without a class of {self.k}"
            raise Infeasible(Fault(what, "algorithm", hint="take another algorithm of local recoding, as mondrian"))
        return classes

    def partition(self, points: Floats, weights: Floats, rng: np.random.Generator) -> Ints:
        """Return one class: it is for :meth:`classify` to make more."""
        return np.zeros(len(points), np.int64)


def _describe(name: str, column: ColumnValues, codes: Ints) -> Column:
    """Return a column as a search sees it, by the distinct values that occur."""
    texts = column.categories if not column.is_ordered else tuple(str(value) for value in column.distinct)
    values = column.distinct if column.is_ordered else np.array(column.categories, dtype=object)
    domain = Domain(column.kind, values[codes], tuple(texts[code] for code in codes))
    levels = Suppress().build(domain, missing=None)
    return Column(name=name, levels=levels, form="ranges" if column.is_ordered else "sets")


def _count(codes: list[Ints], sensitive: Ints) -> tuple[Ints, Frequencies]:
    """Return the cell of each record, and the distinct combinations of codes and sensitive values."""
    tuple_of_record, tuple_rows = group(codes, [int(column.max()) + 1 for column in codes])
    parts = [tuple_of_record, *sensitive.T]
    cell_of_record, cell_rows = group(parts, [int(part.max()) + 1 for part in parts])
    frequencies = Frequencies(
        np.stack([column[tuple_rows] for column in codes], axis=1).astype(np.int32),
        tuple_of_record[cell_rows].astype(np.int64),
        np.bincount(cell_of_record, minlength=len(cell_rows)).astype(np.int64),
        sensitive[cell_rows].astype(np.int32),
    )
    return cell_of_record, frequencies


def _share_out(draft: ClassAssignment, cell_of_record: Ints) -> Ints:
    """Return the class of each record; the records of a cell that is split go to its classes one after the other."""
    pieces = np.arange(len(draft.members)) if draft.cells is None else np.argsort(draft.cells, kind="stable")
    members = np.empty(len(cell_of_record), np.int64)
    members[np.argsort(cell_of_record, kind="stable")] = np.repeat(draft.members[pieces], draft.weights[pieces])
    return members
