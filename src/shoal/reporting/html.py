"""render(), report(): an audit as one page that a privacy officer can read, print and sign."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import WriteError
from shoal.reporting.formatting import format_html
from shoal.reporting.view import external_view, report_view

if TYPE_CHECKING:
    from jinja2 import Environment

    from shoal.auditing import Audit

_TEMPLATE = "report.html.j2"


def render(audit: Audit, manifest: Mapping[str, Any] | None = None, *, external: bool = False) -> str:
    """Return an audit as one self-contained HTML page.

    The page needs no network and no script, and holds no date: the same audit is the same text.

    Parameters
    ----------
    audit
        What was counted.
    manifest
        The release's manifest; fingerprint, versions and seed are shown where it is given.
    external
        For those who get the table: without what helps an attacker, which is how values were generalized, what was
        searched for, and everything that was counted in the original.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> "do not publish" in render(shoal.audit(table, policy))  # the raw table
    True
    """
    return fill_template(_TEMPLATE, external_view(audit) if external else report_view(audit, manifest))


def fill_template(template: str, data: Mapping[str, Any]) -> str:
    """Return a page: a template of this folder with data in it; every text is escaped."""
    return _environment().get_template(template).render(data)


@cache
def _environment() -> Environment:
    """Return where templates are compiled, once per process."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("shoal.reporting", ""),
        autoescape=True,  # said outright: a guess by the file's ending would not escape .j2
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["prose"] = lambda text: Markup(format_html(text))
    environment.filters["svg"] = Markup  # charts escape their own texts
    return environment


def report(
    audit: Audit,
    path: str | os.PathLike[str] | None = None,
    *,
    manifest: Mapping[str, Any] | None = None,
    external: bool = False,
) -> str:
    """Return an audit as one HTML page, and write it where a path is given.

    Parameters
    ----------
    audit
        What was counted.
    path
        The file to write; it appears whole or not at all.
    manifest
        The release's manifest.
    external
        For those who get the table: without what helps an attacker.

    Raises
    ------
    shoal.errors.WriteError
        If the file cannot be written; nothing is left behind.
    """
    page = render(audit, manifest, external=external)
    if path is not None:
        write_page(Path(path), page, "report")
    return page


def write_page(path: Path, page: str, what: str) -> None:
    """Write beside the path and rename, so that nobody ever reads half a page."""
    # in the same folder, since a rename does not cross disks
    draft = path.parent / f".shoal-{secrets.token_hex(8)}.part"
    try:
        try:
            with draft.open("xb") as file:
                file.write(page.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(f"cannot write the {what}", where=str(path), got=reason, hint=_hint(path)) from None


def _hint(path: Path) -> str:
    if path.is_dir():
        return "the path is a folder; add a file name"
    if not path.parent.is_dir():
        return "its folder does not exist; make it first"
    return "choose a folder that you may write to"
