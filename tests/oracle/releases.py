"""Is a release safe, true, without a leak, and as it is claimed to be?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from .again import check_same_again
from .damaged import check_damage
from .definitions import Row
from .losses import measure_losses
from .optimum import MOST_LOCAL, search_nodes, search_partitions
from .results import Result, audit_of, rows_of, shorten, take_back
from .rows import allowed_originals, count_suppressed, give_aside, is_true, unreadable
from .setting import ACROSS, FULL_DOMAIN, LOCAL, Setting


def check_release(result: Result, setting: Setting, policy: Mapping[str, Any], release: Any, *, thorough: bool) -> None:
    """Check all that is said of a release."""
    table = take_back(release.table)
    rows = rows_of(table)
    if not check_columns(result, setting, table):
        return
    published = give_aside(setting, rows, release)
    check_safe(result, setting, published, release.audit)
    check_true(result, setting, published)
    check_figures(result, setting, published, release)
    check_optimum(result, setting, release)
    again = audit_of(setting, release.table, policy, release)
    if isinstance(again, Exception):
        result.find("audit-error", f"{type(again).__name__}: {shorten(again)}")
    elif not again.holds:
        faults = [str(fault) for fault in again.faults if fault.kind == "fault"]
        failed = [str(model) for model in again.models if not model.holds]
        result.find("true-release-refused", f"the audit of a good release does not hold: {faults or failed}")
    else:
        result.checks["audited"] += 1
        if thorough:
            check_damage(result, setting, policy, release, rows)
    if thorough:
        check_same_again(result, setting, policy, release, table)


def check_columns(result: Result, setting: Setting, table: pl.DataFrame) -> bool:
    """Published are the quasi-identifiers and what is kept, nothing else, whatever it is called."""
    wanted = {*setting.columns, *setting.kept}
    if set(table.columns) != wanted:
        result.find("columns", f"published {table.columns}, should be {sorted(wanted)}")
        return False
    result.checks["columns"] += 1
    return True


def check_safe(result: Result, setting: Setting, rows: list[Row], audit: Any) -> None:
    """Every model holds by its definition, and no more records are suppressed than may be."""
    if not rows:
        result.find("empty", "the published table has no records")
        return
    starred, left_out = count_suppressed(setting, rows)
    if starred + left_out > setting.may_suppress:
        result.find("over-suppressed", f"{starred} starred, {left_out} left out, {setting.may_suppress} may be")
    if setting.policy.get("suppressed") == "drop" and starred:
        result.find("starred", f"{starred} records are starred though suppressed ones are to be left out")
    told = list(audit.models)
    models = [model for model in setting.models if model]
    for model, judged, said in zip(models, setting.judge_all(rows, strict=True), told, strict=False):
        if judged.holds is None:
            result.checks["safe: unsure"] += 1
            continue
        result.checks["safe"] += 1
        if not judged.holds:
            result.find("unsafe", f"{_name(model)} does not hold: {judged.attained}")
        elif not said.holds:
            result.find("claim", f"{_name(model)} holds by its definition, the audit denies it")
        told = None not in (judged.attained, said.attained)
        worse = judged.at_least and told and float(said.attained) >= judged.attained
        if judged.attained is not None and not worse and not _near(judged.attained, said.attained):
            result.find("attained", f"{_name(model)}: by definition {judged.attained}, told {said.attained}")


def _name(model: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in model.items())


def _near(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, tuple):
        return isinstance(theirs, (tuple, list)) and all(map(_near, ours, theirs))
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=1e-5, abs_tol=1e-6)
    except (TypeError, ValueError):
        return str(ours) == str(theirs)


def check_true(result: Result, setting: Setting, rows: list[Row]) -> None:
    """Every published record is that of an original one."""
    if setting.readers and unreadable(setting, rows):
        result.checks["true: unsure"] += 1
        return
    true = is_true(setting, rows)
    if true is None:
        result.checks["true: unsure"] += 1
    elif true:
        result.checks["true"] += 1
    else:
        lost = [row for row in rows if not allowed_originals(setting, row)]
        result.find("untrue", f"no original for {[(row.shows, dict(row.cells)) for row in lost[:2]]}")


def check_figures(result: Result, setting: Setting, rows: list[Row], release: Any) -> None:
    """What is told of records, classes, suppression and losses is what the definitions give."""
    starred, left_out = count_suppressed(setting, rows)
    audit = release.audit
    ours = {
        "records": len(setting.records),
        "published": len(rows),
        "starred": starred,
        "left_out": left_out,
        "suppressed": starred + left_out,
        "classes": len({row.shows for row in rows}),
    }
    for name, number in ours.items():
        if getattr(audit, name) != number:
            result.find("figure", f"{name}: counted {number}, told {getattr(audit, name)}")
    if unreadable(setting, rows) or any(reader.role.get("treatment") for reader in setting.readers):
        return
    # where all show *, they are one class, also those of them who had to be suppressed
    alone = all(set(row.shows) == {"*"} for row in rows)
    kept = [row.shows for row in rows if alone or set(row.shows) != {"*"}]
    for name, ours_loss in measure_losses(setting, kept, left_out if alone else starred + left_out).items():
        told = audit.utility.get(name)
        if told is None:
            continue
        result.checks["loss"] += 1
        if not math.isclose(ours_loss, told.total, rel_tol=1e-6, abs_tol=1e-9):
            result.find(f"loss {name}", f"by definition {ours_loss:.6f}, told {told.total:.6f}")


def check_optimum(result: Result, setting: Setting, release: Any) -> None:
    """A bound lies below every release that there is, and what is proven to be best is."""
    proof = release.recoding.proof
    told = release.audit.utility.get("certainty-penalty")
    loss = None if told is None else told.total
    bound = release.audit.claimed_bound
    if bound is not None and loss is not None and bound > loss + 1e-9:
        result.find("bound", f"bound {bound} above the loss {loss}")
    if len(setting.records) > 8:
        return
    plain = setting.policy.get("loss", {"name": "certainty-penalty"})["name"] == "certainty-penalty"
    if setting.algorithm in LOCAL and len(setting.records) <= MOST_LOCAL and loss is not None:
        best = min((found.loss for found in search_partitions(setting) if found.loss is not None), default=None)
        if best is not None:
            result.checks["optimum local"] += 1
            if bound is not None and bound > float(best) + 1e-9:
                result.find("bound", f"bound {bound} above a release that loses {float(best)}")
            if plain and loss >= float(best) - 1e-9:  # below it the oracle took some text for dearer than it is
                result.ratio = (loss, float(best))
    across = any(model["name"] in ACROSS for model in setting.models if model)
    if setting.algorithm in FULL_DOMAIN - {"fixed-levels"} and plain and not across and loss is not None:
        found = [one.loss for one in search_nodes(setting)]
        if not found or None in found:
            return
        result.checks["optimum full-domain"] += 1
        best = min(one for one in found if one is not None)
        proven = proof is not None and getattr(proof, "proven", False)
        if proven and loss > float(best) + 1e-9:
            result.find("proven", f"proven at {loss}, a node loses {float(best)}")
        if proof is not None and proof.bound is not None and proof.bound > float(best) + 1e-9:
            result.find("bound", f"bound {proof.bound} above a node that loses {float(best)}")
        if loss < float(best) - 1e-9:
            result.find("optimum", f"loss {loss} below the best node {float(best)}")
        result.ratio = (loss, float(best))
