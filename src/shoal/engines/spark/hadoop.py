"""HadoopPath: a path in any file system that Hadoop knows, with what :class:`pathlib.Path` can do of it.

It speaks to Hadoop's own ``FileSystem`` through the Java of a Spark session, as Spark itself does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from shoal.engines.spark.sessions import first_line

_AT_ONCE = 2**24


def restore_address(path: str) -> str:
    """Return an address as it was meant: ``Path()`` takes one of the two slashes after the scheme away.

    Examples
    --------
    >>> restore_address("hdfs:/host/people"), restore_address("/people")
    ('hdfs://host/people', '/people')
    """
    return re.sub(r"^([a-z][a-z0-9+.-]+):/(?!/)", r"\1://", path)


@contextmanager
def _telling() -> Iterator[None]:
    """Tell errors of Java as those of a file system."""
    from py4j.protocol import Py4JError

    try:
        yield
    except Py4JError as error:
        raise OSError(first_line(error)) from None


@dataclass(frozen=True)
class HadoopPath:
    """A file or a folder at an address such as ``hdfs://host/out``."""

    address: str
    spark: Any = field(repr=False, compare=False)
    """The session."""

    @classmethod
    def of(cls, address: str, spark: Any) -> HadoopPath:
        """Return a path, its address in full."""
        path = cls(address, spark)
        with _telling():
            return cls(path._system.makeQualified(path._java).toString(), spark)

    @property
    def _java(self) -> Any:
        return self.spark._jvm.org.apache.hadoop.fs.Path(self.address)

    @property
    def _system(self) -> Any:
        return self._java.getFileSystem(self.spark._jsparkSession.sessionState().newHadoopConf())

    def __str__(self) -> str:
        return self.address

    def __truediv__(self, name: str) -> HadoopPath:
        return HadoopPath(f"{self.address.rstrip('/')}/{name}", self.spark)

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.address.rstrip("/").rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The same without an ending."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> HadoopPath:
        """The folder that it lies in."""
        return HadoopPath(self.address.rstrip("/").rpartition("/")[0], self.spark)

    @property
    def parents(self) -> tuple[HadoopPath, ...]:
        """All folders that it lies in."""
        _, _, inside = self.address.partition("://")
        above = [self.parent]
        for _ in range(inside.rstrip("/").count("/") - 1):
            above.append(above[-1].parent)
        return tuple(above)

    def resolve(self) -> HadoopPath:
        """Return itself: its address is in full."""
        return self

    def as_uri(self) -> str:
        """Return the address."""
        return self.address

    def exists(self) -> bool:
        """Return whether there is something."""
        with _telling():
            return bool(self._system.exists(self._java))

    def is_dir(self) -> bool:
        """Return whether it is a folder."""
        with _telling():
            return self.exists() and bool(self._system.getFileStatus(self._java).isDirectory())

    def iterdir(self) -> Iterator[HadoopPath]:
        """Yield what lies in a folder."""
        with _telling():
            found = [status.getPath().getName() for status in self._system.listStatus(self._java)]
        yield from (self / name for name in found)

    def mkdir(self, mode: int = 0o755) -> None:
        """Make a folder, and those that it lies in, where they are not there."""
        permission = self.spark._jvm.org.apache.hadoop.fs.permission.FsPermission(f"{mode:o}")
        with _telling():
            self._system.mkdirs(self._java, permission)

    def remove(self) -> None:
        """Remove a file, or a folder with all that is in it."""
        with _telling():
            self._system.delete(self._java, True)

    unlink = remove

    def replace(self, target: HadoopPath) -> None:
        """Give it another name; what has that name is removed."""
        target.remove()
        with _telling():
            renamed = self._system.rename(self._java, target._java)
        if not renamed:
            raise OSError(f"cannot be renamed to {target}")

    def write_bytes(self, data: bytes) -> None:
        """Write a file."""
        with _telling():
            stream = self._system.create(self._java, True)
            try:
                for start in range(0, len(data), _AT_ONCE):
                    stream.write(bytearray(data[start : start + _AT_ONCE]))
            finally:
                stream.close()

    def read_blocks(self) -> Iterator[bytes]:
        """Yield the bytes of a file, block by block."""
        with _telling():
            stream = self._system.open(self._java)
            try:
                while block := bytes(stream.readNBytes(_AT_ONCE)):
                    yield block
            finally:
                stream.close()
