"""shoal audit: count a published table again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import show
from shoal.cli import statistics as about
from shoal.cli.options import Json, Memory, Quiet, Reading, choose_audit_policy, reads_files, refuse_with_memory
from shoal.cli.terminal import print_text
from shoal.encoding.progress import watch_progress

if TYPE_CHECKING:
    from shoal.auditing import Audit


def _print_schema(asked: bool) -> None:
    if asked:
        from shoal.auditing.schema import build_audit_schema

        show.print_json(build_audit_schema())
        raise typer.Exit


@reads_files
def audit_release(
    reading: Reading,
    release: Annotated[Path, typer.Argument(help="The published table, anybody's.", show_default=False)],
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy", "-p", help="What was promised, a YAML file; or say what columns are.", show_default=False
        ),
    ] = None,
    quasi_identifiers: Annotated[
        str,
        typer.Option(help="Without a policy: what an attacker may know, with commas between them.", show_default=False),
    ] = "",
    sensitive: Annotated[
        str,
        typer.Option(help="Without a policy: what nobody should learn, with commas between them.", show_default=False),
    ] = "",
    identifiers: Annotated[
        str,
        typer.Option(
            help="Without a policy: what must not be published, with commas between them.", show_default=False
        ),
    ] = "",
    original: Annotated[
        str | None,
        typer.Option(help="The original table, for losses and the risk before.", show_default=False),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write an HTML report.", show_default=False)] = None,
    external: Annotated[
        bool,
        typer.Option("--external", help="The report is for those who get the table: nothing that helps an attacker."),
    ] = False,
    subjects: Annotated[
        Path | None, typer.Option(help="Who each published record is about, as anonymize --subjects wrote it.")
    ] = None,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Compare the distributions of both tables; needs --original.")
    ] = False,
    standing: Annotated[
        str | None, typer.Option(help="What stands for a published range in --statistics: midpoint, uniform or class.")
    ] = None,
    class_column: Annotated[
        str | None, typer.Option(help="Also learn this column from the release in --statistics; needs scikit-learn.")
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", callback=_print_schema, is_eager=True, help="Print the JSON Schema of --json.")
    ] = False,
    attacks: Annotated[bool, typer.Option("--attacks", help="Run every attack that the given tables allow.")] = False,
    attack: Annotated[
        list[str] | None, typer.Option(help="Run just this attack; may be repeated. shoal list risk shows them.")
    ] = None,
    external_table: Annotated[
        Path | None, typer.Option(help="A table of persons that an attacker may hold.", show_default=False)
    ] = None,
    earlier: Annotated[
        list[Path] | None, typer.Option(help="An earlier release about the same people; may be repeated.")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            help="The file of the key, where dates are shifted and --original is given; SHOAL_KEY by default."
        ),
    ] = None,
    memory: Memory = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Count a published table again. Exit 0 only if every promise holds, 1 if one does not.

    Exit 3 if nothing fails that can be counted here, and the rest only by the owner: persons, where the subject is not
    published. It is told first, with how the owner counts it (--subjects).

    Without a policy, given only what the columns are, the table is measured: exit 0 if it could be counted.
    The options for reading are for the original; how the release is written is detected, and the second file of a
    release that has two (statistics, anatomy) is looked for beside the first. Leaks that attacks find are
    told; whether they matter is for a person to judge, and the exit code does not depend on them.
    """
    from shoal.auditing import OwnerView
    from shoal.engines.memory.source import open_in_memory
    from shoal.pipeline.audit import audit as audit_of

    if external and report is None:
        raise typer.BadParameter("is about the report: say where to write it (--report FILE)", param_hint="--external")
    promised = choose_audit_policy(
        policy, quasi_identifiers=quasi_identifiers, sensitive=sensitive, identifiers=identifiers
    )
    compared = about.choose_statistics(statistics, standing, class_column, original=original)
    with watch_progress(quiet or json) as progress:
        if memory is not None:
            refuse_with_memory(
                subjects=subjects,
                attacks=attacks,
                attack=attack,
                external_table=external_table,
                earlier=earlier,
                sheet=reading.get("sheet"),
            )
        owned = {} if subjects is None else open_in_memory(subjects).frame.to_dict()
        requested_k = {name: owned.pop(name) for name in promised.requested_k if name in owned} or None
        checked = audit_of(
            release,
            promised,
            original=original,
            owner=OwnerView(subjects=next(iter(owned.values()), None), requested_k=requested_k),
            statistics=compared,
            attacks=attack or (True if attacks else None),
            external=external_table,
            earlier=earlier or (),
            memory=memory,
            key=key,
            progress=progress,
            **({} if original is None else reading),
        )
    if report is not None:
        from shoal.reporting import report as write_report

        write_report(checked, report, external=external)
    if json:
        show.print_json(checked.to_dict())
    elif not quiet:
        _print_audit(checked, report, attacked=bool(attacks or attack or external_table or earlier))
    if checked.is_undecided:
        raise typer.Exit(3)
    raise typer.Exit(0 if checked.holds or (not checked.models and checked.is_counted) else 1)


def _print_audit(checked: Audit, report: Path | None, *, attacked: bool) -> None:
    compared = [] if checked.statistics is None else about.format_statistics(checked.statistics)
    show.print_summary(checked, {} if report is None else {"report": report}, compared)
    if attacked:
        show.print_attacks(checked.attacks)
    for fault in checked.failures() if checked.models else checked.faults:
        if fault.kind != "undecided":  # told first
            print_text(f"  - {fault}")
