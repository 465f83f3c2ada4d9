"""Each column has one guarantee, the audit keeps to it, and a new one needs no change elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from typing import Any, ClassVar, Self

import polars as pl
import pytest

import shoal
from shoal import registry
from shoal.errors import AuditFailed, PolicyError
from shoal.guarantees import ColumnView, Guarantee, declare_guarantees
from shoal.pipeline import anonymize as road
from shoal.policy import Policy

POLICY = Policy(
    identifiers=["name"],
    quasi_identifiers=["age"],
    sensitive=["income"],
    models=[{"name": "k-anonymity", "k": 2}],
    algorithm="mondrian",
)
TABLE = pl.DataFrame(
    {"name": list("abcdef"), "age": [20, 21, 30, 31, 40, 41], "income": [1.0, 3.0, 5.0, 9.0, 2.0, 2.0]}
)


class ClassMeans(Guarantee):
    """Each record shows the mean of its class."""

    broken: ClassVar[str] = "published values that are not the mean of their class"

    @classmethod
    def declare(cls, column: str, policy: Policy) -> Self | None:
        """Return it for incomes."""
        return cls() if column == "income" else None

    def find_false(self, view: ColumnView) -> pl.Series:
        """Return which records show another value than the mean of the originals of their class."""
        table = pl.DataFrame([view.original.alias("value"), view.classes.alias("class")])
        means = table.select(pl.col("value").mean().over("class"))["value"]
        return (means - view.published.cast(pl.Float64)).abs() > 1e-9


@dataclass(frozen=True)
class Plugged:
    """An entry point of another package."""

    name: str
    entry: type[Guarantee]

    def load(self) -> type[Guarantee]:
        return self.entry


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def add(*entries: type[Guarantee]) -> None:
        def found(group: str) -> Any:
            ours = [Plugged(entry.__name__.lower(), entry) for entry in entries]
            return ours if group == "shoal.guarantees" else entry_points(group=group)

        monkeypatch.setattr(registry, "entry_points", found)
        registry.names.cache_clear()

    yield add
    registry.names.cache_clear()


@pytest.fixture
def means(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish the mean income of each class, as a perturbation would."""
    honest = road.publish

    def publish(*given: Any) -> Any:
        published = honest(*given)
        frame = published.table.frame
        shown = frame.with_columns(pl.col("income").mean().over("age"))
        return replace(published, table=published.table.with_frame(shown))

    monkeypatch.setattr(road, "publish", publish)


def test_every_column_has_its_guarantee() -> None:
    policy = POLICY.replace(output={"form": "generalized", "ends": True}, identifiers={"name": {"pseudonym": True}})
    release = shoal.anonymize(TABLE, policy, key=b"0123456789abcdef0123456789abcdef")
    told = release.audit.to_dict()["guarantees"]
    assert told == {
        "name": {"name": "omitted"},
        "age": {"name": "covers"},
        "income": {"name": "exact"},
        "age.low": {"name": "derived"},
        "age.high": {"name": "derived"},
        "name.pseudonym": {"name": "pseudonym", "of": "name"},
    }
    assert {*release.table.columns} == {name for name, one in told.items() if one["name"] != "omitted"}


def test_columns_without_a_role_are_omitted_or_exact() -> None:
    kept = declare_guarantees(["other", "age"], POLICY.replace(others="keep"))
    dropped = declare_guarantees(["other", "age"], POLICY.replace(others="drop"))
    assert [kept["other"].key(), dropped["other"].key()] == ["exact", "omitted"]


def test_means_break_the_promise_to_publish_values_as_they_are(means: None) -> None:
    with pytest.raises(AuditFailed, match="income"):
        shoal.anonymize(TABLE, POLICY)


def test_a_new_guarantee_needs_no_other_change(means: None, plug: Any) -> None:
    plug(ClassMeans)
    release = shoal.anonymize(TABLE, POLICY)
    assert release.audit.holds and release.audit.guarantees["income"].key() == ClassMeans.key()
    assert release.table["income"].to_list() == pytest.approx([3.0] * 3 + [13 / 3] * 3)


def test_a_new_guarantee_is_asked(plug: Any) -> None:
    plug(ClassMeans)
    with pytest.raises(AuditFailed, match="not the mean of their class"):
        shoal.anonymize(TABLE, POLICY)


def test_two_guarantees_of_one_column_are_refused(plug: Any) -> None:
    class Other(ClassMeans):
        """The same again."""

    plug(ClassMeans, Other)
    with pytest.raises(PolicyError, match="more than one guarantee"):
        declare_guarantees(["income"], POLICY)
