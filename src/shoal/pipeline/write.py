"""write_release(): release, audit, report and manifest into a folder; all of them or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.auditing import Audit, Fidelity
from shoal.auditing.outputs import drop_added
from shoal.encoding.types import silent
from shoal.engines.locations import Location
from shoal.engines.memory.write import ENDINGS, to_bytes, write_bytes
from shoal.engines.series import STATE_NAME
from shoal.errors import WriteError
from shoal.pipeline.release_folder import fill_release_folder, write_sidecars
from shoal.pipeline.verify import WrittenFiles, verify_written

if TYPE_CHECKING:
    from shoal.pipeline.release import Release


def write_release(
    release: Release, out: str | Path, format: str | None, *, statistics: bool
) -> tuple[Audit, dict[str, Any]]:
    """Write a release; return its audit with what its files tell, and where they are."""
    held = release.published
    kind = format or held.default_format
    if kind not in ENDINGS or kind not in held.formats:
        what = "no such format" if kind not in ENDINGS else f"the {held.name} engine does not write it"
        raise WriteError(what, where="format", got=repr(kind), hint="one of: " + ", ".join(held.formats))
    sealed = None if release.series is None else release.series.seal(release.prepared.key)
    audits: list[Audit] = []

    def fill(folder: Location) -> list[str]:
        files = _write_tables(release, folder, kind)
        audit = verify_written(release.prepared, release.details, release.audit, held, files)
        audits.append(replace(audit, statistics=_compare(release)) if statistics else audit)
        names = [path.name for path in (files.release, *files.companions.values())]
        if sealed is not None:
            write_bytes(folder / STATE_NAME, sealed)
            names.append(STATE_NAME)
        return [*names, *write_sidecars(folder, audits[0], release.manifest)]

    with held.watch(silent):
        paths = fill_release_folder(held.locate(out), fill, release.prepared.engine.sources)
    return audits[0], paths


def _write_tables(release: Release, folder: Location, kind: str) -> WrittenFiles:
    path = folder / f"release{ENDINGS[kind]}"
    release.published.write(path, kind)
    companions = {name: folder / f"release-{name}{ENDINGS[kind]}" for name in release.details.companions}
    for name, where in companions.items():
        write_bytes(where, to_bytes(release.details.companions[name], kind, release.published.delimiter))
    return WrittenFiles(release=path, companions=companions, format=kind, delimiter=release.published.delimiter)


def _compare(release: Release) -> dict[str, Any] | None:
    """Return statistics of original against published, on as many records as the memory allows."""
    if not release.policy.output.generalizes or release.prepared.given.apart:
        return None
    table, asked = release.details.table, Fidelity()
    most = release.prepared.engine.sample_size(table.frame.width)
    asked = asked if most is None else asked.replace(sample=min(asked.sample, most))
    return asked.compare(drop_added(release.values, release.policy), release.prepared.original)
