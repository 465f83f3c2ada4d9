"""The types that every layer speaks: arrays by what is in them, and how work tells its progress."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
"""Values as their numbers in a domain."""
Bools = npt.NDArray[np.bool_]
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and how much there is (0: not known)."""


def silent(what: str, done: int, total: int) -> None:
    """Show nothing."""
