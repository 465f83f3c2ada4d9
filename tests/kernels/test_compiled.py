"""Machine code is cached for whoever comes next: it must be the code of the right kernel."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

import shoal.kernels
from shoal.kernels.compiled import Shelf, stamp_sources


def kernels() -> list[Any]:
    """All functions that are compiled, each once."""
    modules = [f"shoal.kernels.{found.name}" for found in pkgutil.iter_modules(shoal.kernels.__path__)]
    found = [value for name in modules for value in vars(importlib.import_module(name)).values()]
    return list({id(value): value for value in found if isinstance(value, Dispatcher)}.values())


def test_every_kernel_has_a_name_of_its_own() -> None:
    # numba tells kernels of one name apart by the order of compiling, which is another one in another process
    names = Counter((kernel.py_func.__module__, kernel.py_func.__qualname__) for kernel in kernels())
    assert len(names) > 50
    assert names.most_common(1)[0][1] == 1


def test_cached_kernels_depend_on_the_source_of_all_of_them() -> None:
    stamp = stamp_sources(Path(shoal.kernels.__path__[0]))
    cached = [kernel for kernel in kernels() if kernel.targetoptions.get("nogil")]
    assert len(cached) > 40
    assert {kernel._cache._cache_file._source_stamp for kernel in cached} == {stamp}
    assert all(isinstance(kernel._cache._cache_file, Shelf) for kernel in cached)


@pytest.mark.parametrize("change", ["text", "name", "new"])
def test_the_stamp_sees_every_change(tmp_path: Path, change: str) -> None:
    (tmp_path / "one.py").write_text("1")
    (tmp_path / "two.py").write_text("2")
    before = stamp_sources(tmp_path)
    assert stamp_sources(tmp_path) == before
    match change:
        case "text":
            (tmp_path / "two.py").write_text("3")
        case "name":
            (tmp_path / "two.py").rename(tmp_path / "three.py")
        case _:
            (tmp_path / "three.py").write_text("")
    assert stamp_sources(tmp_path) != before


def test_the_stamp_of_a_package_in_a_zip_file_is_that_of_its_sources(tmp_path: Path) -> None:
    """Executors of Spark may have it so; else an upgrade would go on with the machine code of before."""
    with zipfile.ZipFile(tmp_path / "shoal.zip", "w") as file:
        for path in Path(shoal.__file__).parent.rglob("*.py"):
            file.write(path, Path("shoal") / path.relative_to(Path(shoal.__file__).parent))
    told = [sys.executable, "-c", "from shoal.kernels import compiled; print(compiled.__file__, compiled.SOURCES)"]
    where = {**os.environ, "PYTHONPATH": str(tmp_path / "shoal.zip"), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(told, env=where, capture_output=True, text=True, check=True)
    file_, stamp = done.stdout.split()
    assert "shoal.zip" in file_ and stamp == stamp_sources(Path(shoal.kernels.__path__[0]))


def test_two_processes_do_not_take_each_others_machine_code(tmp_path: Path) -> None:
    """Both look into an empty cache at the same moment; the first one to write the index is the last to write code."""
    late: list[tuple[str, Any]] = []

    class Slow(Shelf):
        def _save_data(self, name: str, data: Any) -> None:
            late.append((name, data))

    class Interrupted(Shelf):
        def _save_index(self, overloads: dict[Any, str]) -> None:
            Slow(str(tmp_path), "kernel", "stamp").save("theirs", "code for their types")
            super()._save_index(overloads)

    Interrupted(str(tmp_path), "kernel", "stamp").save("ours", "code for our types")
    for name, data in late:
        Shelf(str(tmp_path), "kernel", "stamp")._save_data(name, data)
    found = Shelf(str(tmp_path), "kernel", "stamp")
    assert found.load("ours") == "code for our types"
    assert found.load("theirs") in (None, "code for their types")


def test_what_older_sources_left_is_removed(tmp_path: Path) -> None:
    for stamp in ("old", "old", "new"):
        Shelf(str(tmp_path), "kernel", stamp).save(("types", stamp), stamp)
        Shelf(str(tmp_path), "kernel.other", "old").save("types", "another kernel's")
    assert len(list(tmp_path.glob("kernel.*.nbc"))) == 2
    assert Shelf(str(tmp_path), "kernel", "new").load(("types", "new")) == "new"
    assert Shelf(str(tmp_path), "kernel.other", "old").load("types") == "another kernel's"


class Gone:
    """Stands for a type of older sources."""


def test_an_index_of_older_sources_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may name types that are no more: who upgrades would get an error instead of a search."""
    Shelf(str(tmp_path), "kernel", "old").save(Gone, "code")
    monkeypatch.delattr(sys.modules[__name__], "Gone")
    shelf = Shelf(str(tmp_path), "kernel", "new")
    assert shelf.load("types") is None
    shelf.save("types", "code")
    assert shelf.load("types") == "code"


def test_a_cache_without_room_stops_nobody(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path / "nowhere"), "kernel", "stamp")
    shelf.save("types", "code")
    assert shelf.load("types") is None
