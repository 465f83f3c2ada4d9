"""read_bounded(): what a file holds that somebody named in a policy or a configuration; such a file is small."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_BYTES = 64 * 2**20
"""Bytes of a policy, a configuration, a hierarchy or a key: a hierarchy of a million values has about 30 MB."""


def read_bounded(path: Path, most: int = MAX_BYTES) -> bytes:
    """Return what a file holds, if it is a file and not too large.

    A device or a pipe would be read for ever: whoever may write a policy must not be able to stop who reads it.

    Raises
    ------
    OSError
        It cannot be read, is no regular file, or has more bytes.

    Examples
    --------
    >>> read_bounded(Path(os.devnull))
    Traceback (most recent call last):
        ...
    OSError: [Errno 22] it is no regular file
    """
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:  # a pipe must not wait
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return content
