"""Random cases: a table, a policy, and how they are handed over, as plain data that JSON can hold.

Everything follows from one ``random.Random``, so a seed is a case. Small pools of values make classes that are nearly
large enough, thresholds at the edge, and ties: that is where mistakes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

Case = dict[str, Any]

NAMES = ["age", "zip code", "père", "a,b", 'q"q', "*", "[x, y]", "Δt", " spaced", "index", "tab\tname", "^a$", "q"]
POOLS: dict[str, list[list[Any]]] = {
    "integer": [[1, 2, 3, 4], [20, 21, 25, 34, 60], [-3, 0, 7], [5], [1, 2, 7, 9, 40], [10**12, 10**12 + 1, 3]],
    "float": [[0.1, 0.2, 0.3], [-1.5, 0.0, 2.5, 10.0], [1e6, 2.5], [0.25, 0.5, 1.0, 1e-7]],
    "text": [
        ["a", "b", "c", "d"],
        ["22370", "22501", "22502", "34111"],
        ["a, b", "c", "a", "b, c"],
        ["{a, b}", "(missing)", "a", 'say "x"', "[1, 2]"],
        ["ü", " a", "a ", "NA", "x|y", "1-2"],
        ["1", "2", "10"],
        ["true", "1.0", "2020-01-01", "null"],
        ["e", "\\", "'", "a\tb"],
        ["*", "a", "b", "c"],
        ["", "a", "b"],
    ],
    "boolean": [[True, False]],
    "date": [["1994-12-31", "1995-01-01", "1995-01-31", "2004-02-29"], ["2020-03-02", "2020-03-03", "2020-03-09"]],
    "datetime": [
        ["2021-10-31T00:30:00", "2021-10-31T02:30:00", "2021-11-01T00:30:00"],
        ["2020-02-29T23:59:59", "2020-03-01T00:00:00", "2020-02-29T23:59:59.500000"],
    ],
    "time": [["01:02:03", "01:02:04", "23:00:00"], ["01:02:03.500000", "01:02:03"]],
}
KINDS = ["integer"] * 5 + ["text"] * 6 + ["float"] * 2 + ["date"] * 2 + ["boolean", "datetime", "time"]
BUILT = ["conventional", "divisor-based", "cardinality-based", "on-the-fly", "improved-on-the-fly", "dynamic-concept"]
ALGORITHMS: list[Any] = [
    *["shoal"] * 4,
    {"name": "shoal", "effort": 0},
    "mondrian",
    "mondrian",
    {"name": "mondrian", "cuts": "relaxed"},
    "k-member",
    "kaca",
    {"name": "kaca", "beta": 0.5},
    "bottom-up-merging",
    "top-down-greedy",
    "similarity-clustering",
    "spanning-tree",
    {"name": "spanning-tree", "removal": "allowable", "joining": "penalty"},
    "optimal",
    "optimal",
    "exhaustive",
    "heuristic",
    {"name": "heuristic", "looks": 1},
    "samarati",
    "incognito",
    "datafly",
    "fixed-levels",
    "single-dimensional",
    "top-down-specialization",
    "bottom-up",
    "weighted-boundaries",
    {"name": "weighted-boundaries", "pace": "level"},
]
NEEDS_HIERARCHIES = {
    "optimal",
    "exhaustive",
    "heuristic",
    "samarati",
    "incognito",
    "datafly",
    "fixed-levels",
    "top-down-specialization",
    "bottom-up",
    "weighted-boundaries",
}
WHOLE_TABLES = ["optimal", "heuristic", "exhaustive", "incognito", "samarati", "datafly"]
LOSSES: list[Any] = [
    {"name": "class-size"},
    {"name": "average-class-size"},
    {"name": "height"},
    {"name": "minimal-distortion"},
    {"name": "distortion-ratio"},
    {"name": "discernibility"},
    {"name": "discernibility", "suppressed": "ignored"},
    {"name": "precision"},
    {"name": "precision", "suppressed": "ignored"},
    {"name": "non-uniform-entropy"},
    {"name": "non-uniform-entropy", "suppressed": "apart"},
    {"name": "non-uniform-entropy", "suppressed": "ignored"},
    {"name": "granularity"},
    {"name": "granularity", "aggregate": "rank"},
    {"name": "granularity", "aggregate": "max", "gs_factor": 0.3},
    {"name": "granularity", "aggregate": "geometric-mean", "gs_factor": 0.8},
    {"name": "granularity", "aggregate": "sum"},
]


def name_of(algorithm: Any) -> str:
    """Return the name of an algorithm, given alone or with parameters."""
    return algorithm if isinstance(algorithm, str) else str(algorithm["name"])


def draw_hierarchy(draw: Random, kind: str, pool: list[Any], *, needed: bool) -> dict[str, Any]:
    """Draw how a quasi-identifier is generalized."""
    choices: list[dict[str, Any]] = [{"hierarchy": "suppress"}] * 3
    if not needed:
        choices += [{}] * 4
    texts = [_text(value) for value in pool]
    if kind in ("integer", "text", "boolean", "date"):
        choices += [{"hierarchy": "tree", "nodes": _draw_tree(draw, pool)}] * 4
    if kind in ("text", "integer"):
        choices += [{"hierarchy": "mask", "keep": draw.choice([[1], [3, 2], [4, 2, 0], [2, 1]])}] * 2
        choices += [{"hierarchy": "mask", "keep": [1], "side": "suffix"}]
    if kind in ("integer", "float"):
        choices += [
            {"hierarchy": "intervals", "widths": draw.choice([[5, 10], [2], [2, 4, 8], [0.5], [10, 20, 40]])},
            {"hierarchy": "intervals", "widths": [3], "origin": draw.choice([1, -1, 0.5])},
        ]
        low, high = min(pool) - 1, max(pool) + 1
        choices += [{"hierarchy": "intervals", "breaks": [[low, (low + high) / 2, high], [low, high]]}]
    if kind in ("date", "datetime"):
        choices += [{"hierarchy": "dates"}, {"hierarchy": "dates", "levels": draw.choice([["month", "year"], ["day"]])}]
        choices += [{"hierarchy": "dates", "levels": ["week", "month"]}, {"hierarchy": "dates", "levels": ["decade"]}]
    if kind in ("integer", "float", "date", "datetime"):
        choices += [{"hierarchy": name} for name in (*BUILT, "quantiles", "auto")]
        choices += [{"hierarchy": "quantiles", "parts": [4, 2]}, {"hierarchy": "ordering", "sizes": [2]}]
    else:
        order = draw.sample(texts, len(texts))
        choices += [{"hierarchy": "ordering", "order": order, "sizes": draw.choice([[2], [2, 4]])}] * 2
        choices += [{"hierarchy": name} for name in ("rare", "auto", "similarity", "ordering")]
    return dict(draw.choice(choices))


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _draw_tree(draw: Random, pool: list[Any]) -> dict[str, Any]:
    """Draw a nested tree over all values of a pool, of one to three levels, also lopsided."""
    leaves = draw.sample(pool, len(pool))
    leaves = [value if not isinstance(value, float) else _text(value) for value in leaves]
    root = draw.choice(["*", "*", "Any"])
    if len(leaves) < 3 or draw.random() < 0.2:
        return {root: leaves}
    cut = draw.randrange(1, len(leaves))
    left, right = leaves[:cut], leaves[cut:]
    names = draw.sample(["G", "H", "I", "low", "high side", "p,q"], 4)
    if draw.random() < 0.08:  # a label that is called like a value, or not at all
        names[0] = draw.choice(["", _text(right[0]), _text(left[0])])
    if len(right) > 1 and draw.random() < 0.4:
        inner = draw.randrange(1, len(right))
        return {root: {names[0]: left, names[1]: {names[2]: right[:inner], names[3]: right[inner:]}}}
    return {root: {names[0]: left, names[1]: right}}


def draw_boundaries(draw: Random, role: dict[str, Any], pool: list[Any]) -> list[str]:
    """Draw labels or values that may not be exceeded; for trees and ``suppress``, whose labels the oracle knows."""
    texts = [_text(value) for value in pool]
    if role.get("hierarchy") == "suppress":
        return draw.sample(texts, draw.randint(1, len(texts)))
    if role.get("hierarchy") != "tree":
        return []
    (inner,) = role["nodes"].values()
    labels = list(inner) if isinstance(inner, dict) else texts
    return draw.sample(labels, draw.randint(1, len(labels)))


def draw_models(
    draw: Random, count: int, sensitive: list[str], distances: dict[str, list[str]] | None = None
) -> list[dict[str, Any]]:
    """Draw one to three promises that a table of so many records could just keep, or just not."""
    few = [2, 2, 2, 3, 3, 4] if count < 30 else [2, 3, 5, 10]
    k = draw.choice(few)
    models: list[dict[str, Any]] = []
    if draw.random() < 0.75:
        models.append({"name": "k-anonymity", "k": k})
    plain: list[dict[str, Any]] = [
        {"name": "average-risk", "threshold": draw.choice([0.25, 0.34, 0.5, 0.7])},
        {"name": "sample-uniqueness", "threshold": draw.choice([0, 0.2, 0.5])},
        {"name": "scenarios", "any_of": draw.choice([1, 2]), "k": draw.choice([2, 3])},
    ]
    if sensitive and draw.random() < 0.7:
        for _ in range(draw.choice([1, 1, 1, 2])):
            on: Any = draw.choice(sensitive)
            if len(sensitive) > 1 and draw.random() < 0.2:
                on = list(sensitive)
            models.append(draw_sensitive_model(draw, on, (distances or {}).get(str(on), ())))
    if draw.random() < 0.15:
        models.append(draw.choice(plain))
    if not models:
        models = [{"name": "k-anonymity", "k": k}]
    return models


def draw_sensitive_model(draw: Random, on: Any, distances: Sequence[str] = ()) -> dict[str, Any]:
    """Draw a promise about a sensitive column."""
    choices: list[dict[str, Any]] = [
        {"name": "distinct-l-diversity", "l": draw.choice([2, 2, 3])},
        {"name": "entropy-l-diversity", "l": draw.choice([1.5, 2, 1.8, 3])},
        {"name": "entropy-l-diversity", "l": draw.choice([1.5, 2]), "estimator": "grassberger"},
        {"name": "recursive-l-diversity", "c": draw.choice([1, 2, 2.5, 0.5]), "l": draw.choice([2, 3])},
        {"name": "p-sensitive", "p": 2, "k": draw.choice([2, 3])},
        {"name": "alpha-k-anonymity", "alpha": draw.choice([0.5, 0.75, 0.6, 1]), "k": 2},
        {"name": "t-closeness", "t": draw.choice([0.1, 0.25, 0.3, 0.5])},
        *({"name": "t-closeness", "t": draw.choice([0.1, 0.25, 0.5]), "distance": name} for name in distances),
        {"name": "beta-likeness", "beta": draw.choice([0.5, 1, 1.5]), "enhanced": draw.random() < 0.5},
        {"name": "delta-disclosure", "delta": draw.choice([0.5, 1, 1.5])},
    ]
    return {"on": on, **draw.choice(choices)}


def draw_values(draw: Random, pool: list[Any], count: int, missing: float) -> list[Any]:
    """Draw cells, some of them missing."""
    return [None if draw.random() < missing else draw.choice(pool) for _ in range(count)]


def _draw_column(
    draw: Random, name: str, count: int, *, needed: bool, medium: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a quasi-identifier: its cells and its role."""
    kind = draw.choice(KINDS)
    pool = list(draw.choice(POOLS[kind]))
    if medium and kind == "integer":
        pool = list(range(draw.choice([10, 40])))
    with_missing = draw.random() < 0.3
    column = {"name": name, "kind": kind, "values": draw_values(draw, pool, count, 0.25 if with_missing else 0)}
    role = draw_hierarchy(draw, kind, pool, needed=needed)
    if with_missing:
        modes = ["own-value", "own-value", "wildcard", "wildcard", "suppress", "suppress"]
        role["missing"] = draw.choice(modes) if draw.random() < 0.95 else "error"
    if draw.random() < 0.2:
        role["weight"] = draw.choice([2, 0.5, 2.5])
    boundaries = draw_boundaries(draw, role, pool) if draw.random() < 0.15 else []
    if boundaries:
        role["boundaries"] = boundaries
    if draw.random() < 0.06 and kind in ("integer", "float"):
        role["domain"] = [min(pool) - 5, max(pool) + 5]
    if draw.random() < 0.2 and role.get("hierarchy") == "tree":
        role["domain"] = "hierarchy"
    if draw.random() < 0.1:
        role["publish"] = draw.choice(["labels", "ranges", "sets"])
    return column, role


