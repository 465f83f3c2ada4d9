"""shoal policy: the policy file itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import show
from shoal.cli.options import Json

app = typer.Typer(help="Look at policy files.", no_args_is_help=True)


@app.command()
def schema() -> None:
    """Print the JSON Schema of policy files, so that editors complete and check them."""
    from shoal.policy import Policy

    show.as_json(Policy.schema_json())


@app.command(name="show")
def show_policy(
    policy: Annotated[Path, typer.Argument(help="A policy, a YAML file.", show_default=False)],
    json: Json = False,
) -> None:
    """Print a policy as shoal understands it: hierarchy files and defaults included."""
    from shoal.policy import Policy

    read = Policy.read(policy)
    if json:
        show.as_json({"hash": read.hash, "policy": read.effective()})
    else:
        print(f"# {read.hash}\n{read.to_yaml(defaults=True)}", end="")
