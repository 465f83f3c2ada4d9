"""What commands print: tables and summaries for people, JSON for scripts, progress on the side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.cli.terminal import open_console, print_text, print_wide
from shoal.encoding.terminal import escape_line
from shoal.errors import Infeasible, ShoalError

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.auditing import Audit
    from shoal.auditing.attacks import Attacks
    from shoal.auditing.verdict import ModelAudit
    from shoal.hierarchies._nodes import Node, Row
    from shoal.pipeline.release import Release


def print_json(data: Any) -> None:
    """Print plain data as JSON."""
    print_text(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def print_release(release: Release, files: dict[str, Path], *, as_json: bool, quiet: bool) -> None:
    """Print what a person wants to know of a release that was written, or its audit and files for scripts."""
    if as_json:
        audit = json.loads(files["audit"].read_text(encoding="utf-8"))
        print_json({**audit, "files": {name: str(path) for name, path in files.items()}})
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
        print_json(data)
        return
    console = open_console(on_stderr=True, soft_wrap=True)
    console.print(f"[bold red]{error.title}[/]")
    console.print(error.render(), markup=False)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "", *, right: Sequence[str] = ()
) -> None:
    """Print a table for people; numbers, and the columns that are named, on the right."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(
        title=Text(title) if title else None, title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    for index, name in enumerate(columns):
        numeric = name in right or all(isinstance(row[index], (int, float)) or row[index] is None for row in rows)
        shown.add_column(Text(escape_line(name)), justify="right" if numeric and rows else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(_format_cell(value)) for value in row))
    print_wide(shown)


def _format_cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else escape_line(str(value))


def print_comparison(rows: Sequence[Mapping[str, Any]], loss: str) -> None:
    """Print what algorithms lose at several k, then why some found nothing, each reason once."""
    names = ["algorithm", "k", "attained", "suppressed", "classes", loss, "bound", "seconds"]
    print_table(names, [[row.get(name) for name in names] for row in rows])
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.get("infeasible"):
            reasons.setdefault((row["algorithm"], row["infeasible"]), []).append(str(row["k"]))
    for (algorithm, reason), asked in reasons.items():
        print_text(f"{algorithm}, k = {', '.join(asked)}: {reason}")


def print_summary(audit: Audit, files: dict[str, Path], about_the_search: Iterable[str] = ()) -> None:
    """Print what a person wants to know of a release, and what the search tells of itself."""
    console = open_console(soft_wrap=True)
    verdict = "[bold green]every promise holds[/]" if audit.holds else "[bold red]it does not hold[/]"
    if not audit.is_promised:
        verdict = "measured; nothing was promised" if audit.is_counted else "[bold red]it could not be counted[/]"
    if audit.is_undecided:
        verdict = (
            "[bold yellow]undecided[/]: nothing fails that can be counted from outside; the rest only the owner counts"
        )
    if audit.shows_nothing:
        verdict += ", but [bold red]the table shows nothing[/]: every record is * in every quasi-identifier"
    console.print(f"Audit of the written file: {verdict}")
    for fault in audit.undecided:
        console.print(f"  - {fault}", markup=False)
    for line in [] if audit.is_promised or not audit.is_counted else format_measures(audit):
        console.print(f"  {line}", markup=False)
    for title, entry in zip(audit.titles, audit.models, strict=True):
        is_bare = title == entry.model.key() and entry.model.sensitive_columns
        about = f" on {', '.join(entry.model.sensitive_columns)}" if is_bare else ""
        console.print(f"  {title}{about}: asked {entry.model.asked}, {_format_attained(entry)}", markup=False)
    for line in format_perturbations(audit):
        console.print(f"  {line}", markup=False)
    console.print(f"  {_count_records(audit)}", markup=False)
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


def _count_records(audit: Audit) -> str:
    if not audit.policy.quasi_identifiers:
        return f"records: {audit.records:,}, of which {audit.published:,} are published; no classes to count"
    share = audit.suppressed / audit.records if audit.records else 0.0
    return f"records: {audit.records:,} in {audit.classes:,} classes; suppressed {audit.suppressed:,} ({share:.1%})"


def format_perturbations(audit: Audit) -> Iterator[str]:
    """Yield what was promised of perturbed columns, and what the audit tested."""
    from shoal.reporting.perturbed import describe_perturbations

    for one in describe_perturbations(audit):
        parameters = f" ({one['parameters']})" if one["parameters"] else ""
        yield f"{one['name']} of {one['columns']}: {one['guarantee']}{parameters}, {one['outcome']}"
        yield from (f"  {outcome}: {asks}{f' ({why})' if why else ''}" for asks, outcome, why in one["tests"])
        yield from (f"  {name}: {one[name]}" for name in ("lost", "bound") if one[name])


def _format_attained(entry: ModelAudit) -> str:
    return f"attained {entry.attained}" if entry.decided else "undecided from outside"


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
            ", ".join(
                f"{name} {_format_brief(value)}" for name, value in one.finding.measured.items() if _is_plain(value)
            ),
            one.finding.left_out,
        ]
        for one in tried.run
    ]
    print_table(["attack", "on", "leak", "measured", "left out"], rows)
    for name, reason in tried.not_run.items():
        print_text(f"  not run: {name}: {reason}")


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _format_brief(value: Any) -> str:
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
        print_json(rows)
        return
    asked = [", ".join(f"{model.key()} {model.asked}" for model in one.models) or "-" for one in PRESETS.values()]
    shown = [[row["name"], models, row["summary"], row["source"]] for row, models in zip(rows, asked, strict=True)]
    print_table(["name", "models", "what it asks for", "source"], shown)


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
    print_text(f"\nPareto front of k and {space.loss}: {which}")
    print_table([*space.columns, "k", "suppressed", space.loss], rows)
    if not all(point.exact for point in shown):
        print_text("These losses count the suppressed records; k does not.")


_LINES = 300
"""A level is printed as long as the tree has no more lines than that."""


def print_tree(rows: Sequence[Row], most: int) -> None:
    """Print a hierarchy from the top down: at most so many labels under each, and no endless levels."""
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

    lowest = _find_lowest(children, most)
    for index, top in enumerate(rows[-1].nodes):
        root = Tree(Text(_format_node(top, None)))
        grow(root, len(rows) - 1, index, top)
        print_wide(root)
    if not rows[-1].nodes:
        print_text("There are no values.")


def _find_lowest(children: Sequence[dict[int, list[tuple[int, Node]]]], most: int) -> int:
    shown, lines, level = [0], 1, len(children) - 1
    while level > 0:
        shown = [index for parent in shown for index, _ in children[level].get(parent, [])[:most]]
        lines += len(shown)
        if lines > _LINES and level < len(children) - 1:
            return level
        level -= 1
    return 0


def _format_node(node: Node, above: Row | None) -> str:
    from shoal.reporting.formatting import elide
    from shoal.reporting.svg.hierarchy import display_name

    others = [display_name(above.nodes[parent]) for parent in node.parents[1:]] if above is not None else []
    also = f", also under {', '.join(others)}" if others else ""
    return f"{escape_line(elide(display_name(node), 100))} ({node.records:,}{also})"
