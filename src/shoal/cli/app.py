"""The commands, in the order of the work: suggest, check, anonymize, audit, compare, lattice, list, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import show
from shoal.cli.audit import audit_release
from shoal.cli.compare import compare
from shoal.cli.gateway import gateway, gateway_key, query
from shoal.cli.gateway_ledger import app as gateway_ledger_app
from shoal.cli.hierarchy import app as hierarchy_app
from shoal.cli.importing import import_project
from shoal.cli.options import (
    Data,
    Engine,
    Json,
    Master,
    Memory,
    Out,
    PolicyFile,
    Quiet,
    Reading,
    is_for_spark,
    reads_files,
    refuse_with_memory,
)
from shoal.cli.policy import app as policy_app
from shoal.cli.studio import studio
from shoal.cli.terminal import print_text
from shoal.encoding.progress import watch_progress

app = typer.Typer(
    name="shoal",
    help="Turn a table about people into a table that can be published: policy in, verified release out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(hierarchy_app, name="hierarchy")
app.add_typer(policy_app, name="policy")
app.add_typer(gateway_ledger_app, name="gateway-ledger")


def _print_version(asked: bool) -> None:
    if asked:
        from shoal import __version__

        print_text(f"shoal {__version__}")
        raise typer.Exit


@app.callback()
def accept_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turn a table about people into a table that can be published: policy in, verified release out."""


@app.command("suggest")
@reads_files
def suggest_policy(
    reading: Reading,
    data: Data,
    k: Annotated[int, typer.Option(help="The k to draft for.", min=2)] = 5,
    preset: Annotated[
        str | None, typer.Option(help="A published rule to follow instead; shoal list presets shows them.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--for", help="The column that readers want to explain; quasi-identifiers weigh what they tell of it."
        ),
    ] = None,
    weigh: Annotated[
        str | None, typer.Option(help="identifying: weigh quasi-identifiers by how identifying they are.")
    ] = None,
) -> None:
    """Draft a policy from the data, with the reasons as comments.

    Read it, correct it, sign it: shoal suggest DATA > policy.yaml
    """
    from shoal.explore.suggest import suggest as draft

    print_text(str(draft(data, k=k, preset=preset, target=target, weigh=weigh, **reading)), end="")


