"""Step 6, the release: made with progress, stopped at any moment, audited, downloaded; the history of this project."""

from __future__ import annotations

import shlex
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, Response

from shoal.errors import PolicyError, TableError
from shoal.studio.jobs import Job
from shoal.studio.pages import FormOf, StudioOf, fill_fragment, fill_page, go_to, take_field
from shoal.studio.studio import Studio

routes = APIRouter()
DOWNLOADS = {
    "audit": ("release/audit.json", "the audit, for programs"),
    "report": ("release/report.html", "the report, for the owner and the board"),
    "external": ("report-external.html", "the report for those who get the table"),
    "manifest": ("release/manifest.json", "what it was made from, with what"),
    "policy": ("policy.yaml", "the policy"),
    "mapping": ("mapping.csv", "which record became which: for you alone, never publish it"),
}
"""What can be downloaded beside the table → its file, and what it is."""
_REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


@routes.get("/release")
def show_release(studio: StudioOf, job: str = "") -> Response:
    """Show how to make a release, the one that was made last, and all of them."""
    every = studio.jobs.of("release")
    shown = next((one for one in every if one.id == job), every[0] if every else None)
    return fill_page(studio, "release", jobs=every, shown=shown, **_tell_release(studio, shown))


def _tell_release(studio: Studio, job: Job | None) -> dict[str, object]:
    if job is None or job.state != "done":
        return {"downloads": {}, "commands": ()}
    folder = _folder(studio, job)
    there = {name: says for name, (file, says) in DOWNLOADS.items() if (folder / file).is_file()}
    tables = {f"table-{path.stem}": path.name for path in _tables(folder)}
    return {"downloads": {**tables, **there}, "commands": _list_commands(job, folder)}


def _folder(studio: Studio, job: Job) -> Path:
    return studio.project.folder / "releases" / job.id


def _tables(folder: Path) -> list[Path]:
    return [path for path in sorted((folder / "release").glob("release*")) if path.is_file()]


def _list_commands(job: Job, folder: Path) -> tuple[tuple[str, str], ...]:
    """Return what makes the same bytes without the studio."""
    data, policy = str(job.told["path"]), str(folder / "policy.yaml")
    shell = f"shoal anonymize {shlex.quote(data)} --policy {shlex.quote(policy)} --out out"
    python = f"import shoal\nrelease = shoal.anonymize({data!r}, {policy!r})\nrelease.write('out')"
    return ("On the command line", shell), ("In Python", python)


@routes.post("/release/run")
def run_release(studio: StudioOf, form: FormOf) -> Response:
    """Begin to make a release."""
    studio.project.policy()
    source = studio.require_source()
    told = {"text": studio.project.text, "path": source.path, "name": source.name}
    title = f"Release {len(studio.jobs.of('release')) + 1}"
    arguments = {"path": source.path, "text": studio.project.text, "mapping": "mapping" in form}
    job = studio.jobs.begin("release", title, arguments, told, studio.project.make_folder("releases"))
    return go_to("release", job=job.id)


@routes.get("/release/made")
def watch_release(studio: StudioOf, job: str) -> Response:
    """Show how a release goes, or what was made."""
    found = _require(studio, job)
    return fill_fragment("made", job=found, **_tell_release(studio, found))


@routes.post("/jobs/stop")
def stop_job(studio: StudioOf, form: FormOf) -> Response:
    """Ask a job to end with the best so far; asked again, end it at once."""
    job = _require(studio, take_field(form, "job"))
    studio.jobs.stop(job)
    step = {"release": "release", "attack": "risk"}.get(job.task, "explore")
    return go_to(step, job=job.id)


@routes.post("/release/forget")
def forget(studio: StudioOf, form: FormOf) -> Response:
    """Delete a release of the history."""
    studio.forget_release(_require(studio, take_field(form, "job")))
    return go_to("release")


@routes.post("/release/restore")
def restore(studio: StudioOf, form: FormOf) -> Response:
    """Take the policy of an earlier release again."""
    job = _require(studio, take_field(form, "job"))
    studio.project.set_text(str(job.told["text"]))
    return go_to("release", job=job.id)


@routes.get("/release/file")
def download(studio: StudioOf, job: str, name: str) -> Response:
    """Hand out a file of a release; its name is one of a list, never a path."""
    folder = _folder(studio, _require(studio, job))
    tables = {f"table-{path.stem}": path for path in _tables(folder)}
    path = tables.get(name) or (folder / DOWNLOADS[name][0] if name in DOWNLOADS else None)
    if path is None or not path.is_file():
        raise TableError("there is no such file")
    return FileResponse(path, filename=path.name, content_disposition_type="attachment")


@routes.get("/release/report")
def show_report(studio: StudioOf, job: str) -> Response:
    """Show the report in the browser, as it is: it needs no script, and its own style."""
    path = _folder(studio, _require(studio, job)) / DOWNLOADS["report"][0]
    if not path.is_file():
        raise TableError("there is no report")
    return HTMLResponse(path.read_text(encoding="utf-8"), headers={"content-security-policy": _REPORT_POLICY})


def _require(studio: Studio, id: str) -> Job:
    job = studio.jobs.kept.get(id)
    if job is None:
        raise PolicyError("there is no such job")
    return job
