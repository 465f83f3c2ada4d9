"""The folder of a release: its files are made out of sight, and get their names all together or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Any

from shoal.auditing import Audit
from shoal.engines.locations import Location, hide, move, read_blocks, remove, walk
from shoal.engines.memory.write import ENDINGS, write_bytes
from shoal.errors import AuditFailed, WriteError
from shoal.reporting import render

_PREFIX = ".shoal-"
_STEMS = ("release", "release-statistics", "release-sensitive")


def fill_release_folder(
    folder: Location, fill: Callable[[Location], list[str]], sources: Sequence[Location] = ()
) -> dict[str, Any]:
    """Let the files of a release be made in a hidden folder, and move them to their places; all of them or nothing.

    Parameters
    ----------
    folder
        Where the files belong.
    fill
        Writes the files into the folder that it is given, and returns their names, in the order in which they get
        their places. Whatever it raises, nothing is left. A table may be a folder of files.
    sources
        Files that must not be replaced: the original table.
    """
    _protect_source(folder, sources)
    again = (folder / "manifest.json").exists()  # an earlier release may be replaced, a folder of somebody else not
    try:
        with hide(folder, _PREFIX) as hidden:
            names = fill(hidden)
            blocked = [name for name in names if (folder / name).is_dir() and not (again and (hidden / name).is_dir())]
            if blocked:
                raise WriteError("is a folder", where=str(folder / blocked[0]), hint="choose another output folder")
            for name in names:  # the manifest last: it vouches for the others
                move(hidden / name, folder / name)
    except OSError as error:
        if isinstance(error, WriteError):
            raise
        reason = error.strerror or str(error)
        raise WriteError("cannot write", where=str(folder), got=reason, hint=_hint(error)) from None
    _remove_stale(folder, names, folders=again)
    return {PurePosixPath(name).stem: folder / name for name in names}


def write_sidecars(hidden: Location, checked: Audit, manifest: dict[str, Any]) -> list[str]:
    """Write what goes with a table that lies in a hidden: audit, report, and the manifest that vouches for all."""
    if manifest.get("policy_hash") != checked.policy.hash:
        raise AuditFailed("the manifest speaks of another policy", got=str(manifest.get("policy_hash")))
    write_bytes(hidden / "audit.json", checked.to_json().encode())
    write_bytes(hidden / "report.html", render(checked, manifest).encode())
    whole = {**manifest, "files": _hashes(hidden)}
    write_bytes(hidden / "manifest.json", (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode())
    return ["audit.json", "report.html", "manifest.json"]


def _protect_source(folder: Location, sources: Sequence[Location]) -> None:
    for source in sources:
        for path in (source.resolve(), *source.resolve().parents):  # a table may be a folder of files
            if path.parent == folder.resolve() and path.stem in _STEMS:
                raise WriteError(
                    "the original table would be replaced by its release",
                    where=str(folder / path.name),
                    hint="write into another folder",
                )


def _hashes(folder: Location) -> dict[str, str]:
    return {name: _hash(path) for name, path in walk(folder)}


def _hash(path: Location) -> str:
    digest = hashlib.sha256()
    for block in read_blocks(path):
        digest.update(block)
    return digest.hexdigest()


def _remove_stale(folder: Location, current: list[str], *, folders: bool) -> None:
    """Remove an earlier release of another format or form: the manifest no longer vouches for it."""
    for path in (folder / f"{stem}{ending}" for stem in _STEMS for ending in ENDINGS.values()):
        if path.name not in current and (folders or not path.is_dir()):
            remove(path)


def _hint(error: OSError) -> str:
    # polars tells the number of a system's error in its text only; not even that where the end of a Parquet file fails
    marks = (f"os error {errno.ENOSPC}", "transport error")
    is_full = error.errno == errno.ENOSPC or any(mark in str(error) for mark in marks)
    return "the disk is full" if is_full else "choose a folder that you may write to"
