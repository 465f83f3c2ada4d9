"""Every way in which shoal says no.

::

    ShoalError
    ├── PolicyError        the policy is not one: an unknown key, a wrong value, a role missing
    ├── HierarchyError     a hierarchy is not one: a value without a label, a value with two parents
    ├── TableError         a table cannot be read: no file, no such encoding, ragged rows
    ├── Misfit             policy and table do not fit each other; every misfit at once
    ├── Infeasible         the policy cannot be met on this table; what blocks, and what would work
    │   └── NotFound       a search gave up: it found no release, and there may be one
    ├── AuditFailed        the published table does not keep what the policy promises; nothing was left
    ├── WriteError         a file could not be written; nothing was left
    ├── OverBudget         a table would take more memory than is allowed; nothing was left
    ├── Refused            the gateway does not answer a request; the text shows no data
    ├── Unavailable        an owner's database cannot be read
    ├── SeriesError        an earlier release cannot be followed: its state is gone, changed, or of another policy
    ├── LedgerError        a ledger cannot be written, or somebody changed it
    └── MissingExtra       an optional library is not installed

Each error is made of faults, and each fault says *what* is wrong, *where*, what was *got*, and a *hint*.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    Examples
    --------
    >>> print(Fault("must be at least 2", where="models[0].k", got="1", hint="k = 1 protects nobody"))
    models[0].k: must be at least 2; got 1. Hint: k = 1 protects nobody.
    """

    what: str
    where: str = ""
    got: str = ""
    hint: str = ""
    kind: str = "fault"
    """``infeasible`` marks a fault that the search itself explains better than the check that found it."""

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        text += f"; got {self.got}" if self.got else ""
        text += f". Hint: {self.hint}" if self.hint else ""
        return text if text.endswith((".", "?")) else f"{text}."

    def to_dict(self) -> dict[str, str]:
        """Return the non-empty parts, for ``--json``."""
        parts = {"what": self.what, "where": self.where, "got": self.got, "hint": self.hint}
        return {key: value for key, value in parts.items() if value}


class ShoalError(Exception):
    """Base of all errors of shoal; carries its faults."""

    title = "Error"

    def __init__(self, faults: Fault | str | Iterable[Fault], **details: str) -> None:
        if isinstance(faults, str):
            faults = Fault(faults, **details)
        self.faults: tuple[Fault, ...] = (faults,) if isinstance(faults, Fault) else tuple(faults)
        super().__init__(self.render())

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.faults,), vars(self))

    def __str__(self) -> str:
        return self.render()

    def render(self) -> str:
        """Return the text that people read."""
        if len(self.faults) == 1:
            return str(self.faults[0])
        return f"{len(self.faults)} problems:\n" + "\n".join(f"  - {fault}" for fault in self.faults)


class PolicyError(ShoalError, ValueError):
    """The policy is not one: an unknown key, a wrong value, a role missing."""

    title = "The policy is not valid"


class HierarchyError(ShoalError, ValueError):
    """A hierarchy is not one."""

    title = "The hierarchy is not valid"


class TableError(ShoalError, ValueError):
    """A table cannot be read."""

    title = "The table cannot be read"


class Misfit(ShoalError, ValueError):
    """Policy and table do not fit each other."""

    title = "The policy does not fit the table"


