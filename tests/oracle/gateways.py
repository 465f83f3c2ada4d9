"""The gateway, embedded: what is answered is true, what is anonymized is k-anonymous among the persons behind it."""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

import shoal

from .definitions import Row
from .results import Result, shorten
from .rows import is_true
from .setting import Case, Setting, build_table

COLUMNS = ["name", "age", "city", "sex", "illness"]


def draw_gateway(seed: int) -> Case:
    """Draw a table in DuckDB or a file, a policy with weights and a threshold, and requests of two clients."""
    draw = Random(f"gateway {seed}")
    count = draw.choice([6, 12, 20, 40])
    ages, cities = draw.choice([[20, 21, 25, 34, 60], list(range(20, 60))]), ["Rome", "Oslo", "Bern", "Graz"]
    values: dict[str, list[Any]] = {
        "name": [f"Person {index:03d}" for index in range(count)],
        "age": [draw.choice(ages) for _ in range(count)],
        "city": [draw.choice(cities) for _ in range(count)],
        "sex": [draw.choice(["f", "m"]) for _ in range(count)],
        "illness": [draw.choice(["flu", "cold", "hiv", "gout"]) for _ in range(count)],
    }
    kinds = {"age": "integer"}
    columns = [{"name": name, "kind": kinds.get(name, "text"), "values": values[name]} for name in COLUMNS]
    tree = {"*": {"South": ["Rome", "Graz"], "North": ["Oslo", "Bern"]}}
    policy: dict[str, Any] = {
        "identifiers": {"name": {"weight": 6}},
        "quasi_identifiers": {
            "age": {"hierarchy": "intervals", "widths": [10, 40], "weight": 5},
            "city": {"hierarchy": "tree", "nodes": tree, "weight": 4},
            "sex": {"hierarchy": "suppress", "weight": 2},
        },
        "sensitive": ["illness"],
        "models": [{"name": "k-anonymity", "k": draw.choice([2, 3])}],
        "algorithm": draw.choice(["weighted-boundaries", "optimal", "mondrian", "shoal"]),
        "max_suppressed": draw.choice([0, 0.2]),
        "threshold": draw.choice([1, 4, 6]),
    }
    if draw.random() < 0.4:
        policy["raw"] = {"least": 1}
    requests = [_draw_request(draw) for _ in range(draw.randint(3, 7))]
    source = draw.choice(["duckdb", "files"])
    more = {"source": source, "requests": requests, "library": "polars"}
    return {"family": "gateway", "seed": seed, "columns": columns, "policy": policy, **more}


def _draw_request(draw: Random) -> dict[str, Any]:
    where = draw.choice([None, None, ["age", "<", 30], ["age", ">=", 25], ["city", "=", "Rome"], ["sex", "=", "f"]])
    if draw.random() < 0.4:
        by = draw.sample(["city", "sex", "illness", "age"], draw.choice([1, 1, 2]))
        return {"by": by, "where": where}
    names = draw.choice([["*"], draw.sample(COLUMNS, draw.randint(1, 4)), draw.sample(COLUMNS[1:], draw.randint(1, 3))])
    return {"select": names, "where": where}


def write_sql(request: dict[str, Any]) -> str:
    """Write a request as a client would."""
    chosen = request.get("select") or [*request["by"], "count(*) AS n"]
    text = f"SELECT {', '.join(chosen)} FROM people"
    if request["where"]:
        name, sign, value = request["where"]
        literal = value if isinstance(value, int) else f"'{value}'"
        text += f" WHERE {name} {sign} {literal}"
    return text + (f" GROUP BY {', '.join(request['by'])}" if "by" in request else "")


SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
}


def run_gateway(case: Case) -> Result:
    """Ask a gateway, and compare each answer with the original."""
    started = time.perf_counter()
    result, setting = Result(case), Setting(case)
    try:
        with tempfile.TemporaryDirectory() as folder:
            _run(result, setting, Path(folder))
    except shoal.ShoalError as error:
        result.outcome = f"refused: {type(error).__name__}: {shorten(error, 80)}"
    except Exception as error:
        result.find("crash", f"{type(error).__name__}: {shorten(error)}")
    if result.findings:
        result.outcome = "finding"
    result.seconds = time.perf_counter() - started
    return result


def _open(setting: Setting, folder: Path) -> Any:
    from shoal.gateway import Gateway

    table = build_table(setting.case["columns"])
    if setting.case["source"] == "duckdb":
        import duckdb

        with duckdb.connect(str(folder / "people.duckdb")) as database:
            database.register("given", table.to_arrow())
            database.execute("CREATE TABLE people AS SELECT * FROM given")
        source: dict[str, Any] = {"duckdb": "people.duckdb"}
    else:
        table.write_parquet(folder / "people.parquet")
        source = {"files": {"people": "people.parquet"}}
    (folder / "policy.yaml").write_text(json.dumps(setting.policy), encoding="utf-8")  # JSON is YAML too
    owners = {"north": {"database": source, "tables": {"people": {"policy": "policy.yaml"}}}}
    config = {"owners": owners, "clients": {"ann": {}, "eve": {}}, "ledger": "ledger.sqlite"}
    (folder / "gateway.yaml").write_text(json.dumps(config), encoding="utf-8")
    return Gateway.read(folder / "gateway.yaml")


