"""PolicyHistory: every text that a policy had, so that whatever was clicked can be undone and redone."""

from __future__ import annotations

from dataclasses import dataclass, replace

_MOST = 200
"""So many texts are kept; the oldest go first."""


@dataclass(frozen=True)
class PolicyHistory:
    """The texts of a policy, one after the other, and which of them counts.

    Examples
    --------
    >>> history = PolicyHistory().change("k: 2").change("k: 5")
    >>> history.undo().text, history.undo().redo().text, history.undo().change("k: 3").can_redo
    ('k: 2', 'k: 5', False)
    """

    texts: tuple[str, ...] = ("",)
    index: int = 0

    @property
    def text(self) -> str:
        """The text that counts."""
        return self.texts[self.index]

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier text."""
        return self.index > 0

    @property
    def can_redo(self) -> bool:
        """Whether something was undone, and nothing changed since."""
        return self.index + 1 < len(self.texts)

    def change(self, text: str) -> PolicyHistory:
        """Return the history with another text; what was undone before is forgotten."""
        if text == self.text:
            return self
        before = self.texts[: self.index + 1] if self.texts != ("",) else ()  # nobody goes back to nothing
        texts = (*before, text)[-_MOST:]
        return PolicyHistory(texts, len(texts) - 1)

    def undo(self) -> PolicyHistory:
        """Return the history at the text before."""
        return replace(self, index=max(self.index - 1, 0))

    def redo(self) -> PolicyHistory:
        """Return the history at the text that was undone."""
        return replace(self, index=min(self.index + 1, len(self.texts) - 1))
