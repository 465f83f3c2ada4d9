"""What child processes do: each task calls what the command line calls, and answers in plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.encoding.types import Progress
from shoal.studio.drafts import read_draft
from shoal.studio.faults import spell_fault

if TYPE_CHECKING:
    from shoal.auditing import Audit
    from shoal.engines.memory.source import MemoryTable
    from shoal.policy import Policy
    from shoal.reporting.lattice_space import Point


def _warm(*, progress: Progress) -> None:
    """Import what every other task needs."""
    import shoal.explore.suggest  # noqa: F401


def _look(path: str, reading: dict[str, Any], draft: bool, preset: str | None = None, *, progress: Progress) -> Any:
    """Read a table and say what its columns are; with a draft of its policy, if asked."""
    from shoal.engines.detection import read_with_detected
    from shoal.explore.look import describe_each_column
    from shoal.explore.suggest import suggest

    progress("reading", 0, 0)
    if not draft:
        table = _open(path, reading)
        return {"records": table.table.records, "columns": describe_each_column(table), "draft": None, "reasons": {}}
    frame, _ = read_with_detected(path, **reading)
    progress("drafting a policy", 0, 0)
    drafted = suggest(path, preset=preset, **reading)
    found = {"draft": drafted.policy.to_dict(), "reasons": dict(drafted.reasons)}
    return {"records": frame.height, "columns": describe_each_column(frame), **found}


@lru_cache(maxsize=2)
def _opened(path: str, changed: int, reading: str) -> MemoryTable:
    from shoal.encoding import yaml as notation
    from shoal.engines.memory.source import open_in_memory

    return open_in_memory(path, **(notation.parse(reading) or {}))


def _open(path: str, reading: Mapping[str, Any]) -> MemoryTable:
    """Return a table; it is read once as long as its file is the same."""
    from shoal.encoding import yaml as notation

    return _opened(path, Path(path).stat().st_mtime_ns, notation.dump(dict(reading)))


def _read(path: str, text: str) -> tuple[MemoryTable, Policy]:
    """Return a table as a policy has it read, and the policy."""
    from shoal.policy import Policy

    policy = Policy.of(read_draft(text))
    return _open(path, {} if policy.reading is None else policy.reading.to_dict()), policy


def _show_rows(path: str, reading: dict[str, Any], *, progress: Progress) -> Any:
    """Return the first records, as they were read."""
    from shoal.explore.look import show_records

    return show_records(_open(path, reading))


def _show_values(path: str, reading: dict[str, Any], column: str, *, progress: Progress) -> Any:
    """Return the most frequent values of a column."""
    from shoal.explore.look import show_values

    return show_values(_open(path, reading), column)


def _check(path: str, text: str, *, progress: Progress) -> Any:
    """Say what does not fit, and about what a release would lose."""
    from shoal.explore.estimate import estimate_policy
    from shoal.pipeline.check import check_table

    table, policy = _read(path, text)
    faults = [spell_fault(fault) for fault in check_table(table.table, policy)]
    if any(fault["kind"] == "fault" for fault in faults):
        return {"faults": faults, "estimate": None}
    return {"faults": faults, "estimate": estimate_policy(table, policy, progress=progress)}


def _preview(path: str, text: str, values: list[int], *, progress: Progress) -> Any:
    """Return about what is lost at each k."""
    from shoal.explore.estimate import estimate_losses

    table, policy = _read(path, text)
    rows = estimate_losses(table, policy, values, progress=progress)
    return {"rows": rows, "loss": policy.loss.key()}


def _draw(path: str, text: str, column: str, spec: dict[str, Any] | None, *, progress: Progress) -> Any:
    """Return the hierarchy of a column, or one that is only tried: drawn, what each level costs, what is wrong."""
    from shoal.errors import HierarchyError, PolicyError
    from shoal.explore.hierarchy import draft_policy, hierarchy_faults, inspect
    from shoal.hierarchies.tree import Tree
    from shoal.reporting.svg.hierarchy import draw_hierarchy

    table, policy = _read_column(path, text)
    if spec is not None:
        policy = draft_policy(table, column, spec, k=max(policy.k, 2) if policy else 5)
    assert policy is not None
    faults = [spell_fault(fault) for fault in hierarchy_faults(table, column, policy)]
    try:
        seen = inspect(table, column, policy)
    except (HierarchyError, PolicyError) as error:
        return {"drawing": "", "levels": [], "faults": [spell_fault(one) for one in error.faults], "nodes": None}
    cells = seen.levels.codes[:, : len(seen.levels.domain)].tolist()
    rows = list(zip(*([seen.levels.labels[n][i] or "" for i in row] for n, row in enumerate(cells)), strict=True))
    nodes = Tree(rows=rows).nodes if seen.to_dict()["nested"] and len(rows) <= _EDITABLE else None  # type: ignore[call-arg]
    drawing = draw_hierarchy(seen.rows, f"{column}: {seen.hierarchy.key()}", kind=seen.levels.domain.kind)
    return {"drawing": drawing, "levels": _levels(seen.rows), "faults": faults, "nodes": nodes}


_EDITABLE = 2_000
"""A tree with more values is edited in a file."""


def _levels(rows: Sequence[Any]) -> list[dict[str, Any]]:
    from shoal.reporting.hierarchy_page import format_examples

    return [
        {"level": row.level, "labels": len(row.nodes), "loss": row.loss, "examples": format_examples(row.nodes)}
        for row in rows
    ]


def _read_column(path: str, text: str) -> tuple[MemoryTable, Policy | None]:
    """Return a table and its policy, where that is one already."""
    from shoal.errors import ShoalError

    try:
        return _read(path, text)
    except ShoalError:
        return _open(path, read_draft(text).get("read") or {}), None


def _fit(path: str, text: str, column: str, *, progress: Progress) -> Any:
    """Return every hierarchy that fits a column, the best first."""
    from shoal.explore.hierarchy import compare_candidates, draft_policy

    table, policy = _read_column(path, text)
    rows = compare_candidates(table, column, draft_policy(table, column, {}, k=max(policy.k, 2) if policy else 5))
    return {"rows": [{name: row[name] for name in ("method", "k", "loss_at_k", "loss", "nodes")} for row in rows]}


def _release(path: str, text: str, out: str, mapping: bool, *, progress: Progress) -> Any:
    """Make a release, as ``shoal anonymize`` does, and say what a page shows of it."""
    from shoal.explore.look import map_records, pair_records
    from shoal.pipeline.anonymize import anonymize
    from shoal.policy import Policy
    from shoal.reporting import report

    folder = Path(out)
    policy = Policy.of(read_draft(text))
    policy.write(folder / "policy.yaml")
    made = anonymize(path, Policy.read(folder / "policy.yaml"), progress=progress)
    progress("writing and reading back", 0, 0)
    files = made.write(folder / "release")
    report(made.audit, folder / "report-external.html", external=True)
    if mapping:
        lines = (f"{number},{row}\n" for number, row in map_records(made))
        (folder / "mapping.csv").write_text("".join(["published_record,original_record\n", *lines]), encoding="utf-8")
    stopped = str(getattr(made.recoding, "stopped", "") or "")
    shown = {"stopped": stopped, "examples": pair_records(made)}  # examples stay in the memory of the studio
    return {"files": {name: where.name for name, where in files.items()}, **_describe(made.audit), **shown}


def _describe(audit: Audit) -> dict[str, Any]:
    """Return what a page tells of an audit; no value of the table."""
    from shoal.reporting.risks import describe_attacks, describe_risks, draw_risks
    from shoal.reporting.svg.class_sizes import draw_class_sizes

    titles = zip(audit.titles, audit.models, strict=True)
    sizes = sorted(audit.sizes.tolist())
    return {
        "holds": audit.holds,
        "outcome": audit.outcome,
        "models": [{"title": t, "asked": m.model.asked, "attained": m.attained, "holds": m.holds} for t, m in titles],
        "records": audit.records,
        "published": audit.published,
        "suppressed": audit.suppressed,
        "classes": audit.classes,
        "losses": {name: measured.total for name, measured in audit.utility.items()},
        "columns": {name: found.get("certainty-penalty") for name, found in audit.columns.items()},
        "bound": audit.claimed_bound,
        "risks": describe_risks(audit),
        "risk_chart": draw_risks(audit),
        "sizes_chart": draw_class_sizes(audit.sizes, audit.policy.k if audit.policy.k > 1 else None),
        "smallest": sizes[:1],
        "attacks": describe_attacks(audit),
        "faults": [spell_fault(fault) for fault in audit.faults],
    }


def _compare(path: str, text: str, values: list[int], algorithms: list[str], *, progress: Progress) -> Any:
    """Run algorithms at several k: what each loses, with the proven bound."""
    from shoal.explore.compare import compare as compare_all
    from shoal.reporting.tradeoff_page import LOSS, draw_tradeoff

    table, policy = _read(path, text)
    rows = compare_all(table, policy, values, algorithms, progress=progress)
    shown = ("algorithm", "k", "attained", "suppressed", "classes", LOSS, "bound", "seconds", "infeasible")
    kept = [{name: row.get(name) for name in shown} for row in rows]
    return {"rows": kept, "chart": draw_tradeoff(rows) if any(row["attained"] for row in rows) else "", "loss": LOSS}


def _lattice(path: str, text: str, *, progress: Progress) -> Any:
    """Walk every full-domain recoding: the lattice drawn, the Pareto front, the nodes to choose from."""
    from shoal.explore.lattice import lattice as every_node
    from shoal.reporting.lattice_page import draw_lattice_and_scatter
    from shoal.reporting.lattice_space import Space

    table, policy = _read(path, text)
    nodes = every_node(table, policy, progress=progress)
    asked = policy.k if policy.k > 1 else None
    space = Space.of(nodes, asked)
    fit = sorted((one for one in space.points if one.suppressed <= one.allowed), key=lambda one: one.released)
    return {
        "drawing": draw_lattice_and_scatter(nodes, asked=asked),
        "nodes": len(nodes),
        "complying": len(fit),
        "loss": space.loss,
        "columns": list(space.columns),
        "best": [_tell_node(point, space.columns) for point in fit[:_NODES]],
        "front": [_tell_node(point, space.columns) for point in space.front[:_NODES]],
    }


_NODES = 60
"""So many nodes are listed to choose from."""


def _tell_node(point: Point, columns: Sequence[str]) -> dict[str, Any]:
    levels = dict(zip(columns, point.levels, strict=True))
    return {"levels": levels, "k": point.k, "suppressed": point.suppressed, "loss": point.released}


def _policies(path: str, texts: dict[str, str], *, progress: Progress) -> Any:
    """Put policies side by side: what each promises, loses and risks."""
    from shoal.explore.policies import compare_policies

    read = {name: _read(path, text) for name, text in texts.items()}
    table = next(iter(read.values()))[0]
    found = compare_policies(table, {name: policy for name, (_, policy) in read.items()}, progress=progress)
    return {**found, "measures": dict(found["measures"])}


def _risk(path: str, text: str, *, progress: Progress) -> Any:
    """Measure the table as it is: the risk before anything is done, and which columns it comes from."""
    from shoal.pipeline.audit import audit
    from shoal.profiling.identifying import measure_identifying

    table, policy = _read(path, text)
    progress("counting", 0, 0)
    found = audit(table.frame, {"quasi_identifiers": list(policy.quasi_identifiers), "sensitive": []})
    columns = measure_identifying(table.frame, list(policy.quasi_identifiers))
    below = int(sum(size for size in found.sizes.tolist() if size < max(policy.k, 2)))
    return {
        **_describe(found),
        "least": max(policy.k, 2),
        "below": below,
        "identifying": [
            {"column": name, "separation": one.separation, "gain": one.gain, "weight": one.weight}
            for name, one in sorted(columns.items(), key=lambda item: -item[1].gain)
        ],
    }


def _attack(path: str, folder: str, names: list[str], *, progress: Progress) -> Any:
    """Let attackers try a release that was made here, with the original in the owner's hands."""
    from shoal.pipeline.audit import audit
    from shoal.policy import Policy

    policy = Policy.read(Path(folder) / "policy.yaml")
    published = next(file for file in sorted((Path(folder) / "release").iterdir()) if file.stem == "release")
    checked = audit(published, policy, original=path, attacks=names or True, progress=progress)
    return {"attacks": _describe(checked)["attacks"], "holds": checked.holds}


TASKS: dict[str, Callable[..., Any]] = {
    "warm": _warm,
    "look": _look,
    "rows": _show_rows,
    "values": _show_values,
    "check": _check,
    "preview": _preview,
    "hierarchy": _draw,
    "fit": _fit,
    "release": _release,
    "compare": _compare,
    "lattice": _lattice,
    "policies": _policies,
    "risk": _risk,
    "attack": _attack,
}
"""Name → task."""
