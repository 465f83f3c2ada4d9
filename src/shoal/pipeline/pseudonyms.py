"""pseudonymize(): keyed pseudonyms in the place of identifiers."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator

import polars as pl

from shoal.engines.columns import to_plain
from shoal.engines.dictionary import TableDictionary
from shoal.engines.keys import Key, read_owner_key
from shoal.errors import Fault, Misfit, TableError
from shoal.policy import Policy


def pseudonymize(frame: pl.DataFrame, policy: Policy, key: Key | None) -> pl.DataFrame:
    """Return a table with a column of pseudonyms after each identifier that asks for it.

    A pseudonym is the start of HMAC-SHA-256 over the text of the value, under the key. A missing value has none.

    Why it is safe: who does not know the key can neither compute the pseudonym of a name nor try names out. Who knows
    it can: the table is pseudonymous, not anonymous, for the owner of the key. The same value has the same pseudonym
    under the same key, whatever its column and table: that links a person's records in all of them.

    Examples
    --------
    >>> table = pl.DataFrame({"name": ["Ann", "Bob"], "age": [30, 40]})
    >>> policy = Policy(identifiers={"name": {"pseudonym": True, "digits": 8}}, quasi_identifiers=["age"],
    ...                 models=[{"name": "k-anonymity", "k": 2}])
    >>> pseudonymize(table, policy, b"a key of at least 16 bytes").columns
    ['name', 'name.pseudonym', 'age']
    """
    if not policy.pseudonyms:
        return frame
    secret = read_owner_key(key)
    for name, shown in policy.pseudonyms.items():
        texts = to_plain(frame[name]).cast(pl.String)
        digits = policy.identifiers[name].digits
        known = {text: _pseudonym(text, secret, digits) for text in texts.drop_nulls().unique().to_list()}
        if len(set(known.values())) < len(known):
            got = f"{len(known)} values, {len(set(known.values()))} pseudonyms of {digits} digits"
            hint = f"say identifiers: {{{name}: {{pseudonym: true, digits: {min(2 * digits, 64)}}}}}"
            raise Misfit("two values have the same pseudonym", where=f"identifiers.{name}.digits", got=got, hint=hint)
        column = texts.replace_strict(known, default=None, return_dtype=pl.String).alias(shown)
        frame = frame.clone().insert_column(frame.columns.index(name) + 1, column)
    return frame


def _pseudonym(text: str, key: bytes, digits: int) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:digits]


def pseudonym_misfits(words: TableDictionary) -> Iterator[Fault]:
    """Yield identifiers whose pseudonyms would undo the release, and a warning of what pseudonyms are."""
    table, frame = words.table, words.table.frame
    for name, shown in words.policy.pseudonyms.items():
        where = f"identifiers.{name}.pseudonym"
        if name not in frame.columns:
            continue
        if shown in frame.columns:
            yield Fault("the table has a column of that name", where, repr(shown), "rename it")
        try:
            values = words.values(name)
        except TableError as error:
            yield Fault(error.faults[0].what, where, error.faults[0].got, "leave the pseudonym out")
            continue
        persons, records = values.drop_nulls().n_unique(), table.records - table.count_missing(values)
        if persons < records:
            yield Fault(
                "pseudonyms would link the records of one person, and what they show together may be alone",
                where,
                f"{persons} values in {records} records",
                "make it a table with one record for each person, or leave the pseudonym out",
            )
        yield Fault(
            "a pseudonym links a person's records in all tables with the same key, and who has the key can name them",
            where,
            hint="this is pseudonymous, not anonymous: keep the key to yourself, and take one for each purpose",
            kind="warning",
        )
