"""Plain twin of :mod:`shoal.kernels.similarity`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def nearest(
    codes: npt.NDArray[np.int32],
    left: npt.NDArray[np.int64],
    distances: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.int64],
    wanted: int,
) -> list[int]:
    """Return the tuples that :func:`shoal.kernels.similarity.nearest` chooses, the nearest first."""
    ranked = sorted(
        (sum(float(distances[offset + code]) for offset, code in zip(offsets, row, strict=True)), number)
        for number, row in enumerate(codes)
        if left[number]
    )
    chosen: list[int] = []
    for _, number in ranked:
        if left[chosen].sum() >= wanted:
            break
        chosen.append(number)
    return chosen