def draw_case(seed: int, family: str = "tiny") -> Case:
    """Draw the case of a seed."""
    draw = Random(f"{family} {seed}")
    medium = family == "medium"
    count = draw.randint(40, 300) if medium else draw.choice([1, 2, 3, 4, 4, 5, 5, 5, 6, 6, 6, 7, 8])
    algorithm = draw.choice(ALGORITHMS)
    needed = name_of(algorithm) in NEEDS_HIERARCHIES
    plain_names = draw.random() < 0.7
    names = ["q1", "q2", "q3", "s", "s2", "id", "own", "keep"] if plain_names else draw.sample(NAMES, 8)
    width = draw.choice([1, 1, 2, 2, 3])
    columns: list[dict[str, Any]] = []
    roles: dict[str, Any] = {}
    for name in names[:width]:
        column, roles[name] = _draw_column(draw, name, count, needed=needed, medium=medium)
        columns.append(column)
    policy: dict[str, Any] = {"quasi_identifiers": roles}
    sensitive, distances = _draw_sensitive(draw, names, count, columns, policy)
    policy["models"] = draw_models(draw, count, sensitive, distances)
    policy["algorithm"] = _complete(draw, algorithm, roles, sensitive)
    shares = [0, 0, 0, 0.2, 0.25, 0.34, 0.5, 1] if not medium else [0, 0.02, 0.1, 0.5]
    policy["max_suppressed"] = draw.choice(shares)
    if draw.random() < 0.3:
        policy["suppressed"] = draw.choice(["star", "drop"])
    if draw.random() < 0.5:
        policy["publish"] = draw.choice(["labels", "ranges", "sets"])
    if draw.random() < 0.25:
        policy["loss"] = dict(draw.choice(LOSSES))
    if draw.random() < 0.2:
        policy["seed"] = draw.randint(1, 9)
    case: Case = {"family": family, "seed": seed, "columns": columns, "policy": policy}
    _draw_persons(draw, names[5:], count, case)
    _draw_population(draw, case)
    case["library"] = draw.choice(["polars", "polars", "polars", "pandas", "pyarrow"])
    return case


