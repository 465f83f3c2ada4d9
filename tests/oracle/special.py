"""Rules that stand beside the models: differential privacy by sampling, and the treatments of Safe Harbor."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from random import Random
from typing import Any

import shoal

from .results import Result, shorten
from .setting import Case, Setting, build_table


def draw_special(seed: int) -> Case:
    """Draw a table that is sampled, or one whose columns are treated first."""
    draw = Random(f"special {seed}")
    return _draw_sample(draw, seed) if draw.random() < 0.5 else _draw_treated(draw, seed)


def _draw_sample(draw: Random, seed: int) -> Case:
    count = draw.choice([60, 150, 300])
    columns = [
        {"name": "age", "kind": "integer", "values": [draw.randint(20, 60) for _ in range(count)]},
        {"name": "sex", "kind": "text", "values": [draw.choice(["f", "m"]) for _ in range(count)]},
        {"name": "other", "kind": "text", "values": [f"secret {index:04d}" for index in range(count)]},
    ]
    policy = {
        "quasi_identifiers": {"age": {"hierarchy": "intervals", "widths": [10, 20]}, "sex": "suppress"},
        "others": "drop",
        "models": [
            {
                "name": "differential-privacy",
                "epsilon": draw.choice([0.5, 1, 2]),
                "delta": draw.choice([0.1, 0.01, 0.001]),
            }
        ],
        "algorithm": {"name": "fixed-levels", "levels": {"age": draw.choice([1, 2, 3]), "sex": draw.choice([0, 1])}},
        "suppressed": "drop",
        "max_suppressed": 1,
        "seed": draw.getrandbits(120),
    }
    return {"family": "special", "seed": seed, "form": "sample", "columns": columns, "policy": policy}


def _draw_treated(draw: Random, seed: int) -> Case:
    count = draw.choice([8, 20, 40])
    zips = draw.choice([["02139", "02140", "03601", "10001", "10012"], ["10001", "10002"]])
    columns = [
        {"name": "zip", "kind": "text", "values": [draw.choice(zips) for _ in range(count)]},
        {
            "name": "age",
            "kind": "integer",
            "values": [draw.choice([34, 35, 60, 89, 90, 91, 104]) for _ in range(count)],
        },
        {
            "name": "visit",
            "kind": "date",
            "values": [draw.choice(["2020-03-02", "2020-11-30", "2021-01-01"]) for _ in range(count)],
        },
    ]
    roles: dict[str, Any] = {
        "zip": {"treatment": "zip3", "hierarchy": draw.choice(["suppress", "suppress"])},
        "age": {"treatment": "age-90"},
        "visit": {"treatment": "year", "hierarchy": "suppress"},
    }
    chosen = draw.sample(sorted(roles), draw.randint(1, 3))
    policy = {
        "quasi_identifiers": {name: roles[name] for name in chosen},
        "others": "drop",
        "models": [{"name": "k-anonymity", "k": draw.choice([2, 3])}],
        "algorithm": draw.choice(["shoal", "mondrian", "kaca"]),
        "max_suppressed": draw.choice([0, 0.3]),
    }
    return {"family": "special", "seed": seed, "form": "treated", "columns": columns, "policy": policy}


def run_special(case: Case) -> Result:
    """Check a sample or a treated table."""
    started = time.perf_counter()
    result, setting = Result(case), Setting(case)
    try:
        release = shoal.anonymize(build_table(case["columns"]), case["policy"])
    except shoal.AuditFailed as error:
        result.find("audit-failed", shorten(error))
    except shoal.ShoalError as error:
        result.outcome = "infeasible" if isinstance(error, shoal.Infeasible) else f"refused: {type(error).__name__}"
        result.checks[f"special {case['form']}: {shorten(error, 60)}"] += 1
    except Exception as error:
        result.find("crash", f"{type(error).__name__}: {shorten(error)}")
    else:
        (check_sample if case["form"] == "sample" else check_treated)(result, setting, release)
    if result.findings:
        result.outcome = "finding"
    result.seconds = time.perf_counter() - started
    return result


def least_k(epsilon: float, delta: float) -> int:
    """Return the least k of Li et al. (2012), Theorem 5, for β = 1 - exp(-ε).

    δ is the greatest, over all n from n_m = ⌈k / γ⌉ - 1 on, of the chance that more than γ n of n records are drawn;
    γ = (exp(ε) - 1 + β) / exp(ε).
    """
    beta = 1 - math.exp(-epsilon)
    gamma = (math.exp(epsilon) - 1 + beta) / math.exp(epsilon)
    k = 1
    while True:
        first = max(0, math.ceil(k / gamma - 1 - 1e-12))
        worst = max(_tail(n, beta, gamma) for n in range(first, first + 60))
        if worst <= delta:
            return k
        k += 1


def _tail(n: int, beta: float, gamma: float) -> float:
    least = math.floor(gamma * n + 1e-12) + 1
    return sum(math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(least, n + 1))


def check_sample(result: Result, setting: Setting, release: Any) -> None:
    """Only quasi-identifiers are published, at the fixed levels, and only where k of the drawn ones look alike."""
    model = setting.models[0]
    rows = release.table.rows()
    if set(release.table.columns) != set(setting.columns):
        result.find("columns", f"published {release.table.columns}")
    k = least_k(model["epsilon"], model["delta"])
    sizes = Counter(rows)
    if sizes and min(sizes.values()) < k:
        result.find("unsafe", f"a class of {min(sizes.values())}; ε and δ ask for {k}")
    levels = setting.policy["algorithm"]["levels"]
    wanted = []
    for reader in setting.readers:
        assert reader.levels is not None
        level = min(levels[reader.name], len(reader.levels) - 1)
        wanted.append({reader.levels[level][value] for value in reader.known})
    for row in sizes:
        for reader, text, covers in zip(setting.readers, row, wanted, strict=True):
            if reader.cover(text) not in covers:
                result.find("untrue", f"{text!r} is no label of the fixed level of {reader.name}")
                return
    originals = Counter()
    for record in setting.records:
        for row in sizes:
            if all(record[one.name] in one.cover(text) for one, text in zip(setting.readers, row, strict=True)):
                originals[row] += 1
    if any(number > originals[row] for row, number in sizes.items()):
        result.find("untrue", "more records of a class are published than there are")
    result.checks["sample"] += 1


RESTRICTED = {"036", "059", "063", "102", "203", "556", "692", "790", "821", "823", "830", "831", "878", "879", "884"}
"""Three digits of the ZIP codes where 20,000 people or fewer live (census of 2000); of these the cases use 036."""


def check_treated(result: Result, setting: Setting, release: Any) -> None:
    """No text tells more than Safe Harbor lets: three digits, ages up to 90, years."""
    rows = release.table.rows(named=True)
    sizes = Counter(tuple(row[name] for name in setting.columns) for row in rows)
    if sizes and min(sizes.values()) < setting.k:
        result.find("unsafe", f"a class of {min(sizes.values())}, k is {setting.k}")
    for row in rows:
        zips = re.findall(r"\d+", row["zip"]) if row.get("zip") else []
        if any(len(digits) > 3 or digits in RESTRICTED for digits in zips):
            result.find("leak", f"a ZIP code is shown as {row['zip']!r}")
            return
        ages = [int(digits) for digits in re.findall(r"\d+", row["age"])] if row.get("age") else []
        if any(90 < age != 120 for age in ages):
            result.find("leak", f"an age is shown as {row['age']!r}")
            return
        if "visit" in row and re.search(r"\d{4}-\d", row["visit"] or ""):
            result.find("leak", f"a date is shown as {row['visit']!r}")
            return
    result.checks["treated"] += 1
