"""The commands, in the order of the work: suggest, check, anonymize, audit, compare, lattice, list, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import show
from shoal.cli.audit import audit
from shoal.cli.gateway import gateway, gateway_key, query
from shoal.cli.hierarchy import app as hierarchy_app
from shoal.cli.options import (
    Data,
    Delimiter,
    Encoding,
    Engine,
    Json,
    Master,
    Memory,
    Out,
    PolicyFile,
    Quiet,
    Quote,
    Sheet,
    on_spark,
    reading_options,
    refuse_with_memory,
)
from shoal.cli.policy import app as policy_app

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


def _version(asked: bool) -> None:
    if asked:
        from shoal import __version__

        print(f"shoal {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turn a table about people into a table that can be published: policy in, verified release out."""


@app.command()
def suggest(
    data: Data,
    k: Annotated[int, typer.Option(help="The k to draft for.", min=2)] = 5,
    preset: Annotated[
        str | None, typer.Option(help="A published rule to follow instead; shoal list presets shows them.")
    ] = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
) -> None:
    """Draft a policy from the data, with the reasons as comments.

    Read it, correct it, sign it: shoal suggest DATA > policy.yaml
    """
    from shoal.explore.suggest import suggest as draft

    print(draft(data, k=k, preset=preset, **reading_options(delimiter, quote, encoding, sheet)), end="")


@app.command()
def check(
    data: Data,
    policy: PolicyFile,
    json: Json = False,
    quiet: Quiet = False,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
) -> None:
    """Say whether a policy fits a table: every misfit at once. Exit 0 or 1."""
    from shoal.engines.memory.source import open_table
    from shoal.policy import Policy

    faults = Policy.read(policy).check(open_table(data, **reading_options(delimiter, quote, encoding, sheet)))
    if json:
        fits = all(fault.kind == "warning" for fault in faults)
        show.print_json({"fits": fits, "faults": [{**fault.to_dict(), "kind": fault.kind} for fault in faults]})
    elif not quiet:
        lines = [f"warning: {fault}" if fault.kind == "warning" else str(fault) for fault in faults]
        print("\n".join(lines) or "The policy fits the table.")
    raise typer.Exit(1 if any(fault.kind != "warning" for fault in faults) else 0)


@app.command()
def anonymize(
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
        typer.Option(help="The file of the key for pseudonyms; SHOAL_KEY in the environment by default."),
    ] = None,
    engine: Engine = "local",
    master: Master = None,
    memory: Memory = None,
    json: Json = False,
    quiet: Quiet = False,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
) -> None:
    """Make a release: the published table, its audit, a report and a manifest.

    The written file is read back and audited; if anything does not hold, nothing is left behind.

    With --memory the table may be larger than memory: Parquet or CSV, also a folder of files or a pattern.
    """
    from shoal.algorithms.bounds.lower_bound import LowerBound
    from shoal.engines.memory.write import ENDINGS
    from shoal.pipeline.anonymize import anonymize as release_of
    from shoal.pipeline.release import require_persons
    from shoal.policy import Policy

    if format is not None and format not in ENDINGS:
        raise typer.BadParameter(f"one of {', '.join(ENDINGS)}; got {format!r}", param_hint="--format")
    if on_spark(engine, master, subjects, bound, key, delimiter, quote, encoding, sheet, memory):
        show.release_with_spark(data, policy, out, format, master, statistics=statistics, as_json=json, quiet=quiet)
        return
    given, asked = reading_options(delimiter, quote, encoding, sheet), Policy.read(policy)
    effort = None if bound is None else LowerBound(effort=bound)
    if memory is not None:
        refuse_with_memory(sheet=sheet)
    if subjects is not None:
        require_persons(asked, subjects)
    with show.show_progress(quiet or json) as progress:
        release = release_of(data, asked, memory=memory, progress=progress, bound=effort, key=key, **given)
        files = release.write(out, format=format, statistics=statistics)
        if subjects is not None:
            release.write_subjects(subjects)
    if json:
        show.print_written_audit(files)
    elif not quiet:
        show.print_summary(release.audit, files, show.describe_search(release))


app.command()(audit)


