"""Peer: pycanon's k-anonymity and distinct l-diversity checks. Run by benchmarks/peers.py in its own environment."""

import json
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from pycanon import anonymity


def main(folder: Path) -> None:
    question = json.loads((folder / "question.json").read_text(encoding="utf-8"))
    table = pd.read_csv(folder / "table.csv", keep_default_na=False)
    columns, sensitive = question["columns"], question["sensitive"]
    walls, cpus = [], []
    for _ in range(question["runs"]):
        wall, cpu = time.perf_counter(), time.process_time()
        k = anonymity.k_anonymity(table, columns)
        distinct = anonymity.l_diversity(table, columns, sensitive)
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
    figures = {"wall": statistics.median(walls), "cpu": statistics.median(cpus)}
    print(json.dumps({**figures, "version": version("pycanon"), "k": int(k), "l": int(distinct)}))


main(Path(sys.argv[1]))
