"""The hierarchy of a column: drawn, built by any builder with a preview, uploaded, edited by hand."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.datastructures import UploadFile

from shoal.encoding import yaml as notation
from shoal.errors import HierarchyError, ShoalError
from shoal.explore.edit_tree import merge_labels, move_label, rename_label
from shoal.hierarchies.tree import Tree
from shoal.profiling.profile import split_words
from shoal.registry import describe_family, find
from shoal.studio.drafts import find_role, list_role, set_hierarchy, set_spec
from shoal.studio.faults import spell_fault
from shoal.studio.forms import entry_fields, read_values
from shoal.studio.pages import FormOf, StudioOf, fill_fragment, fill_page, go_to, take_field, take_fields
from shoal.studio.studio import Studio

routes = APIRouter()
_LARGEST = 5 * 10**6
"""Bytes of a hierarchy's file, at most."""
_TREES = (".csv", ".yaml", ".yml", ".xml")


@routes.get("/columns/hierarchy")
def show_hierarchy(studio: StudioOf, column: str, method: str = "") -> Response:
    """Show the hierarchy of a column, and the ways to another one."""
    spec = list_role(studio.project.data, find_role(studio.project.data, column)).get(column, {})
    chosen = method or str(spec.get("hierarchy") or "auto")
    said = {key: value for key, value in spec.items() if spec.get("hierarchy") == chosen}
    return fill_page(
        studio,
        "columns",
        column=column,
        spec=spec,
        method=chosen,
        builders=describe_family("hierarchies"),
        fields=entry_fields("hierarchies", chosen, said),
        summary=find("hierarchies", chosen).summary(),
        hierarchy=True,
    )


@routes.get("/columns/hierarchy/drawing")
def draw_column(studio: StudioOf, column: str) -> Response:
    """Draw the hierarchy that the column has."""
    return _draw(studio, column, None)


@routes.post("/columns/hierarchy/try")
def try_hierarchy(studio: StudioOf, form: FormOf) -> Response:
    """Draw a hierarchy as it would be; nothing is changed."""
    column, method = take_field(form, "column"), take_field(form, "method")
    return _draw(studio, column, {"hierarchy": method, **_read_parameters(method, take_fields(form))})


def _read_parameters(method: str, typed: Mapping[str, str]) -> dict[str, Any]:
    own = {name.removeprefix("of-"): text for name, text in typed.items() if name.startswith("of-")}
    return read_values(entry_fields("hierarchies", method, {}), own)


def _draw(studio: Studio, column: str, spec: dict[str, Any] | None) -> Response:
    own = list_role(studio.project.data, find_role(studio.project.data, column)).get(column, {})
    if spec is None and not own.get("hierarchy"):
        return fill_fragment("drawing", job=None, faults=[], column=column, tried=False, labels=[], again="")
    if spec is None and (studio.project.faults() or find_role(studio.project.data, column) != "quasi_identifiers"):
        spec = {key: value for key, value in own.items() if key in ("hierarchy", *_parameters_of(own))}
    job = studio.ask("hierarchy", column=column, spec=spec)
    found = job.result or {"faults": () if job.problem is None else job.problem.faults, "nodes": None}
    labels = sorted(_list_labels(found["nodes"])) if found["nodes"] else []
    faults = [spell_fault(fault) for fault in found["faults"]]
    return fill_fragment(
        "drawing", job=job, faults=faults, column=column, tried=spec is not None, labels=labels, again=""
    )


def _parameters_of(spec: Mapping[str, Any]) -> list[str]:
    return list(find("hierarchies", str(spec["hierarchy"])).model_fields)


