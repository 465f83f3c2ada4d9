"""docs/architecture.md names what is there, and what is there keeps to it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import shoal

SOURCE = Path(shoal.__file__).parent
DOCS = SOURCE.parent.parent / "docs" / "architecture.md"


@pytest.mark.skipif(not DOCS.exists(), reason="the docs are not beside the package")
def test_every_file_and_folder_that_is_named_exists() -> None:
    named = re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?|[a-z_]+\.py|__init__\.py)`", DOCS.read_text())
    assert len(named) > 40
    roots = (SOURCE, SOURCE.parent.parent)
    missing = [name for name in named if not any((root / name).exists() for root in roots)]
    assert missing == []


def test_every_folder_is_on_the_map() -> None:
    if not DOCS.exists():
        pytest.skip("the docs are not beside the package")
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} - {"datasets"}
    told = DOCS.read_text()
    assert sorted(name for name in folders if f"`{name}/`" not in told) == []


def test_every_folder_is_in_the_docstring_of_the_package() -> None:
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    lines = [line[:36] for line in (shoal.__doc__ or "").splitlines() if line.startswith("``")]
    told = {name for line in lines for name in re.findall(r"``(\w+)``", line)}
    assert told == folders


def test_the_root_holds_nothing_else() -> None:
    modules = {path.name for path in SOURCE.glob("*.py")}
    assert modules == {"__init__.py", "__main__.py", "api.py", "errors.py", "registry.py", "testing.py"}


def test_no_module_asks_which_model_it_has() -> None:
    """A model declares what it needs; whoever asks for its class must be mended when one is added."""
    models = {path.stem for path in (SOURCE / "models").glob("*.py") if not path.stem.startswith("_")} - {"base"}
    classes = {"".join(part.capitalize() for part in name.split("_")) for name in models}
    asking = []
    for path in SOURCE.rglob("*.py"):
        if path.parent.name == "models":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                names = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
                asking += [f"{path.relative_to(SOURCE)}: {name}" for name in names & classes]
    assert asking == []


def test_types_are_defined_once() -> None:
    defined = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in (
                "Ints",
                "Floats",
                "Codes",
                "Bools",
            ):
                defined.append(str(path.relative_to(SOURCE)))
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "Progress":
                defined.append(str(path.relative_to(SOURCE)))
    assert set(defined) == {"encoding/types.py"}
    assert len(defined) == 5


SHARED_NAMES = {
    "Similarity": "a hierarchy and a risk: a file in each folder",
    "claims": "what every engine's folder has",
    "open_table": "what every engine's folder has",
    "count_marginals": "how an engine does what all do",
    "cut_table": "how an engine does what all do",
    "find_repeating": "how an engine does what all do",
    "compare": "a verb and its command",
    "main": "what a process starts with",
    "test": "what every mechanism has",
    "sort_records": "along a curve through them, and by what they hold: nobody has both in sight",
    "verify_ledger": "a command and a page",
}


def test_classes_and_functions_have_names_of_their_own() -> None:
    places: dict[str, set[Path]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
                places.setdefault(node.name, set()).add(path)
    assert {name for name, found in places.items() if len(found) > 1} == set(SHARED_NAMES)


MOST_LINES, MOST_OF_A_FUNCTION = 400, 60
LONG_FUNCTIONS = {"_best_change", "_raiser", "_weigh_opening", "group_around_centres", "improve_classes"}
"""Kernels: numba inlines no helpers that need scratch arrays."""


def count_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function from its first statement on, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 1


def test_files_and_functions_are_small() -> None:
    sizes, long = [], {}
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert text.count("\n") <= MOST_LINES, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                sizes.append(count_lines(node))
                if sizes[-1] > MOST_OF_A_FUNCTION:
                    long[node.name] = path.parent.name
    assert long == dict.fromkeys(LONG_FUNCTIONS, "kernels")
    assert sorted(sizes)[len(sizes) // 2] <= 6 and sorted(sizes)[len(sizes) * 9 // 10] <= 17
