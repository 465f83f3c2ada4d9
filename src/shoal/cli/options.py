"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from shoal.policy import Policy

Reading = dict[str, Any]
"""How a file is read, as far as that was said: see :func:`reads_files`."""

Data = Annotated[
    str,
    typer.Argument(
        help="A table: CSV, Parquet, Feather, Excel or JSON lines; a folder or pattern of CSV or Parquet; an address: "
        "duckdb:///FILE?table=… or postgresql://…?table=….",
        show_default=False,
    ),
]
PolicyFile = Annotated[Path, typer.Option("--policy", "-p", help="The policy, a YAML file.", show_default=False)]
Out = Annotated[Path, typer.Option("--out", "-o", help="The folder to write to.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Engine = Annotated[str, typer.Option(help="Where the table is counted and rewritten: local or spark.")]
Master = Annotated[
    str | None,
    typer.Option(help="Where Spark runs: local[2], spark://host:7077, yarn …; as it is configured by default."),
]
Memory = Annotated[
    str | None,
    typer.Option(
        help="For tables larger than memory (Parquet or CSV): how much the data may take, for example 4GB.",
        show_default=False,
    ),
]


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options for reading a file; those that are said reach it as ``reading``."""
    shown = signature(command, eval_str=True).parameters
    added = _list_reading_options()

    @wraps(command)
    def run(**given: Any) -> None:
        said = {name: value for name in added if (value := given.pop(name)) not in (None, [])}
        if said.pop("no_header", False):
            said["header"] = False
        command(reading=said, **given)

    options = [
        *(parameter for name, parameter in shown.items() if name != "reading"),
        *(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in added.items()),
    ]
    run.__signature__ = signature(command).replace(parameters=options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def _list_reading_options() -> dict[str, Any]:
    """Return the fields of :class:`~shoal.policy.ReadOptions` as options; what is said of one column a policy says."""
    from shoal.encoding.read_options import ReadOptions

    options: dict[str, Any] = {}
    for name, field in ReadOptions.model_fields.items():
        if name == "columns":
            continue
        kind = {"missing": list[str], "dates": list[str], "strip": bool, "totals": bool}.get(name, str)
        more = " May be repeated." if kind == list[str] else ""
        shape = [f"--{name}"] if name == "strip" else []
        options[name] = Annotated[kind | None, typer.Option(*shape, help=f"{field.description}{more}")]
    no_header = typer.Option("--no-header", help="The first line is a record: columns are called column_1, column_2, …")
    return {**options, "no_header": Annotated[bool | None, no_header]}


def is_for_spark(engine: str, master: str | None, *here: object) -> bool:
    """Return whether Spark is asked for; options that are about files on this machine do not go with it."""
    if engine not in ("local", "spark"):
        raise typer.BadParameter(f"local or spark; got {engine!r}", param_hint="--engine")
    if engine == "local" and master is not None:
        raise typer.BadParameter("is for --engine spark", param_hint="--master")
    if engine == "spark" and any(given not in (None, {}) for given in here):
        told = "--subjects, --bound, --key, --after, --memory and options of reading do not go with it"
        raise typer.BadParameter(told, param_hint="--engine spark")
    return engine == "spark"


def refuse_with_memory(**given: object) -> None:
    """Complain about options that need the records one by one, where --memory says to count them."""
    for name, value in given.items():
        if value:
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter("needs the records one by one, --memory counts them", param_hint=option)


def split_names(text: str) -> list[str]:
    """Return names that stand with commas between them, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def choose_audit_policy(policy: Path | None, **roles: str) -> Policy:
    """Return the policy of a file, or the roles of columns that were named."""
    from shoal.auditing.audit_policy import Roles, read_audit_policy

    named = {role: split_names(columns) for role, columns in roles.items()}
    if policy is not None:
        given = next((role for role, columns in named.items() if columns), None)
        if given is not None:
            option = f"--{given.replace('_', '-')}"
            raise typer.BadParameter("the policy says what columns are; give one or the other", param_hint=option)
        return read_audit_policy(policy)
    if not named["quasi_identifiers"]:
        what = "what is to be counted? Give a policy, or the columns that an attacker may know"
        raise typer.BadParameter(what, param_hint="--policy or --quasi-identifiers")
    return Roles(**named)
