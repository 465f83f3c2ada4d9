"""Step 2, the columns: what each is, one by one or many at once; whom a record is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from shoal.errors import PolicyError
from shoal.policy.roles import Identifier, QuasiIdentifier, Sensitive
from shoal.registry import Frozen
from shoal.reporting.svg.sparkline import draw_sparkline
from shoal.studio.drafts import ROLES, find_role, list_role, set_roles, set_spec
from shoal.studio.faults import spell_fault
from shoal.studio.forms import Field, list_fields, read_values
from shoal.studio.pages import FormOf, StudioOf, fill_fragment, fill_page, go_to, take_field, take_fields
from shoal.studio.studio import Studio

routes = APIRouter()
_MODELS: Mapping[str, type[Frozen]] = {
    "identifiers": Identifier,
    "quasi_identifiers": QuasiIdentifier,
    "sensitive": Sensitive,
}
_OWN_FORM = ("hierarchy", "boundaries", "treatment", "domain")
"""What is said of a column in another way than by a field of this form."""


@routes.get("/columns")
def show_columns(studio: StudioOf) -> Response:
    """Show each column with its role, what it holds and why the role was proposed."""
    data = studio.project.data
    columns = [_tell_column(studio, data, column) for column in studio.project.state.profile.get("columns", ())]
    shown = {"columns": columns, "roles": ROLES, "others": data.get("others"), "subject": data.get("subject")}
    return fill_page(studio, "columns", job=studio.look(), lost=_list_lost(studio, data), **shown)


def _tell_column(studio: Studio, data: Mapping[str, Any], column: Mapping[str, Any]) -> dict[str, Any]:
    name = column["name"]
    role = find_role(data, name)
    spec = list_role(data, role).get(name, {})
    return {
        **column,
        "role": role,
        "hierarchy": _tell_hierarchy(spec, role),
        "reason": studio.project.state.reasons.get(name, ""),
        "drawing": draw_sparkline(column["bars"], f"{name}: {column['facts']}"),
    }


def _tell_hierarchy(spec: Mapping[str, Any], role: str) -> str:
    if role not in ("quasi_identifiers", "sensitive"):
        return ""
    return str(spec.get("hierarchy") or ("none: ranges or sets" if role == "quasi_identifiers" else "none"))


def _list_lost(studio: Studio, data: Mapping[str, Any]) -> list[str]:
    """Return the columns that the policy names and the table has not."""
    known = {*studio.project.columns}
    return [name for role in list(ROLES)[:-1] for name in list_role(data, role) if known and name not in known]


@routes.post("/columns/role")
def change_role(studio: StudioOf, form: FormOf) -> Response:
    """Give one column, or all that were chosen, another role."""
    names = [name for name in form.getlist("column") if isinstance(name, str)]
    if not names:
        raise PolicyError("choose columns first")
    studio.project.edit(lambda data: set_roles(data, names, take_field(form, "role")))
    return go_to("columns")


@routes.post("/columns/rest")
def change_rest(studio: StudioOf, form: FormOf) -> Response:
    """Say what becomes of columns without a role, and whom a record is about."""
    said = {name: take_field(form, name) or None for name in ("others", "subject")}
    studio.project.edit(lambda data: {**data, **said})
    return go_to("columns")


@routes.get("/columns/values")
def show_column_values(studio: StudioOf, column: str) -> Response:
    """Show the most frequent values of a column."""
    source = studio.require_source()
    job = studio.jobs.ask("values", {"path": source.path, "reading": studio.reading, "column": column})
    return fill_fragment("values", job=job, column=column)


@routes.get("/columns/details")
def show_details(studio: StudioOf, column: str) -> Response:
    """Show what else can be said of a column: its weight, its missing values, how it is published."""
    role = find_role(studio.project.data, column)
    spec = list_role(studio.project.data, role).get(column, {})
    fields = _fields_of(role, spec) if role in _MODELS else []
    return fill_fragment("details", column=column, fields=fields)


def _fields_of(role: str, spec: Mapping[str, Any]) -> list[Field]:
    return [field for field in list_fields(_MODELS[role], spec) if field.name not in _OWN_FORM]


@routes.post("/columns/details")
def change_details(studio: StudioOf, form: FormOf) -> Response:
    """Say it."""
    column, typed = take_field(form, "column"), take_fields(form)
    role = find_role(studio.project.data, column)
    fields = _fields_of(role, {}) if role in _MODELS else []
    said = {field.name: None for field in fields} | read_values(fields, typed)
    studio.project.edit(lambda data: set_spec(data, column, **said))
    return go_to("columns")


@routes.get("/columns/fit")
def show_fit(studio: StudioOf) -> Response:
    """Show for the whole table what does not fit: the page asks again until that is known."""
    if studio.project.faults():
        return fill_fragment("fit", job=None, faults=[])
    job = studio.ask("check")
    found = job.result["faults"] if job.state == "done" else () if job.problem is None else job.problem.faults
    return fill_fragment("fit", job=job, faults=[spell_fault(fault) for fault in found])
