"""shoal compare: policies side by side, or algorithms at several k."""

from __future__ import annotations

import json as notation
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import show
from shoal.cli.options import Json, Quiet, Reading, reads_files, split_names
from shoal.cli.terminal import print_text
from shoal.encoding.progress import watch_progress


@reads_files
def compare(
    reading: Reading,
    paths: Annotated[
        list[str], typer.Argument(help="Two or more policies, then the table; with --policy the table alone.")
    ],
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "-p", help="One policy, for several algorithms and k.", show_default=False),
    ] = None,
    k: Annotated[str, typer.Option("--k", help="Values of k, for example 2,5,10; with --policy.")] = "2,5,10",
    algorithms: Annotated[
        str, typer.Option(help="Algorithms, for example mondrian,exhaustive; all by default; with --policy.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write compare.html and .json there, of algorithms also .csv.")
    ] = None,
    map_: Annotated[
        bool,
        typer.Option("--map", help="Also write map.html and .json: risk against loss; with --policy and --out."),
    ] = False,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="With --map: a parameter of a perturbation and its values, for example rank-swapping.window=0.02,0.1; "
            "may be repeated.",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put policies side by side, what each promises, loses and risks: shoal compare A.yaml B.yaml DATA.

    With --policy run several algorithms at several k of one policy instead: shoal compare DATA --policy P --k 2,5.
    With --out also write the page. Seconds are without those of compiling. Nothing is released.
    """
    *files, data = paths
    if map_ and (policy is None or out is None):
        raise typer.BadParameter(
            "the map is of algorithms and k, or of perturbations: give --policy, and --out to write it",
            param_hint="--map",
        )
    if vary and not map_:
        raise typer.BadParameter("says what a map shows: give --map", param_hint="--vary")
    if policy is None:
        if len(files) < 2:
            what = "give two or more policies and then the table, or one table with --policy"
            raise typer.BadParameter(what, param_hint="PATHS")
        _compare_policies([Path(file) for file in files], data, reading, out, json=json, quiet=quiet)
        return
    if files:
        what = "with --policy just the table is given; policies side by side are given before it, without --policy"
        raise typer.BadParameter(what, param_hint="PATHS")
    if vary and out is not None:
        _map_perturbations(data, policy, vary, reading, out, json=json, quiet=quiet)
        return
    values, names = _read_whole_numbers(k), split_names(algorithms)
    _compare_algorithms(data, policy, values, names, reading, out, map_=map_, json=json, quiet=quiet)


def _compare_policies(
    files: list[Path], data: str, reading: Reading, out: Path | None, *, json: bool, quiet: bool
) -> None:
    from shoal.engines.memory.source import open_in_memory
    from shoal.explore.policies import compare_policies
    from shoal.explore.write import make_folder
    from shoal.policy import Policy
    from shoal.reporting.html import write_page
    from shoal.reporting.policies_page import write_policies_page

    short = len({path.stem for path in files}) == len(files)
    named = {path.stem if short else str(path): Policy.read(path) for path in files}
    if len(named) < len(files):
        raise typer.BadParameter("a policy is named twice", param_hint="PATHS")
    first, *others = (policy.reading for policy in named.values())
    if any(other != first for other in others):
        raise typer.BadParameter("the policies read the table in different ways (read:)", param_hint="PATHS")
    with watch_progress(quiet or json) as progress:
        found = compare_policies(open_in_memory(data, first, **reading), named, progress=progress)
    if out is not None:
        make_folder(out)
        write_page(out / "compare.json", notation.dumps(found, indent=2, ensure_ascii=False) + "\n", "comparison")
        write_policies_page(found, out / "compare.html")
    if json:
        show.print_json(found)
    elif not quiet:
        _print_policies(found)


def _print_policies(found: dict[str, Any]) -> None:
    released = [one for one in found["policies"] if one["released"]]
    names = [one["name"] for one in released]
    for one in found["policies"]:
        asked = [f"{model['name']} {model['asked']}, attained {model.get('attained')}" for model in one["models"]]
        asked += [f"perturbs: {title}" for title in one["perturbed"]]
        print_text(f"{one['name']}: {'; '.join(asked) if one['released'] else 'no release: ' + one['why']}")
    if not released:
        return
    rows = [[measure, *(one["measures"][measure] for one in released)] for measure in found["measures"]]
    rows = [[*row, ", ".join(found["best"].get(row[0], [])) if len(names) > 1 else ""] for row in rows]
    rows.append(["seconds", *(one["seconds"] for one in released), ""])
    show.print_table(["measure, the less the better", *names, "best"], rows)
    columns = [[name, *(one["columns"][name] for one in released)] for name in released[0]["columns"]]
    show.print_table(["loss of the column", *names], columns)


def _compare_algorithms(
    data: str, policy: Path, values: list[int], names: list[str], reading: Reading, out: Path | None, **shown: bool
) -> None:
    from shoal.engines.memory.source import open_in_memory
    from shoal.explore.compare import compare as compare_all
    from shoal.explore.write import make_folder, write_rows
    from shoal.policy import Policy
    from shoal.reporting.html import write_page
    from shoal.reporting.risk_utility_page import map_risk_and_loss, write_risk_utility_page
    from shoal.reporting.tradeoff_page import write_tradeoff_page

    with watch_progress(shown["quiet"] or shown["json"]) as progress:
        asked = Policy.read(policy)
        source = open_in_memory(data, asked.reading, **reading)
        rows = compare_all(source, asked, values, names, with_risk=shown["map_"], progress=progress)
    found = map_risk_and_loss(rows) if shown["map_"] else None
    rows = [{name: value for name, value in row.items() if name != "risk"} for row in rows]
    if out is not None and found is not None:
        make_folder(out)
        write_page(out / "map.json", notation.dumps(found, indent=2, ensure_ascii=False) + "\n", "map")
        write_risk_utility_page(found, out / "map.html")
    if out is not None:
        write_rows(rows, out, "compare")
        write_tradeoff_page(rows, out / "compare.html")
    if shown["json"]:
        show.print_json(rows)
    elif not shown["quiet"]:
        show.print_comparison(rows, asked.loss.key())


def _map_perturbations(
    data: str, policy: Path, vary: list[str], reading: Reading, out: Path, *, json: bool, quiet: bool
) -> None:
    from shoal.engines.memory.source import open_in_memory
    from shoal.explore.perturbation_grid import compare_perturbations, parse_grid
    from shoal.explore.write import make_folder
    from shoal.policy import Policy
    from shoal.reporting.html import write_page
    from shoal.reporting.risk_utility_page import OF_PERTURBATIONS, map_risk_and_loss, write_risk_utility_page

    asked, grid = Policy.read(policy), parse_grid(vary)
    with watch_progress(quiet or json) as progress:
        rows = compare_perturbations(open_in_memory(data, asked.reading, **reading), asked, grid, progress=progress)
    found = map_risk_and_loss(rows, OF_PERTURBATIONS)
    make_folder(out)
    write_page(out / "map.json", notation.dumps(found, indent=2, ensure_ascii=False) + "\n", "map")
    write_risk_utility_page(found, out / "map.html", OF_PERTURBATIONS)
    if json:
        show.print_json(rows)
    elif not quiet:
        header = ["method", "setting", *OF_PERTURBATIONS.risks.values(), OF_PERTURBATIONS.loss]
        released = [row for row in rows if row["attained"] is not None]
        show.print_table(
            header,
            [[row["method"], row["setting"], *row["risk"].values(), row[OF_PERTURBATIONS.loss]] for row in released],
        )
        for row in rows:
            if row["attained"] is None:
                print_text(f"{row['method']}, {row['setting']}: no release: {row['why']}")


def _read_whole_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        what = f"must be whole numbers with commas between them; got {text!r}"
        raise typer.BadParameter(what, param_hint="--k") from None
