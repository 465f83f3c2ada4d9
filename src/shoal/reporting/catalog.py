"""find_entry(): an entry of the catalog, for what its docstring says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import PolicyError
from shoal.registry import find

if TYPE_CHECKING:
    from shoal.registry import Entry


def find_entry(family: str, name: str) -> type[Entry] | None:
    """Return an entry; ``None`` for one of a package that is not installed here."""
    try:
        return find(family, name)
    except PolicyError:
        return None