@app.command("check")
@reads_files
def check_policy(
    reading: Reading,
    data: Data,
    policy: PolicyFile,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say whether a policy fits a table: every misfit at once. Exit 0 or 1."""
    from shoal.policy import Policy

    faults = Policy.read(policy).check(data, **reading)
    if json:
        fits = all(fault.kind == "warning" for fault in faults)
        show.print_json({"fits": fits, "faults": [{**fault.to_dict(), "kind": fault.kind} for fault in faults]})
    elif not quiet:
        lines = [f"warning: {fault}" if fault.kind == "warning" else str(fault) for fault in faults]
        print_text("\n".join(lines) or "The policy fits the table.")
    raise typer.Exit(1 if any(fault.kind != "warning" for fault in faults) else 0)


@app.command("anonymize")
@reads_files
def make_release(
    reading: Reading,
    data: Data,
    policy: PolicyFile,
    out: Out,
    format: Annotated[
        str | None, typer.Option(help="csv, parquet, feather, excel or jsonl; the input's by default.")
    ] = None,
    subjects: Annotated[
        Path | None,
        typer.Option(help="Write who each published record is about and what they ask for, for your own audits."),
    ] = None,
    bound: Annotated[
        float | None,
        typer.Option(
            help="About how many seconds to spend on what no local recoding can go below; a tenth of the search's time "
            "by default.",
            min=0,
            show_default=False,
        ),
    ] = None,
    statistics: Annotated[
        bool, typer.Option(help="Compare the distributions of original and published columns in the report.")
    ] = True,
    key: Annotated[
        Path | None,
        typer.Option(
            help="The file of the key for pseudonyms, shifted dates and the state of a series; SHOAL_KEY in the "
            "environment by default."
        ),
    ] = None,
    after: Annotated[
        Path | None,
        typer.Option(help="The folder of the release before, where the policy has a series; --key opens its state."),
    ] = None,
    engine: Engine = "local",
    master: Master = None,
    memory: Memory = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a release: the published table, its audit, a report and a manifest.

    The written file is read back and audited; if anything does not hold, nothing is left behind.

    With --memory the table may be larger than memory: Parquet or CSV, also a folder of files or a pattern.
    """
    from shoal.algorithms.bounds.lower_bound import LowerBound
    from shoal.engines.memory.write import ENDINGS
    from shoal.engines.series import read_series_key
    from shoal.pipeline.anonymize import anonymize as release_of
    from shoal.pipeline.release import require_persons
    from shoal.policy import Policy

    if format is not None and format not in ENDINGS:
        raise typer.BadParameter(f"one of {', '.join(ENDINGS)}; got {format!r}", param_hint="--format")
    if is_for_spark(engine, master, subjects, bound, key, after, reading, memory):
        from shoal.spark.job import release_of as release_with_spark

        with watch_progress(quiet or json) as progress:
            release, files = release_with_spark(
                data, policy, out, format=format, master=master, statistics=statistics, progress=progress
            )
        show.print_release(release, files, as_json=json, quiet=quiet)
        return
    asked = Policy.read(policy)
    effort = None if bound is None else LowerBound(effort=bound)
    if memory is not None:
        refuse_with_memory(sheet=reading.get("sheet"))
    if subjects is not None:
        require_persons(asked, subjects)
    if asked.series is not None:
        read_series_key(key)
    with watch_progress(quiet or json) as progress:
        release = release_of(
            data, asked, memory=memory, progress=progress, bound=effort, key=key, after=after, **reading
        )
        files = release.write(out, format=format, statistics=statistics)
        if subjects is not None:
            release.write_subjects(subjects)
    show.print_release(release, files, as_json=json, quiet=quiet)


app.command("audit")(audit_release)


app.command("compare")(compare)


@app.command("lattice")
@reads_files
def show_lattice(
    reading: Reading,
    data: Data,
    policy: PolicyFile,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write lattice.html, .svg, .csv and .json there.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    most: Annotated[int, typer.Option(help="How many nodes to print, the least loss first.", min=1)] = 20,
) -> None:
    """Show every full-domain recoding: attained k, suppressed records and losses.

    With --out also draw them: the lattice, k against loss, and the Pareto front of the two.
    """
    from shoal.engines.memory.source import open_in_memory
    from shoal.explore.lattice import lattice as every_node
    from shoal.explore.write import write_rows
    from shoal.policy import Policy
    from shoal.reporting.lattice_page import write_lattice_page

    with watch_progress(quiet or json) as progress:
        asked = Policy.read(policy)
        source = open_in_memory(data, asked.reading, **reading)
        nodes = every_node(source, asked, progress=progress)
    k = asked.k if asked.k > 1 else None
    files: dict[str, Path] = {}
    if out is not None:
        write_rows([_flatten_node(node) for node in nodes], out, "lattice")
        files = {**write_lattice_page(nodes, out, asked=k), "table": out / "lattice.csv", "json": out / "lattice.json"}
    if json:
        show.print_json({"nodes": nodes})
    elif not quiet and nodes:
        loss = next(iter(nodes[0]["losses"]))
        best = sorted(nodes, key=lambda node: (node["suppressed"] > node["allowed"], node["losses"][loss]))[:most]
        columns = [*nodes[0]["levels"], "k", "suppressed", *nodes[0]["losses"], "distortion"]
        rows = [[_flatten_node(node)[name] for name in columns] for node in best]
        show.print_table(columns, rows, f"{len(nodes)} nodes; the {len(best)} with the least {loss}")
        show.print_front(nodes, k)
        for name, path in files.items():
            print_text(f"{name + ':':<10}{path}")


def _flatten_node(node: dict[str, Any]) -> dict[str, Any]:
    figures = {name: node[name] for name in ("k", "suppressed")}
    return {**node["levels"], **figures, **node["losses"], "distortion": node["distortion"]}


@app.command(name="list")
def list_entries(
    family: Annotated[
        str,
        typer.Argument(
            help="algorithms, models, hierarchies, utility, risk, perturbations or presets.", show_default=False
        ),
    ],
    json: Json = False,
) -> None:
    """List what is inside: name, what it does, its parameters."""
    from shoal.errors import nearest
    from shoal.registry import FAMILIES, describe_family

    if family == "presets":
        show.print_presets(as_json=json)
        return
    if family not in FAMILIES:
        known = [*FAMILIES, "presets"]
        raise typer.BadParameter(f"no such family: {family!r}; {nearest(family, known)}", param_hint="FAMILY")
    rows = describe_family(family)
    if json:
        show.print_json(rows)
    else:
        show.print_table(
            ["name", "what it does", "parameters"],
            [[r["name"], r["summary"], ", ".join(r["parameters"])] for r in rows],
        )


app.command("import")(import_project)
app.command()(gateway)
app.command(name="gateway-key")(gateway_key)
app.command()(query)
app.command()(studio)


@app.command()
def demo(out: Out = Path("shoal-demo"), json: Json = False, quiet: Quiet = False) -> None:
    """Anonymize the embedded Adult table (48,842 people) and show what comes out."""
    from shoal import datasets
    from shoal.pipeline.anonymize import anonymize as release_of

    if not (quiet or json):
        print_text("Anonymizing UCI Adult with shoal's own policy (the first run compiles the search, a few seconds) …")
    table, policy = datasets.load("adult")
    with watch_progress(quiet or json) as progress:
        release = release_of(table, policy, progress=progress)
        files = release.write(out)
        policy.write(out / "policy.yaml")
    files["policy"] = out / "policy.yaml"
    show.print_release(release, files, as_json=json, quiet=quiet)
