"""What every page has: the steps, the policy beside them, problems in words; templates fill the rest."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.datastructures import FormData

from shoal.errors import ShoalError
from shoal.studio.faults import spell_fault
from shoal.studio.studio import LARGEST_FORM, Studio

if TYPE_CHECKING:
    from jinja2 import Environment

STEPS = {
    "data": "Data",
    "columns": "Columns",
    "promises": "Promises",
    "explore": "Explore",
    "risk": "Risk",
    "release": "Release",
}
"""Step → its title, in the order of the work."""


def _find_studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio


async def _read_form(request: Request) -> FormData:
    """Return the fields of a form; more than a form may have is refused before it is read."""
    if int(request.headers.get("content-length") or 0) > LARGEST_FORM:
        raise ShoalError("the form is too large", hint=f"up to {LARGEST_FORM:,} bytes")
    return await request.form(max_files=50, max_fields=2_000)


StudioOf = Annotated[Studio, Depends(_find_studio)]
FormOf = Annotated[FormData, Depends(_read_form)]


def take_field(form: FormData, name: str, otherwise: str = "") -> str:
    """Return a field of a form as text."""
    value = form.get(name)
    return value if isinstance(value, str) else otherwise


def take_fields(form: FormData) -> dict[str, str]:
    """Return all fields of a form that are texts."""
    return {name: value for name, value in form.items() if isinstance(value, str)}


@cache
def _environment() -> Environment:
    """Return where templates are compiled, once per process."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    from shoal.reporting.formatting import format_chance, format_count, format_html, format_number, format_share

    environment = Environment(
        loader=PackageLoader("shoal.studio", "templates"),
        autoescape=True,  # every text, whatever the ending of the template
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "svg": Markup,  # charts escape their own texts
        "prose": lambda text: Markup(format_html(text)),
        "count": format_count,
        "number": format_number,
        "share": format_share,
        "chance": format_chance,
        "query": lambda text: quote(str(text), safe=""),
        "moment": lambda seconds: datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M"),
        "spell": spell_seconds,
    }
    return environment


def spell_seconds(seconds: float) -> str:
    """Return how long something takes, for people.

    Examples
    --------
    >>> spell_seconds(0.4), spell_seconds(75), spell_seconds(7200)
    ('1 s', '1 min 15 s', '2 h 0 min')
    """
    whole = max(round(seconds), 1)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def fill_page(studio: Studio, step: str, **data: Any) -> HTMLResponse:
    """Return the page of a step, with the policy beside it."""
    project, history = studio.project, studio.project.state.history
    known = {
        "step": step,
        "steps": STEPS,
        "source": project.state.source,
        "records": project.state.profile.get("records"),
        "text": project.text,
        "faults": project.faults() if project.text else (),
        "revision": project.state.revision,
        "can_undo": history.can_undo,
        "can_redo": history.can_redo,
        "running": [job for job in studio.jobs.kept.values() if job.is_open],
        "local": studio.is_local,
    }
    return HTMLResponse(_environment().get_template(f"{step}.html").render({**known, **data}))


def fill_fragment(template: str, **data: Any) -> HTMLResponse:
    """Return a part of a page, which is put into its place there."""
    return HTMLResponse(_environment().get_template(f"part_{template}.html").render(data))


def go_to(step: str, anchor: str = "", **query: str) -> RedirectResponse:
    """Return to a page after something was changed: a reload then changes nothing again."""
    asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return RedirectResponse(f"/{step}{'?' + asked if asked else ''}{'#' + anchor if anchor else ''}", 303)


def tell_faults(error: ShoalError) -> dict[str, Any]:
    """Return an error as a page shows it."""
    return {"title": error.title, "faults": [spell_fault(fault) for fault in error.faults]}
