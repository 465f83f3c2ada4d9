"""Risk: how likely is an attacker right?"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.catalog import Entry

Ints = npt.NDArray[np.int64]


class Risk(Entry):
    """Base of all attackers' questions."""

    family: ClassVar[str] = "risk"

    @abstractmethod
    def measure(self, sizes: Ints) -> dict[str, float]:
        """Return the named risks of a table whose classes have these sizes."""
