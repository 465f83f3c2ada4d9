"""AnswerSource: a table that answers requests; each answer is verified before it is kept or leaves."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from shoal.gateway.evaluation import Evaluation, QueryableTable, evaluate
from shoal.gateway.request import Request
from shoal.gateway.verification import AnswerVerifier

_OBJECTS = 4_000
"""Bytes of the objects around an answer, as measured."""


class AnswerCache:
    """Answers that a table gave: the table is fixed, so they are too. Those asked for longest ago go first.

    They are told apart by how a request is written out: to Python ``1`` and ``True`` are equal, to a condition not.
    """

    def __init__(self, max_bytes: int = 64_000_000) -> None:
        self._max_bytes, self.size = max_bytes, 0
        self._answers: OrderedDict[str, Evaluation] = OrderedDict()
        self._lock = Lock()

    def get(self, request: Request) -> Evaluation | None:
        """Return the answer to a request, if it is there."""
        key = repr(request)
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
        return answer

    def put(self, request: Request, answer: Evaluation) -> None:
        """Keep an answer, unless it takes a large part of the room that there is."""
        key = repr(request)
        if _estimate_size(key, answer) > self._max_bytes // 8:
            return
        with self._lock:
            if key not in self._answers:
                self._answers[key] = answer
                self.size += _estimate_size(key, answer)
            while self.size > self._max_bytes:
                self.size -= _estimate_size(*self._answers.popitem(last=False))


def _estimate_size(key: str, answer: Evaluation) -> int:
    """Return about how many bytes it takes to keep an answer; a small one takes more than it holds."""
    return answer.size + len(key) + _OBJECTS


@dataclass(frozen=True)
class AnswerSource:
    """A table, what verifies the answers that are cut from it, and those that were."""

    table: QueryableTable
    verifier: AnswerVerifier
    cache: AnswerCache = field(default_factory=AnswerCache, repr=False, compare=False)

    def answer(self, request: Request) -> Evaluation:
        """Return the answer to a request.

        Raises
        ------
        AuditFailed
            The answer shows something that the audited table does not hold; it goes no further.
        """
        answer = self.cache.get(request)
        if answer is None:
            answer = evaluate(request, self.table)
            self.verifier.verify(request, answer)
            self.cache.put(request, answer)
        return answer
