"""Cutting into blocks, without Spark."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.engines.counted import side_by_side
from shoal.engines.cutting import Block, CutTree, count_bins, propose_block_cut
from shoal.testing import encode_table
from tests.spark.conftest import adult, adult_policy


def _problem() -> tuple[np.ndarray, np.ndarray, tuple]:  # type: ignore[type-arg]
    encoded = encode_table(adult(2_000), adult_policy())
    return encoded.frequencies.tuples, encoded.frequencies.counts, encoded.columns


def test_cuts_share_out_every_record_and_leave_enough_on_both_sides() -> None:
    codes, counts, columns = _problem()
    tree, least, done = CutTree(), 40, []
    tops = tuple(column.levels.size - 1 for column in columns)
    open_blocks = [Block(0, (0,) * len(columns), tops, len(codes), int(counts.sum()))]
    while open_blocks:
        block = open_blocks.pop()
        indices = {block.node: block.indices(columns)}
        block, cut = propose_block_cut(
            block, columns, indices[block.node], count_bins(tree, indices, codes, counts), least
        )
        if cut is None or block.combinations <= 100:
            done.append(block)
            continue
        tree = tree.cut(block.node, cut.column, cut.index)
        open_blocks += cut.halves(tree)
    leaves = tree.leaves_of(codes)
    assert len(done) > 8
    for block in done:
        inside = leaves == block.node
        assert (int(inside.sum()), int(counts[inside].sum())) == (block.combinations, block.records)
        assert block.records >= least
        assert (codes[inside].min(axis=0) >= block.lows).all() and (codes[inside].max(axis=0) <= block.highs).all()
    assert sum(block.records for block in done) == counts.sum()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=200), st.integers(1, 8))
def test_counts_of_parts_add_up_to_the_counts_of_all(values: list[int], parts: int) -> None:
    codes = np.array(values)[:, None]
    times = np.arange(1, len(codes) + 1)
    tree = CutTree().cut(0, 0, 20)
    indices = {1: (np.array([3, 9]),), 2: (np.array([30]),)}
    whole = count_bins(tree, indices, codes, times)
    for key, (combinations, records) in whole.items():
        some = [count_bins(tree, indices, codes[n::parts], times[n::parts]).get(key) for n in range(parts)]
        assert (sum(one[0] for one in some if one) == combinations).all()
        assert (sum(one[1] for one in some if one) == records).all()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])), min_size=1, max_size=30))
def test_columns_side_by_side_keep_their_counts(rows: list[tuple[int, str | None]]) -> None:
    table = pl.DataFrame(rows, schema={"x": pl.Int64, "y": pl.String}, orient="row")
    counts = [table.group_by(name).agg(pl.len().cast(pl.Int64).alias("times")) for name in ("x", "y")]
    beside = side_by_side(counts)
    for name, before in zip(("x", "y"), counts, strict=True):
        after = beside.group_by(name).agg(pl.col("times").sum())
        assert after.sort(name).equals(before.sort(name))


def test_columns_alone_make_no_claim_about_records() -> None:
    """An original of which only the columns are known has no risk before, and no class is held against it."""
    table, policy = shoal.datasets.load("patients")
    release = shoal.anonymize(table, policy)
    counts = [table.group_by(name).agg(pl.len().cast(pl.Int64).alias("times")) for name in table.columns]
    columns = side_by_side(counts)
    original = shoal.engines.counted.CountedTable(columns.drop("times"), columns["times"], apart=True)
    checked = shoal.audit(release.table, policy, original=original)
    assert checked.holds and checked.risk_before == {}
    assert checked.utility == release.audit.utility
