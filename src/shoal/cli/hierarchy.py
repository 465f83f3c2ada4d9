"""shoal hierarchy: build, draw, check and compare the levels of a column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import typer

from shoal.cli import show
from shoal.cli.options import Data, Json, Reading, reads_files
from shoal.cli.terminal import print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.engines.memory.source import MemoryTable
    from shoal.policy import Policy

app = typer.Typer(help="Build, draw, check and compare hierarchies.", no_args_is_help=True)

Column = Annotated[str, typer.Option("--column", "-c", help="The column.", show_default=False)]
Method = Annotated[
    str | None,
    typer.Option("--method", "-m", help="How levels are built: see shoal list hierarchies.", show_default=False),
]
FromPolicy = Annotated[
    Path | None,
    typer.Option("--policy", "-p", help="Instead of a method: the column's hierarchy in a policy.", show_default=False),
]
K = Annotated[int, typer.Option("--k", help="The k that hierarchies built from data are for.", min=2)]
_EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.command(context_settings=_EXTRA)
@reads_files
def build(
    context: typer.Context,
    reading: Reading,
    data: Data,
    column: Column,
    method: Method = None,
    policy: FromPolicy = None,
    k: K = 5,
    json: Json = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write one row per value (.csv), or a tree (.yaml, .xml).")
    ] = None,
) -> None:
    """Build the levels of a column. A builder's parameters are options, for example --widths 5,10,20."""
    from shoal.explore.hierarchy import inspect

    table, asked = _open(context, data, reading, column, method, policy, k)
    inspection = inspect(table, column, asked)
    if out is not None:
        inspection.write(out)
    if json:
        show.print_json(inspection.to_dict())
        return
    if inspection.compared:
        _print_candidates(inspection.compared)
        print_text()
    show.print_levels(inspection.rows)


@app.command(context_settings=_EXTRA)
@reads_files
def draw(
    context: typer.Context,
    reading: Reading,
    data: Data,
    column: Column,
    method: Method = None,
    policy: FromPolicy = None,
    k: K = 5,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a drawing: FILE.svg or FILE.html.")] = None,
    most: Annotated[int, typer.Option(help="How many labels to print under each.", min=1)] = 12,
) -> None:
    """Draw the levels of a column as a tree, with the number of records under each label.

    A builder's parameters are options, for example --widths 5,10,20.
    """
    from shoal.explore.hierarchy import inspect

    if out is not None and out.suffix.lower() not in (".svg", ".html", ".htm"):
        raise typer.BadParameter(f"must end with .svg or .html; got {out.name!r}", param_hint="--out")
    table, asked = _open(context, data, reading, column, method, policy, k)
    inspection = inspect(table, column, asked)
    if out is not None:
        inspection.draw(out)
    show.print_tree(inspection.rows, most)
    if out is not None:
        print_text(f"drawing: {out}")


@app.command("check", context_settings=_EXTRA)
@reads_files
def check_levels(
    context: typer.Context,
    reading: Reading,
    data: Data,
    column: Column,
    method: Method = None,
    policy: FromPolicy = None,
    k: K = 5,
    json: Json = False,
) -> None:
    """Say what is wrong with a hierarchy for a column. Exit 0 or 1.

    The hierarchy is a method with its parameters, a tree with --file, or the column's in a --policy.
    """
    from shoal.errors import HierarchyError
    from shoal.explore.hierarchy import hierarchy_faults

    try:
        table, asked = _open(context, data, reading, column, method, policy, k)
        every = hierarchy_faults(table, column, asked)
    except HierarchyError as error:  # a file that is no tree is what the command is asked to find
        every = list(error.faults)
    faults = [fault for fault in every if fault.kind != "note"]
    notes = [fault for fault in every if fault.kind == "note"]
    if json:
        kinds = {"faults": faults, "notes": notes}
        lists = {kind: [fault.to_dict() for fault in listed] for kind, listed in kinds.items()}
        show.print_json({"fits": not faults, **lists})
    else:
        print_text("\n".join(str(fault) for fault in faults) or "The hierarchy fits the column.")
        for note in notes:
            print_text(f"Note: {note}")
    raise typer.Exit(1 if faults else 0)


