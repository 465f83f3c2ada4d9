"""One case through everything: is the release safe, true, without a leak, as claimed; was a refusal right?

Every check yields findings; a finding is a difference between what the product says and what the definitions do.
"""

from __future__ import annotations

import csv
import io
import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

import shoal

from .cases import rename
from .damage import DAMAGES
from .definitions import Row
from .losses import measure_losses
from .matching import assign
from .meaning import same_value
from .optimum import MOST_LOCAL, find_simple, search_nodes, search_partitions
from .setting import ACROSS, CUTS, FULL_DOMAIN, LOCAL, Case, Setting, build_table

MOST_MATCHED = 60
"""Records up to which published ones are given an original each."""


@dataclass(frozen=True)
class Finding:
    """Something the product says or does that the definitions contradict."""

    kind: str
    detail: str
    case: Case
    more: Mapping[str, Any] = field(default_factory=dict)
    """What a reproduction needs besides: a damaged table, a permutation."""

    @property
    def signature(self) -> str:
        """Findings with the same one are told once, with a count."""
        setting = Setting(self.case)
        models = "+".join(sorted({model.get("name", "preset") for model in setting.models if model}))
        return f"{self.kind} | {setting.algorithm} | {models}"


@dataclass
class Result:
    """What became of a case."""

    case: Case
    outcome: str = "released"
    """``released``, ``infeasible``, ``not-found``, ``refused`` (the policy does not fit), or ``finding``."""
    findings: list[Finding] = field(default_factory=list)
    checks: Counter[str] = field(default_factory=Counter)
    """Which checks said something, so that one that never does is seen."""
    ratio: tuple[float, float] | None = None
    """The loss of a release and the least possible one, on tiny tables."""
    seconds: float = 0.0

    def find(self, kind: str, detail: str, **more: Any) -> None:
        """Note a finding."""
        self.findings.append(Finding(kind, detail, self.case, more))


# ---- calling the product


@contextmanager
def policy_of(case: Case) -> Iterator[dict[str, Any]]:
    """Return the policy of a case; its population lies in a file for as long as it is needed."""
    policy = dict(case["policy"])
    if not case.get("population"):
        yield policy
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "population.parquet")
        build_table(case["population"]).write_parquet(path)
        yield {**policy, "population": str(path)}


def hand_over(case: Case, table: pl.DataFrame) -> Any:
    """Give the table as the library that the case names holds it."""
    library = case.get("library", "polars")
    if library == "pandas":
        return table.to_pandas(use_pyarrow_extension_array=True)
    return table.to_arrow() if library == "pyarrow" else table


def take_back(table: Any) -> pl.DataFrame:
    """Return a published table as polars, whatever library it is of."""
    if isinstance(table, pl.DataFrame):
        return table
    if type(table).__module__.startswith("pandas"):
        return pl.from_pandas(table)
    return pl.DataFrame(pl.from_arrow(table))