@app.command()
def compare(
    data: Data,
    policy: PolicyFile,
    k: Annotated[str, typer.Option("--k", help="Values of k, for example 2,5,10.")] = "2,5,10",
    algorithms: Annotated[str, typer.Option(help="Algorithms, for example mondrian,exhaustive; all by default.")] = "",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write compare.html, .csv and .json there.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
) -> None:
    """Run several algorithms at several k and put what they lose side by side.

    With --out also draw loss against k, with what no local recoding can go below.
    """
    from shoal.engines.memory.source import open_table
    from shoal.explore.compare import compare as compare_all
    from shoal.explore.write import write_rows
    from shoal.policy import Policy
    from shoal.reporting.tradeoff_page import write_tradeoff_page as write_tradeoff

    values = _whole_numbers(k)
    chosen = [name.strip() for name in algorithms.split(",") if name.strip()]
    with show.show_progress(quiet or json) as progress:
        source = open_table(data, **reading_options(delimiter, quote, encoding, sheet))
        asked = Policy.read(policy)
        rows = compare_all(source, asked, values, chosen, progress=progress)
    if out is not None:
        write_rows(rows, out, "compare")
        write_tradeoff(rows, out / "compare.html")
    if json:
        show.print_json(rows)
    elif not quiet:
        show.print_comparison(rows, asked.loss.key())


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise typer.BadParameter(
            f"must be whole numbers with commas between them; got {text!r}", param_hint="--k"
        ) from None


@app.command()
def lattice(
    data: Data,
    policy: PolicyFile,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write lattice.html, .svg, .csv and .json there.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    most: Annotated[int, typer.Option(help="How many nodes to print, the least loss first.", min=1)] = 20,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
) -> None:
    """Show every full-domain recoding: attained k, suppressed records and losses.

    With --out also draw them: the lattice, k against loss, and the Pareto front of the two.
    """
    from shoal.engines.memory.source import open_table
    from shoal.explore.lattice import lattice as every_node
    from shoal.explore.write import write_rows
    from shoal.policy import Policy
    from shoal.reporting.lattice_page import write_lattice_page as write_drawings

    with show.show_progress(quiet or json) as progress:
        source = open_table(data, **reading_options(delimiter, quote, encoding, sheet))
        asked = Policy.read(policy)
        nodes = every_node(source, asked, progress=progress)
    k = asked.k if asked.k > 1 else None
    files: dict[str, Path] = {}
    if out is not None:
        write_rows([_flat(node) for node in nodes], out, "lattice")
        files = {**write_drawings(nodes, out, asked=k), "table": out / "lattice.csv", "json": out / "lattice.json"}
    if json:
        show.print_json({"nodes": nodes})
    elif not quiet and nodes:
        loss = next(iter(nodes[0]["losses"]))
        best = sorted(nodes, key=lambda node: (node["suppressed"] > node["allowed"], node["losses"][loss]))[:most]
        columns = [*nodes[0]["levels"], "k", "suppressed", *nodes[0]["losses"], "distortion"]
        rows = [[_flat(node)[name] for name in columns] for node in best]
        show.print_table(columns, rows, f"{len(nodes)} nodes; the {len(best)} with the least {loss}")
        show.print_front(nodes, k)
        for name, path in files.items():
            print(f"{name + ':':<10}{path}")


def _flat(node: dict[str, object]) -> dict[str, object]:
    levels, losses = node["levels"], node["losses"]
    assert isinstance(levels, dict)
    assert isinstance(losses, dict)
    return {**levels, "k": node["k"], "suppressed": node["suppressed"], **losses, "distortion": node["distortion"]}


@app.command(name="list")
def list_entries(
    family: Annotated[
        str, typer.Argument(help="algorithms, models, hierarchies, utility, risk or presets.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """List what is inside: name, what it does, its parameters."""
    from shoal.errors import nearest
    from shoal.registry import FAMILIES, describe

    if family == "presets":
        show.print_presets(as_json=json)
        return
    if family not in FAMILIES:
        known = [*FAMILIES, "presets"]
        raise typer.BadParameter(f"no such family: {family!r}; {nearest(family, known)}", param_hint="FAMILY")
    rows = describe(family)
    if json:
        show.print_json(rows)
    else:
        show.print_table(
            ["name", "what it does", "parameters"],
            [[r["name"], r["summary"], ", ".join(r["parameters"])] for r in rows],
        )


app.command()(gateway)
app.command(name="gateway-key")(gateway_key)
app.command()(query)


@app.command()
def demo(out: Out = Path("shoal-demo"), json: Json = False, quiet: Quiet = False) -> None:
    """Anonymize the embedded Adult table (48,842 people) and show what comes out."""
    from shoal import datasets
    from shoal.pipeline.anonymize import anonymize as release_of

    if not (quiet or json):
        print("Anonymizing UCI Adult with shoal's own policy (the first run compiles the search, a few seconds) …")
    table, policy = datasets.load("adult")
    with show.show_progress(quiet or json) as progress:
        release = release_of(table, policy, progress=progress)
        files = release.write(out)
        policy.write(out / "policy.yaml")
    files["policy"] = out / "policy.yaml"
    if json:
        show.print_written_audit(files)
    elif not quiet:
        show.print_summary(release.audit, files, show.describe_search(release))
