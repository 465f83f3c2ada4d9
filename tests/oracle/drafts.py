"""Drafts and presets: what ``shoal suggest`` writes fits its table and counts its persons; a preset asks for what its
source does."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import shoal

from .cases import POOLS, draw_values
from .checks import run_case
from .people import draw_people
from .results import Result, shorten
from .setting import Case, build_table

WORDS = ["age", "zip", "sex", "birth date", "name", "diagnosis", "city", "salary", "notes", "id", "q1", "é"]
FOR_PEOPLE = ("written as suppressed ones are", "it must be decided whom")
"""What is for people to replace or to say."""
PEOPLE = 0.5
"""So many of the tables are about persons, who are known."""
PRESETS = {"ema-0070": 11, "ihsn-3": 3, "ihsn-5": 5}


def draw_draft(seed: int) -> Case:
    """Draw a table without a policy, of anything or of persons, or a policy that names a preset."""
    draw = Random(f"drafts {seed}")
    if draw.random() < PEOPLE:
        return draw_people(seed)
    count = draw.choice([1, 3, 8, 20, 60])
    columns = []
    for name in draw.sample(WORDS, draw.randint(1, 5)):
        kind = draw.choice(["integer", "float", "text", "text", "boolean", "date", "datetime"])
        pool = list(draw.choice(POOLS[kind]))
        columns.append({"name": name, "kind": kind, "values": draw_values(draw, pool, count, draw.choice([0, 0.2]))})
    preset = draw.choice([None, None, *PRESETS])
    if preset:
        columns = [{"name": "q1", "kind": "integer", "values": draw_values(draw, [20, 21, 25, 34, 60], 40, 0)}]
        role = draw.choice([{}, {"hierarchy": "intervals", "widths": [5, 10]}])
        policy: dict[str, Any] = {"quasi_identifiers": {"q1": role}, "models": [{"preset": preset}]}
        policy["max_suppressed"] = draw.choice([0, 0.3])
        return {"family": "drafts", "seed": seed, "columns": columns, "policy": policy, "library": "polars"}
    return {"family": "drafts", "seed": seed, "columns": columns, "policy": {"models": []}, "k": draw.choice([2, 5])}


def run_draft(case: Case) -> Result:
    """Check that a draft can be read and used, or that a preset keeps its k."""
    if case["policy"]["models"]:
        return run_case(case)
    started = time.perf_counter()
    result, table = Result(case), build_table(case["columns"])
    try:
        text = shoal.suggest(table, k=case["k"])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "policy.yaml")
            path.write_text(text, encoding="utf-8")
            release = shoal.anonymize(table, path)
    except shoal.AuditFailed as error:
        result.find("audit-failed", shorten(error))
    except shoal.Infeasible:
        result.outcome = "infeasible"
    except shoal.TableError:
        result.outcome = "refused: TableError"  # no column has values that can be published
    except shoal.Misfit as error:
        if any(what in str(error) for what in FOR_PEOPLE):
            result.outcome = "refused: Misfit"
        elif "records of unknown persons" in str(error):
            return _run_without_unknown(case)  # whose they are is for people to say
        else:
            result.find("draft", f"the draft does not fit its own table: {shorten(error)}")
    except shoal.ShoalError as error:
        result.find("draft", f"the draft does not fit its own table: {type(error).__name__}: {shorten(error)}")
    except Exception as error:
        result.find("crash", f"{type(error).__name__}: {shorten(error)}")
    else:
        result.checks["draft"] += 1
        _check_k(result, case, release)
        _check_people(result, case, release)
    if result.findings:
        result.outcome = "finding"
    result.seconds = time.perf_counter() - started
    return result


def _run_without_unknown(case: Case) -> Result:
    """Check the draft of the records whose person is known: a refusal must help that says to leave the others out."""
    subject = shoal.suggest(build_table(case["columns"]), k=case["k"]).policy.subject
    people = next(column["values"] for column in case["columns"] if column["name"] == subject)
    known = [index for index, person in enumerate(people) if person not in (None, "")]
    columns = [{**column, "values": [column["values"][index] for index in known]} for column in case["columns"]]
    if "people" in case:
        case = {**case, "people": [case["people"][index] for index in known]}
    if len(known) == len(people):
        result = Result(case, outcome="finding")
        result.find("draft", "every record has a person, and is refused for having none")
        return result
    return run_draft({**case, "columns": columns})


def _check_k(result: Result, case: Case, release: Any) -> None:
    """The smallest class of what a draft publishes has as many records as it promises."""
    names = list(release.policy.quasi_identifiers)
    rows = [tuple(row[name] for name in names) for row in release.table.rows(named=True)]
    asked = max((model.k for model in release.policy.models if hasattr(model, "k")), default=1)
    least = min(rows.count(row) for row in set(rows))
    if least < asked and release.policy.subject is None:
        result.find("unsafe", f"a draft promises {asked}, the smallest class has {least}")


def _check_people(result: Result, case: Case, release: Any) -> None:
    """No class of what an unedited draft publishes has fewer persons than it promises."""
    if "people" not in case:
        return
    names = list(release.policy.quasi_identifiers)
    about: dict[tuple[Any, ...], set[int]] = {}
    for row, place in zip(release.table.select(names).rows(), release.rows, strict=True):
        about.setdefault(row, set()).add(case["people"][place])
    asked = next(model.k for model in release.policy.models if hasattr(model, "k"))
    least = min(map(len, about.values()), default=asked)
    result.checks["people"] += 1
    if least < asked:
        result.find(
            "unsafe", f"a draft promises {asked}, a class has {least} persons; subject {release.policy.subject}"
        )