def rows_of(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the records of a table."""
    return table.rows(named=True)


def says_not_found(error: Exception) -> bool:
    """Whether a refusal says that nothing was found, which claims less than that nothing exists."""
    return "not found" in str(error).lower() or "found no" in str(error).lower()


def run_case(case: Case, *, thorough: bool = True) -> Result:
    """Take a case through every check."""
    started = time.perf_counter()
    result = Result(case)
    setting = Setting(case)
    with policy_of(case) as policy:
        try:
            release = shoal.anonymize(hand_over(case, build_table(case["columns"])), policy)
        except shoal.Infeasible as error:
            result.outcome = "not-found" if says_not_found(error) else "infeasible"
            check_refusal(result, setting, policy, error, thorough=thorough)
        except shoal.AuditFailed as error:
            result.find("audit-failed", f"anonymize: {_short(error)}")
        except shoal.ShoalError as error:
            result.outcome = f"refused: {type(error).__name__}"
            check_refused(result, setting, error)
        except Exception as error:  # anything else is a crash, and a crash is a finding
            result.find("crash", f"{type(error).__name__}: {_short(error)}")
        else:
            check_release(result, setting, policy, release, thorough=thorough)
    if result.findings:
        result.outcome = "finding"
    result.seconds = time.perf_counter() - started
    return result


def _short(error: object, most: int = 300) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= most else text[:most] + "…"


# ---- a release


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
        result.find("audit-error", f"{type(again).__name__}: {_short(again)}")
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


def give_aside(setting: Setting, rows: list[dict[str, Any]], release: Any) -> list[Row]:
    """Put what the owner knows of each published record beside it."""
    published = []
    subject, weight = setting.policy.get("subject"), setting.policy.get("survey_weight")
    for place, record in enumerate(rows):
        cells = {name: _plain(setting, name, record[name]) for name in setting.kept}
        if subject and release.subjects is not None:
            cells[subject] = release.subjects[place]
        if release.asks is not None:
            cells.update({name: release.asks[name][place] for name in release.asks.columns})
        if weight and weight not in cells and release.weights is not None:
            cells[weight] = float(release.weights[place])
        texts = tuple(None if record[name] == "" else record[name] for name in setting.columns)
        published.append(Row(texts, cells))
    return published


def _plain(setting: Setting, name: str, cell: Any) -> Any:
    """Return a kept cell as the original's value that it shows, where it shows one."""
    for record in setting.records:
        if same_value(setting.kinds[name], record[name], cell):
            return record[name]
    return cell


def count_suppressed(setting: Setting, rows: Sequence[Row]) -> tuple[int, int]:
    """Return how many records are starred, and how many left out."""
    stars = sum(set(row.shows) == {"*"} for row in rows)
    left_out = len(setting.records) - len(rows)
    if stars == len(rows):  # nobody was singled out, but for those who had to be suppressed
        return max(0, len(setting.hidden) - left_out), left_out
    return stars, left_out


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


def allowed_originals(setting: Setting, row: Row, *, strict: bool = True) -> list[int]:
    """Return the original records that a published one is true of; strictly, none that must be suppressed."""
    starred = set(row.shows) == {"*"}
    found = []
    for place, record in enumerate(setting.records):
        if strict and place in setting.forced and not starred:
            continue
        if any(
            name in row.cells and not same_value(setting.kinds.get(name, "text"), record[name], row.cells[name])
            for name in record
        ):
            continue
        if starred:
            found.append(place)
            continue
        for reader, text in zip(setting.readers, row.shows, strict=True):
            cover, value = reader.cover(text), record[reader.name]
            if value is None and text == "*" and not strict:
                continue
            if value not in cover or (value is None and reader.missing == "wildcard" and text != "*"):
                break
            held = setting.ceiling(reader).get(value)
            if held is not None and not (cover <= held or reader.reading(text) <= held):
                break
        else:
            found.append(place)
    return found


def is_true(setting: Setting, rows: Sequence[Row], *, strict: bool = True) -> bool | None:
    """Whether every published record can be given an original one of its own; ``None`` where texts cannot be read."""
    if len(rows) > MOST_MATCHED:
        return None
    if any(reader.role.get("treatment") for reader in setting.readers):
        return None
    return assign([allowed_originals(setting, row, strict=strict) for row in rows]) is not None


def unreadable(setting: Setting, rows: Sequence[Row]) -> bool:
    """Whether a label of a hierarchy made from data has a name that only that hierarchy knows."""
    for place, reader in enumerate(setting.readers):
        if not reader.by_hand and any(not reader.cover(row.shows[place]) for row in rows):
            return True
    return False


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


def audit_of(setting: Setting, table: Any, policy: Mapping[str, Any], release: Any = None) -> Any:
    """Audit a table against the original as an owner would; an error is returned."""
    known: dict[str, Any] = {}
    if release is not None:
        known = {"subjects": release.subjects, "weights": release.weights}
        if release.asks is not None:
            known["asks"] = {name: release.asks[name].to_list() for name in release.asks.columns}
    try:
        return shoal.audit(table, policy, original=build_table(setting.case["columns"]), **known)
    except Exception as error:
        return error


# ---- damage


def check_damage(
    result: Result, setting: Setting, policy: Mapping[str, Any], release: Any, rows: list[dict[str, Any]]
) -> None:
    """A damaged release must not pass, unless it happens to be another true and compliant one."""
    asked = any(model.get("name") == "personal-k" for model in setting.models)
    if not rows or setting.policy.get("subject") or asked or release.weights is not None:
        return  # whose record a damaged one is, nobody can say
    draw = Random(f"damage {setting.case.get('seed')}")
    kind = take_back(release.table)
    for name in draw.sample(sorted(DAMAGES), 3):
        damaged = DAMAGES[name](draw, setting, [dict(row) for row in rows])
        if damaged is None:
            continue
        judge_damage(result, setting, policy, kind, name, damaged)


def judge_damage(
    result: Result,
    setting: Setting,
    policy: Mapping[str, Any],
    kind: pl.DataFrame,
    name: str,
    damaged: list[dict[str, Any]],
) -> None:
    """Compare the audit of a damaged table with what matching and definitions say of it."""
    table = pl.DataFrame(damaged, schema=kind.schema, orient="row")
    table = table.sort(pl.all(), nulls_last=False) if not set(table.columns) & {"*"} else table
    audit = audit_of(setting, table, policy)
    if isinstance(audit, shoal.ShoalError):
        result.checks["damage: error"] += 1
        return
    if isinstance(audit, Exception):
        result.find("crash", f"audit of a damaged table: {type(audit).__name__}: {_short(audit)}", damaged=damaged)
        return
    rows = [
        Row(
            tuple(None if row[one] == "" else row[one] for one in setting.columns),
            {one: _plain(setting, one, row[one]) for one in setting.kept},
        )
        for row in damaged
    ]
    wrong = what_is_wrong(setting, rows)
    if audit.holds and wrong:
        result.find(
            f"damage missed: {wrong[0].split(':')[0]}", f"after {name} the audit holds; {wrong}", damaged=damaged
        )
    else:
        result.checks["damage"] += 1


def what_is_wrong(setting: Setting, rows: list[Row]) -> list[str]:
    """Say what the definitions have against a published table."""
    wrong = []
    starred, left_out = count_suppressed(setting, rows)
    if starred + max(0, left_out) > setting.may_suppress:
        wrong.append(f"suppressed: {starred + left_out} of {setting.may_suppress}")
    if left_out < 0:
        wrong.append("records: more than the original has")
    for model, judged in zip(
        [one for one in setting.models if one], setting.judge_all(rows, strict=True), strict=False
    ):
        if judged.holds is False:
            wrong.append(f"model {model['name']}: {judged.attained}")
    if not unreadable(setting, rows) and is_true(setting, rows, strict=False) is False:
        wrong.append("truth: no assignment of original records")
    return wrong


# ---- the same again, otherwise


def check_same_again(
    result: Result, setting: Setting, policy: Mapping[str, Any], release: Any, table: pl.DataFrame
) -> None:
    """The order of records changes nothing, and twice the records keep what was kept."""
    case = setting.case
    draw = Random(f"order {case.get('seed')}")
    order = list(range(len(setting.records)))
    draw.shuffle(order)
    moved = [{**one, "values": [one["values"][place] for place in order]} for one in case["columns"]]
    try:
        other = shoal.anonymize(build_table(moved), policy)
    except shoal.ShoalError as error:
        result.find("order", f"refused in another order: {type(error).__name__} {_short(error)}", order=order)
        return
    except Exception as error:
        result.find("crash", f"in another order: {type(error).__name__}: {_short(error)}", order=order)
        return
    if as_csv(take_back(other.table)) != as_csv(table):
        result.find("order", "another order of the records gives another release", order=order)
    else:
        result.checks["order"] += 1
    check_renamed(result, setting, table)
    check_doubled(result, setting, policy, release)


def check_renamed(result: Result, setting: Setting, table: pl.DataFrame) -> None:
    """What columns are called changes nothing but the header."""
    if setting.case.get("seed", 0) % 3:
        return  # a third of the cases is enough
    other = rename(setting.case)
    try:
        with policy_of(other) as policy:
            renamed = take_back(shoal.anonymize(build_table(other["columns"]), policy).table)
    except Exception as error:
        result.find("renamed", f"{type(error).__name__}: {_short(error)}")
        return
    if as_csv(renamed)[1:] != as_csv(table)[1:]:
        result.find("renamed", "other names of the columns give another release")
    result.checks["renamed"] += 1


def check_doubled(result: Result, setting: Setting, policy: Mapping[str, Any], release: Any) -> None:
    """Every record twice: classes are twice as large and shares the same, so a release is there too."""
    estimates = any(model.get("estimator") for model in setting.models)
    built = any(reader.levels is None for reader in setting.readers)  # these follow the counts
    if setting.policy.get("subject") or setting.people or built or estimates or setting.policy.get("survey_weight"):
        return
    twice = [{**one, "values": [*one["values"], *one["values"]]} for one in setting.case["columns"]]
    try:
        other = shoal.anonymize(build_table(twice), policy)
    except shoal.Infeasible as error:
        if not says_not_found(error):
            result.find("doubled", f"infeasible with every record twice: {_short(error)}", doubled=True)
        return
    except shoal.ShoalError as error:
        result.find("doubled", f"{type(error).__name__}: {_short(error)}", doubled=True)
        return
    except Exception as error:
        result.find("crash", f"doubled: {type(error).__name__}: {_short(error)}", doubled=True)
        return
    result.checks["doubled"] += 1
    if setting.algorithm in ("optimal", "exhaustive") and "loss" not in setting.policy:
        before, after = (one.audit.utility["certainty-penalty"].total for one in (release, other))
        if after > before + 1e-9:
            result.find("doubled", f"twice the records lose more: {before} to {after}", doubled=True)


def as_csv(table: pl.DataFrame) -> list[list[str]]:
    """Return what a CSV of the table says."""
    return list(csv.reader(io.StringIO(table.write_csv())))


# ---- a refusal


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
            result.find("false refusal", f"{_short(error, 160)}; yet: {found}")
        elif simple and "stopped after" not in str(error):  # a limit that the policy sets is no giving up
            result.find("gave up", f"{_short(error, 160)}; yet a simple answer complies: {found}")
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
    for place, shown in shows:
        told[place] = (
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
            result.find("relaxation", f"“{relaxation}” does not work: {type(failed).__name__}: {_short(failed)}")
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
            result.find("attainable", f"{title} {value} is told to be attainable; alone: {_short(failed, 160)}")
        except shoal.ShoalError:
            continue
        except Exception as failed:
            result.find("crash", f"{type(failed).__name__}: {_short(failed)}", models=asked["models"])
        else:
            result.checks["attainable"] += 1


def _loosened(name: str, value: float) -> float:
    """Told values are rounded to twelve digits: ask for a little less."""
    return max(1.000001, value - 1e-9) if name == "entropy-l-diversity" else min(1.0, value + 1e-9)
