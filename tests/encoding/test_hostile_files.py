"""Files that a policy or a configuration names: small and regular ones only, and none of their rows in an error."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.encoding import yaml
from shoal.encoding.bounded_files import MAX_BYTES, read_bounded
from shoal.errors import ShoalError
from shoal.gateway.config import GatewayConfig
from shoal.hierarchies import Tree

SECRET = "hunter2"
WITH_TREE = "quasi_identifiers: {{job: {{hierarchy: tree, file: {}}}}}\nmodels: [{{name: k-anonymity, k: 2}}]\n"
READERS: dict[str, Callable[[Path], Any]] = {
    "policy": shoal.Policy.read,
    "hierarchy": Tree.read,
    "gateway": GatewayConfig.read,
    "hierarchy of a policy": lambda path: shoal.Policy.from_yaml(WITH_TREE.format(path)),
}
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)
)
MERGED = "a0: &a0 {k: x}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}], k{i}: x}}\n" for i in range(1, 9)
)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("content", [BOMB, MERGED], ids=["lists", "merged"])
def test_aliases_that_repeat_each_other(read: Callable[[Path], Any], content: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_text(content)
    began = time.process_time()
    with pytest.raises(ShoalError, match="aliases repeat"):
        read(path)
    assert time.process_time() - began < 1


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize(
    "content", ["{[a]: b}", "? {a: b}\n: c\n", f"a: {'9' * 6000}", "a: !!timestamp x", "a: !!float x", 'a: !!int ""']
)
def test_values_that_are_not_what_they_seem_to_be(read: Callable[[Path], Any], content: str, tmp_path: Path) -> None:
    path = tmp_path / "strange.yaml"
    path.write_text(content)
    with pytest.raises(ShoalError, match="is not YAML"):
        read(path)


def test_aliases_that_people_write_are_read() -> None:
    assert yaml.parse("a: &a {widths: [5, 10]}\nb: *a\nc: {<<: *a, lower: 0}") == {
        "a": {"widths": [5, 10]},
        "b": {"widths": [5, 10]},
        "c": {"widths": [5, 10], "lower": 0},
    }


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_what_is_no_file_is_not_read(read: Callable[[Path], Any], kind: str, tmp_path: Path) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "named.yaml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(ShoalError, match="cannot read"):
        read(path)


def test_a_file_without_an_end_is_not_read_to_it(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)  # it takes no room on the disk
    with pytest.raises(ShoalError, match="more than 67,108,864 bytes"):
        Tree.read(path)
    path.write_bytes(b"1234")
    assert read_bounded(path, 4) == b"1234"


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        ("csv", f"a;b;c\nbob;{SECRET}\n"),
        ("csv", f"bob;{SECRET};x\nbob;{SECRET};y\n"),
        ("csv", f"a;b\n{';'.join([SECRET] * 2000)}\n"),
        ("yaml", f"bob: {SECRET}: [\n"),
        ("yaml", f"{SECRET}\x00\n"),
        ("yaml", f"\t{SECRET}: [%{SECRET}\n"),
    ],
)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_errors_show_no_row_of_a_foreign_file(
    ending: str, content: str, read: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = tmp_path / f"shadow.{ending}"
    path.write_text(content)
    with pytest.raises(ShoalError) as error:
        read(path)
    assert SECRET not in str(error.value)
