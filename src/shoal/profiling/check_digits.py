"""Check digits: numbers that satisfy a published scheme are numbers of persons, accounts or cards, whatever the column
is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

_LEAST, _LOOKED_AT = 10, 400
"""Distinct values below which chance may satisfy a scheme, and how many are looked at."""
_SHARE = 0.95
"""So many of them satisfy a scheme whose numbers they are: a few are always mistyped."""


@dataclass(frozen=True)
class Scheme:
    """A way to check a number: what it looks like without blanks, dots and dashes, and what must be true of it."""

    title: str
    shape: str
    is_valid: Callable[[str], bool]
    length: int = 0
    """Digits of a number that may have lost zeros in front, where it was read as a number."""

    def fits(self, text: str) -> bool:
        """Return whether a text satisfies the scheme."""
        text = text.zfill(self.length)
        return re.fullmatch(self.shape, text) is not None and self.is_valid(text)


def find_scheme(values: pl.Series) -> str:
    """Return the title of the scheme that nearly all values satisfy, or nothing.

    Chance satisfies one digit in ten; that of ten different values all do is less likely than one in a thousand
    million.

    Examples
    --------
    >>> cards = pl.Series([4_000_000_000_000_002 + step * 10_000_000_019_8 for step in range(12)])
    >>> find_scheme(pl.Series(["85.07.30-033.28", "93.05.18-223.61"] * 9)), find_scheme(cards)
    ('', '')
    >>> find_scheme(pl.Series(range(1_000_000_000, 1_000_000_050)))
    ''
    """
    texts = _compact(values.unique().sort().drop_nulls())
    sample = texts.gather_every(max(len(texts) // _LOOKED_AT, 1)).to_list()
    if len(sample) < _LEAST:
        return ""
    return next((scheme.title for scheme in SCHEMES if _satisfy(scheme, sample)), "")


def _compact(values: pl.Series) -> pl.Series:
    whole = values.cast(pl.Int64, strict=False) if values.dtype.is_float() else values
    texts = whole.drop_nulls().cast(pl.String).str.replace_all(r"[ .\-/]", "").str.to_uppercase()
    return texts.filter(texts.str.len_chars().is_between(6, 34) & texts.str.contains("[0-9]{4}")).unique().sort()


def _satisfy(scheme: Scheme, texts: list[str]) -> bool:
    first = sum(scheme.fits(text) for text in texts[:_LEAST])
    return first >= _LEAST - 2 and sum(map(scheme.fits, texts)) >= _SHARE * len(texts)


def _digits(text: str) -> list[int]:
    return [int(character) for character in text]


def _weighted(text: str, weights: Sequence[int]) -> int:
    return sum(weight * digit for weight, digit in zip(weights, _digits(text), strict=False))


def _luhn(text: str) -> bool:
    doubled = (digit * 2 if place % 2 else digit for place, digit in enumerate(reversed(_digits(text))))
    return sum(digit - 9 if digit > 9 else digit for digit in doubled) % 10 == 0 and text.strip("0") != ""


def _sums(weights: Sequence[int], modulus: int) -> Callable[[str], bool]:
    """Return the check that the weighted sum of all digits is a multiple."""
    return lambda text: _weighted(text, weights) % modulus == 0


def _last(weights: Sequence[int], *, complement: bool = False, digits: str = "") -> Callable[[str], bool]:
    """Return the check that the last character is the remainder of the others by 11, or what is missing to it.

    A remainder of 10 is a 0 where no characters are named for the remainders.
    """

    def check(text: str) -> bool:
        rest = _weighted(text[: len(weights)], weights) % 11
        rest = -rest % 11 if complement else rest
        return text[len(weights)] == (digits[rest] if digits else str(rest % 10))

    return check


def _iban(text: str) -> bool:
    return int("".join(str(int(character, 36)) for character in text[4:] + text[:4])) % 97 == 1


def _ending_97(text: str) -> bool:
    """Belgium and France: the last two digits are what is missing to a multiple of 97, also of those born since
    2000."""
    body, check = text[:-2], int(text[-2:])
    return check in (97 - int(body) % 97, 97 - int("2" + body) % 97)


def _eleven_ten(text: str) -> bool:
    """ISO 7064 mod 11, 10."""
    product = 10
    for digit in _digits(text[:-1]):
        product = ((digit + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(text[-1])


def _cpf(text: str) -> bool:
    first = _weighted(text, range(10, 1, -1)) * 10 % 11 % 10
    second = _weighted(text, range(11, 1, -1)) * 10 % 11 % 10
    return text[9:] == f"{first}{second}"


def _norwegian(text: str) -> bool:
    return _sums((3, 7, 6, 1, 8, 9, 4, 5, 2, 1), 11)(text) and _sums((5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1), 11)(text)


def _turkish(text: str) -> bool:
    digits = _digits(text)
    tenth = (sum(digits[0:9:2]) * 7 - sum(digits[1:8:2])) % 10
    return digits[9] == tenth and digits[10] == sum(digits[:10]) % 10


def _codice(text: str) -> bool:
    odd = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
    values = [int(c) if c.isdigit() else ord(c) - 65 for c in text[:15]]
    return sum(v if place % 2 else odd[v] for place, v in enumerate(values)) % 26 == ord(text[15]) - 65


def _kvnr(text: str) -> bool:
    """The German number of an insured person: a letter as two digits, then weights of 1 and 2."""
    digits = _digits(f"{ord(text[0]) - 64:02d}{text[1:9]}")
    products = (digit * (1 + place % 2) for place, digit in enumerate(digits))
    return sum(product // 10 + product % 10 for product in products) % 10 == int(text[9])


def _verhoeff(text: str) -> bool:
    """The dihedral group of ten: symmetries of a pentagon."""
    found = 0
    for place, digit in enumerate(reversed(_digits(text))):
        turned = digit
        for _ in range(place % 8):
            turned = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)[turned]
        turn, flip = (found % 5 + (-1 if found >= 5 else 1) * (turned % 5)) % 5, (found >= 5) != (turned >= 5)
        found = turn + 5 * flip
    return found == 0


_EAN = (1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1)
_DNI = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_DATE = "(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
SCHEMES = (
    Scheme("IBANs", "[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", _iban),
    Scheme("Italian tax codes", "[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]", _codice),
    Scheme("German insured persons' numbers", "[A-Z][0-9]{9}", _kvnr),
    Scheme("Spanish identity numbers", "[0-9]{8}[A-Z]", lambda text: _DNI[int(text[:8]) % 23] == text[8]),
    Scheme(
        "Finnish identity codes",
        "[0-9]{6}[A+]?[0-9]{3}[0-9A-Y]",
        lambda text: _HETU[int(text[:6] + text[-4:-1]) % 31] == text[-1],
    ),
    Scheme(
        "Chinese identity numbers",
        "[0-9]{17}[0-9X]",
        _last((7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2), digits="10X98765432"),
    ),
    Scheme("French social security numbers", "[12][0-9]{14}", lambda text: int(text[-2:]) == 97 - int(text[:-2]) % 97),
    Scheme("Belgian national numbers", "[0-9]{11}", _ending_97, 11),
    Scheme("Swiss insured persons' numbers", "756[0-9]{10}", _sums(_EAN, 10)),
    Scheme("Brazilian CPF numbers", "[0-9]{11}", _cpf, 11),
    Scheme("Norwegian birth numbers", "[0-9]{11}", _norwegian, 11),
    Scheme("Turkish identity numbers", "[1-9][0-9]{10}", _turkish),
    Scheme("Polish PESEL numbers", "[0-9]{11}", _sums((1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1), 10), 11),
    Scheme("German tax or Croatian OIB numbers", "[0-9]{11}", _eleven_ten, 11),
    Scheme(
        "Romanian CNP numbers",
        f"[1-9][0-9]{{2}}{_DATE}[0-9]{{6}}",
        lambda text: _weighted(text, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11 % 10 == int(text[12]),
    ),
    Scheme(
        "Bulgarian EGN numbers",
        "[0-9]{10}",
        lambda text: _weighted(text, (2, 4, 8, 5, 10, 9, 7, 3, 6)) % 11 % 10 == int(text[9]),
        10,
    ),
    Scheme("Danish CPR numbers", "[0-3][0-9][01][0-9]{7}", _sums((4, 3, 2, 7, 6, 5, 4, 3, 2, 1), 11), 10),
    Scheme("Czech or Slovak birth numbers", "[0-9]{2}[0-35-8][0-9]{7}", lambda text: int(text) % 11 == 0, 10),
    Scheme("NHS numbers", "[0-9]{10}", _last(range(10, 1, -1), complement=True), 10),
    Scheme("Dutch BSN numbers", "[0-9]{9}", _sums((9, 8, 7, 6, 5, 4, 3, 2, -1), 11), 9),
    Scheme("Portuguese NIF numbers", "[0-9]{9}", _last(range(9, 1, -1), complement=True), 9),
    Scheme("Indian Aadhaar numbers", "[2-9][0-9]{11}", _verhoeff),
    Scheme("numbers with Luhn's check digit", "[0-9]{8,19}", _luhn),
)
"""What is rarer by chance comes first; none of them is for wares, which nobody is found by."""
