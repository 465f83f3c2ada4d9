"""What many files of tests make: policies that are usual in a file, but for what a test asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.policy import Policy


def policies(**usual: Any) -> Callable[..., Policy]:
    """Return how the policies of a file are made: as usual, but for what is asked; k-anonymity where nothing is said.

    Examples
    --------
    >>> policy = policies(quasi_identifiers=["age"])
    >>> policy(max_suppressed=0.5).models[0].k
    2
    """
    said = {"models": [{"name": "k-anonymity", "k": 2}], **usual}
    return lambda **asked: Policy(**{**said, **asked})
