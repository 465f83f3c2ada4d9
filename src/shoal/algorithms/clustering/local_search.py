"""LocalSearch: what all searches have in common whose answer is classes; each entry holds only its method."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.clustering.records import join_until_compliant
from shoal.algorithms.clustering.units import order_by_name
from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Frequencies
from shoal.recodings.equivalence_classes import finish_recoding
from shoal.recodings.local import Local


class LocalSearch(Algorithm):
    """Base of the searches that put records into classes.

    An entry is shown the columns in the order of their names, so that none depends on the order in which a policy
    names them. Classes that look alike are one when they are published; where such a union breaks a model it joins
    others.
    """

    sums_cells: ClassVar[bool] = True
    starts_search: ClassVar[bool] = True

    def search(self, problem: Problem) -> Local:
        """Form classes; they comply as they are published."""
        problem.begin()
        ordered, cells = order_columns(problem)
        return join_lookalikes(problem, _renumber_cells(self.form_classes(ordered), cells))

    @abstractmethod
    def form_classes(self, problem: Problem) -> Local:
        """Return classes that comply one by one, or raise :class:`~shoal.errors.Infeasible`."""


class QuadraticSearch(LocalSearch):
    """Base of the searches that are quadratic in the tuples of a block."""

    block: Annotated[int, Field(ge=100, strict=True)] = 20_000
    """Above so many distinct tuples the table is cut, in hierarchy order, into blocks of at most so many."""


def order_columns(problem: Problem) -> tuple[Problem, Ints]:
    """Return a problem with its columns in the order of their names, and the original number of each of its cells.

    Persons of a population are known in the policy's order: where there are some, the problem stays as it is.
    """
    own, places = problem.frequencies, order_by_name(problem.columns)
    if problem.background.population is not None or (places == np.arange(len(places))).all():
        return problem, np.arange(len(own.cell_counts), dtype=np.int64)
    tuples = own.tuples[:, places]
    rank = np.lexsort(tuples.T[::-1])
    numbers = np.argsort(rank)[own.cell_tuples].astype(np.int64)
    cells = np.argsort(numbers, kind="stable").astype(np.int64)
    people = None if own.subjects is None else own.subjects[cells]
    held = (own.cell_counts[cells], own.sensitive[cells], people)
    columns = tuple(problem.columns[place] for place in places.tolist())
    return replace(problem, columns=columns, frequencies=Frequencies(tuples[rank], numbers[cells], *held)), cells


def _renumber_cells(recoding: Local, cells: Ints) -> Local:
    """Return a recoding whose cells have other numbers."""
    if recoding.cells is None or recoding.weights is None:
        return replace(recoding, members=recoding.members[np.argsort(cells)])
    return replace(Local.of(recoding.members, cells[recoding.cells], recoding.weights), stopped=recoding.stopped)


def join_lookalikes(problem: Problem, recoding: Local) -> Local:
    """Return classes that comply as they are published, where those that look alike are one.

    A union of classes that comply need not, by some models (the entropy of a union may be estimated lower): it joins
    others, which may make new ones alike.
    """
    data = (problem.frequencies, problem.columns, problem.models, problem.background)
    while not problem.monotone:
        classes = finish_recoding(recoding, *data).classes
        if problem.holds(classes).all():
            break
        cells = np.arange(len(classes.members)) if classes.cells is None else classes.cells
        members = join_until_compliant(problem, classes.members, cells, classes.weights)
        recoding = replace(recoding, members=members, cells=cells, weights=classes.weights)
    return recoding
