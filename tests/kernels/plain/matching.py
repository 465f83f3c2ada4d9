"""Plain twin of :mod:`shoal.kernels.matching`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def count_matches(
    shown: Sequence[npt.NDArray[np.int64]],
    covers: Sequence[npt.NDArray[np.bool_]],
    tuples: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
) -> list[int]:
    """Return for each class how many persons have in every column a value that what it shows covers."""
    return [
        sum(
            count
            for codes, count in zip(tuples.tolist(), counts.tolist(), strict=True)
            if all(cover[number, code] for cover, number, code in zip(covers, row, codes, strict=True))
        )
        for row in zip(*(column.tolist() for column in shown), strict=True)
    ]
