"""shoal studio: the pages, in the browser of this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.terminal import print_text


def studio(
    data: Annotated[Path | None, typer.Argument(help="A table to begin with.", show_default=False)] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", help="A policy to begin with, a YAML file.", show_default=False)
    ] = None,
    project: Annotated[Path, typer.Option(help="The folder that keeps the work.")] = Path("shoal-studio"),
    port: Annotated[int, typer.Option(help="The port to listen at; 0 takes a free one.", min=0, max=65535)] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
    host: Annotated[
        str, typer.Option(help="The address to listen at; one that others reach needs HTTPS and a password.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None, typer.Option(help="A name that browsers reach it by; may be repeated.", show_default=False)
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate (PEM), to speak HTTPS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's key (PEM).")] = None,
) -> None:
    """Open the studio in the browser: everything by clicks, the policy beside it.

    It listens on this machine alone, to who has the address with its token. Others reach it only by HTTPS and with the
    password in SHOAL_STUDIO_PASSWORD.
    """
    from shoal.errors import TableError
    from shoal.studio.server import Address, serve_studio
    from shoal.studio.studio import Studio

    if data is not None and not data.exists():
        raise TableError("no such file", where=str(data))
    password = os.environ.get("SHOAL_STUDIO_PASSWORD", "")
    address = Address(
        host=host, port=port, names=tuple(name or ()), password=password, tls_cert=tls_cert, tls_key=tls_key
    )
    address.require_closed()
    opened = Studio(project, is_local=address.is_local)
    if policy is not None:
        opened.take_policy(policy)
    if data is not None:
        opened.take_data(data)
    serve_studio(opened, address, opens=not no_open, tell=lambda shown: _tell(shown, project))


def _tell(address: str, project: Path) -> None:
    print_text(f"The studio is at {address}\nIts work is kept in {project}. Ctrl-C ends it.")
    sys.stdout.flush()  # a program that began it waits for the address
