"""start_as_others(): of a small table, what other entries find, as a start of a search: then it never loses more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.clustering.units import ONE_BY_ONE, Units
from shoal.encoding.types import Ints, silent
from shoal.errors import ShoalError
from shoal.recodings.base import Recoding
from shoal.registry import find, names

_NODES = 2_000
"""Nodes of a lattice up to which a search through whole tables is quick."""


def start_as_others(units: Units) -> Iterator[Ints]:
    """Yield the class of each unit, -1 for suppressed ones, as other local entries would have it.

    Only of few records: of many they take longer than the search itself, which then loses far less than they do.
    """
    for entry in _list_entries(units.problem):
        if not entry.needs_hierarchies and (entry.suppresses or not units.problem.max_suppressed):
            yield from _search(units, entry)


def start_as_levels(units: Units) -> Iterator[Ints]:
    """Yield the class of each unit, -1 for suppressed ones, as the best levels for the whole table have it."""
    nodes = np.prod([column.max_level + 1.0 for column in units.columns])
    for entry in _list_entries(units.problem):
        if entry.needs_hierarchies and nodes <= _NODES:
            yield from _search(units, entry)


def _list_entries(problem: Problem) -> list[type[Algorithm]]:
    """Return the entries that a search may start from, where records are few."""
    every = (cast("type[Algorithm]", find("algorithms", name)) for name in names("algorithms"))
    few = problem.frequencies.records <= ONE_BY_ONE
    return [entry for entry in every if entry.starts_search] if few else []


def _search(units: Units, entry: type[Algorithm]) -> Iterator[Ints]:
    """Yield what each form of an entry finds that complies."""
    problem = units.problem
    for form in entry.list_forms():
        try:
            found = form.search(replace(problem, progress=silent)) if form.is_led_by(problem.models) else None
        except ShoalError:  # it found nothing
            continue
        if found is not None:
            members = _assign(units, found)
            if members.max() >= 0 and problem.holds(units.classes(members)).all():
                yield members


def _assign(units: Units, recoding: Recoding) -> Ints:
    """Return the class of each unit, where a recoding says how many records of each cell are in which class."""
    frequencies = units.problem.frequencies
    draft = recoding.draft(frequencies, units.problem.columns)
    cells = np.arange(len(draft.members)) if draft.cells is None else draft.cells
    members = np.empty(len(units), np.int64)
    if frequencies.subjects is not None and units.cells is not None:  # a person's records of a cell are one unit
        members[np.argsort(units.cells)[cells]] = draft.members
        return members
    place, own = (frequencies.cell_tuples[cells], units.tuples) if units.cells is None else (cells, units.cells)
    order = np.lexsort([draft.members, place])
    members[np.argsort(own, kind="stable")] = np.repeat(draft.members[order], draft.weights[order])
    return members
