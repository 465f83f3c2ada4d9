"""What is needed of a column is made once per run: its domain, and the steps of its hierarchy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from benchmarks.data import complete_adult, eight_column_policy
from benchmarks.stopwatch import watch

import shoal
from shoal.encoding.domains import Domain
from shoal.hierarchies import Step
from shoal.hierarchies.base import Hierarchy


def test_domains_and_steps_are_made_once_for_search_audit_and_statistics(tmp_path: Path) -> None:
    table, policy = complete_adult(), eight_column_policy()
    calls: Counter[tuple[str, ...]] = Counter()

    def count(kind: type[Hierarchy]) -> object:
        steps = kind.steps

        def counted(self: Hierarchy, domain: Domain) -> Iterator[Step]:
            calls[domain.texts] += 1
            return steps(self, domain)

        return mock.patch.object(kind, "steps", counted)

    with ExitStack() as stack:
        for kind in {type(column.hierarchy) for column in policy.quasi_identifiers.values()}:
            stack.enter_context(count(kind))  # type: ignore[arg-type, type-var]
        measured = stack.enter_context(watch(type(policy.algorithm)))
        shoal.anonymize(table, policy).write(tmp_path / "release")
    columns = {name: tuple(table[name].unique().sort().cast(str).to_list()) for name in policy.quasi_identifiers}
    assert measured.calls["column_domain"] == measured.calls["hierarchy building"] == len(columns) == 8
    assert [calls[texts] for texts in columns.values()] == [1] * 8
    # a tree may name values that nobody has: a reader cannot know, so their labels are looked at too
    assert sum(calls.values()) - 8 <= 1
