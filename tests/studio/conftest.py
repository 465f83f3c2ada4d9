"""One studio for each test that changes it, one for all that only look."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("python_multipart")

from tests.studio.served import Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path).open(tmp_path)
    yield made
    made.studio.close()