def _run(result: Result, setting: Setting, folder: Path) -> None:
    from shoal.errors import Refused

    gateway = _open(setting, folder)
    try:
        whole = gateway.ask("eve", "SELECT * FROM people").table
    except Refused:
        whole = None  # there is no release
    if whole is not None:
        check_whole(result, setting, whole)
    for request in setting.case["requests"]:
        try:
            answer = gateway.ask("ann", write_sql(request))
        except Refused:
            result.checks["gateway refused"] += 1
            continue
        action = answer.decisions[0].action
        if action == "release":
            check_as_it_is(result, setting, request, answer.table)
        elif whole is None:
            result.find("gateway", f"an anonymized answer where there is no release: {write_sql(request)}")
        else:
            check_anonymized(result, setting, request, answer.table, whole)
    if gateway.ledger.verify() < 1:
        result.find("gateway", "the ledger has no entries")


def check_whole(result: Result, setting: Setting, table: pl.DataFrame) -> None:
    """All columns of all records: k of them look alike, none is made up, no name is shown."""
    rows = table.rows(named=True)
    sizes = Counter(tuple(row[name] for name in setting.columns) for row in rows)
    if sizes and min(sizes.values()) < setting.k:
        result.find("unsafe", f"an answer shows {min(sizes.values())} who look alike, k is {setting.k}")
    if any(row.get("name", "*") != "*" for row in rows):
        result.find("leak", "an anonymized answer shows a name")
    published = [Row(tuple(row[name] for name in setting.columns), {"illness": row["illness"]}) for row in rows]
    if is_true(setting, published) is False:
        result.find("untrue", "no assignment of original records to an answer")
    result.checks["gateway whole"] += 1


def check_as_it_is(result: Result, setting: Setting, request: dict[str, Any], table: pl.DataFrame) -> None:
    """An answer with the data as they are is what SQL says of the records that enough persons share."""
    if "raw" not in setting.policy and _touched(request) & {"name", "illness", "*"}:
        result.find("leak", f"{write_sql(request)}: more than quasi-identifiers, as they are")
    held = [record for record in find_shared(setting) if _holds(request, record)]
    if "by" in request:
        ours = Counter(tuple(record[name] for name in request["by"]) for record in held)
        theirs = Counter({tuple(row[name] for name in request["by"]): row["n"] for row in table.rows(named=True)})
    else:
        names = COLUMNS if request["select"] == ["*"] else request["select"]
        ours = Counter(tuple(record[name] for name in names) for record in held)
        theirs = Counter(tuple(row[name] for name in names) for row in table.rows(named=True))
    if ours != theirs:
        result.find("gateway", f"{write_sql(request)}: {dict(theirs - ours)} too many, {dict(ours - theirs)} missing")
    result.checks["gateway as it is"] += 1


def _touched(request: dict[str, Any]) -> set[str]:
    return {*request.get("select", request.get("by", [])), *(request["where"] or [])[:1]}


def find_shared(setting: Setting) -> list[Any]:
    """Return the records that stay if, for any columns under the threshold, k of those that stay must be alike."""
    least = setting.policy.get("raw", {}).get("least", setting.k)
    weights = {name: said["weight"] for name, said in setting.policy["quasi_identifiers"].items()}
    light = [
        names
        for size in range(1, len(weights) + 1)
        for names in combinations(weights, size)
        if sum(weights[name] for name in names) <= setting.policy["threshold"]
    ]
    left, before = list(setting.records), -1
    while before != len(left):
        before = len(left)
        for names in light:
            alike = Counter(tuple(record[name] for name in names) for record in left)
            left = [record for record in left if alike[tuple(record[name] for name in names)] >= least]
    return left


def _holds(request: dict[str, Any], record: Any) -> bool:
    if not request["where"]:
        return True
    name, sign, value = request["where"]
    return SIGNS[sign](record[name], value)


def check_anonymized(
    result: Result, setting: Setting, request: dict[str, Any], table: pl.DataFrame, whole: pl.DataFrame
) -> None:
    """Every anonymized answer is cut from the one release; conditions hold for all that a text may stand for."""
    rows, released = table.rows(named=True), whole.rows(named=True)
    matching = [row for row in released if _surely(setting, request, row)]
    if "by" in request:
        cells = Counter(tuple(row[name] for name in request["by"]) for row in matching)
        for row in rows:
            key = tuple(row[name] for name in request["by"])
            if row["n"] != cells[key]:
                result.find("gateway", f"{write_sql(request)}: {key} has {cells[key]}, told {row['n']}")
        result.checks["gateway cells"] += 1
        return
    names = COLUMNS if request["select"] == ["*"] else request["select"]
    ours = Counter(tuple(row[name] for name in names) for row in matching)
    theirs = Counter(tuple(row[name] for name in names) for row in rows)
    if ours != theirs:
        result.find("gateway", f"{write_sql(request)}: {dict(theirs - ours)} too many, {dict(ours - theirs)} missing")
    result.checks["gateway anonymized"] += 1


def _surely(setting: Setting, request: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether a published record can only stand for values that match; read from the text, not from the table."""
    if not request["where"]:
        return True
    name, sign, value = request["where"]
    text = row[name]
    if name not in setting.columns:
        return SIGNS[sign](text, value)
    if text == "*":
        return False
    reader = setting.readers[setting.columns.index(name)]
    if name != "age":
        return bool(text == value)  # a label may stand for values that the table lacks
    span = reader.span(text)
    if span is None:
        return SIGNS[sign](int(text), value)
    assert span.low is not None and span.high is not None
    if sign == "<":
        return span.high < value
    return span.low >= value if sign == ">=" else span.low == span.high == value
