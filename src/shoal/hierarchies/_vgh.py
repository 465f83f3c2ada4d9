"""Value generalization hierarchies of the UTD toolbox: ranges in ranges, of numbers or of the codes of categories."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from shoal.encoding.domains import STAR
from shoal.errors import HierarchyError, examples, nearest
from shoal.hierarchies._xml import Element

_NUMBER = r"\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*"
_RANGE = re.compile(rf"([\[(]){_NUMBER}:{_NUMBER}([\])])", re.ASCII)
_SINGLE = re.compile(rf"\[{_NUMBER}[\])]|\({_NUMBER}\]|{_NUMBER}", re.ASCII)
_WHOLE = re.compile(r"\s*[-+]?\d{1,9}\s*", re.ASCII)

CodedCategories = Sequence[tuple[str, int]]
"""Categories and the numbers that stand for them."""


def _code(pair: tuple[str, int]) -> int:
    return pair[1]


@dataclass(frozen=True)
class VghRange:
    """What a node covers, and how the file writes it.

    Examples
    --------
    >>> VghRange.of("[0:25)", "example")
    VghRange(text='[0:25)', low=0.0, high=25.0, with_low=True, with_high=False)
    """

    text: str
    low: float
    high: float
    with_low: bool = True
    with_high: bool = True

    @classmethod
    def of(cls, text: str, where: str) -> VghRange:
        """Read a range: ``[0:10]``, ``[0:10)``, ``(0:10]``, ``[5]`` or ``5``."""
        text = text.strip()
        match = _RANGE.fullmatch(text) if len(text) <= 100 else None
        if match:
            made = cls(text, float(match[2]), float(match[3]), match[1] == "[", match[4] == "]")
        else:
            single = _SINGLE.fullmatch(text) if len(text) <= 100 else None
            number = float(next(part for part in single.groups() if part)) if single else math.nan
            made = cls(text, number, number)
        if not (math.isfinite(made.low) and math.isfinite(made.high)):
            hint = "ranges are written [0:10], [0:10) or [5]"
            raise HierarchyError("is not a range of numbers", where=where, got=repr(text[:80]), hint=hint)
        if made.low > made.high or (made.low == made.high and not (made.with_low and made.with_high)):
            raise HierarchyError("the range is empty", where=where, got=repr(text), hint="write the lower end first")
        return made

    def holds(self, number: float) -> bool:
        """Return whether a number lies in the range."""
        above = self.low <= number if self.with_low else self.low < number
        return above and (number <= self.high if self.with_high else number < self.high)

    def of_codes(self, codes: CodedCategories) -> CodedCategories:
        """Return the categories whose codes lie in the range, of categories in the order of their codes."""
        first = bisect_left if self.with_low else bisect_right
        last = bisect_right if self.with_high else bisect_left
        return codes[first(codes, self.low, key=_code) : last(codes, self.high, key=_code)]

    def within(self, other: VghRange) -> bool:
        """Return whether another range covers this one."""
        low = self.low > other.low or (self.low == other.low and (other.with_low or not self.with_low))
        return low and (self.high < other.high or (self.high == other.high and (other.with_high or not self.with_high)))


@dataclass(frozen=True)
class VghNode:
    """A range and the ranges in it.

    The toolbox calls a node by its range. A label of its own is shoal's addition (``label='Europe'``), which
    the toolbox passes over.
    """

    range: VghRange
    label: str | None = None
    under: tuple[VghNode, ...] = ()


@dataclass(frozen=True)
class UtdColumn:
    """An ``<att>``: where the column stands, its categories with their codes, and its tree of ranges."""

    index: int | None = None
    name: str = ""
    map: tuple[tuple[str, int], ...] = ()
    vgh: VghNode | None = None

    @property
    def title(self) -> str:
        """What errors call the column."""
        return f"att {self.name!r}" if self.name else "att" if self.index is None else f"att index {self.index}"


def read_column(element: Element, where: str) -> UtdColumn:
    """Read an ``<att>``; its tree is read but not yet looked at."""
    index = element.get("index")
    column = UtdColumn(
        None if index is None else parse_whole(index, f"{where}, att index"), element.get("name", "").strip()
    )
    where = f"{where}, {column.title}"
    for child in element:
        kind = child.tag.lower()
        if kind == "map" and not column.map:
            column = replace(column, map=_read_map(child, f"{where}, map"))
        elif kind == "vgh" and column.vgh is None:
            column = replace(column, vgh=_read_node(child, f"{where}, vgh"))
        else:
            twice = kind in ("map", "vgh")
            what = "stands twice" if twice else "is not a known element"
            raise HierarchyError(what, where=where, got=f"<{child.tag}>", hint="" if twice else nearest(kind, _PARTS))
    return column


_PARTS = ("map", "vgh")


def parse_whole(text: str, where: str) -> int:
    """Read a whole number."""
    if not _WHOLE.fullmatch(text):
        raise HierarchyError("must be a whole number", where=where, got=repr(text[:80]))
    return int(text)


def _read_map(element: Element, where: str) -> tuple[tuple[str, int], ...]:
    pairs: dict[str, int] = {}
    taken: dict[int, str] = {}
    for entry in element:
        category, code = entry.get("cat"), entry.get("int")
        if entry.tag.lower() != "entry" or category is None or code is None:
            hint = "an entry looks like <entry cat='Male' int='1'/>"
            raise HierarchyError("is not an entry", where=where, got=f"<{entry.tag}>", hint=hint)
        number = parse_whole(code, f"{where}, entry {category!r}")
        if category in pairs:
            raise HierarchyError("two entries for one category", where=where, got=repr(category))
        if number in taken:
            both = examples([taken[number], category])
            raise HierarchyError(f"two categories with the code {number}", where=where, got=both)
        pairs[category] = number
        taken[number] = category
    if not pairs:
        raise HierarchyError("the map is empty", where=where, hint="leave it out for a column of numbers")
    return tuple(pairs.items())


def _read_node(element: Element, where: str) -> VghNode:
    value = element.get("value")
    if value is None:
        hint = "write value='[0:10]'"
        raise HierarchyError("has no range", where=where, got=f"<{element.tag}> without a value", hint=hint)
    made = VghNode(VghRange.of(value, where), element.get("label"))
    for child in element:
        if child.tag.lower() != "node":
            raise HierarchyError("is not a node", where=f"{where} {made.range.text}", got=f"<{child.tag}>")
    inside = f"{where} {made.range.text}, node"
    return replace(made, under=tuple(_read_node(child, inside) for child in element))


def to_element(column: UtdColumn) -> Element:
    """Return a column as an ``<att>``."""
    indices = {"index": "" if column.index is None else str(column.index), "name": column.name}
    element = Element("att", {key: value for key, value in indices.items() if value})
    if column.map:
        entries = Element("map")
        entries.extend(Element("entry", {"cat": category, "int": str(code)}) for category, code in column.map)
        element.append(entries)
    if column.vgh is not None:
        element.append(_node_element(column.vgh, "vgh"))
    return element


def _node_element(node: VghNode, tag: str) -> Element:
    element = Element(tag, {"value": node.range.text, **({} if node.label is None else {"label": node.label})})
    element.extend(_node_element(child, "node") for child in node.under)
    return element


def interval_breaks(root: VghNode, where: str) -> list[list[float]]:
    """Return the ends of the ranges of each level, finest first; none where the root has nothing under it.

    Branches that end early keep their range on the levels below. Neighbours that share an end ([0:10], [10:20])
    are half-open: the value 10 lies in the second. Whole numbers may be written as closed ranges ([0:7], [8:17]).

    Examples
    --------
    >>> ranges = [VghNode(VghRange.of(text, "")) for text in ("[0:10]", "[10:20]")]
    >>> interval_breaks(VghNode(VghRange.of("[0:20]", ""), under=tuple(ranges)), "example")
    [[0.0, 10.0, 20.0]]
    """
    levels: list[list[VghNode]] = []
    level = [root]
    while any(node.under for node in level):
        for node in level:
            _check_numbers(node, where)
        level = [child for node in level for child in node.under or (node,)]
        levels.insert(0, level)
    end = root.range.high
    if levels and levels[0][-1].range.low >= end:
        end += 0.5  # the last range is one whole number, and breaks must grow: [17, 17.5] holds 17 only
    return [[*(node.range.low for node in nodes), end] for nodes in levels]


def _check_numbers(node: VghNode, where: str) -> None:
    where = f"{where} {node.range.text}"
    children = [child.range for child in node.under]
    for child in children:
        _check_within(child, node.range, where)
        if not child.with_low and child.low > node.range.low:
            hint = f"write [{child.text[1:]}: a value at the border belongs to the upper range"
            raise HierarchyError("a range without its lower end cannot be kept", where=where, got=child.text, hint=hint)
    for left, right in pairwise(children):
        both = f"{left.text} and {right.text}"
        if right.low < left.high or right.low <= left.low:
            raise HierarchyError("neighbours overlap or are not in order", where=where, got=both)
        if right.low > left.high and not _next_whole(left, right):
            raise HierarchyError("a gap between neighbours", where=where, got=both, hint="let one start where one ends")
    if children and (children[0].low, children[-1].high) != (node.range.low, node.range.high):
        got = f"{children[0].text} to {children[-1].text}"
        raise HierarchyError("a gap: the nodes do not fill the range above them", where=where, got=got)


def _next_whole(left: VghRange, right: VghRange) -> bool:
    return left.with_high and left.high.is_integer() and right.low == left.high + 1


def _check_within(child: VghRange, parent: VghRange, where: str) -> None:
    if not child.within(parent):
        hint = f"it must lie in {parent.text}"
        raise HierarchyError("a node reaches outside the one above it", where=where, got=child.text, hint=hint)


def nest_categories(root: VghNode, codes: CodedCategories, where: str) -> dict[str, Any]:
    """Return the labels of categories, nested. A range is its own label; one category alone keeps its name.

    Examples
    --------
    >>> ranges = [VghNode(VghRange.of(text, "")) for text in ("[0:1]", "[2:2]")]
    >>> root = VghNode(VghRange.of("[0:2]", ""), under=tuple(ranges))
    >>> nest_categories(root, [("a", 0), ("b", 1), ("c", 2)], "example")
    {'*': {'[0:1]': ['a', 'b'], 'c': ['c']}}
    """
    outside = [category for category, code in codes if not root.range.holds(code)]
    if outside:
        hint = f"the vgh covers {root.range.text}"
        raise HierarchyError("categories outside the vgh", where=where, got=examples(outside), hint=hint)
    return {STAR if root.label is None else root.label: _nest(root, sorted(codes, key=_code), where)}


def _nest(node: VghNode, inside: CodedCategories, where: str) -> Any:
    where = f"{where} {node.range.text}"
    if not node.under:
        return [category for category, _ in inside]
    result: dict[str, Any] = {}
    taken: dict[int, str] = {}
    for child in node.under:
        _check_within(child.range, node.range, where)
        covered = child.range.of_codes(inside)
        if not covered:
            raise HierarchyError("a node without a category", where=where, got=child.range.text)
        for category, code in covered:
            if code in taken:
                got = f"{taken[code]} and {child.range.text} both hold {category!r}"
                raise HierarchyError("nodes overlap", where=where, got=got, hint="ranges of codes hold both ends")
            taken[code] = child.range.text
        label = _label(child, covered)
        if label in result:
            raise HierarchyError("two nodes with one label", where=where, got=repr(label))
        result[label] = _nest(child, covered, where)
    left = [category for category, code in inside if code not in taken]
    if left:
        hint = "every code must lie in a node"
        raise HierarchyError("a gap: categories in no node", where=where, got=examples(left), hint=hint)
    return result


def _label(node: VghNode, covered: CodedCategories) -> str:
    if node.label is not None:
        return node.label
    return covered[0][0] if len(covered) == 1 else node.range.text


def to_column(nodes: Mapping[str, Any], name: str = "") -> UtdColumn:
    """Return a tree in its one form as a column: categories are numbered in the order of the tree."""
    ((top, under),) = nodes.items()
    values: list[str] = []
    root = replace(_number_values("", under, values), label=None if top == STAR else top)
    return UtdColumn(None, name, tuple((value, code) for code, value in enumerate(values)), root)


def _number_values(label: str, under: Any, values: list[str]) -> VghNode:
    first = len(values)
    children: tuple[VghNode, ...] = ()
    if isinstance(under, dict):
        children = tuple(_number_values(name, below, values) for name, below in under.items())
    else:
        values.extend(under or [label])
    text = f"[{first}:{len(values) - 1}]"
    usual = values[first] if len(values) == first + 1 else text
    return VghNode(VghRange.of(text, text), None if label == usual else label, children)
