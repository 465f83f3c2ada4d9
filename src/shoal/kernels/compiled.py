"""How a kernel is compiled: once per machine, and without the interpreter's lock."""

from __future__ import annotations

import uuid
from contextlib import suppress
from functools import partial
from glob import escape
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import FunctionType
from typing import Any

import numba as nb
from numba.core.caching import IndexDataCacheFile, NullCache


def kernel(asked: Any) -> Any:
    """Compile a function when it is first used (``@kernel``), or at once for a signature (``@kernel("f8(i8)")``).

    Machine code is cached by numba, with two differences: see :class:`Shelf` and :func:`stamp_sources`.
    """
    return _compile(asked) if isinstance(asked, FunctionType) else partial(_compile, signature=asked)


def _compile(function: Any, signature: Any = None) -> Any:
    # a wrapper for callers in C would be compiled with each: there are none
    dispatcher = nb.njit(nogil=True, no_cfunc_wrapper=True)(function)
    if nb.config.DISABLE_JIT:  # to look for errors: it is the function itself
        return dispatcher
    dispatcher.get_call_template = partial(_call_by_type, dispatcher.get_call_template)
    dispatcher.enable_caching()
    cache = dispatcher._cache
    if not isinstance(cache, NullCache):
        cache._cache_file = Shelf(cache._cache_path, cache._impl.filename_base, SOURCES)
    if signature is not None:
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


def _call_by_type(find: Any, arguments: Any, names: Any) -> Any:
    """Find what a kernel calls by the types of the arguments: numba would compile each number that is written out."""
    return find(tuple(map(nb.types.unliteral, arguments)), {name: nb.types.unliteral(names[name]) for name in names})


class Shelf(IndexDataCacheFile):  # type: ignore[misc]  # numba has no types
    """What is cached of a kernel: an index, and a file of machine code for each signature.

    Numba numbers the files. Two processes that compile a kernel for different types at the same moment (executors of
    Spark, two first runs) may take the same number, and then the index of one points to the machine code of the other
    (https://github.com/numba/numba/issues/4807). Here no two files ever have the same name.
    """

    def __init__(self, cache_path: str, filename_base: str, source_stamp: str) -> None:
        super().__init__(cache_path, filename_base, source_stamp)
        # read before the index is unpickled, which fails where a type of older sources is gone
        self._version: str = f"{nb.__version__} {source_stamp}"

    def save(self, key: Any, data: Any) -> None:
        """Keep machine code, if there is room for it: without it the next run has to compile again, no more."""
        with suppress(OSError):
            if not self._load_index():  # there is none, or one of older sources, whose files nobody asks for any more
                for old in Path(self._cache_path).glob(f"{escape(Path(self._index_name).stem)}.*.nbc"):
                    old.unlink(missing_ok=True)
            super().save(key, data)

    def _data_name(self, number: int) -> str:
        return str(super()._data_name(uuid.uuid4().int))


def stamp_sources(folder: Traversable) -> str:
    """Return a stamp of all kernels.

    Numba looks at a kernel's own file only, but machine code also contains the kernels that it calls, from other
    files: after an upgrade that changed only these, the old ones would go on. The package may be in a zip file.
    """
    digest = sha256()
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".py"):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


SOURCES = stamp_sources(files(__package__))