def _draw_sensitive(
    draw: Random, names: list[str], count: int, columns: list[dict[str, Any]], policy: dict[str, Any]
) -> tuple[list[str], dict[str, list[str]]]:
    sensitive = names[3 : 3 + draw.choice([0, 1, 1, 1, 1, 2])]
    roles: dict[str, Any] = {}
    distances: dict[str, list[str]] = {}
    for name in sensitive:
        kind = draw.choice(["text"] * 5 + ["integer", "integer", "boolean", "float", "date", "datetime", "time"])
        pool = draw.choice([["flu", "cold", "hiv"], ["x", "y"], ["a", "b", "c", "d"]]) if kind == "text" else None
        pool = list(pool or draw.choice(POOLS[kind]))
        with_missing = draw.random() < 0.25
        columns.append(
            {"name": name, "kind": kind, "values": draw_values(draw, pool, count, 0.25 if with_missing else 0)}
        )
        role: dict[str, Any] = {}
        if with_missing:
            role["missing"] = draw.choice(["own-value", "wildcard", "wildcard", "suppress", "suppress"])
        if kind == "text" and draw.random() < 0.3:
            role["hierarchy"] = "tree"
            role["nodes"] = _draw_tree(draw, pool)
        elif kind == "text" and draw.random() < 0.3:
            role["hierarchy"] = "ordering"
            role["order"] = draw.sample(pool, len(pool))
        roles[name] = role
        ordered = kind in ("integer", "float", "date", "datetime") or role.get("hierarchy") == "ordering"
        distances[name] = ["ordered"] * ordered + ["hierarchical"] * (role.get("hierarchy") == "tree")
    if sensitive:
        policy["sensitive"] = roles if any(roles.values()) or draw.random() < 0.5 else list(sensitive)
    return sensitive, distances


