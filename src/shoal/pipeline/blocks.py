"""release_in_blocks(): a table whose combinations do not fit is cut first; then each block is searched.

A union of blocks that each hold is a table that holds; docs/spark.md tells for which promises, and
:func:`shoal.engines.limits.find_uncuttable` what is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing import OwnerView
from shoal.encoding.types import Codes, Progress
from shoal.engines.blocks import BlockEngine, BlockPieces, CutRequest, CutTable, NumberedColumn
from shoal.errors import Infeasible
from shoal.pipeline.block_search import BlockSearch
from shoal.pipeline.encode import Encoded, encode
from shoal.pipeline.formulas import publish_harmless
from shoal.pipeline.prepare import Prepared, look_up, require_all_records
from shoal.pipeline.publish import Published
from shoal.pipeline.release import Release, verify_release
from shoal.pipeline.verify import Claims
from shoal.policy import Policy, QuasiIdentifier, Sensitive


@dataclass(frozen=True, kw_only=True)
class InBlocks:
    """What is told of a recoding that was found block by block: no driver holds its classes."""

    blocks: int
    largest: int
    classes: int = 0
    proof: None = None
    rounds: tuple[()] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return how many blocks and classes there are."""
        return {
            "recoding": "local",
            "blocks": self.blocks,
            "largest_block": self.largest,
            "classes": self.classes,
        }


def release_in_blocks(engine: BlockEngine, policy: Policy, progress: Progress) -> Release:
    """Cut a table into blocks, let each be searched where it lies, publish and verify them together.

    Raises
    ------
    Misfit, Infeasible, AuditFailed
        As :func:`shoal.anonymize`.
    """
    given = engine.count_marginals(policy)
    require_all_records(engine, given)
    words = look_up(given, policy)
    prepared = Prepared(engine=engine, given=given, words=words, named=words.table)
    learned = encode(words)
    problem = policy.algorithm.to_classwise(learned.problem(policy))
    problem.begin()  # raises where not even all records together keep the promises
    request = CutRequest(columns=list(_number_columns(prepared, learned)), problem=problem)
    pieces, recoding = _search(engine, request, policy, learned)
    published, held = publish_harmless(_publish(pieces), policy), pieces.publish()
    progress("auditing", 0, 0)
    shown = [published.table.frame[name].alias(str(index)) for index, name in enumerate(policy.quasi_identifiers)]
    recoding = replace(recoding, classes=pl.DataFrame(shown).n_unique())
    return verify_release(prepared, published, Claims(recoding=recoding), held)


def _search(engine: BlockEngine, request: CutRequest, policy: Policy, learned: Encoded) -> tuple[BlockPieces, InBlocks]:
    """Cut a table and let its blocks be searched; nothing of the cut table is held any more when they are."""
    with engine.cut(request) as cut:
        pieces = cut.search(_plan_search(cut, policy, learned))
        recoding = InBlocks(blocks=len(cut.blocks), largest=max(block.combinations for block in cut.blocks))
    if error := pieces.find_error():
        raise Infeasible(error)
    return pieces, recoding


def _number_columns(prepared: Prepared, learned: Encoded) -> Iterator[NumberedColumn]:
    """Yield the numbers that the values of each column have in a search."""
    cells, policy, frame = learned.cell_of_record, prepared.policy, prepared.given.frame
    tuples = learned.frequencies.tuples[learned.frequencies.cell_tuples[cells]]
    sensitive = learned.frequencies.sensitive[cells]
    roles: list[tuple[str, Mapping[str, QuasiIdentifier | Sensitive], Codes]] = [
        ("q", policy.quasi_identifiers, tuples),
        ("s", policy.sensitive, sensitive),
    ]
    for prefix, columns, codes in roles:
        for index, (name, column) in enumerate(columns.items()):
            key = f"{prefix}{index}"
            numbers = pl.Series(key, codes[:, index].astype(np.int32))
            yield NumberedColumn(
                name=name,
                key=key,
                numbers=pl.DataFrame([frame[name].alias("value"), numbers]).unique().sort("value"),
                suppresses_missing=column.missing == "suppress",
            )


def _plan_search(cut: CutTable, policy: Policy, learned: Encoded) -> BlockSearch:
    """Return the search of a block, each with its share of the records that may be suppressed, rounded down."""
    inside = sum(block.records for block in cut.blocks)
    may = policy.may_suppress(inside + cut.suppressed) - cut.suppressed
    if may < 0:
        raise Infeasible(
            f"{cut.suppressed} records must be suppressed for their missing values, {may + cut.suppressed} may be"
        )
    return BlockSearch(
        policy=policy,
        columns=learned.columns,
        known=learned.known,
        whole=learned.frequencies,
        allowed={block.node: may * block.records // max(inside, 1) for block in cut.blocks},
        keys=cut.keys,
    )


def _publish(pieces: BlockPieces) -> Published:
    """Return what was decided for each combination, as far as a driver can hold it; its records lie elsewhere."""
    nobody = pl.Series([], dtype=pl.Int64)
    return Published(table=pieces.count(), owner=OwnerView(), classes=nobody, pairs=pieces.count_pairs())
