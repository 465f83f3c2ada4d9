"""shoal policy: the policy file itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import show
from shoal.cli.options import Json
from shoal.cli.terminal import print_text

app = typer.Typer(help="Look at policy files.", no_args_is_help=True)


@app.command("schema")
def print_policy_schema() -> None:
    """Print the JSON Schema of policy files, so that editors complete and check them."""
    from shoal.policy import Policy

    show.print_json(Policy.schema_json())


@app.command(name="show")
def show_policy(
    policy: Annotated[Path, typer.Argument(help="A policy, a YAML file.", show_default=False)],
    json: Json = False,
) -> None:
    """Print a policy as shoal understands it: hierarchy files and defaults included."""
    from shoal.policy import Policy

    read = Policy.read(policy)
    if json:
        show.print_json({"hash": read.hash, "policy": read.effective()})
    else:
        print_text(f"# {read.hash}\n{read.to_yaml(defaults=True)}", end="")


@app.command(name="import")
def import_policy(
    config: Annotated[Path, typer.Argument(help="A configuration of the UTD toolbox, XML.", show_default=False)],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the policy there.", show_default=False)] = None,
) -> None:
    """Turn a configuration of the UTD anonymization toolbox into a policy, with notes as comments.

    Read the notes: they say what could not be taken over as it is. shoal policy import CONFIG.xml > policy.yaml
    """
    from shoal.importers.utd_config import read_config
    from shoal.importers.utd_policy import to_policy, to_yaml

    text = to_yaml(*to_policy(read_config(config)))
    if out is None:
        print_text(text, end="")
    else:
        out.write_text(text, encoding="utf-8")
        print_text(f"Written to {out}.")
