"""Draws the pictures of the docs, docs/images/*.svg, with the charts of the reports: python docs/pictures.py."""

from __future__ import annotations

from pathlib import Path

import shoal
from shoal.explore.compare import compare
from shoal.reporting.svg.lines import Panel, draw_panels
from shoal.reporting.tradeoff_page import BOUND, LOSS, greatest_bounds

IMAGES = Path(__file__).parent / "images"


def draw_loss() -> str:
    """Return loss against k on UCI Adult, eight columns."""
    table, policy = shoal.datasets.load("adult")
    plain = policy.replace(models=[{"name": "k-anonymity", "k": 2}])
    algorithms = ["shoal", "mondrian"]
    rows = compare(table, plain, [2, 5, 10, 20, 50], algorithms)
    lines = {name: [(row["k"], row[LOSS]) for row in rows if row["algorithm"] == name] for name in algorithms}
    return draw_panels(
        [Panel("loss (certainty penalty)", "k", {**lines, BOUND: sorted(greatest_bounds(rows).items())})]
    )


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / "loss.svg").write_text(draw_loss(), encoding="utf-8")