def _list_labels(nodes: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    for label, under in nodes.items():
        found |= {label} | (_list_labels(under) if isinstance(under, Mapping) else set())
    return found


@routes.get("/columns/hierarchy/fit")
def compare_hierarchies(studio: StudioOf, column: str) -> Response:
    """Show every hierarchy that fits the column, the best first."""
    return fill_fragment("builders", job=studio.ask("fit", column=column), column=column)


@routes.post("/columns/hierarchy")
def change_hierarchy(studio: StudioOf, form: FormOf) -> Response:
    """Take the hierarchy that was built."""
    column, method = take_field(form, "column"), take_field(form, "method")
    parameters = _read_parameters(method, take_fields(form)) if method else {}
    if method:
        find("hierarchies", method)(**parameters)
    studio.project.edit(lambda data: set_hierarchy(data, column, method or None, parameters))
    return go_to("columns/hierarchy", column=column)


@routes.post("/columns/hierarchy/edit")
def edit_hierarchy(studio: StudioOf, form: FormOf) -> Response:
    """Rename, merge or move labels of the column's tree."""
    column, way = take_field(form, "column"), take_field(form, "way")
    nodes = _find_nodes(studio, column)
    names = [name for name in form.getlist("label") if isinstance(name, str)]
    if way == "rename":
        nodes = rename_label(nodes, take_field(form, "one"), take_field(form, "name").strip())
    elif way == "merge":
        nodes = merge_labels(nodes, names, take_field(form, "name").strip())
    else:
        nodes = move_label(nodes, take_field(form, "moved").strip(), take_field(form, "under"))
    studio.project.edit(lambda data: set_hierarchy(data, column, "tree", Tree(nodes=nodes).parameters()))
    return go_to("columns/hierarchy", column=column)


def _find_nodes(studio: Studio, column: str) -> dict[str, Any]:
    """Return the tree of a column: its own, or that which its levels make."""
    spec = list_role(studio.project.data, find_role(studio.project.data, column)).get(column, {})
    if spec.get("hierarchy") == "tree":
        return dict(Tree(nodes=spec["nodes"]).nodes)
    job = studio.ask("hierarchy", column=column, spec=None)
    if not job.result or not job.result["nodes"]:
        raise HierarchyError("has no tree to edit", where=column, hint="look at its drawing first")
    return dict(job.result["nodes"])


@routes.post("/columns/boundaries")
def change_boundaries(studio: StudioOf, form: FormOf) -> Response:
    """Say which labels a column is never generalized above."""
    column = take_field(form, "column")
    labels = [name for name in form.getlist("label") if isinstance(name, str)]
    studio.project.edit(lambda data: set_spec(data, column, boundaries=labels or None))
    return go_to("columns/hierarchy", column=column)


@routes.post("/columns/upload")
async def upload_hierarchies(studio: StudioOf, form: FormOf) -> Response:
    """Keep files of hierarchies and show what they would be for; they count when somebody says so."""
    files = [file for file in form.getlist("files") if isinstance(file, UploadFile) and file.size]
    kept = {}
    for file in files:
        if (file.size or 0) > _LARGEST:
            raise HierarchyError("is too large", hint=f"up to {_LARGEST:,} bytes")
        name = _short_name(file.filename or "")
        ending = Path(name).suffix.lower()
        if ending not in _TREES:
            raise HierarchyError("is no hierarchy's file", got=repr(name[-40:]), hint=f"one of: {', '.join(_TREES)}")
        path = studio.project.make_folder("files") / f"{secrets.token_hex(8)}{ending}"
        path.write_bytes(await file.read())
        kept[name] = str(path)
    if not kept:
        raise HierarchyError("choose files first")
    studio.project.save(files={**studio.project.state.files, **kept})
    return go_to("columns/files")


def _short_name(name: str) -> str:
    return "".join(sign for sign in name.replace("\\", "/").rpartition("/")[2] if sign.isprintable())[:200]


@routes.get("/columns/files")
def review_files(studio: StudioOf) -> Response:
    """Show each uploaded hierarchy with the column that it is probably for."""
    columns = [name for name in studio.project.columns if find_role(studio.project.data, name) != "identifiers"]
    found = [_tell_file(name, Path(path), columns) for name, path in studio.project.state.files.items()]
    return fill_page(studio, "columns", files=found, choices=columns)


def _tell_file(name: str, path: Path, columns: list[str]) -> dict[str, Any]:
    """Return what a file holds, and the column whose name its own is nearest to."""
    words = {"".join(split_words(Path(name).stem))} | {*split_words(Path(name).stem)}
    column = next((one for one in columns if "".join(split_words(one)) in words), "")
    try:
        tree = Tree.read(path)
    except ShoalError as error:
        fault = {**spell_fault(error.faults[0]), "where": name}
        return {"name": name, "column": "", "values": 0, "fault": fault, "shown": ""}
    shown = notation.dump(dict(tree.nodes))
    lines = shown.splitlines()
    return {
        "name": name,
        "column": column,
        "values": len(tree.leaves()),
        "fault": None,
        "shown": "\n".join(lines[:12]) + ("\n…" if len(lines) > 12 else ""),
    }


@routes.post("/columns/files")
def take_files(studio: StudioOf, form: FormOf) -> Response:
    """Use reviewed files for the columns that were chosen; the others are kept aside."""
    chosen = {
        name.removeprefix("for-"): column for name, column in take_fields(form).items() if name.startswith("for-")
    }
    trees = {
        c: Tree.read(studio.project.state.files[f]) for f, c in chosen.items() if c and f in studio.project.state.files
    }

    def change(data: dict[str, Any]) -> dict[str, Any]:
        for column, tree in trees.items():
            data = set_hierarchy(data, column, "tree", tree.parameters())
        return data

    studio.project.edit(change)
    return go_to("columns")
