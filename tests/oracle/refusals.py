"""Was a refusal right, and does what it offers work?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import shoal

from .optimum import MOST_LOCAL, find_simple, search_nodes, search_partitions
from .results import Result, says_not_found, shorten, take_back
from .setting import CUTS, FULL_DOMAIN, LOCAL, Setting, build_table


def check_refused(result: Result, setting: Setting, error: shoal.ShoalError) -> None:
    """A policy that does not fit is told so for a reason that the oracle can see, where it can see one."""
    result.checks[f"refused: {type(error).__name__}: {_reason(error)}"] += 1


def _reason(error: shoal.ShoalError) -> str:
    return error.faults[0].what[:70] if error.faults else ""


def check_refusal(
    result: Result, setting: Setting, policy: Mapping[str, Any], error: shoal.Infeasible, *, thorough: bool
) -> None:
    """Where brute force finds a release, a refusal that claims there is none is false."""
    claims = not says_not_found(error)
    if len(setting.records) <= 8:
        found = _existing(setting)
        result.checks["refusal looked at" if found is not None else "refusal: unsure"] += 1
        simple = found and find_simple(setting) and setting.algorithm != "fixed-levels"
        if found and claims:
            result.find("false refusal", f"{shorten(error, 160)}; yet: {found}")
        elif simple and "stopped after" not in str(error):  # a limit that the policy sets is no giving up
            result.find("gave up", f"{shorten(error, 160)}; yet a simple answer complies: {found}")
    if thorough:
        check_relaxations(result, setting, policy, error)
        check_attainable(result, setting, policy, error)


def _existing(setting: Setting) -> str | None:
    """Return a release that the algorithm should have found, or an empty text where there is none."""
    known = all(reader.by_hand for reader in setting.readers)
    if setting.algorithm in LOCAL and known and len(setting.records) <= MOST_LOCAL:
        return next((str(_told(setting, one.shows)) for one in search_partitions(setting)), "")
    if setting.algorithm in FULL_DOMAIN | CUTS and known and setting.algorithm != "fixed-levels":
        return next((str(_told(setting, one.shows)) for one in search_nodes(setting)), "")
    if setting.algorithm != "fixed-levels" and find_simple(setting):
        return "one class of all, or the records that break a model suppressed"
    return None


def _told(setting: Setting, shows: Iterable[tuple[int, Any]]) -> dict[int, Any]:
    told = {}
    for index, shown in shows:
        told[index] = (
            "suppressed"
            if shown is None
            else [sorted(map(str, one)) if isinstance(one, frozenset) else str(one) for one in shown]
        )
    return told


def check_relaxations(result: Result, setting: Setting, policy: Mapping[str, Any], error: shoal.Infeasible) -> None:
    """Each change that is offered works, and publishes nothing that the policy did not."""
    draw = Random(f"relaxed {setting.case.get('seed')}")
    offered = list(error.relaxations)
    for relaxation in draw.sample(offered, min(2, len(offered))):
        try:
            release = shoal.anonymize(build_table(setting.case["columns"]), relaxation.policy)
        except Exception as failed:
            result.find("relaxation", f"“{relaxation}” does not work: {type(failed).__name__}: {shorten(failed)}")
            continue
        result.checks["relaxation"] += 1
        more = set(take_back(release.table).columns) - {*setting.columns, *setting.kept}
        if more:
            result.find("relaxation", f"“{relaxation}” publishes {sorted(more)}")


THRESHOLDS = {
    "k-anonymity": ("k", 2),
    "distinct-l-diversity": ("l", 2),
    "recursive-l-diversity": ("l", 2),
    "entropy-l-diversity": ("l", 1.000001),
    "t-closeness": ("t", None),
    "average-risk": ("threshold", None),
    "sample-uniqueness": ("threshold", None),
    "k-map": ("k", 2),
}


def check_attainable(result: Result, setting: Setting, policy: Mapping[str, Any], error: shoal.Infeasible) -> None:
    """What is told to be attainable of a model can be attained where nothing else is asked."""
    for title, value in error.attainable.items():
        models = [model for model in setting.models if model and title.startswith(model["name"])]
        if len(models) != 1 or models[0]["name"] not in THRESHOLDS:
            continue
        key, least = THRESHOLDS[models[0]["name"]]
        if not isinstance(value, (int, float)) or (least is not None and value < least):
            continue
        asked_value = value if isinstance(value, int) else _loosened(models[0]["name"], value)
        if isinstance(models[0][key], int) and not isinstance(asked_value, int):
            continue
        if models[0]["name"] in ("average-risk", "sample-uniqueness") and not asked_value < 1:
            continue
        asked = {**policy, "models": [{**models[0], key: asked_value}]}
        try:
            shoal.anonymize(build_table(setting.case["columns"]), asked)
        except shoal.Infeasible as failed:
            if says_not_found(failed):
                continue
            result.find("attainable", f"{title} {value} is told to be attainable; alone: {shorten(failed, 160)}")
        except shoal.ShoalError:
            continue
        except Exception as failed:
            result.find("crash", f"{type(failed).__name__}: {shorten(failed)}", models=asked["models"])
        else:
            result.checks["attainable"] += 1


def _loosened(name: str, value: float) -> float:
    """Told values are rounded to twelve digits: ask for a little less."""
    return max(1.000001, value - 1e-9) if name == "entropy-l-diversity" else min(1.0, value + 1e-9)