def _complete(draw: Random, algorithm: Any, roles: dict[str, Any], sensitive: list[str]) -> Any:
    name = name_of(algorithm)
    if name == "fixed-levels":
        return {"name": name, "levels": {column: draw.choice([0, 1, 1]) for column in roles}}
    if name in ("top-down-specialization", "bottom-up") and sensitive and draw.random() < 0.3:
        return {"name": name, "class_column": sensitive[0]}
    return algorithm


def _draw_persons(draw: Random, names: list[str], count: int, case: Case) -> None:
    """Perhaps name identifiers, a subject with several records, asks of persons, other columns, survey weights."""
    identity, own, kept = names
    policy, columns = case["policy"], case["columns"]
    people = [draw.randrange(max(1, count)) for _ in range(count)] if draw.random() < 0.5 else list(range(count))
    if draw.random() < 0.35:
        policy["identifiers"] = [identity]
        if draw.random() < 0.6 and "survey_weight" not in policy:
            policy["subject"] = identity
        numbers = people if "subject" in policy else range(count)  # an identifier that repeats wants a subject
        columns.append({"name": identity, "kind": "text", "values": [f"person-{one:04d}" for one in numbers]})
    if draw.random() < 0.15:
        asks = [draw.choice([1, 2, 2, 3, None]) for _ in range(max(1, count))]
        told = [asks[one] for one in people] if policy.get("subject") else [draw.choice(asks) for _ in range(count)]
        columns.append({"name": own, "kind": "integer", "values": told})
        model = {"name": "personal-k", "on": own, "default": draw.choice([1, 2])}
        if draw.random() < 0.3:
            model["most"] = 2
        policy["models"].append(model)
    if draw.random() < 0.3:
        kind = draw.choice(["text", "integer", "float", "boolean", "date", "datetime", "time"])
        policy["others"] = draw.choice(["keep", "keep", "drop"])
        pool = draw.choice(POOLS[kind])
        if kind == "float" and policy["others"] == "drop":
            pool = [*pool, "inf"]  # what is not published may be anything
        columns.append({"name": kept, "kind": kind, "values": draw_values(draw, pool, count, 0.1)})
    draw.shuffle(columns)


