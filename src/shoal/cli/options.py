"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Data = Annotated[Path, typer.Argument(help="A table: CSV, Parquet, Feather, Excel or JSON lines.", show_default=False)]
PolicyFile = Annotated[Path, typer.Option("--policy", "-p", help="The policy, a YAML file.", show_default=False)]
Out = Annotated[Path, typer.Option("--out", "-o", help="The folder to write to.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Delimiter = Annotated[str | None, typer.Option(help="Delimiter of a CSV, where it should not be detected.")]
Quote = Annotated[str | None, typer.Option(help="Quote character of a CSV, where it should not be detected.")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of a CSV, where it should not be detected.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file; the first by default.")]
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
Standing = Annotated[
    str | None, typer.Option(help="What stands for a published range in --statistics: midpoint, uniform or class.")
]
ClassColumn = Annotated[
    str | None, typer.Option(help="Also learn this column from the release in --statistics; needs scikit-learn.")
]


def reading_options(
    delimiter: str | None, quote: str | None, encoding: str | None, sheet: str | None
) -> dict[str, Any]:
    """Return the options that were given for reading a file."""
    given = {"delimiter": delimiter, "quote": quote, "encoding": encoding, "sheet": sheet}
    return {name: value for name, value in given.items() if value is not None}


def on_spark(engine: str, master: str | None, *here: object) -> bool:
    """Return whether Spark is asked for; options that are about files on this machine do not go with it."""
    if engine not in ("local", "spark"):
        raise typer.BadParameter(f"local or spark; got {engine!r}", param_hint="--engine")
    if engine == "local" and master is not None:
        raise typer.BadParameter("is for --engine spark", param_hint="--master")
    if engine == "spark" and any(given is not None for given in here):
        told = "--subjects, --bound, --key, --delimiter, --quote, --encoding, --sheet and --memory do not go with it"
        raise typer.BadParameter(told, param_hint="--engine spark")
    return engine == "spark"


def refuse_with_memory(**given: object) -> None:
    """Complain about options that need the records one by one, where --memory says to count them."""
    for name, value in given.items():
        if value:
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter("needs the records one by one, --memory counts them", param_hint=option)
