"""Project: a folder with all that a studio knows, written whenever it changes; a crash or a reload loses nothing."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import Any

from shoal.errors import Fault, PolicyError, ShoalError, WriteError
from shoal.policy import Policy
from shoal.studio.drafts import read_draft, write_draft
from shoal.studio.history import PolicyHistory

Edit = Callable[[dict[str, Any]], dict[str, Any]]
"""Changes the plain data of a policy."""


@dataclass(frozen=True)
class TableSource:
    """A table: what it is called, and where it lies."""

    name: str
    """As the owner calls it; never used as a path."""
    path: str
    size: int = 0

    @classmethod
    def of(cls, path: Path) -> TableSource:
        """Return a table that lies on this machine already."""
        return cls(path.name, str(path.resolve()), path.stat().st_size if path.is_file() else 0)


@dataclass(frozen=True)
class ProjectState:
    """All that is not in files of its own."""

    history: PolicyHistory = field(default_factory=PolicyHistory)
    source: TableSource | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Column → why its role was proposed."""
    profile: Mapping[str, Any] = field(default_factory=dict)
    """What was counted of the table: no value of it."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Uploaded file that a policy may name → where it lies."""
    revision: int = 0
    """Grows with every change, so that another window knows."""

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> ProjectState:
        """Return a state from plain data."""
        history = PolicyHistory(tuple(data["history"]["texts"]), data["history"]["index"])
        source = None if data["source"] is None else TableSource(**data["source"])
        return cls(**{**data, "history": history, "source": source})


class Project:
    """A folder, and what is in it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     project = Project(Path(folder))
    ...     project.edit(lambda data: {**data, "seed": 7})
    ...     Project(Path(folder)).text
    'seed: 7\\n'
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._lock = folder, RLock()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise WriteError("cannot keep the project", where=str(folder), got=error.strerror or "") from None
        self.state = self._read()

    @property
    def text(self) -> str:
        """The policy as YAML."""
        return self.state.history.text

    @property
    def data(self) -> dict[str, Any]:
        """The policy as plain data."""
        return read_draft(self.text)

    @property
    def columns(self) -> list[str]:
        """The columns of the table, as far as it was looked at."""
        return [column["name"] for column in self.state.profile.get("columns", ())]

    def policy(self) -> Policy:
        """Return the policy; raise what is wrong with it."""
        return Policy.of(self.data)

    def faults(self) -> tuple[Fault, ...]:
        """Return why the policy is none yet."""
        try:
            self.policy()
        except ShoalError as error:
            return error.faults
        return ()

    def edit(self, change: Edit) -> None:
        """Change the policy."""
        with self._lock:
            self.set_text(write_draft(change(self.data)))

    def set_text(self, text: str, revision: int | None = None) -> None:
        """Take another text for the policy; refuse one that was written over an older one."""
        with self._lock:
            if revision not in (None, self.state.revision):
                hint = "look at it, then write yours again"
                raise PolicyError("the policy was changed in another window meanwhile", hint=hint)
            if text != self.text:
                self.save(history=self.state.history.change(text))

    def undo(self) -> None:
        """Go back to the text before."""
        self.save(history=self.state.history.undo())

    def redo(self) -> None:
        """Go on to the text that was undone."""
        self.save(history=self.state.history.redo())

    def save(self, **changes: Any) -> None:
        """Keep a change of the state."""
        with self._lock:
            self.state = replace(self.state, **changes, revision=self.state.revision + 1)
            write_private(self._path, json.dumps(self.state.to_dict(), ensure_ascii=False))

    def make_folder(self, name: str) -> Path:
        """Return a folder of this project."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    @property
    def _path(self) -> Path:
        return self.folder / "state.json"

    def _read(self) -> ProjectState:
        if not self._path.exists():
            return ProjectState()
        try:
            return ProjectState.of(json.loads(self._path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError, OSError):
            hint = "choose another folder with --project, or take this file away"
            raise WriteError("is no project of this studio", where=str(self._path), hint=hint) from None


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
