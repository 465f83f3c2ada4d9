"""Large-neighbourhood search: take some classes apart, put their records together anew, keep it if it is not worse."""

from __future__ import annotations

import numpy as np

from shoal.kernels.blocks import draw_random, start_random
from shoal.kernels.compiled import kernel
from shoal.kernels.descent import SLACK, descend
from shoal.kernels.recreate import gather, renumber, split_large
from shoal.kernels.widths import take_boxes

_MANY = 2000
"""Units of a block above which it is left as it is: every pair of units is looked at."""
_NOISE = 1.0
"""How far chance may change what is nearest, as a share."""
_ROUNDS = 8
"""How often a descent looks at all units of a block, at most."""


@kernel
def improve_blocks(
    costs, units, weights, kinds, listed, unit_starts, class_of, first, last, least, spread, stay, worth, seed, turn,
    careful, bold,
):  # fmt: skip
    """Improve blocks of classes, each on its own; classes of a block are numbered anew from 0.

    Parameters
    ----------
    listed, unit_starts
        Units, block after block, and where each block's start.
    class_of
        ``class_of[place]``: the class of each listed unit within its block.
    first, last
        The blocks to improve.
    stay
        How many of its kind a unit leaves behind that goes to another class, unless for one of the same kind.
    worth
        The cost per record from which on a block is always taken apart; below it the less often the less it costs.
    careful
        Out, like ``class_of``: classes whose kinds changed no more than ``stay`` allows.
    bold
        Out, like ``class_of``: classes that cost no more, made anew from all units of the block.
    """
    for block in range(first, last):
        begin, end = unit_starts[block], unit_starts[block + 1]
        careful[begin:end] = bold[begin:end] = class_of[begin:end]
        if end - begin > _MANY:
            continue
        inside = listed[begin:end]
        own_units, own_weights, own_kinds = take_boxes(units, inside), weights[inside], kinds[inside]
        if own_kinds[0] >= 0:
            renumber(own_kinds)
        now = class_of[begin:end].copy()
        classes = renumber(now)
        state = start_random(seed, turn, block)
        cost = descend(costs, own_units, own_weights, own_kinds, stay, now, classes, least, _ROUNDS)
        careful[begin:end] = bold[begin:end] = now
        if cost <= worth * own_weights.sum() * draw_random(state) / 4294967296.0 + SLACK:
            continue  # little is lost here
        other = np.empty(end - begin, np.int64)
        found = gather(costs, own_units, own_weights, own_kinds, least, spread, state, _NOISE, other)
        found = split_large(costs, own_units, own_weights, own_kinds, other, found, least, spread)
        if (
            descend(costs, own_units, own_weights, own_kinds, min(stay, 1), other, found, least, _ROUNDS)
            <= cost + SLACK
        ):
            bold[begin:end] = other
