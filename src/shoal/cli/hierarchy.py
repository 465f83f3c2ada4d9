"""shoal hierarchy: build, draw and check the levels of a column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import show
from shoal.cli.options import Data, Json

app = typer.Typer(help="Build, draw and check hierarchies.", no_args_is_help=True)

Column = Annotated[str, typer.Option("--column", "-c", help="The column.", show_default=False)]
Method = Annotated[str, typer.Option("--method", "-m", help="How levels are built: see shoal list hierarchies.")]
_EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.command(context_settings=_EXTRA)
def build(
    context: typer.Context,
    data: Data,
    column: Column,
    method: Method,
    json: Json = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write one row per value, one column per level.")
    ] = None,
) -> None:
    """Build the levels of a column. A builder's parameters are options, for example --widths 5,10,20."""
    from shoal.exploring import hierarchy, write_hierarchy

    levels = hierarchy(data, column, {"hierarchy": method, **_parameters(context)})
    if out is not None:
        write_hierarchy(levels, out)
    if json:
        show.as_json({"levels": levels["levels"]})
    else:
        rows = [
            [level["level"], len(level["nodes"]), _labels(level["nodes"]), _mean(level["nodes"])]
            for level in levels["levels"]
        ]
        show.table(["level", "nodes", "labels", "distortion"], rows)


@app.command(context_settings=_EXTRA)
def draw(context: typer.Context, data: Data, column: Column, method: Method) -> None:
    """Draw the levels of a column as a tree, with the number of records under each label."""
    from rich.console import Console
    from rich.tree import Tree

    from shoal.exploring import hierarchy

    levels = hierarchy(data, column, {"hierarchy": method, **_parameters(context)})["levels"]

    def grow(branch: Tree, level: int, low: int, high: int) -> None:
        for node in levels[level]["nodes"] if level >= 0 else ():
            first, last = node["codes"]
            if low <= first and last <= high:
                grow(branch.add(_title(node)), level - 1, first, last)

    empty: dict[str, Any] = {"label": "*", "records": 0, "codes": (0, 0)}
    top = levels[-1]["nodes"][0] if levels[-1]["nodes"] else empty
    tree = Tree(_title(top))
    grow(tree, len(levels) - 2, *top["codes"])
    Console(highlight=False).print(tree)


@app.command(context_settings=_EXTRA)
def check(context: typer.Context, data: Data, column: Column, method: Method, json: Json = False) -> None:
    """Say what is wrong with a hierarchy for a column. Exit 0 or 1."""
    from shoal.exploring import hierarchy_faults

    faults = hierarchy_faults(data, column, {"hierarchy": method, **_parameters(context)})
    if json:
        show.as_json({"fits": not faults, "faults": [fault.to_dict() for fault in faults]})
    else:
        print("\n".join(str(fault) for fault in faults) or "The hierarchy fits the column.")
    raise typer.Exit(1 if faults else 0)


def _title(node: dict[str, Any]) -> str:
    label = "(missing)" if node["label"] is None else str(node["label"])
    return f"{label} ({node['records']:,})".replace("[", "\\[")


def _labels(nodes: list[dict[str, Any]]) -> str:
    names = ["(missing)" if node["label"] is None else str(node["label"]) for node in nodes]
    return "  ".join(names[:6]) + (f"  … {len(names) - 6} more" if len(names) > 6 else "")


def _mean(nodes: list[dict[str, Any]]) -> float:
    records = sum(node["records"] for node in nodes)
    return sum(node["distortion"] * node["records"] for node in nodes) / records if records else 0.0


def _parameters(context: typer.Context) -> dict[str, Any]:
    """Read the builder's parameters: --widths 5,10,20 or --widths "[5, 10]" or --file tree.csv."""
    from shoal import notation

    given = list(context.args)
    parameters: dict[str, Any] = {}
    while given:
        name = given.pop(0)
        name, same, value = name.partition("=")
        if not name.startswith("--") or (not same and not given):
            raise typer.BadParameter(f"expected --parameter VALUE; got {name!r}")
        text = value if same else given.pop(0)
        parameters[name[2:].replace("-", "_")] = notation.load(
            f"[{text}]" if "," in text and text[0] not in "[{" else text
        )
    return _as_lists(parameters)


def _as_lists(parameters: dict[str, Any]) -> dict[str, Any]:
    # one number where a list is wanted: --widths 5
    listed = ("widths", "keep", "levels", "breaks")
    return {
        key: [value] if key in listed and not isinstance(value, list) else value for key, value in parameters.items()
    }
