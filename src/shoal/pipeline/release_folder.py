"""The folder of a release: its files are made out of sight, and get their names all together or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.auditing import Audit
from shoal.engines.memory.write import ENDINGS, write_bytes
from shoal.errors import AuditFailed, WriteError
from shoal.reporting import render

_PREFIX = ".shoal-"
_STEMS = ("release", "release-statistics", "release-sensitive")


def publish(folder: Path, make: Callable[[Path], list[str]], sources: Sequence[Path] = ()) -> dict[str, Path]:
    """Let the files of a release be made in a hidden folder, and move them to their places; all of them or nothing.

    Parameters
    ----------
    folder
        Where the files belong.
    make
        Writes the files into the folder that it is given, and returns their names, in the order in which they get
        their places. Whatever it raises, nothing is left. A table may be a folder of files.
    sources
        Files that must not be replaced: the original table.
    """
    _protect_source(folder, sources)
    again = (folder / "manifest.json").exists()  # an earlier release may be replaced, a folder of somebody else not
    try:
        with _hidden(folder) as workshop:
            names = make(workshop)
            blocked = [
                name for name in names if (folder / name).is_dir() and not (again and (workshop / name).is_dir())
            ]
            if blocked:
                raise WriteError("is a folder", where=str(folder / blocked[0]), hint="choose another output folder")
            for name in names:  # the manifest last: it vouches for the others
                if (workshop / name).is_dir():
                    _remove(folder / name)
                (workshop / name).replace(folder / name)
    except OSError as error:
        if isinstance(error, WriteError):
            raise
        reason = error.strerror or str(error)
        raise WriteError("cannot write", where=str(folder), got=reason, hint=_hint(error)) from None
    _remove_stale(folder, names, folders=again)
    return {Path(name).stem: folder / name for name in names}


def write_sidecars(workshop: Path, checked: Audit, manifest: dict[str, Any]) -> list[str]:
    """Write what goes with a table that lies in a workshop: audit, report, and the manifest that vouches for all."""
    if manifest.get("policy_hash") != checked.policy.hash:
        raise AuditFailed("the manifest speaks of another policy", got=str(manifest.get("policy_hash")))
    write_bytes(workshop / "audit.json", checked.to_json().encode())
    write_bytes(workshop / "report.html", render(checked, manifest).encode())
    whole = {**manifest, "files": _hashes(workshop)}
    write_bytes(workshop / "manifest.json", (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode())
    return ["audit.json", "report.html", "manifest.json"]


def _protect_source(folder: Path, sources: Sequence[Path]) -> None:
    for source in sources:
        if source.resolve().parent == folder.resolve() and source.stem in _STEMS:
            raise WriteError(
                "the original table would be replaced by its release",
                where=str(folder / source.name),
                hint="write into another folder",
            )


@contextmanager
def _hidden(folder: Path) -> Iterator[Path]:
    """A hidden folder inside the result's, gone whatever happens; the result's too, if it is new and stays empty."""
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob(f"{_PREFIX}*"):  # of a run that was killed: nobody audited what is in it
        shutil.rmtree(stale, ignore_errors=True)
    path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if new and not any(folder.iterdir()):
            folder.rmdir()


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _hash(path) for path in files}


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove_stale(folder: Path, current: list[str], *, folders: bool) -> None:
    """Remove an earlier release of another format or form: the manifest no longer vouches for it."""
    for path in (folder / f"{stem}{ending}" for stem in _STEMS for ending in ENDINGS.values()):
        if path.name not in current and (folders or not path.is_dir()):
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _hint(error: OSError) -> str:
    # polars tells the number of a system's error in its text only
    is_full = error.errno == errno.ENOSPC or f"os error {errno.ENOSPC}" in str(error)
    return "the disk is full" if is_full else "choose a folder that you may write to"
