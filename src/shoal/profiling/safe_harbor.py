"""Safe Harbor: which of HIPAA's 18 kinds of identifiers a column probably is, and what may be published of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.engines.columns import column_domain
from shoal.engines.counted import CountedTable
from shoal.engines.treatments import OLDEST, faults, treat_column
from shoal.errors import Fault
from shoal.policy import Policy
from shoal.policy.roles import QuasiIdentifier
from shoal.policy.treatments import SafeHarborTreatment
from shoal.profiling.profile import Profile, join_neighbours, profile_column, split_words
from shoal.profiling.role_rules import RoleSuggestion

_ELDEST = 120
"""Ranges of ages that begin at 90 go at least so far, so that they are true of everyone."""


@dataclass(frozen=True)
class Kind:
    """One of the 18 kinds of 45 CFR 164.514(b)(2)(i)."""

    letter: str
    title: str
    words: str
    """Words of a column's name, or two or three neighbours written as one."""
    pattern: str = ""
    """What nearly all values look like (:class:`~shoal.profiling.profile.Profile`)."""
    treatment: SafeHarborTreatment | None = None
    """What makes publishing lawful; without one the column goes."""

    def __str__(self) -> str:
        return f"({self.letter}) {self.title}"


AGES = Kind("C", "ages over 89", "age ageyears ageatvisit ageatadmission ageatdeath", treatment="age-90")
ZIPS = Kind("B", "ZIP codes", "zip zipcode zip5 zip9 zip3 postal postalcode postcode", treatment="zip3")
DATES = Kind(
    "C",
    "dates",
    "admission admitted discharge discharged death died dod visit service date year",
    treatment="year",
)
BIRTHS = Kind("C", "dates of birth", "birth birthdate birthday birthyear dob born")
KINDS = (  # the first that fits: a license plate is no license
    BIRTHS,
    AGES,
    ZIPS,
    Kind(
        "A",
        "names",
        """name names firstname lastname middlename maidenname fullname givenname familyname surname forename initials
        nickname patientname""",
    ),
    Kind(
        "B",
        "geographic units smaller than a state",
        """address street streetaddress city town village county precinct district parish municipality censustract
        blockgroup geocode latitude longitude lat lon lng gps coordinates""",
    ),
    Kind("D", "telephone numbers", "phone telephone tel mobile cellphone phonenumber", "phone numbers"),
    Kind("E", "fax numbers", "fax faxnumber"),
    Kind("F", "e-mail addresses", "email mail emailaddress", "e-mail addresses"),
    Kind("G", "social security numbers", "ssn socialsecurity socialsecuritynumber", "social security numbers"),
    Kind("H", "medical record numbers", "mrn medicalrecord medicalrecordnumber chartnumber patientid patientnumber"),
    Kind(
        "I",
        "health plan beneficiary numbers",
        """healthplan beneficiary beneficiaryid memberid membernumber policynumber insuranceid insurancenumber
        subscriberid planid medicareid medicaidid hicn mbi""",
    ),
    Kind("L", "vehicle identifiers", "vin vehicle vehicleid licenseplate plate platenumber"),
    Kind("J", "account numbers", "account accountnumber bankaccount iban creditcard cardnumber", "IBANs"),
    Kind(
        "K",
        "certificate and license numbers",
        "license licence licensenumber licencenumber driverslicense certificate certificatenumber passport npi dea",
    ),
    Kind("M", "device identifiers", "device deviceid serial serialnumber imei udi mac macaddress"),
    Kind("N", "web addresses", "url urls website webpage homepage link", "web addresses"),
    Kind("O", "IP addresses", "ip ipaddress ipv4 ipv6", "IP addresses"),
    Kind("P", "biometric identifiers", "biometric fingerprint voiceprint retina iris faceid dna"),
    Kind("Q", "full face photographs", "photo photograph image picture portrait faceimage"),
    Kind("R", "other identifying numbers or codes", "id ids uid uuid guid identifier recordid", "UUIDs"),
    Kind("R", "other identifying numbers or codes", "", "long numbers"),
    DATES,
)


_GENERIC = frozenset(("name", "names", "id", "ids", "uid", "identifier"))
"""Words that mean a person where they stand alone or tell many apart; a country's name and a ward's id do not."""


