"""shoal gateway-ledger: is the ledger of a gateway whole, and the owner's word for a restored one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import show
from shoal.cli.options import Json
from shoal.cli.terminal import print_text
from shoal.errors import LedgerError

if TYPE_CHECKING:
    from shoal.gateway.ledger_audit import LedgerReport

app = typer.Typer(help="Look whether a gateway's ledger is whole; accept a restored copy.", no_args_is_help=True)

LedgerPlace = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER",
        help="The ledger: its file, the URL of its PostgreSQL database ($NAME takes it from the environment), or the "
        "gateway.yaml that names it, its key and its heads.",
        show_default=False,
    ),
]
Key = Annotated[
    Path | None, typer.Option("--key", help="The file of its key; LEDGER.key by default.", show_default=False)
]
Heads = Annotated[
    list[Path] | None,
    typer.Option(
        "--head",
        help="Another place where its head is kept, as ledger_head: in gateway.yaml; may be repeated.",
        show_default=False,
    ),
]
_SHOWN = 20
"""Names of clients that are printed."""


@app.command("verify")
def verify_ledger(
    ledger: LedgerPlace,
    key: Key = None,
    head: Heads = None,
    noted: Annotated[
        str | None,
        typer.Option(help="The newest entry's hash of an earlier time, which you noted.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Look whether no entry was changed, moved or removed, and whether the newest are there.

    Reads the whole chain and the head that is kept apart from it; changes nothing. Ends with 0 if all is good, with 1
    if not.
    """
    from shoal.gateway.ledger_audit import InspectedLedger
    from shoal.gateway.ledger_head import START

    report = InspectedLedger(*_locate(ledger, key, head)).inspect(noted or START)
    if json:
        show.print_json(report.to_dict())
    else:
        _print_report(report)
        if not report.is_whole:
            show.print_error(LedgerError(report.faults), as_json=False)
    if not report.is_whole:
        raise typer.Exit(1)


@app.command("accept")
def accept_ledger(
    ledger: LedgerPlace,
    reason: Annotated[
        str, typer.Option(help="Why it may be used: it stands in the ledger from now on.", show_default=False)
    ],
    key: Key = None,
    head: Heads = None,
    json: Json = False,
) -> None:
    """Give the owner's word for a ledger that is not what its head says: a restored copy, or a new one for a lost one.

    What the entries that are missing gave to clients is forgotten with them: allowances begin where the copy ends.
    Your reason is entered in the ledger, and its head is made anew. The chain must be whole.
    """
    from shoal.gateway.ledger_audit import open_to_accept

    if not reason.strip():
        raise typer.BadParameter("say why this ledger may be used", param_hint="--reason")
    accepted = open_to_accept(*_locate(ledger, key, head)).accept(reason.strip())
    if json:
        show.print_json({"entries": accepted.entries, "accepted": accepted.accepted})
    else:
        print_text(f"Accepted: entry {accepted.entries:,} says why. Start the gateway anew.")


def _locate(ledger: str, key: Path | None, heads: list[Path] | None) -> tuple[str, str | None, list[str]]:
    """Return where a ledger, its key and its heads are: as said, or as a gateway's configuration says."""
    more, named = [str(path) for path in heads or ()], None if key is None else str(key)
    if not ledger.endswith((".yaml", ".yml")):
        return ledger, named, more
    from shoal.gateway.config import GatewayConfig

    config = GatewayConfig.read(ledger)
    return config.ledger, named or config.ledger_key, [*config.ledger_head, *more]


def _print_report(report: LedgerReport) -> None:
    """Print what a ledger holds; what is wrong with it is told as an error."""
    known = "none" if report.head is None else f"{report.head:,} entries"
    lines: dict[str, Any] = {
        "entries": f"{report.entries:,}",
        "clients": _list_clients(report.clients),
        "first": report.first or "-",
        "last": report.last or "-",
        "head": known + (f", after {report.accepted} accepted" if report.accepted else ""),
        "newest": report.newest,
    }
    for name, text in lines.items():
        print_text(f"{name:<9}{text}")
    for source in report.sources:
        called = "" if source["called"] == source["source"] else f", now {source['called']}"
        print_text(f"{'table':<9}{source['source']}{called}: {source['place']}")
    for note in report.notes:
        why = " ".join(f"{name}: {text}" for name, text in note.items() if name in ("client", "reason") and text)
        print_text(f"{note['action']:<9}entry {note['number']:,}, {note['at']}: {why}")
    if report.is_whole:
        print_text("The chain is whole, and no entry is missing.")


def _list_clients(names: tuple[str, ...]) -> str:
    if not names:
        return "none"
    text = ", ".join(names[:_SHOWN])
    return text if len(names) <= _SHOWN else f"{text} and {len(names) - _SHOWN:,} more"
