"""AnswerSource: a table that answers requests; each answer is verified before it is kept or leaves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from shoal.encoding.types import Ints
from shoal.engines.formulas import prefix_cells
from shoal.gateway.bounded_cache import BoundedCache
from shoal.gateway.evaluation import Evaluation, QueryableTable, evaluate
from shoal.gateway.request import Request
from shoal.gateway.verification import AnswerVerifier

_OBJECTS = 4_000
"""Bytes of the objects around an answer, as measured."""
_NO_ROWS: Ints = np.zeros(0, np.int64)
"""What an answer is made of is not needed once it was verified, and may be much more than it shows."""


def remember_answers(max_bytes: int = 64_000_000) -> BoundedCache[tuple[str, str], Evaluation]:
    """Return a cache of answers that a table gave: the table is fixed, so they are too.

    Each client has its own: how soon an answer comes would tell what others asked. Requests are told apart by how they
    are written out: to Python ``1`` and ``True`` are equal, to a condition not.
    """
    return BoundedCache(max_bytes, lambda key, answer: answer.size + len(key[1]) + _OBJECTS)


@dataclass(frozen=True)
class AnswerSource:
    """A table, what verifies the answers that are cut from it, and those that were."""

    table: QueryableTable
    verifier: AnswerVerifier
    prefixes: bool = False
    """Whether formulas in cells get an apostrophe, by the owner's policy; the audited table holds them as they were."""
    cache: BoundedCache[tuple[str, str], Evaluation] = field(
        default_factory=remember_answers, repr=False, compare=False
    )

    def prepare(self) -> AnswerSource:
        """Do now what every answer needs, and return the source; the first one would wait for it, and tell so."""
        self.table.encode_all()
        self.verifier.prepare()
        return self

    def answer(self, client: str, request: Request) -> Evaluation:
        """Return the answer to a client's request.

        Raises
        ------
        AuditFailed
            The answer shows something that the audited table does not hold; it goes no further.
        """
        key = client, repr(request)
        answer = self.cache.get(key)
        if answer is None:
            answer = evaluate(request, self.table)
            self.verifier.verify(request, answer, client)
            shown = prefix_cells(answer.table) if self.prefixes else answer.table
            answer = replace(answer, table=shown, rows=_NO_ROWS)
            self.cache.put(key, answer)
        return answer
