"""Profile: what can be said about a column without showing any of its values, and what its name suggests."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import polars as pl

from shoal.encoding.domains import Kind
from shoal.engines.columns import kind_of, plain
from shoal.errors import TableError

Meaning = Literal[
    "identifier", "person", "label", "birth", "postal", "age", "known", "origin", "sensitive", "text", "weight"
]

_WORDS: dict[Meaning, str] = {
    # a word of the name, or two or three neighbours written as one
    "identifier": """email mail courriel correo phone tel fax gsm mobile mobil handy cellulare ssn nino nhs bsn dni nie
        nif nir cpf cpr pesel iban bic passport mrn ip ipaddress mac username login userid url nickname
        forename surname firstname lastname middlename maidenname fullname givenname familyname birthname
        fathername mothername
        prenom nomdefamille apellido apellidos nombrecompleto cognome sobrenome naam voornaam achternaam namn fornamn
        efternamn imie nazwisko vorname nachname familienname geburtsname zuname address adresse adres
        direccion indirizzo endereco street strasse hausnummer housenumber rue calle licenseplate kennzeichen
        creditcard cardnumber accountnumber steuerid steuernummer fallnummer codicefiscale personnummer
        nationalid taxid socialsecurity securitesociale latitude longitude gps fingerprint""",
    "person": """patient patients person subject participant respondent proband individual user customer client member
        employee student insured cliente paciente paziente persona personne kunde versicherter pid patid""",
    "label": "name names nom nombre nome id ids uid uuid guid nr nummer key kennung identifier pk rowid matricule",
    "birth": "birth birthday birthdate dob born geboren naissance nacimiento nascita nascimento geboorte",
    "postal": """zip zipcode zip3 zip5 postcode postal postalcode plz codepostal codigopostal cep postnummer eircode
        pincode""",
    "age": "age alter edad leeftijd alder idade wiek ika eta lebensalter",
    "known": """sex gender geschlecht sexe sexo sesso geslacht marital maritalstatus familienstand education bildung
        school degree occupation job beruf profession profesion country land pays pais nationality city town
        stadt ort wohnort ville ciudad county state region bundesland kanton province district gemeinde
        municipality commune workclass relationship language sprache citizenship housing employer department
        staatsangehorigkeit nationalitat year jahr jahrgang height grosse station ward""",
    "origin": "race ethnicity ethnic ethnie etnia hautfarbe herkunft",
    "sensitive": """hiv aids icd icd10 icd9 bmi dna gene union gewerkschaft partei party vote religion faith church
        konfession sexuality sexualorientation orientation income salary wage wages gehalt lohn salaire
        salario revenu ingresos debt credit drg allergy allergies symptom symptoms treatment drug drugs
        crime arrest offence offense verdict conviction pregnant smoker smoking raucher alcohol disability""",
    "text": "note notes comment comments remark remarks freetext freitext bemerkung bemerkungen commentaire anamnese",
    "weight": "fnlwgt wgt finalweight sampleweight samplingweight surveyweight personweight pwgtp perwt",
}
_STEMS: dict[Meaning, str] = {
    # a part of a word: for compounds (Hauptdiagnose) and endings (medications)
    "identifier": """email telefon telephone telefono passport ausweis versichertennummer versicherungsnummer
        kontonummer vorname nachname surname anschrift""",
    "label": "nummer",
    "birth": "geburts birthdate",
    "postal": "postleit postcode",
    "known": "occupation nationality",
    "origin": "ethnic",
    "sensitive": """diagnos disease illness krankheit maladie enfermedad malattia medikament medication medicament
        medicine therap religio politic politi genetic genom einkommen salary income orientation psych
        pregnan behinder disabil cancer tumor infection blood blut befund cholesterol glucose disorder syndrom""",
    "text": "freitext freetext",
}
_VOCABULARY = {meaning: frozenset(text.split()) for meaning, text in _WORDS.items()}
_PARTS = {meaning: tuple(text.split()) for meaning, text in _STEMS.items()}

_CALLED = {
    "text": "text",
    "integer": "whole numbers",
    "float": "numbers",
    "date": "dates",
    "datetime": "dates with times",
    "boolean": "true or false",
    "other": "no plain values",
}
_PATTERNS = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    "UUIDs": r"^\{?[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\}?$",
    "IBANs": r"^[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?$",
    "IP addresses": r"^(?:[0-9]{1,3}\.){3}[0-9]{1,3}$",
    "social security numbers": r"^[0-9]{3}-[0-9]{2}-[0-9]{4}$",
    "phone numbers": r"^(?:(?:\+|00)[1-9]|\(0?[0-9]|0[0-9])[0-9 ()/.-]{7,}$"
    r"|^\(?[0-9]{3}\)?[-. ][0-9]{3}[-. ][0-9]{4}$",
    "web addresses": r"^https?://",
    "long numbers": r"^[0-9]{8,}$",
}
_WRITTEN_DATES = {
    "day.month.year": r"^[0-9]{2}\.[0-9]{2}\.[0-9]{4}$",
    "…/…/year": r"^[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}$",
    "year-month-day": r"^[0-9]{4}[./-][0-9]{2}[./-][0-9]{2}(?:[T ].*)?$",
}
_COMMA = r"^-?[0-9]+,[0-9]+$"
_CODE = r"^(?:[0-9]{4,10}|[0-9]{5}-[0-9]{4}|[A-Z]{0,3}-?[0-9]{2,8}|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9])$"
_BLANKS = """? ?? - -- --- . .. * na n/a n.a. #n/a nan null nil none unknown unk missing unspecified k.a. unbekannt
    inconnu desconocido sconosciuto onbekend -1 -9 -99 -999 99 999 9999 99999"""
_PLACEHOLDERS = [*_BLANKS.split(), "not available", "keine angabe", "not specified"]
_BELOW, _ABOVE = {-1.0, -9.0, -99.0, -999.0, -9999.0}, {99.0, 999.0, 9999.0, 99999.0, 999999.0}


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What can be said about a column without showing any of its values."""

    name: str
    kind: Kind | Literal["other"]
    """``other`` are types that cannot be published."""
    records: int
    missing: int = 0
    distinct: int = 0
    """How many distinct values there are, without the missing one."""
    placeholders: int = 0
    """How many records hold what is often written for a missing value."""
    low: float = 0.0
    high: float = 0.0
    """The range of numbers, and of dates in days, without placeholders."""
    shortest: int = 0
    longest: int = 0
    """The lengths of the values as texts."""
    words: float = 0.0
    """The mean number of words of the distinct texts."""
    pattern: str = ""
    """What nearly all texts look like: a key of the list of personal patterns, or nothing."""
    written: str = ""
    """How nearly all texts write a date, or nothing."""
    coded: bool = False
    """Whether all texts are codes of one length."""
    commas: bool = False
    """Whether nearly all texts are numbers with a decimal comma."""
    calendar: bool = False
    """Whether all integers are dates as YYYYMMDD."""

    @property
    def present(self) -> int:
        """The number of records with a value."""
        return self.records - self.missing

    @property
    def uniqueness(self) -> float:
        """Distinct values per record that has one, 0 to 1."""
        return self.distinct / self.present if self.present else 0.0

    @property
    def span(self) -> float:
        """The greatest minus the least number."""
        return self.high - self.low

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.kind in ("integer", "float")

    @property
    def near_unique(self) -> bool:
        """Whether nearly each record has a value of its own; in a short table that says nothing."""
        return self.present >= 20 and self.uniqueness > 0.9

    def means(self, meaning: Meaning) -> bool:
        """Return whether the column's name suggests this meaning.

        Examples
        --------
        >>> Profile(name="PatientEmail", kind="text", records=9).means("identifier")
        True
        >>> Profile(name="Hauptdiagnose", kind="text", records=9).means("sensitive")
        True
        >>> Profile(name="package", kind="integer", records=9).means("age")
        False
        """
        words = split_words(self.name)
        runs = {"".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words))}
        if runs & _VOCABULARY[meaning]:
            return True
        return any(part in word for part in _PARTS.get(meaning, ()) for word in words)

    def facts(self) -> str:
        """Return type and counts, for people."""
        parts = [_CALLED[self.kind], f"{self.distinct:,} distinct"]
        if self.missing:
            parts.append(f"{self.missing:,} missing")
        if self.placeholders:
            parts.append(f"{self.placeholders:,} with a placeholder (as NA, ?, 999) that may mean missing")
        return ", ".join(parts)


