"""Formulas on the road: told before the search, and made harmless before any engine holds what is published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from shoal.engines.counted import CountedTable
from shoal.engines.formulas import REFUSED_HINT, WARNED_HINT, formula_faults, make_harmless, name_is_formula
from shoal.errors import Fault
from shoal.pipeline.publish import Published
from shoal.policy import Policy
from shoal.policy.published_columns import published_columns


def formula_misfits(table: CountedTable, policy: Policy) -> Iterator[Fault]:
    """Yield columns with texts that a spreadsheet would take for formulas, where these are published as they are.

    Where values are generalized, whether one is published is seen only afterwards: that is a warning.
    """
    if policy.hygiene.prefixes:
        return
    names = published_columns(table.frame.columns, policy)
    shown = table.with_frame(pl.DataFrame([table.frame[name] for name in names]))
    refuses = policy.hygiene.looks_at_all_cells
    for fault in formula_faults(shown, "warning", REFUSED_HINT if refuses else WARNED_HINT):
        is_exact = not (fault.where in policy.quasi_identifiers and policy.output.generalizes)
        kind = "fault" if refuses and (is_exact or name_is_formula(fault.where)) else "warning"
        yield replace(fault, where=f"published.{fault.where}", kind=kind)


def publish_harmless(published: Published, policy: Policy) -> Published:
    """Return what is published without texts that a spreadsheet would take for formulas, where the policy says so.

    It is the last that happens to texts before any engine holds them; an audit reads them back.

    Raises
    ------
    Misfit
        There are some, and the policy refuses them.
    """
    companions = {
        name: make_harmless(CountedTable(frame), policy).frame for name, frame in published.companions.items()
    }
    return replace(published, table=make_harmless(published.table, policy), companions=companions)
