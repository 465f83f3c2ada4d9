"""write_imported(): a project of another tool, as a folder with a policy and what it names."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import WriteError
from shoal.importers import arx_policy, utd_policy
from shoal.importers.arx_project import copy_data, is_project, read_project
from shoal.importers.utd_config import read_config


def write_imported(source: Path, out: Path, *, with_data: bool = False) -> list[Path]:
    """Write the policy that a project stands for into a new folder; return the files.

    Raises
    ------
    PolicyError
        The project cannot be read, or is not understood.
    WriteError
        The folder holds a policy already; nothing is written then.
    """
    if (out / "policy.yaml").exists():
        raise WriteError("there is a policy already", where=str(out / "policy.yaml"), hint="name another folder")
    packed = is_project(source)
    if with_data and not (packed and read_project(source).has_data):
        raise WriteError("the project holds no table", where=str(source), hint="leave out --data")
    files = _arx_files(source) if packed else _utd_files(source)
    out.mkdir(parents=True, exist_ok=True)
    if with_data:  # first: it may turn out to be damaged
        copy_data(source, out / "data.csv")
    for name, content in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    written = [out / name for name in files]
    return [*written, out / "data.csv"] if with_data else written


def _arx_files(source: Path) -> dict[str, str]:
    imported = arx_policy.translate_project(read_project(source))
    return {"policy.yaml": imported.to_yaml(), **imported.hierarchies}


def _utd_files(source: Path) -> dict[str, str]:
    return {"policy.yaml": utd_policy.to_yaml(*utd_policy.to_policy(read_config(source)))}
