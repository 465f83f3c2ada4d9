"""Other output forms: ends for machines, statistics of classes, anatomy, pseudonyms; each by its own definition."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import time
from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

import shoal

from .cases import POOLS, draw_hierarchy, draw_values
from .meaning import ORDERED, Reader, read_days, read_members, read_span, same_value, to_number
from .releases import check_safe, check_true
from .results import Result, rows_of, says_not_found, shorten
from .rows import count_suppressed, give_aside
from .setting import Case, Setting, build_table

KEY = b"a key of the oracle, no secret"


def draw_form(seed: int) -> Case:
    """Draw a small table and a form to publish it in."""
    draw = Random(f"forms {seed}")
    form = draw.choice(["ends", "statistics", "anatomy", "pseudonyms"])
    count = draw.choice([4, 5, 6, 8, 12, 20])
    columns: list[dict[str, Any]] = []
    roles: dict[str, Any] = {}
    for name in ["q1", "q2", "q3"][: draw.choice([1, 2, 2, 3])]:
        kind = draw.choice(["integer", "integer", "float", "date", "text", "datetime", "boolean"])
        pool = list(draw.choice(POOLS[kind]))
        missing = 0.15 if draw.random() < 0.3 else 0
        columns.append({"name": name, "kind": kind, "values": draw_values(draw, pool, count, missing)})
        role = {} if form == "anatomy" else draw_hierarchy(draw, kind, pool, needed=draw.random() < 0.4)
        if missing and draw.random() < 0.5 and form != "anatomy":
            role["missing"] = draw.choice(["wildcard", "suppress"])
        roles[name] = role
    pool = draw.choice([["flu", "cold", "hiv"], ["x", "y"], [1, 2, 3, 4]])
    kind = "integer" if isinstance(pool[0], int) else "text"
    columns.append({"name": "s", "kind": kind, "values": draw_values(draw, list(pool), count, 0)})
    columns.append({"name": "name", "kind": "text", "values": [f"Anna {index:03d}" for index in range(count)]})
    policy: dict[str, Any] = {
        "identifiers": ["name"],
        "quasi_identifiers": roles,
        "sensitive": ["s"],
        "models": [{"name": "k-anonymity", "k": draw.choice([2, 3])}],
        "max_suppressed": draw.choice([0, 0, 0.3]),
        "algorithm": draw.choice(["mondrian", "shoal", "k-member", "kaca"]),
        "publish": draw.choice(["labels", "ranges", "sets"]),
    }
    if form == "ends":
        policy["output"] = {"form": "generalized", "ends": True}
    elif form == "statistics":
        policy["output"] = draw.choice(["statistics", {"form": "statistics", "number": "cluster", "ends": True}])
    elif form == "anatomy":
        policy["output"] = draw.choice(["anatomy", {"form": "anatomy", "number": "bucket"}])
        policy["models"] = [{"name": "distinct-l-diversity", "on": "s", "l": draw.choice([2, 2, 3])}]
        policy["seed"] = draw.getrandbits(100)
        del policy["publish"], policy["max_suppressed"], policy["algorithm"]
    else:
        policy["identifiers"] = {"name": {"pseudonym": True, "digits": draw.choice([8, 16, 64])}}
    return {"family": "forms", "seed": seed, "form": form, "columns": columns, "policy": policy, "library": "polars"}


def run_form(case: Case) -> Result:
    """Check a release in its form."""
    started = time.perf_counter()
    result, setting = Result(case), Setting(case)
    key = KEY if case["form"] == "pseudonyms" else None
    try:
        release = shoal.anonymize(build_table(case["columns"]), case["policy"], key=key)
    except shoal.Infeasible as error:
        result.outcome = "not-found" if says_not_found(error) else "infeasible"
        if case["form"] == "anatomy":
            check_eligible(result, setting, refused=True)
    except shoal.AuditFailed as error:
        result.find("audit-failed", shorten(error))
    except shoal.ShoalError as error:
        result.outcome = f"refused: {type(error).__name__}"
    except Exception as error:
        result.find("crash", f"{type(error).__name__}: {shorten(error)}")
    else:
        CHECKS[case["form"]](result, setting, release)
        again = shoal.audit(
            release.table,
            case["policy"],
            original=build_table(case["columns"]),
            beside=release.beside,
            rows=release.rows,
        )
        if not again.holds:
            result.find("true-release-refused", f"{[str(fault) for fault in again.faults]}")
        shuffled = build_table(case["columns"]).reverse()
        other = shoal.anonymize(shuffled, case["policy"], key=key)
        if not other.frame.equals(release.frame):
            result.find("order", "another order of the records gives another release")
    if result.findings:
        result.outcome = "finding"
    result.seconds = time.perf_counter() - started
    return result


def check_ends(result: Result, setting: Setting, release: Any) -> None:
    """After each quasi-identifier of numbers or dates stand the ends that its text tells."""
    rows = rows_of(release.frame)
    for reader in setting.readers:
        if reader.kind not in ORDERED or reader.role.get("hierarchy") in ("ordering", "similarity"):
            continue  # groups are labels, and labels that are no ranges have no ends
        low, high = f"{reader.name}.low", f"{reader.name}.high"
        if rows and low not in rows[0]:
            result.find("ends", f"there is no {low}")
            return
        for row in rows:
            ours = _ends(reader, row[reader.name])
            if ours is None:
                continue
            theirs = (row[low], row[high])
            if not all(_same_end(a, b) for a, b in zip(ours, theirs, strict=True)):
                result.find("ends", f"{row[reader.name]!r} has the ends {ours}, told {theirs}")
                return
        result.checks["ends"] += 1
    plain = [{name: row[name] for name in (*setting.columns, *setting.kept)} for row in rows]
    _check_plain(result, setting, plain, release)


def _ends(reader: Reader, text: str | None) -> tuple[Any, Any] | None:
    """Return the ends that a text tells, ``(None, None)`` where it has none, ``None`` where the oracle cannot say."""
    if text is None or text == "*":
        return None, None
    exact = [value for value in reader.known if value in reader.cover(text) and reader._shows(text, value)]
    if exact and len(reader.cover(text)) == 1:
        return to_number(exact[0]), to_number(exact[0])
    if text in reader.labels:
        return None
    if reader.kind in ("date", "datetime"):
        days = read_days(text)
        if days is not None:
            unit = 1 if reader.kind == "date" else 86400
            first, last = (Fraction((day - dt.date(1970, 1, 1)).days * unit) for day in days)
            return (first, last) if reader.kind == "date" else None
    span = read_span(reader.kind, text)
    if span is not None:
        return span.low, span.high
    members = read_members(text)
    if members is not None and None in members:
        return None, None
    if members is not None:
        numbers = sorted(to_number(value) for value in reader.cover(text))
        return (numbers[0], numbers[-1]) if numbers else None
    return None


def _same_end(ours: Fraction | None, theirs: Any) -> bool:
    if ours is None or theirs is None:
        return ours is None and theirs is None
    if isinstance(theirs, str):
        return True
    return abs(float(ours) - float(to_number(theirs))) <= 1e-9 * max(1.0, abs(float(ours)))


def _check_plain(result: Result, setting: Setting, rows: list[dict[str, Any]], release: Any) -> None:
    published = give_aside(setting, rows, release)
    check_safe(result, setting, published, release.audit)
    check_true(result, setting, published)


def check_statistics(result: Result, setting: Setting, release: Any) -> None:
    """Numbers stand for classes one to one; what is told of all classes together is so of the records."""
    rows = rows_of(release.frame)
    output = setting.policy["output"]
    number = output.get("number", "class") if isinstance(output, dict) else "class"
    shown: dict[Any, set[Any]] = {}
    for row in rows:
        shown.setdefault(row[number], set()).add(tuple(row[name] for name in setting.columns))
    told = [one for texts in shown.values() for one in texts]
    if any(len(texts) > 1 for texts in shown.values()) or len(set(told)) != len(told):
        result.find("statistics", "class numbers and texts are not one to one")
    _check_plain(
        result, setting, [{name: row[name] for name in (*setting.columns, *setting.kept)} for row in rows], release
    )
    sizes = Counter(row[number] for row in rows)
    beside = rows_of(next(iter(release.details.companions.values())))
    starred, left_out = count_suppressed(setting, give_aside(setting, rows, release))
    for reader in setting.readers:
        mine = [one for one in beside if one["column"] == reader.name]
        told_counts: Counter[Any] = Counter()
        for one in mine:
            told_counts[one[number]] += one["records"]
        for group, many in told_counts.items():
            if many > sizes[group]:
                result.find("statistics", f"{reader.name}: {many} records told in class {group} of {sizes[group]}")
                return
        if starred or left_out or any(record[reader.name] is None for record in setting.records):
            continue
        if reader.kind in ORDERED and reader.kind != "datetime":
            ours = sum(to_number(record[reader.name]) for record in setting.records)
            theirs = sum(one["records"] * one["mean"] for one in mine if one["mean"] is not None)
            if all(one["mean"] is not None for one in mine) and abs(float(ours) - theirs) > 1e-6 * max(1, abs(ours)):
                result.find("statistics", f"{reader.name}: means add up to {theirs}, the values to {float(ours)}")
        elif reader.kind not in ORDERED:
            values: Counter[str] = Counter()
            for one in mine:
                values[str(one["value"])] += one["records"]
            if values != Counter(reader.text_of(record[reader.name]) for record in setting.records):
                result.find("statistics", f"{reader.name}: told values {dict(values)}")
        result.checks["statistics"] += 1


def check_eligible(result: Result, setting: Setting, *, refused: bool) -> None:
    """A table can be taken apart if no value has more than 1/l of its records (Xiao and Tao 2006)."""
    asked = setting.models[0]["l"]
    often = Counter(record["s"] for record in setting.records).most_common(1)[0][1]
    eligible = often * asked <= len(setting.records)
    if refused == eligible:
        result.find(
            "anatomy", f"{'refused' if refused else 'released'}; {often} of {len(setting.records)} have one value"
        )
    result.checks["eligible"] += 1


def check_anatomy(result: Result, setting: Setting, release: Any) -> None:
    """Quasi-identifiers as they are, groups of at least l different values, counts that add up to the original's."""
    check_eligible(result, setting, refused=False)
    rows, beside = rows_of(release.frame), rows_of(release.details.companions["sensitive"])
    output, asked = setting.policy["output"], setting.models[0]["l"]
    number = output.get("number", "group") if isinstance(output, dict) else "group"
    left: list[Any] = [tuple(record[name] for name in setting.columns) for record in setting.records]
    for row in rows:
        fits = [
            one
            for one in left
            if all(
                same_value(setting.kinds[name], value, row[name])
                for name, value in zip(setting.columns, one, strict=True)
            )
        ]
        if not fits:
            result.find("anatomy", f"no original has {row}")
            return
        left.remove(fits[0])
    if left or set(rows[0]) != {*setting.columns, number}:
        result.find("anatomy", f"{len(left)} records are missing, or columns {list(rows[0])}")
    groups: dict[Any, Counter[Any]] = {}
    count = next(name for name in beside[0] if name not in (number, "s"))
    for one in beside:
        groups.setdefault(one[number], Counter())[one["s"]] += one[count]
    if Counter(row[number] for row in rows) != Counter({group: sum(held.values()) for group, held in groups.items()}):
        result.find("anatomy", "groups have other sizes in the two tables")
    if any(len(held) < asked or max(held.values()) * asked > sum(held.values()) for held in groups.values()):
        result.find("anatomy", f"a group breaks l = {asked}: {groups}")
    total: Counter[Any] = sum(groups.values(), Counter())
    if sorted(map(str, total.elements())) != sorted(str(record["s"]) for record in setting.records):
        result.find("anatomy", "the sensitive values are not those of the original")
    result.checks["anatomy"] += 1


