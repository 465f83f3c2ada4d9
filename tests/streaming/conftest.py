from __future__ import annotations

from dataclasses import dataclass

import pytest

from shoal.streaming import Budget


@dataclass(frozen=True)
class Narrow(Budget):
    """A budget that reads and writes only so many records at a time."""

    at_a_time: int = 3

    def rows(self, columns: int) -> int:
        return self.at_a_time


@pytest.fixture(params=[1, 3, 1000])
def narrow(request: pytest.FixtureRequest) -> Budget:
    return Narrow(10**9, at_a_time=request.param)
