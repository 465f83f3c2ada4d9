"""Peer: anjana's k-anonymity. Run by benchmarks/peers.py in the peers' own environment."""

import contextlib
import copy
import io
import json
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from anjana.anonymity import k_anonymity


def main(folder: Path) -> None:
    question = json.loads((folder / "question.json").read_text(encoding="utf-8"))
    table = pd.read_csv(folder / "table.csv", dtype=str, keep_default_na=False)
    hierarchies = {
        name: {int(level): labels for level, labels in levels.items()}
        for name, levels in question["hierarchies"].items()
    }
    walls, cpus = [], []
    for _ in range(question["runs"]):
        fresh = copy.deepcopy(hierarchies)
        columns = list(question["columns"])
        wall, cpu = time.perf_counter(), time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            published = k_anonymity(table, [], columns, question["k"], question["suppression"], fresh)
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
    published.to_csv(folder / "published.csv", index=False)
    figures = {"wall": statistics.median(walls), "cpu": statistics.median(cpus)}
    print(json.dumps({**figures, "version": version("anjana"), "records": len(table)}))


main(Path(sys.argv[1]))
