"""spell_fault(): what is wrong, in parts that a page sets apart and a file can keep."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.errors import Fault

_PARTS = ("what", "where", "got", "hint", "kind")


def spell_fault(fault: Fault | Mapping[str, str]) -> dict[str, str]:
    """Return all parts of a fault, those that it has not as empty texts.

    Examples
    --------
    >>> spell_fault(Fault("is required", where="models"))["got"], spell_fault({"what": "x"})["kind"]
    ('', '')
    """
    parts = {**fault.to_dict(), "kind": fault.kind} if isinstance(fault, Fault) else fault
    return {name: parts.get(name, "") for name in _PARTS}
