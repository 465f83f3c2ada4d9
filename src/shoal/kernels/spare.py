"""What is asked of whole classes: whom to join where they fail a model, and what each record costs the others."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.descent import fill_rests
from shoal.kernels.widths import fill_boxes, joined_cost, make_boxes, own_cost, take_boxes


@kernel
def choose_neighbours(costs, units, weights, members, failing, into):
    """Point each failing class to the neighbour, in the order of the classes, that it costs less to join.

    A class that another one joins stays where it is, even if it fails itself: the two may comply.
    """
    classes = len(failing)
    boxes, sizes = make_boxes(classes, units), np.zeros(classes, np.int64)
    fill_boxes(units, weights, members, boxes, sizes)
    joined = np.zeros(classes, np.bool_)
    for own in range(classes):
        if not failing[own] or joined[own]:
            continue
        best, chosen = np.inf, -1
        for other in (own - 1, own + 1):
            if 0 <= other < classes:
                growth = (sizes[own] + sizes[other]) * joined_cost(costs, boxes, own, boxes, other)
                growth -= sizes[other] * own_cost(costs, boxes, other)
                if growth < best:
                    best, chosen = growth, other
        if chosen >= 0:
            # a class that was joined already takes the new one along
            into[own] = into[chosen]
            joined[into[own]] = True


@kernel
def fill_marginal_costs(costs, units, records, order, starts, gains):
    """Fill in how much less each class costs without each of its units, which ``order`` lists class after class."""
    for own in range(len(starts) - 1):
        inside = order[starts[own] : starts[own + 1]]
        boxes, rests, rest = take_boxes(units, inside), make_boxes(len(inside), units), make_boxes(1, units)
        without, room = np.empty(len(inside)), np.empty(len(inside), np.int64)
        fill_rests(costs, boxes, np.zeros(len(inside), np.int64), 0, rests, without, room, rest)
        size = records[inside].sum()
        paid = size * own_cost(costs, rest, 0)
        for index in range(len(inside)):
            unit = inside[index]
            gains[unit] = paid - (size - records[unit]) * without[index]


@kernel
def fill_class_costs(costs, units, weights, members, sizes, found):
    """Fill in the size of each class, and what each of its records costs; units of class -1 are in none."""
    boxes = make_boxes(len(sizes), units)
    fill_boxes(units, weights, members, boxes, sizes)
    for own in range(len(sizes)):
        found[own] = own_cost(costs, boxes, own) if sizes[own] > 0 else 0.0
