"""Units: the records that local recoding puts into classes, and what boxes around them cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.clustering.composition import ClassComposition
from shoal.algorithms.clustering.costs import BEYOND, Prices, Slots, price_columns, select_boxes
from shoal.encoding.types import Bools, Codes, Floats, Ints
from shoal.frequencies.frequencies import Classes, Frequencies
from shoal.kernels.widths import Boxes, Costs
from shoal.recodings.base import Column
from shoal.recodings.forms import ClassMembers
from shoal.recodings.local import Local, show_classes

FEW = 12
"""Units up to which every partition is looked at."""
ONE_BY_ONE = 400
"""Records up to which each is a unit: of so few all that is quick is tried."""


@dataclass(frozen=True)
class Units:
    """The records to be put into classes.

    Where models only count records, a unit may be several records of one tuple; else it is a single record (a single
    person's records of one cell, where persons are counted). The units of a tuple stand together, its kinds evenly
    mixed: neighbours are as different as they can be in what models look at, so that few of them comply.
    """

    problem: Problem
    columns: tuple[Column, ...]
    """The columns in the order of their names, so that no search depends on the order in which a policy names them."""
    places: Ints
    """The place of each of them among those of the problem."""
    slots: Slots
    boxes: Boxes
    """A box around each unit."""
    weights: Ints
    """How much of a class's least size a unit is."""
    records: Ints
    tuples: Ints
    cells: Ints | None
    """The cell of each unit, where units are parts of cells."""
    composition: ClassComposition | None
    """What the models ask of the values of a class, where a search can follow it move by move."""

    @classmethod
    def of(cls, problem: Problem) -> Units:
        """Cut the frequencies into units; weights are shares of the greatest, for what counts is how they compare."""
        problem = replace(problem, columns=share_weights(problem.columns))
        frequencies, cells = problem.frequencies, None
        looks = any(model.sensitive_columns or "persons" in model.needs for model in problem.models)
        if frequencies.subjects is None and not looks:
            least = problem.least_records if frequencies.records > ONE_BY_ONE else 1
            tuples, records = heap_up(frequencies, max(least, 1))
            weights = records
        else:
            cells = _mix_kinds(frequencies)
            tuples, weights = frequencies.cell_tuples[cells], np.ones(len(cells), np.int64)
            records = weights if frequencies.subjects is None else frequencies.cell_counts[cells]
        places = order_by_name(problem.columns)
        columns = tuple(problem.columns[place] for place in places.tolist())
        slots, codes = Slots.of(columns, problem.loss), frequencies.tuples[:, places]
        order = np.lexsort(codes[tuples].T[::-1])
        boxes, cells = slots.boxes(codes[tuples[order]]), cells if cells is None else cells[order]
        composition = ClassComposition.of(problem, cells)
        own = (weights[order], records[order], tuples[order], cells, composition)
        return cls(problem, columns, places, slots, boxes, *own)

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def codes(self) -> Codes:
        """``codes[unit, column]``."""
        return self.problem.frequencies.tuples[self.tuples][:, self.places]

    @property
    def costs(self) -> Costs:
        """What boxes cost, for the kernels."""
        return self.slots.costs

    @cached_property
    def nothing(self) -> float:
        """What a record costs that shows nothing."""
        return float(sum(prices.nothing for prices in self._prices))

    @cached_property
    def _prices(self) -> list[Prices]:
        """What each column's cells cost, in the order of the columns."""
        return price_columns(self.columns, self.problem.loss)

    @cached_property
    def kinds(self) -> Ints:
        """What models look at in each unit, as a number; -1 where they only count records."""
        if self.cells is None:
            return np.full(len(self), -1, np.int64)
        return np.unique(self.problem.frequencies.sensitive, axis=0, return_inverse=True)[1].ravel()[self.cells]

    @property
    def spread(self) -> int:
        """A number of kinds below which no class satisfies every model; 0 where models only count records."""
        return 0 if self.counts_only else max(model.least_values for model in self.problem.models)

    def cost(self, members: Ints) -> float:
        """Return what classes cost as they are published, and suppressed units (-1) with them.

        More than allowed that show nothing cost like boxes above a boundary: such a table cannot be published.
        """
        sizes, costs, mute = self.price(members, int(members.max(initial=-1)) + 1)
        suppressed = int(self.records[members < 0].sum())
        # not by a product of vectors: that of BLAS may follow the number of its threads, and so would the answer
        total = float((sizes * costs).sum()) + self.nothing * suppressed
        too_many = len(sizes) > 1 and suppressed + int(sizes[mute].sum()) > self.problem.max_suppressed
        return total + BEYOND * total * too_many

    def price(self, members: Ints, count: int) -> tuple[Ints, Floats, Bools]:
        """Return the records of each of so many classes, what each record costs as it is published, and which classes
        show nothing. A class that is alone may show nothing."""
        from shoal.kernels.spare import fill_class_costs

        sizes, costs, mute = np.empty(count, np.int64), np.empty(count), np.zeros(count, bool)
        fill_class_costs(self.costs, self.boxes, self.records, members, sizes, costs)
        silent = np.flatnonzero(np.isclose(costs, self.nothing, rtol=1e-9, atol=0.0)).astype(np.int64)
        if count > 1 and len(silent):
            costs[silent], mute[silent] = self._told(members, silent)
        return sizes, costs, mute

    def _told(self, members: Ints, silent: Ints) -> tuple[Floats, Bools]:
        """Return what records cost in classes that would show nothing, and which of them indeed show nothing."""
        columns, tuples = self.columns, self.problem.frequencies.tuples[:, self.places]
        chosen = np.flatnonzero(np.isin(members, silent))
        held, own = ClassMembers.of(np.searchsorted(silent, members[chosen]), self.tuples[chosen], len(silent))
        shown = show_classes(held, tuples[own], columns, alone=False)
        told = np.sum([prices.of_shown(own) for prices, own in zip(self._prices, shown, strict=True)], axis=0)
        return told, np.logical_and.reduce([own.stars for own in shown])

    def allowing(self, max_suppressed: int) -> Units:
        """Return the same units where so many records may be suppressed."""
        return replace(self, problem=replace(self.problem, max_suppressed=max_suppressed))

    def only(self, chosen: Ints) -> Units:
        """Return some of the units."""
        return replace(
            self,
            boxes=select_boxes(self.boxes, chosen),
            weights=self.weights[chosen],
            records=self.records[chosen],
            tuples=self.tuples[chosen],
            cells=None if self.cells is None else self.cells[chosen],
            composition=None if self.composition is None else self.composition.only(chosen),
        )

    @property
    def counts_only(self) -> bool:
        """Whether the models look at nothing but the sizes of classes."""
        return self.cells is None

    def classes(self, members: Ints) -> Classes:
        """Return the classes that the units make; -1 is in none."""
        count = int(members.max(initial=-1)) + 1
        if self.cells is None:
            counted = np.bincount(members[members >= 0], self.records[members >= 0], minlength=count).astype(np.int64)
            some_cell = self.problem.frequencies.cell_starts[self.tuples]
            return Classes(count, members, some_cell, self.records, self.problem.frequencies, counted)
        return Classes(count, members, self.cells, self.records, self.problem.frequencies)

    def recoding(self, members: Ints) -> Local:
        """Return the classes as a recoding: which records of each cell are in which class."""
        frequencies = self.problem.frequencies
        if self.cells is not None:
            return Local.of(members, self.cells, self.records)
        # the units of a tuple share its cells: lay both side by side and cut where either ends
        order = np.argsort(self.tuples, kind="stable")
        unit_ends, cell_ends = np.cumsum(self.records[order]), np.cumsum(frequencies.cell_counts)
        ends = np.union1d(unit_ends, cell_ends)
        unit = order[np.searchsorted(unit_ends, ends)]
        return Local.of(members[unit], np.searchsorted(cell_ends, ends), np.diff(ends, prepend=0))


def share_weights(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns with weights as shares of the greatest."""
    greatest = max(column.weight for column in columns)
    return tuple(replace(column, weight=column.weight / greatest) for column in columns)


def order_by_name(columns: Sequence[Column]) -> Ints:
    """Return the places of the columns in the order of their names."""
    return np.array(sorted(range(len(columns)), key=lambda place: columns[place].name), np.int64)


_PARTS = 32
"""Parts of a class's least size that frequent tuples are heaped up in: finer ones gain less than they cost."""


def heap_up(frequencies: Frequencies, least: int) -> tuple[Ints, Ints]:
    """Heap up the records of each tuple: as large as a class, the rest in small heaps, what is left then one by one.

    Return the tuple and the records of each heap, so that cost follows the tuples where they are frequent.
    """
    sizes = np.unique([least, max(least // _PARTS, 1), 1])[::-1]
    number, left = [], frequencies.counts
    for size in sizes:
        heaps, left = np.divmod(left, size)
        number.append(heaps)
    heaps = np.stack(number, axis=1)
    tuples = np.repeat(np.arange(len(heaps)), heaps.sum(axis=1))
    return tuples, np.repeat(np.tile(sizes, len(heaps)), heaps.ravel()).astype(np.int64)


def _mix_kinds(frequencies: Frequencies) -> Ints:
    """Return the cell of each unit, tuple after tuple; the kinds of a tuple are spread evenly over its units."""
    tuples, values = frequencies.cell_tuples, frequencies.sensitive
    cells = np.arange(len(tuples))
    if frequencies.subjects is None:
        cells = np.repeat(cells, frequencies.cell_counts)
    begins = np.ones(len(tuples), bool)
    begins[1:] = (tuples[1:] != tuples[:-1]) | (values[1:] != values[:-1]).any(axis=1)
    run = np.cumsum(begins)[cells] - 1
    sizes = np.bincount(run)
    index = np.arange(len(cells)) - (np.cumsum(sizes) - sizes)[run]
    return cells[np.lexsort([(index + 0.5) / sizes[run], tuples[cells]])]