def check_pseudonyms(result: Result, setting: Setting, release: Any) -> None:
    """Pseudonyms are HMAC-SHA-256 over the text, cut to the digits asked for; the names are gone."""
    digits = setting.policy["identifiers"]["name"]["digits"]
    wanted = {
        hmac.new(KEY, record["name"].encode(), hashlib.sha256).hexdigest()[:digits]: record
        for record in setting.records
    }
    rows = rows_of(release.frame)
    for row in rows:
        record = wanted.pop(row["name.pseudonym"], None)
        if record is None:
            result.find("pseudonym", f"{row['name.pseudonym']!r} is nobody's, or somebody's twice")
            return
        if not same_value(setting.kinds["s"], record["s"], row["s"]):
            result.find("untrue", f"the record of {record['name']} shows {row['s']!r}")
            return
        for reader in setting.readers:  # who it is is known, so the texts must cover this very record
            if record[reader.name] not in reader.cover(row[reader.name]) and set(row.values()) != {"*"}:
                if reader.missing == "suppress" or not reader.by_hand:
                    continue
                result.find("untrue", f"{row[reader.name]!r} does not cover {record[reader.name]!r}")
                return
    if "Anna" in release.frame.write_csv():
        result.find("leak", "a name is in the table")
    _check_plain(
        result, setting, [{name: row[name] for name in (*setting.columns, *setting.kept)} for row in rows], release
    )
    result.checks["pseudonyms"] += 1


CHECKS = {
    "ends": check_ends,
    "statistics": check_statistics,
    "anatomy": check_anatomy,
    "pseudonyms": check_pseudonyms,
}
