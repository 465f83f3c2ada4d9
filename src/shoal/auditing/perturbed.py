"""test_perturbations(): what is promised of perturbed columns, tested; by guarantee, never by a method's name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing.census import count_distinct
from shoal.auditing.checks import Compared
from shoal.auditing.value_counts import RecordClasses, count_sensitive_values
from shoal.engines.columns import of_kind, to_plain
from shoal.engines.counted import CountedTable
from shoal.errors import Fault, TableError
from shoal.guarantees import JointGuarantee, PerturbedView, PromiseTest, declare_guarantee
from shoal.guarantees.base import number_classes
from shoal.models.base import Census, PrivacyModel, name_models


@dataclass(frozen=True, kw_only=True)
class PerturbationAudit:
    """One perturbation of a policy: what it promises, and what came out."""

    name: str
    guarantee: JointGuarantee
    tests: tuple[PromiseTest, ...]
    measured: dict[str, float] = field(default_factory=dict)
    """What was lost, by name; empty where the original records are not known."""
    claimed_bound: float | None = None
    """What the method proved that no release under its promise stays below; no audit counts that."""

    @property
    def is_decided(self) -> bool:
        """Whether something of it could be tested."""
        return any(not test.not_run for test in self.tests)

    @property
    def holds(self) -> bool:
        """Whether something was tested, and nothing failed."""
        return self.is_decided and all(test.outcome != "failed" for test in self.tests)

    @property
    def outcome(self) -> str:
        """``holds``, ``does not hold``, or ``undecided`` where nothing of it could be tested."""
        if not self.is_decided:
            return "undecided"
        tested = "" if all(not test.not_run for test in self.tests) else ", as far as tested"
        return f"holds{tested}" if self.holds else "does not hold"

    @property
    def title(self) -> str:
        """Its name and columns."""
        return f"{self.name} of {', '.join(self.guarantee.columns)}"

    @property
    def told(self) -> str:
        """What was tested, in a few words."""
        tests = [f"{test.name} {test.outcome}{f' ({test.got})' if test.got else ''}" for test in self.tests]
        lost = [f"{name} lost {value:.4%}" for name, value in self.measured.items() if name == "share"]
        return "; ".join([*tests, *lost])

    def faults(self) -> Iterator[Fault]:
        """Yield what failed, or that nothing could be tested; and a bound that is none."""
        where = ", ".join(self.guarantee.columns)
        for test in self.tests:
            if test.outcome == "failed":
                yield Fault(f"{self.guarantee.broken}: {test.name}", where, test.got)
        if not self.is_decided:
            hint = "give the original, and the original record of each published one (in Python rows=release.rows)"
            yield Fault("what is promised of it cannot be tested", where, self.tests[0].not_run, hint, "undecided")

    def bound_faults(self) -> Iterator[Fault]:
        """Yield that less was lost than what is claimed to be the least."""
        lost = self.measured.get(self.guarantee.bounded)
        if self.claimed_bound is not None and lost is not None and lost < self.claimed_bound * (1 - 1e-9):
            got = f"{self.name} claims that nothing goes below {self.claimed_bound}, the audit counts {lost}"
            yield Fault("search and audit disagree", ", ".join(self.guarantee.columns), got)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        described: dict[str, Any] = {
            "name": self.name,
            "guarantee": {"name": self.guarantee.key(), **self.guarantee.parameters()},
            "holds": self.holds,
            "tests": [_describe(test) for test in self.tests],
            "lost": self.measured,
        }
        if self.claimed_bound is None:
            return described
        of = self.guarantee.bounded
        return {**described, "bound": {"of": of, "least": self.claimed_bound, "is": "claimed by the method"}}


def _describe(test: PromiseTest) -> dict[str, Any]:
    told: dict[str, Any] = {"test": test.name, "asks": test.asks, "outcome": test.outcome}
    numbers = {"asked": test.asked, "attained": test.attained}
    told |= {key: value for key, value in numbers.items() if value is not None}
    return told | ({"why": test.not_run} if test.not_run else {"got": test.got} if test.got else {})


def test_perturbations(compared: Compared, weights: pl.Series | None = None) -> tuple[PerturbationAudit, ...]:
    """Test what each perturbation of a policy promises of the published table."""
    audits = []
    for one in compared.policy.perturb:
        guarantee = declare_guarantee(one.columns[0], compared.policy)
        assert isinstance(guarantee, JointGuarantee)
        view = _view(compared, one.columns, one.reads, weights)
        tests = (*guarantee.test(view), *_recount_models(compared, guarantee, view))
        audits.append(
            PerturbationAudit(name=one.key(), guarantee=guarantee, tests=tests, measured=guarantee.measure(view))
        )
    return tuple(audits)


test_perturbations.__test__ = False  # type: ignore[attr-defined]  # pytest: it is none


def _recount_models(compared: Compared, guarantee: JointGuarantee, view: PerturbedView) -> Iterator[PromiseTest]:
    """Yield whether models hold in the classes that show the same in perturbed columns, beside the published table."""
    models, policy = guarantee.class_models, compared.policy
    if not models:
        return
    classes = number_classes(view.published)
    together = dict.fromkeys(columns for model in models for columns in _looked_at(model))
    members = RecordClasses(pl.Series(classes))
    each = CountedTable(compared.published.expand())  # as the classes are: each record as often as it occurs
    counted = count_sensitive_values(each, None, policy, members, together)
    values = {
        names[0]: count_distinct(held, policy.sensitive[names[0]]) for names, held in counted.items() if len(names) == 1
    }
    census = Census(sizes=np.bincount(classes), values=values, value_counts=counted, records=len(classes))
    for name, model in zip(name_models(models), models, strict=True):
        attained = model.recount(census)
        yield PromiseTest(
            name=name,
            asks=f"Does {model.key()} hold in each class of records that show the same in all of these columns?",
            holds=model.meets(attained),
            got=f"{attained}, asked {model.asked}",
        )


def _looked_at(model: PrivacyModel) -> tuple[tuple[str, ...], ...]:
    """Return the columns that a model looks at, together and each by itself."""
    return (model.sensitive_columns, *((name,) for name in model.sensitive_columns))


def claim_bounds(audits: Sequence[PerturbationAudit], bounds: Sequence[float | None]) -> tuple[PerturbationAudit, ...]:
    """Return audits of perturbations with what the methods proved."""
    return tuple(replace(one, claimed_bound=bound) for one, bound in zip(audits, bounds, strict=True))


def _view(compared: Compared, columns: Sequence[str], reads: Sequence[str], weights: pl.Series | None) -> PerturbedView:
    """Return the columns of one perturbation, each record as often as it occurs."""
    published, original = compared.published, compared.original
    shown = {name: _plain(published.frame[name]) for name in columns}
    if original is None:
        return PerturbedView(published=published.with_frame(pl.DataFrame(shown)).expand())
    raw = {name: _plain(original.frame[name]) for name in (*columns, *reads) if name in original.frame.columns}
    shown = {name: _like(raw[name], column) for name, column in shown.items()}
    rows, before = compared.rows, original.table.with_frame(pl.DataFrame(raw))
    known = rows is not None and len(rows) == published.frame.height and not rows.null_count()
    held = published.with_frame(before.frame[rows.to_numpy()]) if known and rows is not None else None
    return PerturbedView(
        published=published.with_frame(pl.DataFrame(shown)).expand(),
        original=None if held is None else held.expand(),
        before=before.expand(),
        weights=weights if weights is None else published.with_frame(pl.DataFrame([weights])).expand().to_series(),
    )


def _plain(column: pl.Series) -> pl.Series:
    try:
        return to_plain(column)
    except TableError:  # a type that is never published: told elsewhere
        return column.alias("values").cast(pl.String, strict=False)


def _like(original: pl.Series, column: pl.Series) -> pl.Series:
    """Return a published column in the type that its original's values have, a mean of whole numbers as a number; what
    is no such value stays what it is."""
    kind = pl.Float64() if original.dtype.is_numeric() else original.dtype
    if kind in (column.dtype, pl.String):
        return column
    cast = of_kind(column, kind)
    return cast if cast.null_count() == column.null_count() else column
