"""Peer: pycanon's checks of some models. Run by benchmarks/peers.py in its own environment."""

import json
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from pycanon import anonymity

CHECKS = {
    "k-anonymity": lambda table, columns, on: anonymity.k_anonymity(table, columns),
    "distinct-l-diversity": anonymity.l_diversity,
    "entropy-l-diversity": anonymity.entropy_l_diversity,
    "recursive-l-diversity": lambda table, columns, on: anonymity.recursive_c_l_diversity(table, columns, on)[1],
    "alpha-k-anonymity": lambda table, columns, on: anonymity.alpha_k_anonymity(table, columns, on)[0],
    "t-closeness": anonymity.t_closeness,
    "beta-likeness": anonymity.basic_beta_likeness,
    "delta-disclosure": anonymity.delta_disclosure,
}


def main(folder: Path) -> None:
    question = json.loads((folder / "question.json").read_text(encoding="utf-8"))
    table = pd.read_csv(folder / "table.csv", keep_default_na=False)
    columns, sensitive = question["columns"], question["sensitive"]
    walls, cpus = [], []
    for _ in range(question["runs"]):
        wall, cpu = time.perf_counter(), time.process_time()
        found = {name: float(CHECKS[name](table, columns, sensitive)) for name in question["models"]}
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
    figures = {"wall": statistics.median(walls), "cpu": statistics.median(cpus)}
    print(json.dumps({**figures, "version": version("pycanon"), "attained": found}))


main(Path(sys.argv[1]))
