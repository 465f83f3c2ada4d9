"""The policy beside every step: written by hand, undone, redone, downloaded; and the door with a password."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from shoal.encoding import yaml as notation
from shoal.errors import PolicyError
from shoal.studio.guard import Doorkeeper
from shoal.studio.pages import STEPS, FormOf, StudioOf, fill_fragment, go_to, take_field

routes = APIRouter()


def _back(form: FormOf) -> Response:
    step = take_field(form, "step", "columns")
    return go_to(step if step in STEPS else "columns")


@routes.get("/")
def show_first(studio: StudioOf) -> Response:
    """Show the step where the work is."""
    return go_to("columns" if studio.project.state.profile else "data")


@routes.get("/state")
def tell_state(studio: StudioOf) -> Response:
    """Tell how often the policy changed, so that a window learns of another's changes."""
    return JSONResponse({"revision": studio.project.state.revision})


@routes.post("/policy")
def write_policy(studio: StudioOf, form: FormOf) -> Response:
    """Take the policy as it was written by hand."""
    revision = take_field(form, "revision")
    try:
        studio.take_text(take_field(form, "text"), int(revision) if revision.isdigit() else None)
    except notation.Error as error:
        raise PolicyError("is not YAML", got=" ".join(notation.explain_error(error).split())) from None
    return _back(form)


@routes.post("/policy/upload")
async def upload_policy(studio: StudioOf, form: FormOf) -> Response:
    """Take a policy's file."""
    file = form.get("file")
    if file is None or isinstance(file, str) or not file.size:
        raise PolicyError("choose a file first")
    try:
        studio.take_text((await file.read()).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise PolicyError("is not a text in UTF-8") from None
    return _back(form)


@routes.post("/policy/undo")
def undo(studio: StudioOf, form: FormOf) -> Response:
    """Go back to the policy before."""
    studio.project.undo()
    return _back(form)


@routes.post("/policy/redo")
def redo(studio: StudioOf, form: FormOf) -> Response:
    """Go on to the policy that was undone."""
    studio.project.redo()
    return _back(form)


@routes.get("/policy.yaml")
def download_policy(studio: StudioOf) -> Response:
    """Hand out the policy."""
    headers = {"content-disposition": 'attachment; filename="policy.yaml"'}
    return Response(studio.project.text, media_type="application/yaml", headers=headers)


@routes.get("/login")
def show_login() -> Response:
    """Ask for the password."""
    return fill_fragment("login", said="")


@routes.post("/login")
def log_in_by_password(request: Request, form: FormOf) -> Response:
    """Let in who knows the password."""
    keeper: Doorkeeper = request.app.state.keeper
    if keeper.takes(take_field(form, "password")):
        return keeper.let_in(RedirectResponse("/", 303))
    page = fill_fragment("login", said="That is not the password, or it was asked too soon after another try.")
    return Response(page.body, 403, media_type="text/html")
