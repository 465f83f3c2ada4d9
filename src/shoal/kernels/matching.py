"""Count the persons of a population that match what each class shows."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

_SIGNATURE = "i8[::1](i8[:,::1],u1[::1],i8[::1],i8[::1],i4[:,::1],i8[::1])"


@kernel(_SIGNATURE)
def count_matches(
    shown,  # [class, column]: the number of what each class shows
    covers,  # all columns' [number, code], flat: whether what is shown covers a value
    offsets,  # [column]: where each column starts in covers
    sizes,  # [column]: its codes
    tuples,  # [tuple, column]: codes of the population
    counts,  # [tuple]: persons
):
    """Return for each class how many persons have in every column a value that is covered."""
    classes, columns = shown.shape
    result = np.zeros(classes, np.int64)
    starts = np.empty(columns, np.int64)
    for c in range(classes):
        for j in range(columns):
            starts[j] = offsets[j] + shown[c, j] * sizes[j]
        for t in range(len(counts)):
            inside = True
            for j in range(columns):
                if not covers[starts[j] + tuples[t, j]]:
                    inside = False
                    break
            if inside:
                result[c] += counts[t]
    return result
