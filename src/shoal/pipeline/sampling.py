"""draw_sample(): a random sample of the records that follows from a secret seed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Bools

_BITS = 64


def draw_sample(codes: Sequence[npt.NDArray[np.integer]], share: Fraction, seed: int) -> Bools:
    """Return which records are drawn, each with the same chance and whatever becomes of the others.

    Equal records are drawn as many times whatever their order in the table. The numbers come from SHAKE-256, so that
    nobody can tell them from random ones who does not know the seed.

    Examples
    --------
    >>> draw_sample([np.array([7, 7, 8, 9])], Fraction(1, 2), seed=2).tolist()
    [False, True, False, False]
    """
    count = len(codes[0])
    stream = hashlib.shake_256(b"shoal: sample\0" + str(seed).encode()).digest(count * _BITS // 8)
    numbers = np.frombuffer(stream, dtype="<u8")
    limit = share.numerator * 2**_BITS // share.denominator
    chosen = np.zeros(count, bool)
    chosen[np.lexsort(codes[::-1])] = numbers < np.uint64(limit)
    return chosen
