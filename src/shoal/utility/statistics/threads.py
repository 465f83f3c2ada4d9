"""one_blas_thread(): statistics multiply many small matrices, for which threads of BLAS only wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def one_blas_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function use one thread of BLAS, whatever the machine has.

    Where another process keeps a core busy, two threads took five times as long as one. And sums in one thread are
    the same on every machine, to the last digit.
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
