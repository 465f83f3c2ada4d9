"""What commands print: tables and summaries for people, JSON for scripts, progress on the side."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.errors import Infeasible, ShoalError

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.auditing import Audit
    from shoal.auditing.attacks import Attacks
    from shoal.encoding.types import Progress
    from shoal.hierarchies._nodes import Node, Row
    from shoal.pipeline.release import Release


def print_json(data: Any) -> None:
    """Print plain data as JSON."""
    print(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def print_written_audit(files: dict[str, Path]) -> None:
    """Print the audit of a release as it was written, and where its files are."""
    audit = json.loads(files["audit"].read_text(encoding="utf-8"))
    print_json({**audit, "files": {name: str(path) for name, path in files.items()}})


def release_with_spark(
    data: Path,
    policy: Path,
    out: Path,
    format: str | None,
    master: str | None,
    *,
    statistics: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make a release with Spark, and print what a person or a script wants to know of it."""
    from shoal.spark.job import release_of

    with show_progress(quiet or as_json) as report_progress:
        release, files = release_of(
            data, policy, out, format=format, master=master, statistics=statistics, progress=report_progress
        )
    if as_json:
        print_written_audit(files)
    elif not quiet:
        print_summary(release.audit, files, describe_search(release))


def print_error(error: ShoalError, *, as_json: bool) -> None:
    """Print an error: to people on stderr, to scripts as JSON on stdout."""
    if as_json:
        data: dict[str, Any] = {"error": type(error).__name__, "faults": [f.to_dict() for f in error.faults]}
        if isinstance(error, Infeasible):
            data |= {
                "blocking": list(error.blocking),
                "boundaries": error.boundaries,
                "attainable": error.attainable,
                "relaxations": [{"change": r.text, "loss": r.loss} for r in error.relaxations],
            }
        print(json.dumps(data, indent=2, ensure_ascii=False, default=str))
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[bold red]{error.title}[/]")
    console.print(error.render(), markup=False)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "", *, right: Sequence[str] = ()
) -> None:
    """Print a table for people; numbers, and the columns that are named, on the right."""
    from rich.console import Console
    from rich.table import Table

    shown = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        numeric = name in right or all(isinstance(row[index], (int, float)) or row[index] is None for row in rows)
        shown.add_column(name, justify="right" if numeric and rows else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(_cell(value) for value in row))
    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(shown)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    return text.replace("[", "\\[")


def print_comparison(rows: Sequence[Mapping[str, Any]], loss: str) -> None:
    """Print what algorithms lose at several k, then why some found nothing, each reason once."""
    names = ["algorithm", "k", "attained", "suppressed", "classes", loss, "bound", "seconds"]
    print_table(names, [[row.get(name) for name in names] for row in rows])
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.get("infeasible"):
            reasons.setdefault((row["algorithm"], row["infeasible"]), []).append(str(row["k"]))
    for (algorithm, reason), asked in reasons.items():
        print(f"{algorithm}, k = {', '.join(asked)}: {reason}")


