"""Profile: what can be said about a column without showing any of its values, and what its name suggests."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from shoal.encoding.domains import Kind
from shoal.engines.columns import kind_of, to_plain, to_texts
from shoal.engines.missing_codes import find_missing_codes
from shoal.errors import TableError
from shoal.profiling.check_digits import find_scheme

Meaning = Literal[
    "identifier",
    "person",
    "staff",
    "label",
    "birth",
    "postal",
    "age",
    "sex",
    "known",
    "origin",
    "sensitive",
    "text",
    "weight",
]

_WORDS: dict[Meaning, str] = {
    # a word of the name, or two or three neighbours written as one
    "identifier": """email mail courriel correo phone tel fax gsm mobile mobil handy cellulare ssn nino nhs bsn dni nie
        nif nir cpf cpr pesel iban bic passport mrn ip ipaddress mac username login userid url nickname
        姓名 名字 电话 手机 邮箱 身份证 身份证号 地址
        forename surname firstname lastname middlename maidenname fullname givenname familyname birthname
        fathername mothername nhsnumber hospitalnumber
        prenom nomdefamille apellido apellidos nombrecompleto cognome sobrenome naam voornaam achternaam namn fornamn
        efternamn imie nazwisko vorname nachname familienname geburtsname zuname address adresse adres
        direccion indirizzo endereco street strasse hausnummer housenumber rue calle licenseplate kennzeichen
        creditcard cardnumber accountnumber steuerid steuernummer fallnummer codicefiscale personnummer
        nationalid taxid socialsecurity securitesociale latitude longitude gps fingerprint
        имя фамилия отчество фио телефон адрес почта инн снилс паспорт ονομα επωνυμο ονοματεπωνυμο τηλεφωνο διευθυνση
        αφμ αμκα الاسم اسم الهاتف هاتف العنوان שם טלפון כתובת תז soyad soyadi isim adi telefonu tckn jmeno prijmeni
        rodnecislo nev lakcim etunimi sukunimi osoite puhelin hetu nama alamat hoten dienthoai cccd नाम ชื่อ
        fname lname roepnaam nomeproprio keresztnev vezeteknev csaladnev prenume priimek eesnimi perekonnanimi vardas
        pavarde vards uzvards прізвище उपनाम นามสกุล 姓 名 苗字 성 primerapellido segundoapellido nomusage
        celular telemovel didong gata gatuadress ulica utca vej strada morada domicilio diachi οδος улица вулиця
        κινητο الجوال اللقب נייד רחוב मोबाइल पता มือถือ ที่อยู่ 住址""",
    "person": """individu individuo
        patient patients person subject participant respondent proband individual user customer client member
        patienten pat eid empi employee student insured cliente paciente paziente persona personne kunde versicherter
        pid patid schuler schulerin pupil alumno alumna estudiante eleve etudiant etudiante uczen uczennica klient
        klientka pacjent osoba pracownik mitarbeiter mitarbeiterin angestellter empleado trabajador salarie worker
        borrower donor subscriber tenant 患者 病人 学生 客户 员工 пациент клиент ασθενης مريض מטופל hasta ogrenci
        pacienta pacientului pacientu pacjenta potilas asiakas beteg ugyfel pasien pelanggan zakaznik zakaznika
        patientnr klientki klienta kund kunde medlem adherent socio socia assistito utente tessera пациента клиента
        пацієнта клієнта πελατη ασθενους المريض العميل रोगी ग्राहक""",
    "staff": """doctor physician surgeon nurse therapist teacher examiner tutor supervisor manager agent clerk officer
        arzt arztin behandler hausarzt pfleger pflegerin lehrer lehrerin prufer pruferin dozent dozentin sachbearbeiter
        sachbearbeiterin betreuer medecin docteur infirmier enseignant professeur examinateur medico medica doctora
        enfermero profesor dottore insegnante docente arts huisarts verpleegkundige leraar lekarz nauczyciel opiekun
        lakare larare laakari opettaja lekar ucitel orvos doktor ogretmen hekim врач доктор учитель преподаватель
        γιατρος ιατρος طبيب الطبيب معلم רופא 医師 医生 教師 老师 의사 교사""",
    "label": """hhid idhh hhnr hhnum
        household householdid haushalt haushaltsid family familyid familie familienid famille familia
        menage foyer hogar famiglia huishouden gezin hushall husstand kotitalous domacnost haztartas gospodarstwo hane
        aile 世帯 家庭 가구 nucleo agregado foyers husstand
        домохозяйство домогосподарство νοικοκυριο الاسرة परिवार ครัวเรือน 户号
        name names nom nombre nome id ids uid uuid guid
        nr nummer key kennung identifier pk rowid matricule""",
    "birth": "yob birthyear birthyr birth birthday birthdate dob "
    "born geboren naissance nacimiento nascita nascimento geboorte geb ddn "
    "fecnac fechanac fnacimiento datanasc dtnasc nasc urodz urodzenia nar narozeni narozen fodt fodd "
    "foedt fodelsedatum fodelsedag fdato syntymaaika syntymapaiva syntynyt szuletett szuldatum szuletesi szul "
    "dogumtarihi dogum dtarihi datanasterii nasterii ngaysinh tgllahir lahir рожд рождения народження нар др "
    "γεννηση γεννησης مواليد الميلاد תאריךלידה לידה जन्म วันเกิด 生日",
    "postal": """zip zipcode zip3 zip5 postcode postal postalcode plz codepostal codigopostal cep postnummer eircode
        pincode""",
    "age": """age alter edad leeftijd alder idade wiek ika eta lebensalter возраст ηλικια العمر גיל yas vek tuoi umur
        usia aldur varsta edat vanus amzius vecums starost godine eletkor вік възраст आयु उम्र อายุ سن السن""",
    "sex": """sex gender geschlecht sexe sexo sesso geslacht kon kjonn sukupuoli pol plec cinsiyet pohlavi pohlavie spol
        nem lytis dzimums sugu genero genere пол стать φυλο الجنس جنسیت מין लिंग เพศ 性別 性别 성별""",
    "known": """marital maritalstatus civilstand civilstatus estadocivil statocivile stancywilny rodinnystav rodstav
        siviilisaaty csaladiallapot csaladiall medenihal burgerlijkestaat burgstaat situationfamiliale situationfam
        starecivila sivilstatus sivilstand семейноеположение семположение семполож
        сімейнийстан сімстан 婚姻 혼인 honnhan familienstand education bildung
        school degree occupation job beruf profession profesion country land pays pais nationality city town
        stadt ort wohnort ville ciudad county state region bundesland kanton province district gemeinde
        municipality commune workclass relationship language sprache citizenship housing employer department
        staatsangehorigkeit nationalitat year jahr jahrgang height grosse station ward weight gewicht poids peso vikt
        waga город πολη
        mesto grad varos oras miestas pilseta linn kraj okres zupanija megye judet savivaldybe rajons область район
        город місто град νομος المدينة مدينة जिला ज़िला शहर จังหวัด شهر comune provincia municipio freguesia
        kommun kommune fylke lan kunta maakunta gmina powiat wojewodztwo miasto miejscowosc ilce sehir
        children kinder enfants hijos handedness eyecolor eyecolour haircolor haircolour wheelchair""",
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
        kontonummer vorname nachname surname anschrift
        氏名 姓名 名前 住所 地址 電話 电话 手机 携帯 メール 邮箱 身份证 성명 이름 전화 휴대 주소 이메일 주민""",
    "person": "患者 환자 고객 학생",
    "label": "nummer 番号 编号 번호",
    "age": "年齢 年龄 나이 연령",
    "birth": "geburts birthdate рожден γεννησ 生年月日 出生 誕生日 생년월일",
    "postal": "postleit postcode",
    "sex": "性別 性别 성별",
    "known": "occupation nationality",
    "origin": "ethnic",
    "sensitive": """diagnos disease illness krankheit maladie enfermedad malattia medikament medication medicament
        medicine therap religio politic politi genetic genom einkommen salary income orientation psych
        patolog التشخيص تشخیص रोग बीमारी โรค діагноз boala choroba choroby sykdom sygdom sjukdom tauti sairaus
        haigus slimiba betegs bolest
        pregnan behinder disabil cancer tumor infection blood blut befund cholesterol glucose disorder syndrom
        диагноз διαγνωσ 診断 诊断 진단""",
    "text": "freitext freetext",
}

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
_TITLES = r"(?:(?:Dr|Prof|Mr|Mrs|Ms|Miss|Herr|Frau|Sig|Sra?|Dott|Mme|M)\.? )*"
_NAME_WORD = r"\p{Lu}[\p{L}'’.]*\p{Ll}"
_PERSON_NAMES = rf"^{_TITLES}{_NAME_WORD}(?:,? {_NAME_WORD}|,? \p{{Lu}}\.|-{_NAME_WORD}){{1,3}}$"
_KEY = r"^(?:[^\s@]{1,6} )?[^\s@]*[0-9][^\s@]*(?: [^\s@]{1,6}){0,2}$"
_SAMPLE = 2_000
_DATED = 0.9
"""So many of a column's whole numbers are dates where it holds dates."""
_COMMA = r"^-?[0-9]+,[0-9]+$"
_CODE = r"^(?:[0-9]{4,10}|[0-9]{5}-[0-9]{4}|[A-Z]{0,3}-?[0-9]{2,8}|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9])$"
_BLANKS = """? ?? - -- --- . .. * na n/a n.a. #n/a nan null nil none unknown unk missing unspecified k.a. unbekannt
    inconnu desconocido sconosciuto onbekend -1 -9 -99 -999 99 999 9999 99999"""
