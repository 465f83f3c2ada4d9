"""A fixed share of the oracle's cases, in every test run; ``./dev explore`` draws new ones.

Cases that are known to be wrong are none of these: a finding fails here, with the script that shows it.
"""

from __future__ import annotations

import pytest

from .families import FAMILIES
from .reproduce import write_script

pytestmark = pytest.mark.slow

SHARE = {"tiny": 198, "medium": 6, "files": 12, "forms": 12, "commands": 2, "gateway": 6, "drafts": 6, "special": 6}
"""How many cases of each kind: together about a minute on one quiet core."""
STEP = 6
"""Cases in one test, so that workers can share them."""
SLICES = [
    (name, first, min(first + STEP, count))
    for name, count in SHARE.items()
    if name in FAMILIES
    for first in range(0, count, STEP)
]


@pytest.mark.parametrize(("family", "first", "last"), SLICES, ids=str)
def test_the_product_agrees_with_the_definitions(
    family: str, first: int, last: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = []
    for seed in range(first, last):
        result = FAMILIES[family].run(FAMILIES[family].draw(seed))
        for finding in result.findings:
            script = write_script(tmp_path_factory.mktemp("finding"), finding)
            found.append(f"{family} {seed}: {finding.kind}: {finding.detail}\n{script}")
    assert not found, "\n".join(found)
