"""Perturbs: columns went through a declared mechanism, and what came out agrees with it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, ClassVar

from pydantic import Field

from shoal.guarantees.base import JointGuarantee, PerturbedView, PromiseTest


class Perturbs(JointGuarantee):
    """A declared mechanism changed the columns; its parameters are told, and its outcome agrees with them.

    Each mechanism has one file in ``guarantees/mechanisms/``, with a function ``test(view, **parameters)``.
    """

    broken: ClassVar[str] = "published values that the declared mechanism does not explain"
    mechanism: str
    """What was done, by the name of the file that tests it."""
    told: dict[str, Any] = Field(default={})
    """Its parameters, for whoever analyses the table."""
    secret: dict[str, Any] = Field(default={}, exclude=True)
    """Parameters that help to undo it: they are tested, and told nobody."""

    def test(self, view: PerturbedView) -> Iterator[PromiseTest]:
        """Yield what the mechanism promises, tested."""
        mechanism = import_module(f"shoal.guarantees.mechanisms.{self.mechanism.replace('-', '_')}")
        yield from mechanism.test(view, **self.told, **self.secret)