PLACEHOLDERS = [*_BLANKS.split(), "not available", "keine angabe", "not specified"]
"""What is often written for a missing value, in small letters."""


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
    named: bool = False
    """Whether nearly all texts look like a first and a last name."""
    coded: bool = False
    """Whether all texts are codes of one length."""
    commas: bool = False
    """Whether nearly all texts are numbers with a decimal comma."""
    calendar: bool = False
    """Whether nearly all integers are dates as YYYYMMDD."""
    whole: bool = False
    """Whether all numbers are whole ones, whatever they were read as."""
    keyed: bool = False
    """Whether nearly all texts are words with digits in them."""
    scheme: str = ""
    """What nearly all values are by their check digits, or nothing."""

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
    def keys(self) -> bool:
        """Whether its values may be keys: whole numbers of some digits, words with digits in them."""
        small = self.longest < 3 and not (self.means("label") or self.means("person"))
        return self.keyed or bool(self.scheme) or (self.whole and not small)

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
        return name_means(self.name, meaning)

    def facts(self) -> str:
        """Return type and counts, for people."""
        parts = [_CALLED[self.kind], f"{self.distinct:,} distinct"]
        if self.missing:
            parts.append(f"{self.missing:,} missing")
        if self.placeholders:
            parts.append(f"{self.placeholders:,} with a placeholder (as NA, ?, 999) that may mean missing")
        return ", ".join(parts)