def print_summary(audit: Audit, files: dict[str, Path], about_the_search: Iterable[str] = ()) -> None:
    """Print what a person wants to know of a release, and what the search tells of itself."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    verdict = "[bold green]every promise holds[/]" if audit.holds else "[bold red]it does not hold[/]"
    if not audit.models:
        verdict = "measured; nothing was promised" if audit.is_counted else "[bold red]it could not be counted[/]"
    if audit.shows_nothing:
        verdict += ", but [bold red]the table shows nothing[/]: every record is * in every quasi-identifier"
    console.print(f"Audit of the written file: {verdict}")
    for line in [] if audit.models or not audit.is_counted else format_measures(audit):
        console.print(f"  {line}", markup=False)
    for title, entry in zip(audit.titles, audit.models, strict=True):
        is_bare = title == entry.model.key() and entry.model.sensitive_columns
        about = f" on {', '.join(entry.model.sensitive_columns)}" if is_bare else ""
        console.print(f"  {title}{about}: asked {entry.model.asked}, attained {entry.attained}", markup=False)
    share = audit.suppressed / audit.records if audit.records else 0.0
    console.print(
        f"  records: {audit.records:,} in {audit.classes:,} classes; suppressed {audit.suppressed:,} ({share:.1%})"
    )
    if "certainty-penalty" in audit.utility:
        lost = audit.utility["certainty-penalty"].total
        console.print(f"  loss: {lost:.1%} of the detail in the quasi-identifiers (certainty penalty {lost:.4f})")
    if audit.risk_before and audit.risk:
        before, after = audit.risk_before["prosecutor"], audit.risk["prosecutor"]
        console.print(
            f"  risk of being found, worst record: {before['max']:.1%} before, {after['max']:.1%} after; "
            f"on average {before['mean']:.1%} before, {after['mean']:.1%} after"
        )
        console.print(f"  records that stood alone: {before['unique']:.1%} before, {after['unique']:.1%} after")
    for note in (fault for fault in audit.faults if fault.kind == "note"):
        console.print(f"  note: {note}", markup=False)
    for line in about_the_search:
        console.print(f"  {line}", markup=False)
    for name, path in files.items():
        console.print(f"  {name + ':':<10}{path}", markup=False)


def format_measures(audit: Audit) -> Iterator[str]:
    """Yield what a table attains, where nothing was promised."""
    measured = audit.measured
    yield f"k: {measured.k} where a cell that shows nothing is a value of its own"
    if measured.k_matching_anything is not None:
        yield f"   {measured.k_matching_anything} where such a cell matches anything"
    if audit.starred:
        ways = ", ".join(f"{sign} ({count:,})" for sign, count in audit.starred_as.items())
        yield f"   {measured.k_without_suppressed} without the suppressed records, which are written as {ways}"
    for name, readings in measured.sensitive.items():
        yield f"{name}:"
        for reading in readings:
            values = reading.to_dict()
            how = "".join(f", {key} = {values[key]}" for key in ("c", "distance") if key in values)
            attained = "unlimited" if "unlimited" in values else values["attained"]
            yield f"   {values['name']}{how}: {attained}"
    for name, why in measured.not_measured.items():
        yield f"{name}: not measured, {why}"
    met = [rule["name"] for rule in audit.to_dict()["thresholds"] if rule["met"]]
    yield f"published thresholds that are met: {', '.join(met) or 'none'}"


def print_attacks(tried: Attacks) -> None:
    """Print what attacks found, and why others were not run."""
    rows = [
        [
            one.risk.key(),
            one.finding.on,
            "LEAK" if one.finding.found else "no",
            ", ".join(f"{name} {_brief(value)}" for name, value in one.finding.measured.items() if _is_brief(value)),
            one.finding.left_out,
        ]
        for one in tried.run
    ]
    print_table(["attack", "on", "leak", "measured", "left out"], rows)
    for name, reason in tried.not_run.items():
        print(f"  not run: {name}: {reason}")


def _is_brief(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _brief(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def describe_search(release: Release) -> Iterator[str]:
    """Yield what the search tells of itself: what the columns weigh, its steps, how near the best it is."""
    if release.policy.threshold is not None:
        from shoal.policy.disclosure_weights import weigh

        yield f"request: {weigh(release.policy, release.prepared.engine.columns)}"
    for number, step in enumerate(release.recoding.rounds):
        yield f"{'steps:' if number == 0 else '':<8}{step}"
    proof = release.recoding.proof
    if proof is not None:
        yield f"search: {proof}"
        yield from (f"        {note}" for note in proof.notes)


def print_presets(*, as_json: bool) -> None:
    """Print the published rules that a policy can follow, with their sources."""
    from shoal.policy.presets import PRESETS
    from shoal.registry import OneOf

    family = OneOf("models")
    rows = [
        {"name": one.name, "summary": one.says, "models": [family.dump(m) for m in one.models], "source": one.source}
        for one in PRESETS.values()
    ]
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    asked = [", ".join(f"{model.key()} {model.asked}" for model in one.models) or "-" for one in PRESETS.values()]
    shown = [[row["name"], models, row["summary"], row["source"]] for row, models in zip(rows, asked, strict=True)]
    print_table(["name", "models", "what it asks for", "source"], shown)


@contextmanager
def show_progress(quiet: bool) -> Iterator[Progress]:
    """Show progress on stderr while work is done, if someone looks."""
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("reading", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total or None)


def print_levels(rows: Sequence[Row]) -> None:
    """Print what each level of a hierarchy is like."""
    from shoal.reporting.hierarchy_page import format_examples, format_spread

    cells = []
    for row in rows:
        least, middle, most = row.records
        records = [f"{least:,}", f"{middle:,.10g}", f"{most:,}"]
        cells.append(
            [row.level, len(row.nodes), *records, format_spread(row.distortion), row.loss, format_examples(row.nodes)]
        )
    names = ["level", "nodes", "least", "median", "most records", "distortion", "loss", "labels"]
    print_table(names, cells, right=("least", "median", "most records", "distortion"))


def print_front(nodes: Sequence[dict[str, Any]], asked: int | None, most: int = 5) -> None:
    """Print the nodes of the Pareto front of k and loss that attain the asked k, the least loss first."""
    from shoal.reporting.lattice_space import Space

    space = Space.of(nodes, asked)
    enough = space.enough
    shown = enough[:most] if enough else space.front[: -most - 1 : -1]
    above = "" if asked is None else f" with k ≥ {asked}"
    which = (
        f"{len(shown)} of {len(enough)} nodes{above}, the least loss first" if enough else f"no node{above}; the most"
    )
    rows = [[*point.levels, point.k, point.suppressed, point.loss] for point in shown]
    print(f"\nPareto front of k and {space.loss}: {which}")
    print_table([*space.columns, "k", "suppressed", space.loss], rows)
    if not all(point.exact for point in shown):
        print("These losses count the suppressed records; k does not.")


_LINES = 300
"""A level is printed as long as the tree has no more lines than that."""


def print_tree(rows: Sequence[Row], most: int) -> None:
    """Print a hierarchy from the top down: at most so many labels under each, and no endless levels."""
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    children: list[dict[int, list[tuple[int, Node]]]] = [{} for _ in rows]
    for above, row in zip(children[1:], rows[:-1], strict=True):
        for index, node in enumerate(row.nodes):
            above.setdefault(node.parents[0], []).append((index, node))

    def grow(branch: Tree, level: int, index: int, node: Node) -> None:
        under = children[level].get(index, [])
        while len(under) == 1 and under[0][1].label == node.label:  # the same label again, a level below
            level, (index, node) = level - 1, under[0]
            under = children[level].get(index, [])
        if under and level <= lowest:
            branch.label = Text(f"{branch.label} … {node.values:,} values")
            return
        for number, child in under[:most]:
            grow(branch.add(Text(_format_node(child, rows[level]))), level - 1, number, child)
        rest = under[most:]
        if rest:
            records = sum(child.records for _, child in rest)
            branch.add(Text(f"… {len(rest):,} more ({records:,} records)"))

    lowest = _lowest(children, most)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    for index, top in enumerate(rows[-1].nodes):
        root = Tree(Text(_format_node(top, None)))
        grow(root, len(rows) - 1, index, top)
        console.print(root)
    if not rows[-1].nodes:
        console.print("There are no values.")


def _lowest(children: Sequence[dict[int, list[tuple[int, Node]]]], most: int) -> int:
    """Return the lowest level that is still printed."""
    shown, lines, level = [0], 1, len(children) - 1
    while level > 0:
        shown = [index for parent in shown for index, _ in children[level].get(parent, [])[:most]]
        lines += len(shown)
        if lines > _LINES and level < len(children) - 1:
            return level
        level -= 1
    return 0


def _format_node(node: Node, above: Row | None) -> str:
    from shoal.reporting.svg.hierarchy import display_name

    others = [display_name(above.nodes[parent]) for parent in node.parents[1:]] if above is not None else []
    also = f", also under {', '.join(others)}" if others else ""
    label = display_name(node)
    return f"{label if len(label) <= 100 else label[:99] + '…'} ({node.records:,}{also})"
