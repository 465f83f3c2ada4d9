"""What child processes do: each task calls what the command line calls, and answers in plain data."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.encoding.types import Progress
from shoal.studio.drafts import read_draft

if TYPE_CHECKING:
    import polars as pl

    from shoal.auditing import Audit
    from shoal.engines.memory.source import MemoryTable
    from shoal.pipeline.release import Release
    from shoal.policy import Policy

_ROWS = 10
"""So many records are shown as examples."""
_BARS = 16
"""So many bars a little histogram has."""


def _warm(*, progress: Progress) -> None:
    """Import what every other task needs."""
    import shoal.explore.estimate
    import shoal.explore.hierarchy
    import shoal.explore.suggest  # noqa: F401


def _look(path: str, reading: dict[str, Any], draft: bool, preset: str | None = None, *, progress: Progress) -> Any:
    """Read a table and say what its columns are; with a draft of its policy, if asked."""
    from shoal.engines.detection import read_with_detected
    from shoal.explore.suggest import suggest

    progress("reading", 0, 0)
    if not draft:
        table = _open(path, reading)
        return {"records": table.table.records, "columns": _profile(table.frame), "draft": None, "reasons": {}}
    frame, _ = read_with_detected(path, **reading)
    progress("drafting a policy", 0, 0)
    drafted = suggest(path, preset=preset, **reading)
    return {
        "records": frame.height,
        "columns": _profile(frame),
        "draft": drafted.policy.to_dict(),
        "reasons": dict(drafted.reasons),
    }


def _profile(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return what can be said of each column without showing a value."""
    from shoal.profiling.profile import profile_column

    columns = []
    for name in frame.columns:
        found = profile_column(frame[name])
        columns.append(
            {
                "name": name,
                "kind": found.kind,
                "distinct": found.distinct,
                "missing": found.missing,
                "facts": found.facts(),
                "bars": _count_bars(frame[name]),
            }
        )
    return columns


def _count_bars(column: pl.Series) -> list[int]:
    """Return how many records lie in each part of the range of a number, or have each of the most frequent values."""
    import polars as pl

    values = column.alias("values").drop_nulls()
    if values.dtype.is_numeric() and values.n_unique() > _BARS:
        found = values.cast(pl.Float64).filter(values.cast(pl.Float64).is_finite()).hist(bin_count=_BARS)
        counts: list[int] = found["count"].to_list()
        return counts
    return [int(count) for count in values.cast(pl.String, strict=False).value_counts(sort=True)["count"].head(_BARS)]


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
    frame = _open(path, reading).frame.head(_ROWS)
    kinds = [str(kind).lower() for kind in frame.dtypes]
    return {"columns": frame.columns, "kinds": kinds, "rows": [list(map(_show, row)) for row in frame.rows()]}


def _show(value: Any) -> str | None:
    return None if value is None else str(value)


def _show_values(path: str, reading: dict[str, Any], column: str, *, progress: Progress) -> Any:
    """Return the most frequent values of a column with how often each occurs."""
    import polars as pl

    values = _open(path, reading).frame[column].alias("values").cast(pl.String, strict=False)
    found = values.value_counts(sort=True).sort("count", "values", descending=[True, False]).head(12)
    return {"values": [[value, count] for value, count in found.rows()], "distinct": values.n_unique()}


def _check(path: str, text: str, *, progress: Progress) -> Any:
    """Say what does not fit, and about what a release would lose."""
    from shoal.explore.estimate import estimate_policy
    from shoal.pipeline.check import check_table

    table, policy = _read(path, text)
    faults = [{**fault.to_dict(), "kind": fault.kind} for fault in check_table(table.table, policy)]
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
    faults = [{**fault.to_dict(), "kind": fault.kind} for fault in hierarchy_faults(table, column, policy)]
    try:
        seen = inspect(table, column, policy)
    except (HierarchyError, PolicyError) as error:
        return {"drawing": "", "levels": [], "faults": [one.to_dict() for one in error.faults], "nodes": None}
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
    if mapping and made.rows is not None:
        (folder / "mapping.csv").write_text(_map_records(made), encoding="utf-8")
    return {"files": {name: where.name for name, where in files.items()}, **_describe(made.audit), **_show_release(made)}


def _map_records(made: Release) -> str:
    """Return which record became which, from 1; for the owner alone."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("published_record", "original_record"))
    writer.writerows((number, row + 1) for number, row in enumerate(made.rows, 1))  # type: ignore[arg-type]
    return text.getvalue()


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
        "faults": [{**fault.to_dict(), "kind": fault.kind} for fault in audit.faults],
    }


def _show_release(made: Release) -> dict[str, Any]:
    """Return why a search ended early, and some records before and after, which stay in the memory of the studio."""
    stopped = getattr(made.recoding, "stopped", "") or ""
    return {"stopped": stopped, "examples": _examples(made)}


def _examples(made: Release) -> dict[str, Any] | None:
    if made.rows is None or made.prepared.given.is_counted:
        return None
    height = made.frame.height
    chosen = sorted({round(number * (height - 1) / (_ROWS - 1)) for number in range(_ROWS)}) if height else []
    original = made.prepared.given.frame
    names = [name for name in made.frame.columns if name in original.columns]
    after = [[_show(made.frame[name][row]) for name in names] for row in chosen]
    before = [[_show(original[name][int(made.rows[row])]) for name in names] for row in chosen]
    return {"columns": names, "pairs": list(zip(before, after, strict=True))}


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

    table, policy = _read(path, text)
    nodes = every_node(table, policy, progress=progress)
    loss = policy.loss.key()
    ranked = sorted(nodes, key=lambda node: node["losses"].get(loss, 0.0))
    fit = [node for node in ranked if node["suppressed"] <= node["allowed"]]
    front, most = [], 0
    for node in ranked:
        if node["k"] > most:
            front.append(node)
            most = node["k"]
    asked = policy.k if policy.k > 1 else None
    return {
        "drawing": draw_lattice_and_scatter(nodes, asked=asked),
        "nodes": len(nodes),
        "complying": len(fit),
        "loss": loss,
        "columns": list(policy.quasi_identifiers),
        "best": [_tell_node(node, loss) for node in fit[:_NODES]],
        "front": [_tell_node(node, loss) for node in islice(front, _NODES)],
    }


_NODES = 60
"""So many nodes are listed to choose from."""


def _tell_node(node: Mapping[str, Any], loss: str) -> dict[str, Any]:
    return {
        "levels": dict(node["levels"]),
        "k": node["k"],
        "suppressed": node["suppressed"],
        "loss": node["losses"].get(loss),
        "complies": node["suppressed"] <= node["allowed"],
    }


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