_BARRED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})
"""Letters that have no accent to leave out."""


def split_words(name: str) -> list[str]:
    """Return the words of a column's name, in small letters without accents.

    Examples
    --------
    >>> split_words("PatientID"), split_words("Straße_Nr."), split_words("Prénom"), split_words("Køn, płeć")
    (['patient', 'id'], ['strasse', 'nr'], ['prenom'], ['kon', 'plec'])
    """
    spaced = re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])", " ", name)
    letters = unicodedata.normalize("NFKD", spaced.casefold().translate(_BARRED))
    plain = "".join(c for c in letters if not unicodedata.combining(c))
    # vowels of Hindi and Thai are signs that belong to the word
    return "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in plain).split()


_VOCABULARY = {meaning: frozenset(split_words(text)) for meaning, text in _WORDS.items()}
_PARTS = {meaning: tuple(split_words(text)) for meaning, text in _STEMS.items()}


def name_means(name: str, meaning: Meaning) -> bool:
    """Return whether the name of a column suggests a meaning.

    Examples
    --------
    >>> name_means("płeć", "sex"), name_means("आयु", "age"), name_means("ward", "sex")
    (True, True, False)
    """
    if join_neighbours(words := split_words(name)) & _VOCABULARY[meaning]:
        return True
    return any(part in word for part in _PARTS.get(meaning, ()) for word in words)


def join_neighbours(words: list[str]) -> set[str]:
    """Return the words, and each two or three neighbours written as one."""
    return {"".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words))}


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
        values = to_plain(column)
    except (TableError, pl.exceptions.PolarsError):
        return _unpublishable(known, column)
    if column.dtype.is_integer() and values.null_count() > column.null_count():
        return _unpublishable(known, column)  # whole numbers beyond 64 bits are keys, not quantities
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


def _unpublishable(known: Profile, column: pl.Series) -> Profile:
    texts = to_texts(column).drop_nulls()
    return replace(known, missing=known.records - len(texts), distinct=texts.n_unique())


def _texts(known: Profile, values: pl.Series, kinds: pl.Series) -> Profile:
    lengths, words = kinds.str.len_chars(), kinds.str.count_matches(r"\S+")
    blanks = values.str.strip_chars().str.to_lowercase().is_in(PLACEHOLDERS)
    real = kinds.filter(~kinds.str.strip_chars().str.to_lowercase().is_in(PLACEHOLDERS))
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
        named=bool(_matching(real, {"names": _PERSON_NAMES})),
        coded=bool(sizes.n_unique() == 1 and real.str.contains(_CODE).all()),
        keyed=bool(_matching(real, {"keys": _KEY})),
        scheme=find_scheme(real.head(_SAMPLE)) if int(sizes.max()) >= 8 else "",  # type: ignore[arg-type]
    )


def _matching(texts: pl.Series, patterns: dict[str, str]) -> str:
    """Return the first pattern that nine of ten texts match: a few are always written in another way."""
    sample = texts.gather_every(max(len(texts) // _SAMPLE, 1))
    return next((name for name, rule in patterns.items() if sample.str.contains(rule).sum() >= 0.9 * len(sample)), "")


def _numbers(known: Profile, values: pl.Series, kinds: pl.Series) -> Profile:
    whole = known.kind == "integer" or bool((kinds == kinds.round()).all())
    lengths = kinds.cast(pl.Int64, strict=False).abs().cast(pl.String).str.len_chars().drop_nulls()
    codes = find_missing_codes(kinds)
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
        whole=whole,
        scheme=find_scheme(real.gather_every(max(len(real) // _SAMPLE, 1))) if whole else "",
    )


def _calendar(kinds: pl.Series) -> bool:
    """Whether nearly all whole numbers are dates as YYYYMMDD: a few may stand for something else, as 99 for missing."""
    day, month, year = kinds % 100, kinds // 100 % 100, kinds // 10_000
    dated = day.is_between(1, 31) & month.is_between(1, 12) & year.is_between(1850, 2100)
    return int(dated.sum()) >= _DATED * len(dated)