def split_words(name: str) -> list[str]:
    """Return the words of a column's name, in small letters without accents.

    Examples
    --------
    >>> split_words("PatientID"), split_words("Straße_Nr."), split_words("Prénom")
    (['patient', 'id'], ['strasse', 'nr'], ['prenom'])
    """
    spaced = re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])", " ", name)
    letters = unicodedata.normalize("NFKD", spaced.casefold())
    return re.findall(r"[^\W_]+", "".join(c for c in letters if not unicodedata.combining(c)))


def profile_column(column: pl.Series) -> Profile:
    """Return the profile of a column.

    Examples
    --------
    >>> ages = profile_column(pl.Series("age", [21, 24, 24, None, 999]))
    >>> ages.distinct, ages.missing, ages.placeholders, ages.span
    (3, 1, 1, 3.0)
    """
    known = Profile(name=column.name, kind="other", records=len(column))
    try:
        values = plain(column)
    except (TableError, pl.exceptions.PolarsError):
        return known
    if column.dtype.is_integer() and values.null_count() > column.null_count():
        return known  # whole numbers beyond 64 bits are keys, not quantities
    kinds = values.drop_nulls().unique().sort()
    known = replace(known, kind=kind_of(values), missing=values.null_count(), distinct=len(kinds))
    if not len(kinds):
        return known
    if known.kind == "text":
        return _texts(known, values, kinds)
    if known.numeric:
        return _numbers(known, values, kinds)
    if known.kind in ("date", "datetime"):
        days = kinds.to_physical().cast(pl.Float64) / (1 if known.kind == "date" else 86_400e6)
        return replace(known, low=float(days[0]), high=float(days[-1]))
    return known


