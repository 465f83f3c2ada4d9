"""require_letters(): texts of another alphabet are not read in an encoding of western Europe."""

from __future__ import annotations

import re

from shoal.errors import TableError

OTHER_ENCODINGS = (
    "cp1251 (Cyrillic), cp1250 (Central Europe), cp1253 (Greek), cp1254 (Turkish), cp1255 (Hebrew), cp1256 (Arabic), "
    "shift_jis, gb18030, big5, euc_kr, latin-1"
)
"""What texts are written in that are neither utf-8 nor western, for a hint."""
_STRANGE = re.compile(r"[^\x00-\x7f\xa0]{4,}")
"""Four letters with accents, or signs, in a row: Finnish and Portuguese have two."""
_FEWEST = 3


def require_letters(text: str, guessed: str, where: str) -> None:
    """Raise where an encoding was guessed and makes words of no language."""
    words = find_strange_words(text) if guessed == "cp1252" else []
    if words:
        what = "is no utf-8, and as cp1252 it holds words of no language"
        hint = f"give the encoding: {OTHER_ENCODINGS}; or cp1252, if this is right"
        raise TableError(what, where=where, got=", ".join(words[:3]), hint=hint)


def find_strange_words(text: str) -> list[str]:
    """Return different words in which at least four letters in a row have accents or are signs, where there are three.

    Safe, because such a text is refused: names of columns that nobody can read say nothing of what they hold.

    Examples
    --------
    >>> find_strange_words("Пол;Диагноз;Город Тверь;Район".encode("cp1251").decode("cp1252"))[:2]
    ['Äèàãíîç', 'Ãîðîä']
    >>> find_strange_words("Määräyöäät;São João;ações;Größe")
    []
    """
    words = list(dict.fromkeys(_STRANGE.findall(text)))
    return words if len(words) >= _FEWEST else []
