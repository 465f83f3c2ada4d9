"""Step 5, the risk: before and after by attacker, class sizes, which columns it comes from; attacks on request."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from shoal.errors import PolicyError
from shoal.registry import describe_family
from shoal.studio.jobs import Job
from shoal.studio.pages import FormOf, StudioOf, fill_fragment, fill_page, go_to, take_field
from shoal.studio.studio import Studio

routes = APIRouter()


def _newest(studio: Studio, id: str = "") -> Job | None:
    """Return a release that was made: the one that was chosen, else the newest."""
    made = [job for job in studio.jobs.of("release") if job.state == "done"]
    return next((job for job in made if job.id == id), made[0] if made else None)


@routes.get("/risk")
def show_risk(studio: StudioOf, release: str = "", job: str = "") -> Response:
    """Show the risk of the table as it is, and of a release."""
    attacked = studio.jobs.kept.get(job)
    return fill_page(
        studio,
        "risk",
        made=_newest(studio, release),
        releases=[one for one in studio.jobs.of("release") if one.state == "done"],
        attacks=describe_family("risk"),
        attacked=attacked if attacked is not None and attacked.task == "attack" else None,
        earlier=studio.jobs.of("attack"),
    )


@routes.get("/risk/before")
def show_risk_before(studio: StudioOf) -> Response:
    """Show the risk of the table as it is."""
    if studio.project.faults() or studio.project.state.source is None:
        return fill_fragment("before", job=None)
    return fill_fragment("before", job=studio.ask("risk"))


@routes.post("/risk/attack")
def attack_release(studio: StudioOf, form: FormOf) -> Response:
    """Let attackers try a release."""
    made = _newest(studio, take_field(form, "release"))
    if made is None:
        raise PolicyError("there is no release yet", hint="make one first")
    names = [name for name in form.getlist("attack") if isinstance(name, str)]
    if not names:
        raise PolicyError("choose some attacks")
    folder = str(studio.project.folder / "releases" / made.id)
    arguments = {"path": made.told["path"], "folder": folder, "names": names}
    job = studio.jobs.begin("attack", f"{len(names)} attacks", arguments, {"release": made.id})
    return go_to("risk", "attacks", job=job.id, release=made.id)


@routes.get("/risk/attacks")
def show_attacks(studio: StudioOf, job: str) -> Response:
    """Show what attackers found, or how it goes."""
    return fill_fragment("attacks", job=studio.jobs.kept.get(job))
