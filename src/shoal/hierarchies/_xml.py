"""XML in and out: no document type, so that no entity can expand; a limit to nesting; mistakes told in words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from shoal.encoding.bounded_files import read_bounded
from shoal.errors import HierarchyError, PolicyError
from shoal.hierarchies._branches import DEEPEST

Element = ElementTree.Element
Refusal = type[PolicyError] | type[HierarchyError]

_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Refused(Exception):
    """What the builder will not build."""


class _Builder(ElementTree.TreeBuilder):
    depth = 0

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        # entities are declared in a document type: without one, nothing can expand or be fetched
        raise _Refused("a document type (DOCTYPE) is not allowed")

    def start(self, tag: str, attrs: dict[Any, Any], /) -> Element:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _Refused(f"elements stand more than {DEEPEST} levels deep")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        self.depth -= 1
        return super().end(tag)


def parse_xml(content: str | bytes, where: str, refusal: Refusal) -> Element:
    """Return the root element of a document.

    Examples
    --------
    >>> parse_xml("<vgh value='[0:1]'/>", "example", HierarchyError).get("value")
    '[0:1]'
    """
    parser = ElementTree.XMLParser(target=_Builder())
    try:
        parser.feed(content)
        root: Element = parser.close()
    except _Refused as error:
        raise refusal(str(error), where=where, hint="a hierarchy or configuration needs plain elements only") from None
    # an unknown encoding is a LookupError, one of several bytes a ValueError, a lone surrogate a UnicodeError
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise refusal("is not well-formed XML", where=where, got=str(error), hint=_hint(content)) from None
    return root


def _hint(content: str | bytes) -> str:
    start = content[:200].lstrip()
    opened = start.startswith(("<", "\ufeff<")) if isinstance(start, str) else b"<" in start
    return "close every element and quote every attribute" if opened else "an XML file starts with <"


def read_bytes(path: Path, refusal: Refusal, what: str) -> bytes:
    """Return what a file holds."""
    try:
        return read_bounded(path)
    except OSError as error:
        raise refusal(f"cannot read the {what}", where=str(path), got=error.strerror or str(error)) from None


def to_text(root: Element) -> str:
    """Return a document as text, one element per line."""
    for element in root.iter():
        for key, value in element.attrib.items():
            bad = _UNWRITABLE.search(value)
            if bad:
                raise HierarchyError("XML cannot hold this character", where=key, got=repr(value), hint="write YAML")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
