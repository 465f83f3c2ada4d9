"""Property tests draw the same cases on every run; ``HYPOTHESIS_PROFILE=explore`` draws new ones.

Tests of Spark are marked here, where it is known which engine a parameter stands for.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

from shoal.engines import fingerprint

# thousands of releases are made here: their manifests need not be slow to guess against
fingerprint.STRETCH = 2**4
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

SPARK_FOLDER, ENGINES_FOLDER = Path(__file__).parent / "spark", Path(__file__).parent / "engines"
ON_SPARK = {"spark", "blocks", "Spark", "Spark in blocks"}
"""What the tests of all engines call those that need a session."""


def pytest_itemcollected(item: pytest.Item) -> None:
    if needs_spark(item):
        item.add_marker("spark")


def needs_spark(item: pytest.Item) -> bool:
    """Return whether a test asks for a session, by a fixture or by the engine that it is about."""
    folder = item.path.parent
    asked = getattr(item, "callspec", None)
    engines = {value for value in asked.params.values() if isinstance(value, str)} if asked else set()
    return folder == SPARK_FOLDER or (folder == ENGINES_FOLDER and bool(engines & ON_SPARK))


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: the collector of garbage need not look at them again and again."""
    gc.collect()
    gc.freeze()
