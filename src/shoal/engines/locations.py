"""Where files lie: paths of this machine, or of a file system that Hadoop knows; what both can do."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from shoal.engines.spark.hadoop import HadoopPath

Location = Path | HadoopPath

_BLOCK = 2**24


def read_blocks(path: Location) -> Iterator[bytes]:
    """Yield the bytes of a file, block by block."""
    if not isinstance(path, Path):
        yield from path.read_blocks()
        return
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def remove(path: Location) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    if not isinstance(path, Path):
        path.remove()
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def move(path: Location, target: Location) -> None:
    """Give a file or a folder another name on the same file system; what has that name is replaced."""
    if path.is_dir():
        remove(target)
    path.replace(target)  # type: ignore[arg-type]


def list_folder(folder: Location) -> list[Location]:
    """Return what lies in a folder, in the order of the names."""
    found: list[Location] = [*folder.iterdir()]
    return sorted(found, key=lambda path: path.name)


def walk(folder: Location, prefix: str = "") -> Iterator[tuple[str, Location]]:
    """Yield every file in a folder and those in it, with its name from there on, in the order of these names."""
    for path in list_folder(folder):
        if path.is_dir():
            yield from walk(path, f"{prefix}{path.name}/")
        else:
            yield f"{prefix}{path.name}", path


@contextmanager
def hide(folder: Location, prefix: str) -> Iterator[Location]:
    """Make a hidden folder inside another, gone whatever happens; the other too, if it is new and stays empty."""
    is_new = not folder.exists()
    _make_folder(folder)
    for stale in [path for path in list_folder(folder) if path.name.startswith(prefix)]:
        _remove_quietly(stale)  # of a run that was killed: nobody audited what is in it
    hidden = folder / f"{prefix}{uuid4().hex}"
    hidden.mkdir(0o700)
    try:
        yield hidden
    finally:
        _remove_quietly(hidden)
        if is_new and not any(folder.iterdir()):
            _remove_quietly(folder)


def _make_folder(folder: Location) -> None:
    """Make a folder, and those that it lies in, where they are not there."""
    if isinstance(folder, Path):
        folder.mkdir(parents=True, exist_ok=True)
    else:
        folder.mkdir()


def _remove_quietly(path: Location) -> None:
    if isinstance(path, Path):
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.remove()


@contextmanager
def copy_here(path: Location) -> Iterator[Path]:
    """Return a file of this machine with the same bytes: itself, or a copy that is gone afterwards."""
    if isinstance(path, Path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(b"".join(read_blocks(path)))
        yield copy
