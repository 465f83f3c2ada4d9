"""Tree: a hierarchy written down by hand, nested or one row per value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pydantic import field_validator, model_validator

from shoal.encoding import yaml as notation
from shoal.encoding.domains import STAR, Domain
from shoal.errors import Fault, HierarchyError, PolicyError, WriteError, examples
from shoal.hierarchies import _xml
from shoal.hierarchies._branches import canonical, from_csv, nest, paths, rows_of, to_csv
from shoal.hierarchies._steps import Step
from shoal.hierarchies._vgh import nest_categories, read_column, to_column, to_element
from shoal.hierarchies.base import Hierarchy


class Tree(Hierarchy):
    """A hierarchy written down by hand, nested or one row per value.

    Nested: each key is a label, what is under it are labels or values. Rows: the layout that ARX uses, one row
    per value, one column per level. Branches may differ in depth: they are aligned at the root, so a value on a
    short branch stays as it is for longer.

    A label called like a value that it does not just stand for would be read in two ways: it is published as
    ``South (group)``, and that is what boundaries call it.

    Why it is safe: a value may stand in one place only; a value that the tree does not name is an error before
    anything is published.

    Examples
    --------
    >>> tree = Tree(nodes={"*": {"Employed": ["Private", "State"], "Idle": ["None"]}})
    >>> tree.build(Domain.of("text", ["None", "Private", "State"]), missing=None).labels[1]
    ('Idle', 'Employed')
    """

    data_independent: ClassVar[bool] = True

    nodes: dict[str, Any]
    """The tree: label → labels or a list of values. One root, or several that ``*`` joins. Kept in one form, so
    that trees which give every value the same labels are equal."""

    @model_validator(mode="before")
    @classmethod
    def _from_file_or_rows(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if len(data.keys() & {"file", "rows", "nodes"}) > 1:
            raise ValueError("needs one of nodes, rows, file; not several")
        if "file" in data:
            rest = {key: value for key, value in data.items() if key != "file"}
            return {"nodes": read_nodes(Path(str(data["file"]))), **rest}
        if "rows" in data:
            rest = {key: value for key, value in data.items() if key != "rows"}
            return {"nodes": nest(data["rows"]), **rest}
        return data

    @field_validator("nodes", mode="before")
    @classmethod
    def _plain(cls, nodes: Any) -> Any:
        if not isinstance(nodes, Mapping) or not nodes:
            raise ValueError("must be a mapping from labels to what is under them")
        return canonical(nodes)

    @classmethod
    def read(cls, path: str | Path) -> Tree:
        """Read a tree from nested YAML, from CSV as ARX writes it, or from an ``<att>`` of the UTD toolbox."""
        try:
            return cls(nodes=read_nodes(Path(path)))
        except PolicyError as error:
            raise HierarchyError([Fault(f.what, str(path), "", f.hint) for f in error.faults]) from None

    def write(self, path: str | Path) -> None:
        """Write a tree as the ending of the file says; :meth:`read` gives an equal tree.

        ``.yaml`` and ``.yml``: labels nested. ``.csv``: as ARX does, one row per value, one column per level.
        ``.xml``: as an ``<att>`` of the UTD toolbox, categories numbered in the order of the tree.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> tree = Tree(nodes={"*": {"Employed": ["Private", "State"], "Idle": ["None"]}})
        >>> with TemporaryDirectory() as folder:
        ...     tree.write(f"{folder}/work.csv")
        ...     print(Path(f"{folder}/work.csv").read_text(), Tree.read(f"{folder}/work.csv") == tree)
        Private;Employed;*
        State;Employed;*
        None;Idle;*
        True
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind in (".yaml", ".yml"):
            content = notation.dump(self.nodes)
        elif kind == ".csv":
            content = to_csv(rows_of(self.nodes))
        elif kind == ".xml":
            content = _xml.to_text(to_element(to_column(self.nodes)))
        else:
            raise WriteError("no such way to write a tree", where=str(path), hint="use .yaml, .csv or .xml")
        try:
            path.write_bytes(content.encode("utf-8"))
        except (OSError, UnicodeEncodeError) as error:
            raise WriteError("cannot write the hierarchy", where=str(path), got=str(error)) from None

    @property
    def root(self) -> str:
        """The label above all others, where there is one."""
        return next(iter(self._paths.values()))[0] if len(self.nodes) == 1 else STAR

    def leaves(self) -> tuple[str, ...]:
        """Return the values that the tree names."""
        return tuple(self._paths)

    def knows(self, label: str, domain: Domain) -> bool:
        """Return whether the tree names a label, with or without values that occur."""
        return any(label in path for path in self._paths.values())

    def faults(self, domain: Domain) -> Iterator[Fault]:
        """Yield a fault that names the values which the tree does not know."""
        known = self._paths
        unknown = [text for text in domain.texts if text not in known]
        if unknown:
            yield Fault(
                f"{len(unknown)} of {len(domain)} values are missing from the tree",
                got=examples(unknown),
                hint="add each under its label",
            )

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield the labels by depth from the root, deepest first."""
        paths = self._paths
        depth = max(len(path) for path in paths.values())
        for level in range(depth - 1, 0, -1):
            yield Step.of([path[min(level, len(path)) - 1] for path in (paths[t] for t in domain.texts)])

    @cached_property
    def _paths(self) -> dict[str, tuple[str, ...]]:
        """Value → labels from the root to the value itself; none is called like a value but the one under it."""
        named = {path[-1]: path for path in paths(self.nodes)}
        under: dict[str, set[str]] = {}
        for value, path in named.items():
            for label in path[:-1]:
                under.setdefault(label, set()).add(value)
        names, taken = dict[str, str](), {*named, *under}
        for label, values in under.items():
            if label in named and values != {label}:
                names[label] = _apart(label, taken)
                taken.add(names[label])
        if not names:
            return named
        return {value: (*(names.get(label, label) for label in path[:-1]), value) for value, path in named.items()}


def _apart(label: str, taken: set[str]) -> str:
    """Return a name for a label that nothing else has."""
    name = f"{label} (group)"
    return name if name not in taken else _apart(name, taken)


def read_nodes(path: Path) -> dict[str, Any]:
    """Read a tree's labels from nested YAML, an ``<att>`` of the UTD toolbox, or rows as ARX writes them."""
    kind = path.suffix.lower()
    content = _xml.read_bytes(path, HierarchyError, "hierarchy file")
    try:
        if kind == ".xml":
            return _from_xml(content, str(path))
        text = content.decode("utf-8-sig")
        loaded = notation.parse(text) if kind in (".yaml", ".yml", ".json") else nest(from_csv(text))
        if not isinstance(loaded, dict):
            raise ValueError("is not a mapping from labels to what is under them")
        return canonical(loaded)
    except HierarchyError:
        raise
    except UnicodeDecodeError:
        raise HierarchyError("cannot read the hierarchy file", where=str(path), got="it is not UTF-8 text") from None
    except notation.Error as error:
        raise HierarchyError(
            "is not YAML", where=str(path), got=" ".join(notation.explain_error(error).split())
        ) from None
    except ValueError as error:
        raise HierarchyError(" ".join(str(error).split()), where=str(path)) from None


def _from_xml(content: bytes, where: str) -> dict[str, Any]:
    root = _xml.parse_xml(content, where, HierarchyError)
    if root.tag.lower() != "att":
        hint = "shoal policy import reads a whole configuration" if root.tag.lower() == "config" else ""
        raise HierarchyError("is not the hierarchy of a column (<att>)", where=where, got=f"<{root.tag}>", hint=hint)
    column = read_column(root, where)
    if column.vgh is None or not column.map:
        missing = "map" if column.vgh is not None else "vgh"
        hint = "numbers have no map: use intervals with breaks" if missing == "map" else ""
        raise HierarchyError(f"an <att> without a <{missing}> is not a tree", where=where, hint=hint)
    return canonical(nest_categories(column.vgh, column.map, f"{where}, {column.title}, vgh"))