@app.command("compare")
@reads_files
def compare_levels(
    reading: Reading, data: Data, column: Column, k: K = 5, policy: FromPolicy = None, json: Json = False
) -> None:
    """Build every hierarchy that fits a column, and say what each costs at k. The best comes first."""
    from shoal.engines.memory.source import open_in_memory
    from shoal.explore.hierarchy import compare_candidates, draft_policy
    from shoal.policy import Policy

    asked = None if policy is None else Policy.read(policy)
    table = open_in_memory(data, None if asked is None else asked.reading, **reading)
    rows = compare_candidates(table, column, draft_policy(table, column, {}, k=k) if asked is None else asked)
    if json:
        show.print_json({"column": column, "compared": rows})
    else:
        _print_candidates(rows, with_distortion=True)


def _print_candidates(rows: Sequence[dict[str, Any]], *, with_distortion: bool = False) -> None:
    from shoal.reporting.hierarchy_page import format_node_counts, format_spread

    names = ["method", f"loss at k={rows[0]['k']}", "mean loss", "levels", "nodes per level"]
    cells = [
        [row["method"], row["loss_at_k"], row["loss"], row["levels"], format_node_counts(row["nodes"]), _verdict(row)]
        for row in rows
    ]
    if with_distortion:
        names.append("distortion per level")
        cells = [
            [*cell[:-1], " · ".join(map(format_spread, row["distortion"])), cell[-1]]
            for cell, row in zip(cells, rows, strict=True)
        ]
    show.print_table([*names, ""], cells)


def _verdict(row: dict[str, Any]) -> str:
    return "chosen" if row["chosen"] else "" if row["nested"] else "does not nest"


def _open(
    context: typer.Context,
    data: str,
    reading: Reading,
    column: str,
    method: str | None,
    policy: Path | None,
    k: int,
) -> tuple[MemoryTable, Policy]:
    """Return the table, and the policy that holds the hierarchy: a file, or one made of the method and its
    parameters."""
    from shoal.engines.memory.source import open_in_memory
    from shoal.explore.hierarchy import draft_policy
    from shoal.policy import Policy

    if policy is not None:
        if method is not None or context.args:
            raise typer.BadParameter("takes the place of --method and its parameters", param_hint="--policy")
        asked = Policy.read(policy)
        return open_in_memory(data, asked.reading, **reading), asked
    given = _pairs(context.args)
    if method is None and "file" in given:
        method = "tree"
    if method is None:
        raise typer.BadParameter("say --method, --policy, or --file for a tree", param_hint="--method")
    table = open_in_memory(data, **reading)
    return table, draft_policy(table, column, {"hierarchy": method, **_parameters(method, given)}, k=k)


def _pairs(arguments: Sequence[str]) -> dict[str, str]:
    """Return the options that are no options of the command: --widths 5,10,20 or --widths=5,10,20."""
    given, pairs = list(arguments), {}
    while given:
        name, same, value = given.pop(0).partition("=")
        if not name.startswith("--") or (not same and not given):
            raise typer.BadParameter(f"expected --parameter VALUE; got {name!r}")
        pairs[name[2:].replace("-", "_")] = value if same else given.pop(0)
    return pairs


def _parameters(method: str, given: dict[str, str]) -> dict[str, Any]:
    """Read each parameter as its type asks: a text as it is, a list also from 5,10,20 or from one number."""
    from shoal.encoding import yaml as notation
    from shoal.explore.hierarchy import parameter_kinds

    kinds = parameter_kinds(method)
    parameters: dict[str, Any] = {}
    for name, text in given.items():
        if name == "file" or kinds.get(name) is str:
            parameters[name] = text
            continue
        is_list = get_origin(kinds.get(name)) is tuple or name == "boundaries"
        bare = not text.startswith(("[", "{"))
        try:
            value = notation.parse(f"[{text}]" if bare and (is_list or "," in text) else text)
        except notation.Error:
            raise typer.BadParameter(f"cannot be read: {text!r}", param_hint=f"--{name}") from None
        parameters[name] = value
    return parameters
