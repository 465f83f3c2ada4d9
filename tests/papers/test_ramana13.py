"""The worked examples of Ramana et al. (2013), number for number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import shoal
from shoal.algorithms.clustering.costs import Slots
from shoal.algorithms.local.spanning_tree import Forest, SpanningTree, span_forest, weigh_by_effort
from shoal.encoding import yaml as notation
from shoal.kernels.spanning import fill_distances
from shoal.pipeline.encode import Encoded
from shoal.policy import Policy
from shoal.testing import encode_table

PAPER: dict[str, Any] = notation.parse((Path(__file__).parent / "ramana13.yaml").read_text())
ORIGINAL = pl.DataFrame(PAPER["records"], schema=PAPER["columns"], orient="row")
POLICY = Policy(
    quasi_identifiers=PAPER["hierarchies"],
    sensitive=["disease"],
    models=[{"name": "k-anonymity", "k": 3}],
    algorithm="exhaustive",
)


def published(name: str) -> pl.DataFrame:
    return in_printed_order(name).sort(PAPER["columns"])


def in_printed_order(name: str) -> pl.DataFrame:
    return pl.DataFrame(PAPER[name], schema=PAPER["columns"], orient="row", strict=False)


def test_the_printed_order_gives_the_persons_away() -> None:
    audit = shoal.audit(in_printed_order("local"), POLICY, original=ORIGINAL)
    assert audit.models[0].holds
    assert not audit.holds  # record i is record i of the original: the unsorted matching attack
    assert [fault.what for fault in audit.faults] == ["the records stand in their original order"]


def test_table_1_b_is_3_anonymous() -> None:
    audit = shoal.audit(published("global"), POLICY, original=ORIGINAL)
    assert audit.holds
    assert audit.models[0].attained == 4  # four women, six men
    assert audit.classes == 2


def test_table_1_c_is_3_anonymous_with_its_three_classes() -> None:
    audit = shoal.audit(published("local"), POLICY, original=ORIGINAL)
    assert audit.holds
    assert sorted(audit.sizes.tolist()) == sorted(PAPER["classes"])


def test_table_1_c_measures_of_equations_5_to_9() -> None:
    audit = shoal.audit(published("local"), POLICY, original=ORIGINAL)
    ages, zips = 7, 5  # distinct values of the columns
    age = 3 * 3 / ages + 4 * 1.0 + 3 * 2 / ages  # eq. 6: leaves under the label over all values
    zip_code = 0 + 4 * 1.0 + 3 * 2 / zips
    assert audit.utility["certainty-penalty"].total == pytest.approx((age + zip_code) / (3 * 10))  # eq. 7
    assert audit.utility["discernibility"].total == 3**2 + 4**2 + 3**2  # eq. 8
    assert audit.utility["class-size"].total == pytest.approx(10 / (3 * 3))  # eq. 9


def test_table_1_b_loses_more_than_table_1_c() -> None:
    losses = [
        shoal.audit(published(name), POLICY, original=ORIGINAL).utility["certainty-penalty"].total
        for name in ("global", "local")
    ]
    assert losses[0] > losses[1]


def test_the_searches_lose_no_more_than_the_paper() -> None:
    printed = {
        name: shoal.audit(published(name), POLICY, original=ORIGINAL).utility["certainty-penalty"].total
        for name in ("global", "local")
    }
    assert shoal.anonymize(ORIGINAL, POLICY).loss <= printed["global"]
    assert shoal.anonymize(ORIGINAL, POLICY.replace(algorithm="mondrian")).loss <= printed["local"]


def encoded() -> Encoded:
    return encode_table(ORIGINAL, POLICY)


def record_of_tuple() -> npt.NDArray[np.int64]:
    """Return the paper's number of the record of each tuple: all ten are different."""
    return np.argsort(encoded().cell_of_record) + 1


