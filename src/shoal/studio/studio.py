"""Studio: the project, what child processes do for it, and who may ask; all that a page needs."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shoal.encoding import yaml as notation
from shoal.errors import PolicyError, TableError
from shoal.policy import Policy
from shoal.studio.children import Child
from shoal.studio.drafts import list_role, write_draft
from shoal.studio.jobs import Job, Jobs
from shoal.studio.project import Project, TableSource

LOG = logging.getLogger("shoal.studio")
"""Says what broke and where; never a value, a name of a column, or a token."""
LARGEST_UPLOAD = 4 * 10**9
"""Bytes of a table that is uploaded, at most."""
LARGEST_FORM = 10 * 10**6
"""Bytes of a form, a policy or a hierarchy, at most."""
ENDINGS = (".csv", ".tsv", ".txt", ".gz", ".zst", ".parquet", ".feather", ".arrow", ".xlsx", ".jsonl", ".ndjson")
"""Endings of the names of tables; a table is read as its ending says."""


class Studio:
    """What all pages share."""

    def __init__(
        self,
        folder: Path,
        *,
        largest_upload: int = LARGEST_UPLOAD,
        is_local: bool = True,
        make_child: Callable[[], Child] = Child,
    ) -> None:
        self.project = Project(folder)
        self.jobs = Jobs(self.project.make_folder("jobs"), make_child)
        self.largest_upload, self.is_local = largest_upload, is_local

    def open_data(self, source: TableSource) -> None:
        """Take another table; what is known of the old one is forgotten, and an upload that nobody needs deleted."""
        old = self.project.state.source
        self.jobs.forget()
        self.project.save(source=source, profile={}, reasons={})
        if old is not None and old.path != source.path and self._is_uploaded(old):
            Path(old.path).unlink(missing_ok=True)

    def _is_uploaded(self, source: TableSource) -> bool:
        return Path(source.path).parent == self.project.folder / "data"

    def require_source(self) -> TableSource:
        """Return the table, or raise that there is none yet."""
        source = self.project.state.source
        if source is None:
            raise TableError("there is no table yet", hint="choose one on the first page")
        return source

    @property
    def reading(self) -> dict[str, Any]:
        """How the policy says that the table's file is read."""
        return dict(self.project.data.get("read") or {})

    def look(self) -> Job | None:
        """Return the job that looks at the table; nothing where that is done, or there is none."""
        state = self.project.state
        if state.source is None or state.profile:
            return None
        columns = {name for role in ("identifiers", "quasi_identifiers", "sensitive") for name in self._named(role)}
        arguments = {"path": state.source.path, "reading": self.reading, "draft": not columns}
        return self.jobs.ask("look", arguments, self._take_profile)

    def _named(self, role: str) -> list[str]:
        return list(list_role(self.project.data, role))

    def _take_profile(self, job: Job, state: str) -> None:
        """Keep what was seen of a table; its draft becomes the policy where there is none."""
        if state != "done" or self.project.state.profile:
            return
        found = job.result
        history = self.project.state.history
        if found["draft"] is not None:
            history = history.change(write_draft(found["draft"]))
        profile = {"records": found["records"], "columns": found["columns"]}
        self.project.save(profile=profile, reasons=found["reasons"] or self.project.state.reasons, history=history)

    def draft(self, preset: str | None = None) -> Job:
        """Draft a policy from the table anew."""
        arguments = {"path": self.require_source().path, "reading": {}, "draft": True, "preset": preset}
        self.project.save(profile={})
        return self.jobs.ask("look", arguments, self._take_profile)

    def ask(self, task: str, **arguments: Any) -> Job:
        """Return a quick job about the table and the policy as they are."""
        return self.jobs.ask(task, {"path": self.require_source().path, "text": self.project.text, **arguments})

    def begin(self, task: str, title: str, told: dict[str, Any] | None = None, **arguments: Any) -> Job:
        """Begin a long job about the table and the policy as they are."""
        given = {"path": self.require_source().path, "text": self.project.text, **arguments}
        return self.jobs.begin(task, title, given, told)

    def take_text(self, text: str, revision: int | None = None) -> None:
        """Take a policy that somebody wrote; files that it names are those that were uploaded."""
        data = {str(key): value for key, value in notation.parse_mapping(text, "policy").items()}
        named = self._name_files(data)
        self.project.set_text(write_draft(named) if named else "", revision)

    def take_policy(self, path: Path) -> None:
        """Take the policy of a file on this machine, with the files that it names; one that was taken already, and
        perhaps changed since, is not taken again."""
        text = Policy.read(path).to_yaml()
        if text not in self.project.state.history.texts:
            self.project.set_text(text)

    def take_data(self, path: Path) -> None:
        """Take a table on this machine, unless it is the one that is open."""
        source = TableSource.of(path)
        if source != self.project.state.source:
            self.open_data(source)

    def _name_files(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return a policy whose files are uploaded ones; what else a policy names is never opened from a page."""
        if data.get("population") is not None:
            data = {**data, "population": self._find_file(str(data["population"]))}
        for role in ("quasi_identifiers", "sensitive"):
            columns = data.get(role)
            if isinstance(columns, dict):
                data = {**data, role: {name: self._name_file(spec) for name, spec in columns.items()}}
        return data

    def _name_file(self, spec: Any) -> Any:
        names_file = isinstance(spec, dict) and "file" in spec
        return {**spec, "file": self._find_file(str(spec["file"]))} if names_file else spec

    def _find_file(self, name: str) -> str:
        short = name.replace("\\", "/").rpartition("/")[2]
        known = self.project.state.files
        if name in known.values():
            return name
        if short not in known:
            hint = "upload it on the page of the columns first, with its name"
            raise PolicyError("the policy names a file that was not uploaded", got=repr(short), hint=hint)
        return known[short]

    def forget_release(self, job: Job) -> None:
        """Delete a release of the history, with its files."""
        if not job.is_open:
            self.jobs.kept.pop(job.id, None)
            (self.project.folder / "jobs" / f"job-{job.id}.json").unlink(missing_ok=True)
            shutil.rmtree(self.project.folder / "releases" / job.id, ignore_errors=True)

    def close(self) -> None:
        """End what runs."""
        self.jobs.close()
