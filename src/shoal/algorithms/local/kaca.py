"""KACA: join the closest classes, by the steps between them in the hierarchies."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from shoal.algorithms.base import Problem
from shoal.algorithms.clustering.local_search import QuadraticSearch
from shoal.encoding.domains import STAR
from shoal.encoding.types import Floats
from shoal.recodings.base import Column
from shoal.recodings.local import Local


class Kaca(QuadraticSearch):
    """Join the closest classes, by the steps between them in the hierarchies, until all have k records.

    Records of one tuple are a class at first. The smallest class with fewer than k records joins the closest one;
    where that one has records to spare only as many join as are needed. The distance of two classes is the
    distortion of their records if they joined: each record counts the steps up to the lowest common ancestor,
    steps near the top weigh more (weighted hierarchical distance). Columns that are not published as labels count
    the range, or the number of values, that they would show.

    Why it is safe: classes join until all have k records, then until all satisfy every model; what a class shows
    covers all its records.

    Cost: for each time that classes join, a look at the other classes: quadratic in the distinct tuples, so above
    ``block`` of them each block is a table of its own.

    References
    ----------
    Li, J., Wong, R. C.-W., Fu, A. W.-C. and Pei, J. (2006). Achieving k-anonymity by clustering in attribute
    hierarchical structures. DaWaK.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.anonymize(table, policy.replace(algorithm=Kaca())).attained
    {'k-anonymity': 2}
    """

    beta: Annotated[float, Field(ge=0.0)] = 1.0
    """How much more a step near the top weighs: the step to the n-th level from the top weighs 1 / n ** beta."""

    def form_classes(self, problem: Problem) -> Local:
        """Join the classes of each block; classes that do not comply at the end join others."""
        from shoal.algorithms.clustering.groups import RecordGroups, group_blocks

        def form_groups(groups: RecordGroups) -> None:
            groups.absorb_small_groups(problem.least_records, lambda left: problem.progress("joining classes", left, 0))

        return group_blocks(
            problem, tuple(_weigh_by_steps(column, self.beta) for column in problem.columns), self.block, form_groups
        )


def _weigh_by_steps(column: Column, beta: float) -> Column:
    return replace(column, levels=replace(column.levels, penalties=weigh_distances(column, beta)))


def weigh_distances(column: Column, beta: float) -> Floats:
    """Return, by level and code, the weighted hierarchical distance of a label from the values below it, 0 to 1.

    For columns that are not published as labels it is the certainty penalty.
    """
    levels = column.levels
    if column.form != "labels" or not levels.height:
        return levels.penalties
    steps = 1.0 / np.arange(levels.height, 0, -1.0) ** beta
    generalization_height = np.append(0.0, np.cumsum(steps)) / steps.sum()
    result = np.repeat(generalization_height[:, None], levels.size, axis=1)
    if levels.has_missing and levels.labels[0][-1] == STAR:
        result[:, -1] = 1.0  # a missing value that matches anything shows nothing
    return result
