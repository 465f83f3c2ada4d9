"""Layout: which columns of a Spark table are counted, and which ride along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql import types as T  # noqa: N812

from shoal.engines.columns import LARGEST, beyond_calendar, beyond_numbers
from shoal.engines.texts import require_names
from shoal.errors import Fault, Misfit, TableError
from shoal.policy import Policy
from shoal.policy.presets import SAFE_HARBOR
from shoal.policy.published_columns import published_columns

_AS_THEY_ARE = (T.BooleanType, T.DateType, T.TimestampNTZType, T.DecimalType)
_WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_MOMENT = len("2021-10-31 00:30:00.000000")


@dataclass(frozen=True)
class Layout:
    """The columns of a table under names of our own, so that no name can be read as anything but a name.

    Spark reads a dot, a backtick, a star and the case of a letter in a name; columns are taken by their place instead.
    """

    table: DataFrame
    """Every column as it should be counted and published, called ``c0``, ``c1``, …"""
    names: tuple[str, ...]
    counted: tuple[str, ...]
    """Quasi-identifiers, sensitive columns, and what is looked at beside them (persons), in the order of the table."""
    others: tuple[str, ...]
    """Columns that are published as they are and that no promise looks at."""
    published: tuple[str, ...]
    """All that a release has, in the order of the table."""

    @classmethod
    def of(cls, table: DataFrame, policy: Policy) -> Layout:
        """Lay a table out by the roles of its columns."""
        names = tuple(table.columns)
        require_names(names)
        shown = tuple(published_columns(names, policy))
        looked_at = {policy.subject, policy.survey_weight, *policy.requested_k, *policy.pseudonyms}
        roles = {*policy.quasi_identifiers, *policy.sensitive, *policy.treatments, *looked_at}
        if SAFE_HARBOR in policy.presets or policy.hygiene.looks_at_all_cells:  # values of every column are looked at
            roles |= {*names} - {*policy.identifiers}
        if policy.perturb:  # what a record draws must not follow from what rides along
            roles |= {*shown, *(name for one in policy.perturb for name in one.reads)}
        counted = tuple(name for name in names if name in roles)
        others = tuple(name for name in shown if name not in roles)
        used = {*counted, *others}
        columns = [
            to_plain_column(f"c{index}", field.dataType, name).alias(f"c{index}")
            for index, (name, field) in enumerate(zip(names, table.schema.fields, strict=True))
            if name in used
        ]
        return cls(number_columns(table).select(*columns), names, counted, others, shown)

    @classmethod
    def lay_out_published(cls, table: DataFrame, names: Sequence[str], others: Sequence[str]) -> Layout:
        """Return a published table whose columns are called ``c0``, ``c1``, … already; all but some were counted."""
        counted = tuple(name for name in names if name not in others)
        return cls(table, tuple(names), counted, tuple(others), tuple(names))

    def place_others(self, shown: Sequence[str], policy: Policy) -> tuple[str, ...]:
        """Return the columns of a release, those that ride along in their places among the published ones.

        A column that the table does not have stands after the one before it (the ends of a range), in the place of its
        identifier (a pseudonym), or at the end (the number of a class), as on one machine.
        """
        clash = sorted({*shown} & {*self.others})
        if clash:
            raise Misfit("the release would have two columns of that name", where="output", got=repr(clash[0]))
        places = {name: index for index, name in enumerate(self.names)}
        places |= {made: places[name] for name, made in policy.pseudonyms.items()}
        places |= {} if policy.output.numbered is None else {policy.output.numbered: len(self.names)}
        at = -1
        for name in shown:
            at = places.setdefault(name, at)
        return tuple(sorted([*shown, *self.others], key=places.__getitem__))

    def key(self, name: str) -> str:
        """Return what a column is called here."""
        return f"c{self.names.index(name)}"

    def keys(self, names: Sequence[str]) -> list[str]:
        """Return what some columns are called here."""
        return [self.key(name) for name in names]

    def other_faults(self) -> list[Fault]:
        """Return what is wrong with columns that ride along: those that single people out, and infinite numbers."""
        if not self.others:
            return []
        asked = []
        for index, name in enumerate(self.others):
            column = F.col(self.key(name))
            asked += [
                F.count(column).alias(f"present{index}"),
                F.countDistinct(column).alias(f"distinct{index}"),
                F.max(_is_beyond(column, self.table.schema[self.key(name)].dataType)).alias(f"beyond{index}"),
            ]
        found = self.table.agg(*asked).collect()[0]
        faults = []
        for index, name in enumerate(self.others):
            present, distinct = found[f"present{index}"], found[f"distinct{index}"]
            if found[f"beyond{index}"]:
                numbers = isinstance(self.table.schema[self.key(name)].dataType, T.DoubleType)
                error = beyond_numbers(name) if numbers else beyond_calendar(name)
                faults.append(replace(error.faults[0], where=f"others.{name}"))
            if present >= 20 and distinct > 0.9 * present:
                what, got = (
                    "is nearly unique and would be published as it is",
                    f"{distinct} values in {present} records",
                )
                faults.append(Fault(what, f"others.{name}", got, "make it an identifier, or a quasi-identifier"))
        return faults


def _is_beyond(column: Column, kind: T.DataType) -> Column:
    """Return whether a value is one that no release holds, as :func:`shoal.engines.columns.to_plain` says it."""
    if isinstance(kind, T.DoubleType):
        return F.abs(column) > LARGEST
    if isinstance(kind, (T.DateType, T.TimestampNTZType)):
        return ~F.year(column).between(1, 9999)
    return F.lit(False)


def find_repeating(table: DataFrame, names: Sequence[str]) -> list[str]:
    """Return which of some columns hold a value in more than one record."""
    numbered, places = number_columns(table), {name: index for index, name in enumerate(table.columns)}
    found = []
    for name in names:
        value = F.col(f"c{places[name]}").cast("string").alias("value")
        counts = (
            numbered.select(value).where((F.col("value") != "") & (F.col("value") != "NaN")).groupBy("value").count()
        )
        found += [] if counts.where(F.col("count") > 1).isEmpty() else [name]
    return found


def number_columns(table: DataFrame) -> DataFrame:
    """Return a table whose columns are called ``c0``, ``c1``, …"""
    return table.toDF(*(f"c{index}" for index in range(len(table.columns))))


def to_plain_column(key: str, kind: T.DataType, name: str) -> Column:
    """Return a column of a plain type, as :mod:`shoal.engines.columns` does: no NaN, no -0.0, no empty text, no
    zone."""
    column = F.col(key)
    if isinstance(kind, T.NullType):
        return column.cast("string")
    if isinstance(kind, (T.StringType, T.CharType, T.VarcharType)):
        return F.when(column != "", column)
    if isinstance(kind, _WHOLE):
        return column.cast("bigint")
    if isinstance(kind, (T.FloatType, T.DoubleType)):
        # by way of texts: 0.1 in 32 bits is 0.1, not 0.10000000149011612
        exact = column if isinstance(kind, T.DoubleType) else column.cast("string").cast("double")
        return F.when(~F.isnan(column), exact + F.lit(0.0))
    if isinstance(kind, T.TimestampType):  # in UTC: the zone of a session changes no release
        return moments(F.unix_micros(column))
    if isinstance(kind, _AS_THEY_ARE):
        return column
    hint = "drop the column"
    raise TableError("values of this type cannot be published", where=name, got=kind.simpleString(), hint=hint)


def moments(microseconds: Column) -> Column:
    """Return moments without a time zone, given as microseconds since 1970; the zone of the session plays no part."""
    seconds = (microseconds.cast("decimal(20,0)") / 1_000_000).cast("decimal(18,6)")
    return F.lit("1970-01-01").cast("timestamp_ntz") + F.make_dt_interval(secs=seconds)


def moments_to_texts(table: DataFrame) -> DataFrame:
    """Return a table whose moments are texts, as :func:`shoal.engines.memory.write.dates_to_texts` writes them.

    Its columns must have names of our own.
    """
    return table.select(
        *(
            _moment_text(name).alias(name) if isinstance(field.dataType, T.TimestampNTZType) else F.col(name)
            for name, field in zip(table.columns, table.schema.fields, strict=True)
        )
    )


def _moment_text(name: str) -> Column:
    """Return moments with six digits of a second; Spark writes as many as it takes."""
    text = F.col(name).cast("string")
    return F.rpad(F.when(text.contains("."), text).otherwise(F.concat(text, F.lit("."))), _MOMENT, "0")