def _texts(known: Profile, values: pl.Series, kinds: pl.Series) -> Profile:
    lengths, words = kinds.str.len_chars(), kinds.str.count_matches(r"\S+")
    blanks = values.str.strip_chars().str.to_lowercase().is_in(_PLACEHOLDERS)
    real = kinds.filter(~kinds.str.strip_chars().str.to_lowercase().is_in(_PLACEHOLDERS))
    if not len(real):
        return replace(known, placeholders=int(blanks.sum()), longest=int(lengths.max()))  # type: ignore[arg-type]
    sizes = real.str.len_chars()
    return replace(
        known,
        placeholders=int(blanks.sum()),
        shortest=int(sizes.min()),  # type: ignore[arg-type]
        longest=int(sizes.max()),  # type: ignore[arg-type]
        words=float(words.mean()),  # type: ignore[arg-type]
        pattern=_matching(real, _PATTERNS),
        written=_matching(real, _WRITTEN_DATES),
        commas=bool(_matching(real, {"commas": _COMMA})),
        coded=bool(sizes.n_unique() == 1 and real.str.contains(_CODE).all()),
    )


def _matching(texts: pl.Series, patterns: dict[str, str]) -> str:
    """Return the first pattern that nine of ten texts match: a few are always written in another way."""
    sample = texts.head(10_000)
    return next((name for name, rule in patterns.items() if sample.str.contains(rule).sum() >= 0.9 * len(sample)), "")


def _numbers(known: Profile, values: pl.Series, kinds: pl.Series) -> Profile:
    lengths = kinds.cast(pl.Int64, strict=False).abs().cast(pl.String).str.len_chars().drop_nulls()
    codes = _number_codes([float(v) for v in kinds.head(3)], [float(v) for v in kinds.tail(3)])
    real = kinds.filter(~kinds.cast(pl.Float64).is_in(list(codes))) if codes else kinds
    real = real if len(real) else kinds
    return replace(
        known,
        placeholders=int(values.cast(pl.Float64).is_in(list(codes)).sum()) if codes else 0,
        low=float(real[0]),
        high=float(real[-1]),
        longest=int(lengths.max() or 0),  # type: ignore[arg-type]
        shortest=int(lengths.min() or 0),  # type: ignore[arg-type]
        calendar=known.kind == "integer" and _calendar(real),
    )


def _number_codes(first: list[float], last: list[float]) -> set[float]:
    """Return the ends of the range that look like codes for missing: far from all other numbers."""
    codes = set()
    for value, following in pairwise(first):
        if value in _BELOW and following >= 0:
            codes.add(value)
    for previous, value in pairwise(last):
        if value in _ABOVE and abs(previous) <= value / 2:
            codes.add(value)
    return codes


def _calendar(kinds: pl.Series) -> bool:
    day, month, year = kinds % 100, kinds // 100 % 100, kinds // 10_000
    return bool((day.is_between(1, 31) & month.is_between(1, 12) & year.is_between(1850, 2100)).all())