def rename(case: Case) -> Case:
    """Return the same case with other names of its columns: nothing but the header of a release may change."""
    names = {column["name"]: f"{column['name']} again" for column in case["columns"]}
    policy = dict(case["policy"])
    for key in ("quasi_identifiers", "sensitive", "identifiers"):
        said = policy.get(key)
        if isinstance(said, dict):
            policy[key] = {names[name]: role for name, role in said.items()}
        elif said:
            policy[key] = [names[name] for name in said]
    for key in ("subject", "survey_weight"):
        if policy.get(key):
            policy[key] = names[policy[key]]
    policy["models"] = [_rename_model(model, names) for model in policy["models"]]
    if isinstance(policy.get("algorithm"), dict):
        algorithm = dict(policy["algorithm"])
        if "levels" in algorithm:
            algorithm["levels"] = {names[name]: level for name, level in algorithm["levels"].items()}
        if "class_column" in algorithm:
            algorithm["class_column"] = names[algorithm["class_column"]]
        policy["algorithm"] = algorithm
    columns = [{**column, "name": names[column["name"]]} for column in case["columns"]]
    population = [{**column, "name": names[column["name"]]} for column in case.get("population") or []]
    return {**case, "columns": columns, "policy": policy, "population": population}


def _rename_model(model: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    renamed = dict(model)
    if "on" in model:
        renamed["on"] = names[model["on"]] if isinstance(model["on"], str) else [names[name] for name in model["on"]]
    return renamed


def _draw_population(draw: Random, case: Case) -> None:
    """Perhaps ask for a model over a population, a survey's weights, or an estimate."""
    policy, columns = case["policy"], case["columns"]
    roles = policy["quasi_identifiers"]
    count = len(columns[0]["values"])
    if draw.random() < 0.12:
        drawn = [column for column in columns if column["name"] in roles]
        if any(None in column["values"] for column in drawn):
            return
        more = draw.randint(0, 2 * count)
        people = []
        for column in drawn:
            values = column["values"]
            people.append({**column, "values": [*values, *(draw.choice(values) for _ in range(more))]})
        case["population"] = people
        if draw.random() < 0.6:
            policy["models"].append({"name": "k-map", "k": draw.choice([2, 3])})
        else:
            bounds = draw.choice([{"delta_max": 0.5}, {"delta_max": 0.8}, {"delta_min": 0.2, "delta_max": 1}])
            policy["models"] = [{"name": "delta-presence", **bounds}]
            if name_of(policy["algorithm"]) not in WHOLE_TABLES:
                policy["algorithm"] = draw.choice(WHOLE_TABLES)
                for role in roles.values():
                    role.setdefault("hierarchy", "suppress")
    elif draw.random() < 0.08 and "subject" not in policy:
        columns.append(
            {"name": "weight", "kind": "float", "values": [draw.choice([1.0, 2.5, 4.0, 10.0]) for _ in range(count)]}
        )
        policy["survey_weight"] = "weight"
        policy["others"] = draw.choice(["keep", "drop"])
        policy["models"].append({"name": "k-map", "k": draw.choice([2, 4])})
    elif draw.random() < 0.06:
        estimator = draw.choice(["dankar", "pitman", "zayatz", "snb"])
        policy["models"].append(
            {"name": "population-uniqueness", "threshold": 0.01, "estimator": estimator, "fraction": 0.1}
        )