def find_kind(column: Profile) -> Kind | None:
    """Return the kind of identifier that a column probably is, by its name, its values or its type.

    Names mislead in both ways: what a draft or a check says is for a person to read. Columns that hold two values
    tell nobody apart.

    Examples
    --------
    >>> print(find_kind(Profile(name="Home Phone", kind="text", records=9)))
    (D) telephone numbers
    """
    words = split_words(column.name)
    runs = join_neighbours(words)
    if len(words) > 1 and column.uniqueness <= 0.5:
        runs -= _GENERIC
    if column.kind == "boolean" or (column.distinct <= 2 and column.present >= 20):
        return None
    kinds = (kind for kind in KINDS if _fits(kind, column, runs))
    return next(kinds, DATES if _is_dated(column) else None)


def _fits(kind: Kind, column: Profile, runs: set[str]) -> bool:
    if kind.pattern and column.pattern == kind.pattern:
        return True
    if kind in (BIRTHS, DATES):  # a weight at birth is no date
        years = column.kind == "integer" and column.low >= 1850 and column.high <= 2100
        return (years or _is_dated(column)) and bool(runs & set(kind.words.split()))
    return bool(runs & set(kind.words.split())) and (kind is not AGES or column.numeric)


def _is_dated(column: Profile) -> bool:
    return column.kind in ("date", "datetime") or bool(column.written) or column.calendar


_AGES = [[*range(0, 91, 5), _ELDEST], [*range(0, 91, 10), _ELDEST], [0, 30, 60, 90, _ELDEST]]
_SPECS: dict[str, dict[str, Any]] = {
    "zip3": {"hierarchy": "mask", "keep": [2, 1], "treatment": "zip3"},
    "year": {"hierarchy": "intervals", "widths": [5, 10], "treatment": "year"},
    "age-90": {"hierarchy": "intervals", "breaks": _AGES, "treatment": "age-90"},
}


def apply_safe_harbor(
    frame: pl.DataFrame, profiles: dict[str, Profile], decisions: dict[str, RoleSuggestion]
) -> dict[str, RoleSuggestion]:
    """Return the decisions of a draft with every one of the 18 kinds treated, or never published."""
    changed = dict(decisions)
    for name, column in profiles.items():
        kind = find_kind(column)
        if kind is None or decisions[name].role in ("identifiers", "subject"):
            continue
        if kind.treatment is None or faults(frame[name], kind.treatment, name):
            changed[name] = RoleSuggestion("identifiers", f"Safe Harbor {kind}: not published")
            continue
        odd = kind is AGES and (column.placeholders or column.low < 0 or column.high > _ELDEST)
        spec = {"treatment": "age-90"} if odd else _SPECS[kind.treatment]
        changed[name] = RoleSuggestion("quasi_identifiers", f"Safe Harbor {kind}: treated first", spec)
    return changed


def safe_harbor_faults(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield every column that would be published though Safe Harbor does not allow it, or not so much of it."""
    for name in frame.columns:
        spec = policy.quasi_identifiers.get(name)
        shown = spec is not None or name in policy.sensitive or policy.others == "keep"
        kind = find_kind(profile_column(frame[name])) if shown and name not in policy.hidden else None
        if kind is None:
            continue
        if kind.treatment is None or spec is None or spec.treatment != kind.treatment:
            yield _published_fault(name, kind)
        elif kind is AGES:
            yield from _oldest_age_faults(frame, name, spec, policy)


def _published_fault(name: str, kind: Kind) -> Fault:
    instead = f"make it a quasi-identifier with treatment: {kind.treatment}, or an identifier"
    return Fault(
        f"Safe Harbor {kind} would be published",
        name,
        hint="make it an identifier" if kind.treatment is None else instead,
    )


def _oldest_age_faults(frame: pl.DataFrame, name: str, spec: QuasiIdentifier, policy: Policy) -> Iterator[Fault]:
    """A range that says 90 to 94 would be said of people of 97, who are 90 after the treatment."""
    if spec.hierarchy is None:
        return
    ages = treat_column(frame[name], "age-90").alias(name)
    if ages.drop_nulls().max() != OLDEST:
        return
    levels = spec.hierarchy.build(column_domain(CountedTable(pl.DataFrame([ages])), name, policy), missing=None)
    code = int(levels.position[-1])
    for level in range(1, levels.height):
        if levels.highs[level, code] < _ELDEST:
            yield Fault(
                f"a range would be said of people over {OLDEST} who are not in it",
                f"quasi_identifiers.{name}",
                str(levels.text(level, code)),
                f"let the last range go from {OLDEST} to {_ELDEST}: breaks: [[0, 10, …, 80, {OLDEST}, {_ELDEST}]]",
            )
            return
