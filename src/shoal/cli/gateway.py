"""The gateway's commands: gateway (the service), gateway-key, query."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import show
from shoal.cli.options import Quiet
from shoal.cli.terminal import print_bytes, print_text

if TYPE_CHECKING:
    from shoal.gateway.client import ClientAnswer, GatewayClient


class Form(StrEnum):
    """How an answer is printed."""

    table = "table"
    csv = "csv"
    json = "json"
    arrow = "arrow"
    parquet = "parquet"


def gateway(
    config: Annotated[Path, typer.Option("--config", "-c", help="The configuration, a YAML file.", show_default=False)],
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at; 0 takes a free one.", min=0, max=65535)] = 8765,
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate (PEM), to speak HTTPS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's key (PEM).")] = None,
) -> None:
    """Answer clients' SQL over HTTP, as the owners' policies say. Logs are lines of JSON."""
    from shoal.gateway.config import GatewayConfig
    from shoal.gateway.server import serve

    serve(GatewayConfig.read(config), host=host, port=port, tls_cert=tls_cert, tls_key=tls_key)


def gateway_key(
    name: Annotated[str, typer.Argument(help="The client's name.", show_default=False)],
    stdin: Annotated[bool, typer.Option("--stdin", help="Hash a key that is given on the standard input.")] = False,
) -> None:
    """Make a key for a client: the key for them, and the line with its hash for gateway.yaml.

    The key is printed once and stored nowhere.
    """
    from shoal.gateway.keys import generate_key, hash_key

    key = sys.stdin.readline().rstrip("\n") if stdin else generate_key(name)
    if key != name and not key.startswith(f"{name}."):
        raise typer.BadParameter(f"a key of {name} begins with {name}. (with a dot)", param_hint="--stdin")
    if not stdin:
        print_text(f"The key, for {name}: {key}")
        print_text("The line for gateway.yaml, under clients:")
    print_text(f"  {_quote(name)}: {{key: '{hash_key(key)}'}}")


def _quote(name: str) -> str:
    import json

    return name if name.replace("-", "").replace("_", "").isalnum() and name[0].isalpha() else json.dumps(name)


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT.", show_default=False)],
    url: Annotated[str, typer.Option(help="Where the gateway is.")] = "http://127.0.0.1:8765",
    key: Annotated[
        str, typer.Option(help="Your key; better in the environment.", envvar="SHOAL_GATEWAY_KEY", show_default=False)
    ] = "",
    format: Annotated[Form, typer.Option(help="How the answer is printed.")] = Form.table,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the answer to this file.")] = None,
    owner_column: Annotated[bool, typer.Option("--owner-column", help="Name the owner of each record.")] = False,
    request: Annotated[str | None, typer.Option(help="A number; asking again under it gives the same answer.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="A certificate (PEM) to trust for HTTPS.")] = None,
    quiet: Quiet = False,
) -> None:
    """Ask a gateway in SQL. A refusal is told in words and ends with 1."""
    from shoal.gateway.client import GatewayClient

    if not key:
        raise typer.BadParameter("give a key, or set SHOAL_GATEWAY_KEY", param_hint="--key")
    with GatewayClient(url, key, verify=str(certificate) if certificate else True) as client:
        if format is Form.table:
            _show(client.query(sql, owner_column=owner_column, request=request), out, quiet)
            return
        _write(_fetch(client, sql, format, owner_column, request), out)


def _fetch(client: GatewayClient, sql: str, format: Form, owner_column: bool, request: str | None) -> bytes:
    return client.fetch(sql, format.value, owner_column=owner_column, request=request)  # type: ignore[arg-type]


def _show(answer: ClientAnswer, out: Path | None, quiet: bool) -> None:
    """Print an answer for people: the records, and in short why they are what they are."""
    if out is not None:
        raise typer.BadParameter("a file needs a --format: csv, json, arrow or parquet", param_hint="--out")
    show.print_table(answer.table.columns, answer.table.rows())
    if quiet:
        return
    print_text(on_stderr=True)
    for decision in answer.explanation["decisions"]:
        print_text(f"{decision['owner']}: {_describe(decision)}", on_stderr=True)
    for owner, faults in answer.explanation["refusals"].items():
        print_text(f"{owner}: refused: {'; '.join(fault['what'] for fault in faults)}", on_stderr=True)
    for note in answer.explanation["notes"]:
        print_text(f"note: {note}", on_stderr=True)
    print_text(f"request {answer.request}", on_stderr=True)


def _describe(decision: dict[str, object]) -> str:
    threshold = "no threshold" if decision["threshold"] is None else f"threshold {decision['threshold']:g}"
    weight = f"weight {decision['total']:g}, {threshold}"
    if decision["action"] == "count":
        return "counted, blurred as the notes say"
    if decision["action"] == "release":
        return f"as it is ({weight})"
    attained = decision["attained"]
    assert isinstance(attained, dict)
    kept = ", ".join(f"{name} {value}" for name, value in attained.items())
    return f"anonymized ({weight}); {kept}"


def _is_text(data: bytes) -> bool:
    return b"\0" not in data[:1000]


def _write(data: bytes, out: Path | None) -> None:
    if out is None:
        if sys.stdout.isatty() and not _is_text(data):
            raise typer.BadParameter("this format is not for a screen: give --out", param_hint="--format")
        print_bytes(data)
        return
    new = out.with_name(f".{out.name}.part")
    try:
        new.write_bytes(data)
        new.replace(out)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
