"""Kinds of cases: how each is drawn and checked, and how often."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from .cases import draw_case
from .checks import run_case
from .commands import draw_command, run_line
from .drafts import draw_draft, run_draft
from .files import draw_file, run_file
from .forms import draw_form, run_form
from .gateways import draw_gateway, run_gateway
from .results import Result
from .setting import Case
from .sparks import draw_spark, run_spark
from .special import draw_special, run_special


@dataclass(frozen=True)
class Family:
    """A kind of cases."""

    draw: Callable[[int], Case]
    run: Callable[[Case], Result]
    often: int
    """How many of a hundred cases are of this kind."""


FAMILIES: dict[str, Family] = {
    "tiny": Family(lambda seed: draw_case(seed, "tiny"), run_case, 70),
    "medium": Family(lambda seed: draw_case(seed, "medium"), run_case, 10),
    "files": Family(draw_file, run_file, 10),
    "forms": Family(draw_form, run_form, 6),
    "commands": Family(draw_command, run_line, 1),
    "gateway": Family(draw_gateway, run_gateway, 4),
    "special": Family(draw_special, run_special, 2),
    "drafts": Family(draw_draft, run_draft, 2),
}

if os.environ.get("SHOAL_EXPLORE_SPARK"):
    FAMILIES["spark"] = Family(draw_spark, run_spark, 2)


def family_of(seed: int) -> str:
    """Say of which kind the case of a seed is: the kinds take turns, each in its share."""
    names = [name for name, family in FAMILIES.items() for _ in range(family.often)]
    return names[(seed * 37) % len(names)]


def run_one(case: Case) -> Result:
    """Check a case by the ways of its family."""
    return FAMILIES[case["family"]].run(case)


def run_seed(seed: int) -> Result:
    """Draw the case of a seed and check it."""
    return run_one(FAMILIES[family_of(seed)].draw(seed))
