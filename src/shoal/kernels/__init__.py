"""Hot loops: arrays in, arrays out.

Compiled by numba when a search first needs them (once per machine: the result is cached on disk), each with a
plain twin in ``tests/kernels/plain`` that tests compare with it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def _find_a_cache() -> None:
    """Let numba cache somewhere even where neither the package nor the home folder can be written to.

    A fresh folder of our own, never a known place in a shared one: numba runs what it finds in its cache.
    """
    ours = Path(__file__).parent
    folders = [ours / "__pycache__" if (ours / "__pycache__").exists() else ours, Path.home()]
    if "NUMBA_CACHE_DIR" not in os.environ and not any(os.access(folder, os.W_OK) for folder in folders):
        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="shoal-numba-")


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_find_a_cache()
