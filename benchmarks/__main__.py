"""Run the benchmarks: ``python -m benchmarks [name ...] [--json]``.

Each prints our figure, the target, the peer's figure and the ratio (how many times better ours is). A missed target
is shown as MISSED and is no failure; the exit code is 1 only where a benchmark breaks.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import traceback

from benchmarks.results import head

NAMES = (
    "startup",
    "stages",
    "first_try",
    "mondrian_adult",
    "mondrian_million",
    "larger_than_memory",
    "audit_speed",
    "full_domain",
    "many_columns",
    "golden",
    "bounds",
    "cell_suppression",
    "hierarchies",
    "local_recoding",
    "wide",
    "hard",
    "hussien15",
    "ramana13",
    "sarrafi17",
    "yaseen18",
    "statistics_attack",
    "microaggregation",
    "perturbation",
    "time",
    "spark",
    "gateway",
    "gateway_attacks",
    "studio",
)


def main() -> int:
    """Run all benchmarks or those named."""
    parser = argparse.ArgumentParser(prog="benchmarks", description="Measured claims, each with a ratio.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of: {', '.join(NAMES)}; all without")
    parser.add_argument("--json", action="store_true", help="print one JSON object per result")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in NAMES]
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}; one of: {', '.join(NAMES)}")
    if not asked.json:
        print(head(), flush=True)
    broken = [name for name in asked.names or NAMES if not _run(name, as_json=asked.json)]
    if broken:
        print(f"bench: broken: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


def _run(name: str, *, as_json: bool) -> bool:
    """Print the results of one benchmark; return whether it ran to its end."""
    try:
        for result in importlib.import_module(f"benchmarks.{name}").run():
            print(json.dumps(result.to_dict(), ensure_ascii=False) if as_json else result.line(), flush=True)
    except Exception:
        traceback.print_exc()
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
