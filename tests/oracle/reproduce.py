"""A script for each finding: the table, the policy, the call and what came out, of public shoal and polars only."""

from __future__ import annotations

import pprint
import re
from pathlib import Path
from typing import Any

from .results import Finding

HEAD = '''"""{kind}: {detail}

Drawn by the oracle: family {family}, seed {seed}; {count} cases of this kind so far.
"""

import datetime as dt
import tempfile
from pathlib import Path

import polars as pl

import shoal

KINDS = {{"integer": pl.Int64, "float": pl.Float64, "text": pl.String, "boolean": pl.Boolean, "date": pl.Date,
         "datetime": pl.Datetime("us"), "time": pl.Time}}
READ = {{"date": dt.date.fromisoformat, "datetime": dt.datetime.fromisoformat, "time": dt.time.fromisoformat}}


def build(columns):
    made = []
    for column in columns:
        read = READ.get(column["kind"], lambda value: value)
        values = [None if value is None else read(value) for value in column["values"]]
        made.append(pl.Series("values", values, dtype=KINDS[column["kind"]]).alias(column["name"]))
    return pl.DataFrame(made)


CASE = {case}
MORE = {more}
table, policy = build(CASE["columns"]), CASE["policy"]
'''
TAIL = """
with tempfile.TemporaryDirectory() as folder:
    if CASE.get("population"):
        path = Path(folder, "population.parquet")
        build(CASE["population"]).write_parquet(path)
        policy = {**policy, "population": str(path)}
    given = table
    if "order" in MORE:
        given = table[MORE["order"]]
    if MORE.get("doubled"):
        given = pl.concat([table, table])
        policy = {**policy, "subject": "none"}
    if MORE.get("models"):
        policy = {**policy, "models": MORE["models"]}
    if CASE.get("library") == "pandas":
        given = given.to_pandas(use_pyarrow_extension_array=True)
    elif CASE.get("library") == "pyarrow":
        given = given.to_arrow()
    try:
        release = shoal.anonymize(given, policy)
    except shoal.Infeasible as error:
        print("Infeasible:", error)
        for relaxation in error.relaxations:
            try:
                print("  works:", relaxation, shoal.anonymize(table, relaxation.policy).table.columns)
            except shoal.ShoalError as failed:
                print("  does not work:", relaxation, "->", type(failed).__name__, failed)
    else:
        print(release)
        print(release.table)
        print(*release.audit.models, sep="\\n")
        print({name: measured.total for name, measured in release.audit.utility.items()})
        if MORE.get("damaged"):
            damaged = pl.DataFrame(MORE["damaged"], schema=pl.DataFrame(release.frame).schema)
            print(damaged)
            print("the audit of the damaged table holds:", shoal.audit(damaged, policy, original=table).holds)
"""
OWN_TAIL = """
# a case of the family "{family}": the oracle's own runner shows what it found
import sys
sys.path.insert(0, ".")
from tests.oracle.families import run_one
for finding in run_one(CASE).findings:
    print(finding.kind, "|", finding.detail)
"""


def write_script(folder: Path, finding: Finding, count: int = 1) -> Path:
    """Write the reproduction of a finding; findings with the same signature have one script."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (re.sub(r"[^a-z0-9]+", "-", finding.signature.lower()).strip("-")[:120] + ".py")
    family = str(finding.case.get("family"))
    head = HEAD.format(
        kind=finding.kind,
        detail=finding.detail.replace("\\", "\\\\").replace('"""', "'''"),
        family=family,
        seed=finding.case.get("seed"),
        count=count,
        case=_written(finding.case),
        more=_written(dict(finding.more)),
    )
    tail = TAIL if family in ("tiny", "medium") else OWN_TAIL.replace("{family}", family)
    path.write_text(head + tail, encoding="utf-8")
    return path


def _written(data: Any) -> str:
    return re.sub(r"\bdatetime\.", "dt.", pprint.pformat(data, width=118, sort_dicts=False))
