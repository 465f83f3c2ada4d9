"""EscapeTexts: what rich prints, with its own colours and movements and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment

from shoal.encoding.terminal import escape_text


class EscapeTexts(RenderHook):
    """Escapes every text before it reaches the screen."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Return what is printed instead."""
        return [_Escaped(one) for one in renderables]


@dataclass(frozen=True)
class _Escaped:
    shown: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for part in console.render(self.shown, options):
            yield part if part.control else Segment(escape_text(part.text), part.style)
