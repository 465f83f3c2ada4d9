"""release_in_blocks(): a table whose combinations do not fit one machine, cut first; then each block is searched.

A union of blocks that each hold is a table that holds; docs/spark.md tells for which promises, and
:func:`shoal.engines.limits.uncuttable` what is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing import Audit, OriginalTable, OwnerView
from shoal.auditing.checks import check_of
from shoal.auditing.truth import Pair, truth_faults
from shoal.encoding.types import Codes, Progress
from shoal.engines.blocks import BlockEngine, BlockPieces, CutRequest, CutTable, NumberedColumn
from shoal.engines.columns import plain
from shoal.engines.counted import CountedTable
from shoal.engines.limits import uncuttable
from shoal.engines.treatments import treat
from shoal.errors import AuditFailed, Fault, Infeasible, Misfit
from shoal.pipeline.block_search import BlockSearch
from shoal.pipeline.encode import Encoded, encode
from shoal.pipeline.manifest import describe_release
from shoal.pipeline.prepare import Prepared, look_up
from shoal.pipeline.publish import Published
from shoal.pipeline.release import Release
from shoal.pipeline.verify import audit_published
from shoal.policy import Policy, QuasiIdentifier, Sensitive


@dataclass(frozen=True, kw_only=True)
class InBlocks:
    """What is told of a recoding that was found block by block: no driver holds its classes."""

    blocks: int
    classes: int
    largest: int
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
        As :func:`shoal.anonymize`; also what a policy asks for that blocks cannot keep.
    """
    faults = uncuttable(policy, engine.count_combinations())
    if faults:
        raise Misfit(faults)
    given = engine.count_marginals()
    words = look_up(given, policy)
    prepared = Prepared(engine=engine, given=given, words=words, named=words.table)
    learned = encode(words)
    problem = policy.algorithm.to_classwise(learned.problem(policy))
    problem.begin()  # raises where not even all records together keep the promises
    request = CutRequest(columns=list(_number_columns(prepared, learned)), problem=problem)
    with engine.cut(request) as cut:
        pieces = cut.search(_plan_search(cut, policy, learned))
        blocks, largest = len(cut.blocks), max(block.combinations for block in cut.blocks)
    return _verify(prepared, pieces, (blocks, largest), progress)


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


def _verify(prepared: Prepared, pieces: BlockPieces, size: tuple[int, int], progress: Progress) -> Release:
    """Publish what was found, count it again where it lies, and compare it with what was decided."""
    if error := pieces.find_error():
        raise Infeasible(error)
    held = pieces.publish()
    progress("auditing", 0, 0)
    published = Published(table=held.count(what="auditing"), owner=OwnerView(), classes=pl.Series([], dtype=pl.Int64))
    audit = audit_published(prepared, published.table, published.owner, {})
    audit = _add_truth(audit, pieces, prepared.original)
    faults = [*audit.failures(), *_lost_faults(pieces, published.table), *held.uncounted_faults()]
    if faults:
        raise AuditFailed(faults)
    recoding = InBlocks(blocks=size[0], classes=audit.classes, largest=size[1])
    return Release(
        policy=prepared.policy,
        audit=audit,
        recoding=recoding,
        manifest=describe_release(prepared.words, recoding, prepared.engine),
        published=held,
        details=published,
        prepared=prepared,
    )


def _add_truth(audit: Audit, pieces: BlockPieces, original: OriginalTable) -> Audit:
    """Return an audit with what the pairs of value and text tell: no record is at hand that could be compared."""
    pairs = {name: _read_pairs(found, name, original.policy) for name, found in pieces.count_pairs().items()}
    return audit.having(check_of("truth", truth_faults(pairs, original)))


def _read_pairs(found: pl.DataFrame, name: str, policy: Policy) -> list[Pair]:
    values = treat(CountedTable(pl.DataFrame([found["value"].alias(name)])), policy).frame[name]
    texts = plain(values).cast(pl.String).to_list()
    return [Pair(*pair) for pair in zip(texts, found["text"], found["suppressed"], strict=True)]


def _lost_faults(pieces: BlockPieces, published: CountedTable) -> list[Fault]:
    """Return a fault where there are other records than were decided."""
    decided = pieces.count_records()
    if decided == published.records:
        return []
    return [Fault("another table than was decided is held", got=f"{published.records} records of {decided}")]