class Infeasible(ShoalError):
    """The policy cannot be met on this table.

    Attributes
    ----------
    blocking
        The columns that stand in the way.
    boundaries
        The boundaries that do: column → boundary → records that it holds back.
    attainable
        Model name to the best value that can be attained at the allowed suppression.
    relaxations
        Changes of the policy, each tried before it is offered (:class:`shoal.policy.Relaxation`): those that keep every
        promise first, then weaker promises, last what gives a promise up, which is never the first; of equals the
        cheapest first.
    """

    title = "The policy cannot be met"

    def __init__(
        self,
        faults: Fault | str | Iterable[Fault],
        *,
        blocking: Sequence[str] = (),
        attainable: dict[str, Any] | None = None,
        relaxations: Sequence[Any] = (),
        boundaries: Mapping[str, Mapping[str, int]] | None = None,
    ) -> None:
        self.blocking = tuple(blocking)
        self.boundaries = {name: dict(records) for name, records in (boundaries or {}).items()}
        self.attainable = dict(attainable or {})
        self.relaxations = tuple(relaxations)
        super().__init__(faults)

    def render(self) -> str:
        """Return the reason, what blocks, the best attainable values and what would work."""
        lines = [super().render()]
        if self.blocking:
            lines.append("Blocking columns: " + ", ".join(self.blocking) + ".")
        for name, boundaries in self.boundaries.items():
            few = examples([f"{label}: {records:,}" for label, records in boundaries.items()], quote=str)
            lines.append(f"Boundaries of {name} that block, with the records they hold back: {few}.")
        if self.attainable:
            best = ", ".join(f"{name} {value}" for name, value in self.attainable.items())
            lines.append(f"Best attainable as the policy stands: {best}.")
        if self.relaxations:
            lines.append("Each of these would work; first what keeps every promise, of equals the cheapest first:")
            lines.extend(f"  - {relaxation}" for relaxation in self.relaxations)
        return "\n".join(lines)


class NotFound(Infeasible):
    """A search gave up: it found no release, which does not say that there is none.

    A search that looks at every full-domain recoding proves that none complies, and so does a model that not even all
    records together keep where nobody can be left out; anything else is told as this.
    """

    title = "No release was found"


class AuditFailed(ShoalError):
    """The published table does not keep what the policy promises; nothing was left behind."""

    title = "The audit failed; nothing was written"


class WriteError(ShoalError, OSError):
    """A file could not be written; nothing was left behind."""

    title = "The file could not be written; nothing was left behind"


class OverBudget(ShoalError, MemoryError):
    """A table would take more memory than is allowed."""

    title = "The table does not fit into the memory"


class Refused(ShoalError):
    """The gateway does not answer a request; the text shows no data."""

    title = "The request is refused"


class Unavailable(ShoalError):
    """An owner's database cannot be read; the text shows no data and no address."""

    title = "The data cannot be read"


class SeriesError(ShoalError):
    """An earlier release cannot be followed by another."""

    title = "The series cannot go on; nothing was written"


class LedgerError(ShoalError):
    """A ledger cannot be written, or somebody changed it."""

    title = "The ledger is not what it was"


class MissingExtra(ShoalError, ImportError):
    """An optional library is not installed."""

    title = "A library is missing"

    @classmethod
    def of(cls, library: str, extra: str, purpose: str) -> MissingExtra:
        """Name the library, what it is needed for, and the command that installs it."""
        return cls(f"{purpose} needs {library}", hint=f'pip install "shoal[{extra}]"')


def import_extra(module: str, extra: str, purpose: str, library: str = "") -> Any:
    """Return a module of an optional library, or say what it is needed for and how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra.of(library or module, extra, purpose) from None


def nearest(word: str, words: Iterable[str]) -> str:
    """Return a hint that names the nearest of the valid words.

    Examples
    --------
    >>> nearest("quasi_identifier", ["identifiers", "quasi_identifiers"])
    "did you mean 'quasi_identifiers'?"
    >>> nearest("PatNr", ["Pat. Nr.", "age"])
    "did you mean 'Pat. Nr.'?"
    >>> nearest("zzz", ["age", "zip"])
    'one of: age, zip'
    """
    choices = sorted(words)
    folded: dict[str, str] = {}
    for choice in choices:
        folded.setdefault(_fold(choice), choice)
    close = difflib.get_close_matches(_fold(word), folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{folded[close[0]]}'?"
    return f"one of: {examples(choices, _LISTED, quote=str)}" if choices else ""


_LISTED = 30
"""So many valid words are listed where none is near."""


def _fold(word: str) -> str:
    """Return a word without what is often mistaken: capitals, the code points of accents, spaces and other signs."""
    plain = unicodedata.normalize("NFKC", word).casefold()
    return "".join(sign for sign in plain if sign.isalnum()) or plain


def examples(values: Iterable[object], limit: int = 5, *, quote: Callable[[object], str] = repr) -> str:
    """Return a few values and how many more there are.

    Examples
    --------
    >>> examples(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = list(values)
    text = ", ".join(quote(value) for value in shown[:limit])
    return f"{text} and {len(shown) - limit} more" if len(shown) > limit else text
