"""Hygiene: what a release does about texts that other programs would take for more than texts."""

from __future__ import annotations

from typing import Literal

from shoal.registry import Frozen


class Hygiene(Frozen):
    """What becomes of texts that a spreadsheet would take for formulas, such as ``=cmd|' /C calc'!A0``.

    Why it matters: whoever opens the release in a spreadsheet runs what some person wrote into a form. A text is taken
    for a formula if it begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, also after blanks and
    quotes. Numbers (``-5``, ``+3.2``) and a lone sign are none.

    Examples
    --------
    >>> Hygiene().formulas, Hygiene(formulas="refuse").looks_at_all_cells
    ('warn', True)
    """

    formulas: Literal["warn", "prefix", "refuse"] = "warn"
    """``warn``: they are published as they are, and told. ``prefix``: an apostrophe is put before them, in cells and
    names of columns, whatever the format. ``refuse``: there is no release, and it is told which columns have some."""

    @property
    def looks_at_all_cells(self) -> bool:
        """Whether every published cell has to be seen, also of columns that no promise looks at."""
        return self.formulas != "warn"

    @property
    def prefixes(self) -> bool:
        """Whether a published text may have an apostrophe before it that is not its own."""
        return self.formulas == "prefix"
