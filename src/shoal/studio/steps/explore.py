"""Step 4, what if: loss against k, algorithms side by side, the lattice, two policies beside each other."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from shoal.algorithms.full_domain.fixed_levels import FixedLevels
from shoal.errors import PolicyError
from shoal.policy import Policy
from shoal.registry import describe_family
from shoal.reporting.svg.bars import draw_pairs
from shoal.reporting.svg.lines import Panel, draw_panels
from shoal.studio.drafts import list_role, read_draft, set_entry, set_hierarchy, write_draft
from shoal.studio.jobs import Job
from shoal.studio.pages import FormOf, StudioOf, fill_fragment, fill_page, go_to, take_field
from shoal.studio.studio import Studio

routes = APIRouter()
KS = [2, 3, 5, 8, 10, 15, 20, 30]
"""The k that are tried at once."""
_KINDS = ("compare", "lattice", "policies")


@routes.get("/explore")
def show_explore(studio: StudioOf, job: str = "") -> Response:
    """Show what was found, and what else can be looked at."""
    found = studio.jobs.find(job)
    return fill_page(
        studio,
        "explore",
        jobs=studio.jobs.of(*_KINDS),
        shown=found if found is not None and found.task in _KINDS else None,
        algorithms=describe_family("algorithms"),
        versions=list_versions(studio),
        ks=", ".join(map(str, KS)),
    )


@routes.get("/explore/preview")
def preview_losses(studio: StudioOf) -> Response:
    """Show about what is lost at each k, and of each column."""
    if studio.project.faults() or studio.project.state.source is None:
        return fill_fragment("preview", job=None, chart="", columns="", estimate=None)
    job, checked = studio.ask("preview", values=KS), studio.ask("check")
    chart, columns, estimate = "", "", checked.result["estimate"] if checked.state == "done" else None
    if job.state == "done":
        chart = _draw_preview(job, studio.project.policy(), estimate)
    if estimate:
        columns = draw_pairs([(n, None, lost) for n, lost in estimate["columns"].items()], "Loss of each column")
    return fill_fragment("preview", job=job, chart=chart, columns=columns, estimate=estimate)


def _draw_preview(job: Job, policy: Policy, estimate: Mapping[str, Any] | None) -> str:
    """Draw what is lost at each k, and what the policy's own search loses at its k."""
    rows = [row for row in job.result["rows"] if row["loss"] is not None]
    lines = {f"{row['algorithm']}, in moments": [(one["k"], one["loss"]) for one in rows] for row in rows[:1]}
    if estimate and policy.k > 1 and policy.algorithm.key() not in {row["algorithm"] for row in rows}:
        lines[f"{policy.algorithm.key()} without effort, at your k"] = [(policy.k, estimate["loss"])]
    return draw_panels([Panel(job.result["loss"], "k", lines)], "About what is lost at each k") if lines else ""


@routes.post("/explore/compare")
def compare_algorithms(studio: StudioOf, form: FormOf) -> Response:
    """Run the chosen algorithms at the chosen k."""
    try:
        values = [int(part) for part in take_field(form, "k").split(",") if part.strip()]
    except ValueError:
        raise PolicyError("must be whole numbers with commas between them", where="k") from None
    names = [name for name in form.getlist("algorithm") if isinstance(name, str)]
    if not names or not values:
        raise PolicyError("choose some algorithms and some k")
    studio.project.policy()
    title = f"{len(names)} algorithms at k = {', '.join(map(str, values))}"
    job = studio.begin("compare", title, values=values, algorithms=names)
    return go_to("explore", "found", job=job.id)


@routes.post("/explore/lattice")
def walk_lattice_of(studio: StudioOf, form: FormOf) -> Response:
    """Look at every full-domain recoding."""
    studio.project.policy()
    job = studio.begin("lattice", "Every full-domain recoding")
    return go_to("explore", "found", job=job.id)


@routes.post("/explore/node")
def choose_node(studio: StudioOf, form: FormOf) -> Response:
    """Publish each column at the level of a node."""
    levels = {n[3:]: int(v) for n, v in form.items() if n.startswith("at-") and isinstance(v, str) and v.isdigit()}
    FixedLevels(levels=levels)

    def change(data: dict[str, Any]) -> dict[str, Any]:
        for column, spec in list_role(data, "quasi_identifiers").items():
            if not spec.get("hierarchy"):  # the lattice had it as it is, or not at all
                data = set_hierarchy(data, column, "suppress", {})
        return set_entry(data, "algorithm", "fixed-levels", {"levels": levels})

    studio.project.edit(change)
    return go_to("promises")


def list_versions(studio: Studio) -> dict[str, str]:
    """Return the policies that can be put side by side: as it is, as it was, and those of releases."""
    history = studio.project.state.history
    found = {"now": "the policy as it is"}
    for index in range(history.index - 1, max(history.index - 9, -1), -1):
        if history.texts[index].strip():
            found[f"step-{index}"] = f"{history.index - index} change{'s' if history.index - index > 1 else ''} ago"
    for number, job in enumerate(studio.jobs.of("release")):
        found[f"release-{job.id}"] = f"release {len(studio.jobs.of('release')) - number}"
    return found


def find_version(studio: Studio, name: str) -> str:
    """Return the text of one of these policies."""
    kind, _, rest = name.partition("-")
    texts = studio.project.state.history.texts
    if kind == "step" and rest.isdigit() and int(rest) < len(texts):
        return texts[int(rest)]
    job = studio.jobs.kept.get(rest)
    if kind == "release" and job is not None:
        return str(job.told.get("text", ""))
    return studio.project.text


@routes.post("/explore/policies")
def compare_versions(studio: StudioOf, form: FormOf) -> Response:
    """Put policies side by side."""
    known = list_versions(studio)
    chosen = [name for name in form.getlist("version") if isinstance(name, str) and name in known]
    texts = {known[name]: find_version(studio, name) for name in chosen}
    other = take_field(form, "other").strip()
    if other:
        texts["the policy that was pasted"] = write_draft(read_draft(other))
    if len(texts) < 2:
        raise PolicyError("choose two policies or more")
    told = {"changes": list(tell_changes(*list(texts.values())[:2])), "names": list(texts)}
    arguments = {"path": studio.require_source().path, "texts": texts}
    job = studio.jobs.begin("policies", " beside ".join(texts), arguments, told)
    return go_to("explore", "found", job=job.id)


def tell_changes(one: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield the lines in which two texts differ, with a little around them: the sign of each and its text.

    Examples
    --------
    >>> list(tell_changes("k: 2\\nl: 3\\n", "k: 5\\nl: 3\\n"))
    [('-', 'k: 2'), ('+', 'k: 5'), (' ', 'l: 3')]
    """
    for line in list(difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=2))[2:]:
        if not line.startswith("@@"):
            yield line[0], line[1:]


@routes.get("/explore/found")
def show_found(studio: StudioOf, job: str) -> Response:
    """Show what a job found, or how it goes."""
    return fill_fragment("found", job=studio.jobs.kept.get(job))