def distances() -> list[npt.NDArray[np.float64]]:
    """Return the hierarchical distances of the ten records in each column."""
    found, coded = encoded(), []
    codes = found.frequencies.tuples[found.cell_of_record]  # one cell per tuple here
    slots = Slots.of(weigh_by_effort(found.columns))
    for number, slot in sorted(enumerate(slots.slots), key=lambda pair: pair[1].place):
        rows = np.empty((10, len(slot.lows)))
        for record in range(10):
            code = int(codes[record, slot.place])
            fill_distances(slots.costs, number, slot.lows, slot.highs, code, 6.0, rows[record])
        coded.append(rows[:, codes[:, slot.place]])
    return coded


def forest() -> Forest:
    return span_forest(encoded().problem(POLICY), 40_000)


def test_definitions_4_to_6_concept_hierarchical_distance_and_effort() -> None:
    gender, age, zip_code = distances()
    # a value's effort is half of a distance: both values climb to the same label
    assert age[1, 3] / 2 == pytest.approx(2 / 3)  # 24 to [20-30], which it shares with 26
    assert age[1, 9] / 2 == pytest.approx(1)  # 24 to the root
    # r2 to (M, [20-40], 5352**), which it shares with r8
    assert [gender[1, 7] / 2, age[1, 7] / 2, zip_code[1, 7] / 2] == pytest.approx([0, 1, 1])
    assert sum(column[1, 7] for column in distances()) / 2 == pytest.approx(2)
    assert sum(column[1, 2] for column in distances()) == pytest.approx(0.666, abs=1e-3)


def test_figure_4_distance_matrix() -> None:
    matrix = sum(distances(), np.zeros((10, 10)))
    wrong = PAPER["misprinted"]
    assert (matrix == matrix.T).all()
    for first, row in enumerate(PAPER["distances"], start=1):
        for second, printed in enumerate(row, start=first + 1):
            ours = matrix[first - 1, second - 1]
            if (first, second) == (wrong["first"], wrong["second"]):
                assert abs(ours - printed) > 0.5
                assert ours == pytest.approx(wrong["distance"], abs=1e-4)
            else:
                assert ours == pytest.approx(printed, abs=0.0134)  # thirds are rounded before they are added


def test_table_2_priority_queue() -> None:
    tree, records = forest(), record_of_tuple()
    queue = tree.queue()
    assert tree.lengths[queue].tolist() == pytest.approx([weight for _, _, weight in PAPER["queue"]], abs=0.01)
    ours = {tuple(sorted(records[tree.tuples[[edge, tree.parents[edge]]]].tolist())) for edge in queue}
    printed = {(first, second) for first, second, _ in PAPER["queue"]}
    assert ours - printed == {(1, 3)}  # as long as 2-3, which the paper's drawing has instead
    assert printed - ours == {(2, 3)}
    matrix = sum(distances(), np.zeros((10, 10)))
    assert matrix[0, 2] == matrix[1, 2]


def test_figure_5_the_longest_edges_are_removed_and_leave_the_clusters() -> None:
    tree, records = forest(), record_of_tuple()
    problem = encoded().problem(POLICY)
    for removal in ("longest", "allowable"):
        removed = SpanningTree(removal=removal).choose_edges(problem, tree)
        assert int(removed.sum()) == len(PAPER["removed"]) == 10 // 3 - 1
        assert tree.lengths[removed].tolist() == pytest.approx([3.34, 3.34], abs=0.01)
        classes = tree.without(removed)
        clusters = [sorted(records[classes == number].tolist()) for number in range(3)]
        assert sorted(clusters) == PAPER["clusters"]


@pytest.mark.parametrize("joining", ["increase", "penalty"])
def test_table_1_c_is_the_release_of_the_spanning_tree(joining: str) -> None:
    release = shoal.anonymize(ORIGINAL, POLICY.replace(algorithm={"name": "spanning-tree", "joining": joining}))
    assert release.table.sort(PAPER["columns"]).equals(published("local").cast(release.table.schema))
