"""What it costs a record, at least, to be in a class: by how far the nearest records are."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

_CLOSE = "i8(i4[:,::1],i8[::1],f8[::1],i8[::1],i8[::1],i4[:,::1],i8[::1],i8[::1],i8[::1],i8[::1],i8,f8[::1])"


@kernel(_CLOSE)
def cost_nearest(
    members,  # [tuple, group]: its combination in each group of columns; tuples near each other are neighbours
    counts,  # [tuple]: records
    costs,  # all columns' [value, value] of what a class that holds both costs at least, flat
    offsets,  # [column]: where a column starts in costs
    sizes,  # [column]: its values
    combinations,  # [combination, column]: its values; all groups' after each other, other columns do not matter
    starts,  # [group + 1]: where the combinations of a group start
    firsts,  # [group + 1]: the first column of a group
    asked,  # [question]: a tuple
    needs,  # [question]: how many records a class of it has at least
    budget,  # pairs of values that may be looked at
    prices,  # out [question]: what each record of the tuple pays at least; 0 where the budget did not suffice
):
    """Find for each question the distance at which enough records are near; return what is left of the budget.

    A class that holds a record and enough others costs no less than the farthest of these with it, and that is no less
    than the distance of the nearest ones that are enough. Groups of columns are added up until a record
    is too far to matter.
    """
    rows, groups = members.shape
    most = 1
    for need in needs:
        most = max(most, need)
    near, held = np.empty(most + 1, np.float64), np.empty(most + 1, np.int64)
    far = np.zeros(len(combinations), np.float64)
    for question in range(len(asked)):
        own, need = asked[question], needs[question]
        for group in range(groups):
            mine = starts[group] + members[own, group]
            for other in range(starts[group], starts[group + 1]):
                far[other] = 0.0
                for column in range(firsts[group], firsts[group + 1]):
                    at = offsets[column] + np.int64(combinations[mine, column]) * sizes[column]
                    far[other] += costs[at + combinations[other, column]]
        budget -= len(far)
        filled, total, bar = 0, np.int64(0), np.inf
        low, high = own, own + 1
        while low >= 0 or high < rows:
            # the nearest in the order first, so that the bar is low soon
            other = low
            if low >= 0 and (high >= rows or own - low <= high - own):
                low -= 1
            else:
                other = high
                high += 1
            distance, group = 0.0, 0
            while group < groups and distance < bar:
                distance += far[starts[group] + members[other, group]]
                group += 1
            budget -= group + 1
            if distance >= bar:
                continue
            index = filled
            while index > 0 and near[index - 1] > distance:
                near[index], held[index] = near[index - 1], held[index - 1]
                index -= 1
            near[index], held[index] = distance, counts[other]
            filled += 1
            total += counts[other]
            while filled > 1 and total - held[filled - 1] >= need:
                filled -= 1
                total -= held[filled]
            if total >= need:
                bar = near[filled - 1]
        if budget < 0:
            return budget
        prices[question] = bar
    return budget
