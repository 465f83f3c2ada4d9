"""Fixed levels: publish each column at a level that was chosen beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.lattice.lattice import Lattice
from shoal.errors import Fault, Infeasible, PolicyError, nearest
from shoal.recodings.base import Proof
from shoal.recodings.full_domain import FullDomain


class FixedLevels(Algorithm):
    """Publish each column at a level that was chosen beforehand, and suppress the classes that do not comply.

    Nothing is searched, so that nothing of the data shows in the levels: differential privacy needs that. It also
    serves where the levels are prescribed, or to try one out.

    Why it is safe: every model is checked on every class that stays.

    Cost: one count.

    References
    ----------
    Li, N., Qardaji, W. and Su, D. (2012). On sampling, anonymization, and differential privacy: or, k-anonymization
    meets differential privacy. ASIACCS: "strongly-safe" anonymization, whose levels do not depend on the data.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("hospital")
    >>> given = FixedLevels(levels={"date of birth": 2})
    >>> shoal.anonymize(table, policy.replace(algorithm=given)).attained
    {'k-anonymity': 2}
    """

    needs_hierarchies: ClassVar[bool] = True
    looks_across: ClassVar[bool] = True
    footprint: ClassVar[int] = 500
    data_independent: ClassVar[bool] = True

    levels: dict[str, Annotated[int, Field(ge=0, strict=True)]] = Field(default_factory=dict)
    """The level of each column; columns that are not named are published as they are (level 0)."""

    @property
    def fixed_levels(self) -> Mapping[str, int]:
        """The level of each column that is named."""
        return self.levels

    def search(self, problem: Problem) -> FullDomain:
        """Count once, and suppress."""
        self._require_levels(problem)
        lattice = Lattice(problem)
        node = np.array([self.levels.get(column.name, 0) for column in problem.columns], np.int16)
        looked = lattice.look(node[None, :])
        out = int(looked.suppressed[0])
        if out > problem.max_suppressed:
            raise Infeasible(
                f"at these levels {out} records are in classes that break a model, {problem.max_suppressed} may be "
                "suppressed"
            )
        loss = float(np.asarray(problem.loss.totals(looked.outcome))[0])
        return lattice.recoding(node, Proof(loss, None, lattice.size, 1))

    def _require_levels(self, problem: Problem) -> None:
        heights = {column.name: column.max_level for column in problem.columns}
        faults = [
            Fault("no such quasi-identifier", f"algorithm.levels.{name}", hint=nearest(name, heights))
            for name in self.levels
            if name not in heights
        ]
        faults += [
            Fault("above the highest level", f"algorithm.levels.{name}", f"{level} of {heights[name]}")
            for name, level in self.levels.items()
            if name in heights and level > heights[name]
        ]
        if faults:
            raise PolicyError(faults)
