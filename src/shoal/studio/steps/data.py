"""Step 1, the table: uploaded, or on this machine; how its file is read, and its first records."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import unquote

import anyio
from fastapi import APIRouter, Request
from fastapi.responses import Response

from shoal.encoding.read_options import ReadOptions
from shoal.errors import TableError
from shoal.studio.drafts import write_draft
from shoal.studio.forms import list_fields, read_values
from shoal.studio.pages import FormOf, StudioOf, fill_fragment, fill_page, go_to, take_fields
from shoal.studio.project import TableSource
from shoal.studio.studio import ENDINGS, Studio

routes = APIRouter()
_PIECE = 2**20


@routes.get("/data")
def show_data(studio: StudioOf) -> Response:
    """Show the table that was chosen, or how to choose one."""
    return fill_page(studio, "data", job=studio.look(), fields=_fields(studio), endings=ENDINGS)


def _fields(studio: Studio) -> list[object]:
    return [field for field in list_fields(ReadOptions, studio.reading) if field.name != "columns"]


@routes.get("/data/looking")
def watch_looking(studio: StudioOf, seen: int | None = None) -> Response:
    """Show how looking at the table goes; a page that was shown before that was done is to be loaded again."""
    job, state = studio.look(), studio.project.state
    is_old = bool(state.profile) and seen not in (None, state.revision)
    return fill_fragment("looking", job=job, profile=state.profile, is_old=is_old)


@routes.get("/data/rows")
def show_rows(studio: StudioOf) -> Response:
    """Show the first records."""
    job = studio.jobs.ask("rows", {"path": studio.require_source().path, "reading": studio.reading})
    return fill_fragment("rows", job=job)


@routes.post("/data/upload")
async def upload_table(request: Request, studio: StudioOf) -> Response:
    """Write a table to the disk piece by piece; it counts when it is whole. Its name is only shown."""
    name = _read_name(request)
    ending = next((one for one in ENDINGS if name.lower().endswith(one)), "")
    if not ending:
        raise TableError(
            "is no kind of table that is known", got=repr(name[-40:]), hint=f"one of: {', '.join(ENDINGS)}"
        )
    inner = ".csv" if ending in (".gz", ".zst") else ""
    folder = studio.project.make_folder("data")
    path = folder / f"{secrets.token_hex(8)}{inner}{ending}"
    draft = path.with_name(f".{path.name}")
    try:
        size = await _receive(request, draft, studio.largest_upload)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    studio.open_data(TableSource(name, str(path), size))
    return go_to("data")


def _read_name(request: Request) -> str:
    """Return what the owner calls the file: without folders and signs that no screen can show."""
    name = unquote(request.headers.get("x-file-name", "")).replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in name if sign.isprintable())[:200]


async def _receive(request: Request, path: Path, most: int) -> int:
    """Write what comes, a piece at a time; too much of it is refused."""
    size, piece = 0, bytearray()
    with path.open("xb") as file:
        path.chmod(0o600)
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise TableError(
                    "is too large", hint=f"up to {most:,} bytes; give its path on the command line instead"
                )
            piece += part
            if len(piece) >= _PIECE:
                await anyio.to_thread.run_sync(file.write, bytes(piece))
                piece.clear()
        file.write(piece)
    if not size:
        raise TableError("the file is empty, or did not arrive")
    return size


@routes.post("/data/reading")
def change_reading(studio: StudioOf, form: FormOf) -> Response:
    """Have the file read in another way: it is looked at anew."""
    typed = take_fields(form)
    fresh = [field for field in list_fields(ReadOptions) if field.name != "columns"]
    said = {**{k: v for k, v in studio.reading.items() if k == "columns"}, **read_values(fresh, typed)}
    ReadOptions(**said)
    studio.jobs.forget()
    history = studio.project.state.history.change(write_draft({**studio.project.data, "read": said}))
    studio.project.save(profile={}, history=history)
    return go_to("data")


@routes.post("/data/draft")
def draft_anew(studio: StudioOf, form: FormOf) -> Response:
    """Draft a policy from the table; the old one can be had back."""
    studio.draft(take_fields(form).get("preset") or None)
    return go_to("data")
