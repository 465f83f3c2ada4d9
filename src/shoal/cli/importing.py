"""shoal import: projects and configurations of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.options import Out
from shoal.cli.terminal import print_text


def import_project(
    project: Annotated[
        Path, typer.Argument(help="A project of ARX (.deid), or a configuration of the UTD toolbox (XML).")
    ],
    out: Out,
    data: Annotated[bool, typer.Option("--data", help="Write the table that the project holds, too.")] = False,
) -> None:
    """Turn a project of another tool into a policy, with notes on what has no counterpart.

    Writes policy.yaml into a folder, and the hierarchies that it names beside it. Read the notes at its head first:
    promises that could not be taken over stand there. shoal import project.deid --out mine
    """
    from shoal.importers.projects import write_imported

    for path in write_imported(project, out, with_data=data):
        print_text(f"Written to {path}.")
