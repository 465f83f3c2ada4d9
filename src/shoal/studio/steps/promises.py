"""Step 3, the promises: models, published rules, how much may be suppressed, what a board asks; conflicts live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from shoal.errors import PolicyError
from shoal.policy.context import Context
from shoal.policy.presets import PRESETS
from shoal.registry import describe_family, find
from shoal.studio.drafts import (
    add_model,
    drop_model,
    find_role,
    follow_preset,
    list_role,
    set_context,
    set_entry,
    set_model,
)
from shoal.studio.faults import spell_fault
from shoal.studio.forms import entry_fields, list_fields, read_values
from shoal.studio.pages import FormOf, StudioOf, fill_fragment, fill_page, go_to, take_field, take_fields
from shoal.studio.studio import Studio

routes = APIRouter()
_CHOICES = {"publish": ("labels", "ranges", "sets"), "suppressed": ("star", "drop")}


@routes.get("/promises")
def show_promises(studio: StudioOf, add: str = "", algorithm: str = "") -> Response:
    """Show what is promised, and what else can be."""
    data = studio.project.data
    columns = list(list_role(data, "sensitive"))
    models = [_tell_model(one, columns) for one in data.get("models", ()) if isinstance(one, Mapping)]
    added = _tell_entry("models", add, {}, columns) if add else None
    chosen = data.get("algorithm") or {"name": "shoal"}
    chosen = {"name": chosen} if isinstance(chosen, str) else chosen
    search = _tell_entry("algorithms", algorithm or chosen["name"], {} if algorithm else chosen, ())
    return fill_page(
        studio,
        "promises",
        models=models,
        added=added,
        search=search,
        presets=PRESETS.values(),
        every_model=describe_family("models"),
        every_search=describe_family("algorithms"),
        followed=data.get("presets", ()),
        most=float(data.get("max_suppressed", 0.0)),
        plain={name: data.get(name, choices[0]) for name, choices in _CHOICES.items()},
        choices=_CHOICES,
        context=list_fields(Context, data.get("context") or {}),
    )


def _tell_model(said: Mapping[str, Any], columns: list[str]) -> dict[str, Any]:
    return _tell_entry("models", str(said.get("name")), said, columns)


def _tell_entry(family: str, name: str, said: Mapping[str, Any], columns: Any) -> dict[str, Any]:
    """Return an entry as its form shows it: its sentence, what it protects from and leaves open, its fields."""
    entry = find(family, name)
    return {
        "name": name,
        "summary": entry.summary(),
        "protects_from": getattr(entry, "protects_from", ""),
        "leaves_open": getattr(entry, "leaves_open", ""),
        "fields": entry_fields(family, name, said, columns),
    }


@routes.get("/promises/live")
def show_conflicts(studio: StudioOf) -> Response:
    """Show whether the promises can be kept, about what it costs, and where they cannot what would work."""
    faults = studio.project.faults()
    if faults or studio.project.state.source is None:
        return fill_fragment("live", job=None, faults=[spell_fault(fault) for fault in faults], revision=0)
    job = studio.ask("check")
    found = job.result["faults"] if job.state == "done" else () if job.problem is None else job.problem.faults
    shown = [spell_fault(fault) for fault in found]
    return fill_fragment("live", job=job, faults=shown, revision=studio.project.state.revision)


@routes.post("/promises/relax")
def relax(studio: StudioOf, form: FormOf) -> Response:
    """Take one of the changes that were tried and work."""
    job, number = studio.ask("check"), take_field(form, "number")
    ways = () if job.problem is None else job.problem.relaxations
    if not number.isdigit() or int(number) >= len(ways):
        raise PolicyError("the policy was changed meanwhile", hint="look at what would work now")
    revision = take_field(form, "revision")
    studio.project.set_text(ways[int(number)]["yaml"], int(revision) if revision.isdigit() else None)
    return go_to("promises")


@routes.post("/promises/model")
def change_model(studio: StudioOf, form: FormOf) -> Response:
    """Ask for another value, for one promise more, or for one less."""
    typed, name, number = take_fields(form), take_field(form, "name"), take_field(form, "number")
    if "drop" in typed:
        studio.project.edit(lambda data: drop_model(data, int(number)))
        return go_to("promises")
    values = read_values(entry_fields("models", name, {}, _sensitive(studio)), typed)
    find("models", name)(**values)
    if number:
        studio.project.edit(lambda data: set_model(data, int(number), values))
    else:
        studio.project.edit(lambda data: add_model(data, name, values))
    return go_to("promises")


def _sensitive(studio: Studio) -> list[str]:
    data = studio.project.data
    return [name for name in studio.project.columns if find_role(data, name) == "sensitive"]


@routes.post("/promises/preset")
def choose_preset(studio: StudioOf, form: FormOf) -> Response:
    """Follow a published rule."""
    studio.project.edit(lambda data: follow_preset(data, take_field(form, "preset")))
    return go_to("promises")


@routes.post("/promises/search")
def change_search(studio: StudioOf, form: FormOf) -> Response:
    """Choose the search, and how hard it tries."""
    name, typed = take_field(form, "name"), take_fields(form)
    values = read_values(entry_fields("algorithms", name, {}), typed)
    find("algorithms", name)(**values)
    studio.project.edit(lambda data: set_entry(data, "algorithm", name, values))
    return go_to("promises")


@routes.post("/promises/rest")
def change_publishing(studio: StudioOf, form: FormOf) -> Response:
    """Say how many records may be suppressed, and how classes are published."""
    typed = take_fields(form)
    try:
        most = float(typed.get("max_suppressed") or 0) / 100
    except ValueError:
        raise PolicyError("must be a number", where="max_suppressed", got=repr(typed["max_suppressed"])) from None
    said = {name: typed[name] for name in _CHOICES if name in typed}
    studio.project.edit(lambda data: {**data, **said, "max_suppressed": round(most, 6)})
    return go_to("promises")


@routes.post("/promises/context")
def change_context(studio: StudioOf, form: FormOf) -> Response:
    """State what a board asks for."""
    fields = list_fields(Context)
    said = {field.name: None for field in fields} | read_values(fields, take_fields(form))
    studio.project.edit(lambda data: set_context(data, said))
    return go_to("promises")
