"""The comparison of Hussien et al. (2015), section 3.3: Adult, original against proposed and old model.

Writes docs/papers/hussien15.md, hussien15.svg and hussien15.csv: Table 7 with ours beside theirs, and the distribution
functions of Figures 14 to 16 drawn again.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from benchmarks import data
from benchmarks.results import Result
from shoal.policy import Policy
from shoal.reporting.svg.lines import Panel, draw_panels
from shoal.utility.statistics import Floats, Sample, SampleTest, kolmogorov_smirnov, numbers, variance_ratio, welch

NAME = "hussien15"
DOCS = Path(__file__).parents[1] / "docs" / "papers"
WIDTHS = (10, 20, 30, 40, 50)
DUMMY = "0 < +100 (dummy)"
PAPER = {  # Table 7: p-values of the three tests
    "10 years": ("0.0138", "0.7278", "0.9857"),
    "20 years": ("4.814e-07", "0.5555", "0.8743"),
    "30 years": ("3.331e-16", "0.193", "0.6996"),
    "40 years": ("<2.2e-16", "0.2965", "0.7264"),
    "50 years": ("<2.2e-16", "0.2081", "0.6054"),
    DUMMY: ("<2.2e-16", "2.312e-08", "<2.2e-16"),
}
RECORDS = 463
"""Records of the paper's tests: their degrees of freedom are 462."""
WEIGHTS = {"marital-status": 3, "age": 5, "race": 4, "sex": 2}
TREES = {
    "marital-status": {
        "Any status": {
            "Married": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
            "Not married": ["Never-married", "Divorced", "Separated", "Widowed"],
        }
    },
    "race": {
        "Any race": {
            "Colored": ["White", "Black"],
            "Others": ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Other"],
        }
    },
    "sex": {"Person": ["Male", "Female"]},
}
"""As Table 6 shows them; the paper's own figures are not in the text."""
BOUNDARIES = {"marital-status": ["Married", "Not married"], "race": ["Colored", "Others"], "sex": ["Person"]}


def table() -> pl.DataFrame:
    """The 30,162 complete records of adult.data, the paper's five columns in the order of its Table 5."""
    return data.complete_adult().select("marital-status", "age", "race", "sex", "income")


def policy_of(width: int, *, proposed: bool) -> Policy:
    """The paper's weights and boundaries, or neither: then columns go to the root, in their order."""
    columns: dict[str, dict[str, object]] = {
        name: {"hierarchy": "intervals", "widths": [width]}
        if name == "age"
        else {"hierarchy": "tree", "nodes": TREES[name]}
        for name in WEIGHTS
    }
    if proposed:
        lows = sorted({age // width * width for age in table()["age"].to_list()})
        held = {**BOUNDARIES, "age": [f"[{low}, {low + width - 1}]" for low in lows]}
        columns = {n: {**spec, "weight": WEIGHTS[n], "boundaries": held[n]} for n, spec in columns.items()}
    return Policy(
        quasi_identifiers=columns,
        sensitive=["income"],
        models=[{"name": "k-anonymity", "k": 2}, {"name": "distinct-l-diversity", "on": "income", "l": 2}],
        algorithm={"name": "weighted-boundaries"},
        max_suppressed=0.01,
    )


@dataclass(frozen=True)
class Row:
    """The three tests of one published age column against the original."""

    interval: str
    what: str
    distribution: SampleTest
    mean: SampleTest
    variance: SampleTest
    records: int

    @classmethod
    def of(cls, interval: str, what: str, original: Floats, published: Floats) -> Row:
        one, other = Sample.of(original), Sample.of(published)
        found = kolmogorov_smirnov(original, published), welch(one, other), variance_ratio(one, other)
        return cls(interval, what, *found, len(published))

    def csv(self) -> str:
        numbers = [f"{f.statistic:.6g},{f.p_value:.4g}" for f in (self.distribution, self.mean, self.variance)]
        return f"{self.interval},{self.what},{self.records},{','.join(numbers)}"


FEW, MANY, WHOLE, SPREAD = "463 records", "release", "whole years", "spread"


def dummy(ages: Floats) -> Floats:
    """The paper's coding of the old model, as its figures tell: the younger 0, the older 100."""
    return np.where(ages < 50, 0.0, 100.0)


def rows(ages: Floats, releases: dict[int, shoal.Release]) -> Iterator[Row]:
    """Every row of Table 7, in each way of counting."""
    few = ages[:: len(ages) // RECORDS][:RECORDS]
    domain = float(ages.min()), float(ages.max())
    for width, release in releases.items():
        name, texts = f"{width} years", release.frame["age"].filter(release.frame["age"] != "*").to_list()
        yield Row.of(name, FEW, few, few // width * width + width / 2)
        middle = numbers(texts, domain)[0]
        yield Row.of(name, MANY, ages, middle + 0.5)  # the paper's middle of 30 - 40 is 35, that of 30 to 39 is 34.5
        yield Row.of(name, WHOLE, ages, middle)
        yield Row.of(name, SPREAD, ages, numbers(texts, domain, standing="uniform")[0])
    yield Row.of(DUMMY, FEW, few, dummy(few))
    yield Row.of(DUMMY, MANY, ages, dummy(ages))


def shown(p_value: float) -> str:
    return "<2.2e-16" if p_value < 2.2e-16 else f"{p_value:.4g}"


def grid(found: dict[tuple[str, str], Row], test: str, index: int) -> str:
    """A markdown table of the p-values of one test."""
    ways = (FEW, MANY, WHOLE, SPREAD)
    lines = ["| interval | paper | " + " | ".join(ways) + " |", "|---" * (len(ways) + 2) + "|"]
    for interval, printed in PAPER.items():
        cells = [
            shown(getattr(found[interval, way], test).p_value) if (interval, way) in found else "–" for way in ways
        ]
        lines.append(f"| {interval} | {printed[index]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def distances(found: dict[tuple[str, str], Row]) -> str:
    """A markdown table of what was measured, for the release."""
    lines = [
        "| interval | D, 463 records | D | mean: original − published | variance: original / published |",
        "|---" * 5 + "|",
    ]
    for interval in PAPER:
        row = found[interval, MANY]
        gap = row.mean.interval
        middle = 0.0 if gap is None else sum(gap) / 2
        few = found[interval, FEW].distribution.statistic
        measured = f"{row.distribution.statistic:.4f} | {middle:.3f} | {row.variance.statistic:.4f}"
        lines.append(f"| {interval} | {few:.4f} | {measured} |")
    return "\n".join(lines)


def passing(found: dict[tuple[str, str], Row], way: str, test: str) -> str:
    """The intervals at which a test does not reject at 5 %."""
    widths = [str(width) for width in WIDTHS if getattr(found[f"{width} years", way], test).p_value > 0.05]
    return f"{' and '.join(filter(None, [', '.join(widths[:-1]), widths[-1]]))} years" if widths else "no interval"


def steps(release: shoal.Release) -> str:
    lines = ["| raised | weight | k | l | records that break a model |", "|---" * 5 + "|"]
    for step in release.recoding.rounds:
        k, diversity = step.attained.values()
        weight = "–" if step.column is None else f"{step.weight:g}"
        lines.append(f"| {step.column or 'as it is'} | {weight} | {k} | {diversity} | {step.failing:,} |")
    return "\n".join(lines)


def chart(ages: Floats, releases: dict[int, shoal.Release]) -> str:
    """Figures 14 to 16: the empirical distribution functions, one panel per interval."""
    at = np.arange(0, 101)

    def line(values: Floats) -> list[tuple[float, float]]:
        shares = np.searchsorted(np.sort(values), at, side="right") / len(values)
        return [(float(x), float(y)) for x, y in zip(at, shares, strict=True)]

    domain = float(ages.min()), float(ages.max())
    charts = []
    for width in (10, 50):
        middle = numbers(releases[width].frame["age"].filter(releases[width].frame["age"] != "*"), domain)[0]
        lines = {"original": line(ages), "proposed": line(middle + 0.5), "old model (dummy)": line(dummy(ages))}
        charts.append(Panel(f"share of ages up to …, {width} years", "age", lines, dots=False))
    return draw_panels(charts)


PAGE = """# Hussien et al. (2015) beside shoal

Made by `./dev bench hussien15`. Tables 1 to 6 are tests: weights 6, 3, 5, 4, 2, threshold 6, total 20, each step,
and Table 6 itself, by `weighted-boundaries` (`shoal.datasets.load("employees")`). This page is the comparison of
section 3.3.

Adult, the 30,162 complete records of adult.data, as the paper says; marital status, age, race, sex (weights 3, 5,
4, 2) and income, which is sensitive. k = 2 and l = 2 as in its example; at most 1 % of the records may be
suppressed. *Proposed* raises the columns in ascending weight up to the boundaries of Table 6, the age to intervals
of 10 to 50 years. *Old model* has neither weights nor boundaries.

## Did the paper use Adult?

Its printed figures say no. It tests 463 records (462 degrees of freedom) with mean age 34.28 and variance 451.6;
Adult's ages, 17 to 90, have mean {mean:.2f} and variance {variance:.1f}. Six of the 463 are infants (the distance
.7667 is 361/463 − 6/463); nobody in Adult is under 17. Forty-two columns, *Never_married*,
*Married-civilian_spouse_present*, *-50000* and *50000+* are those of Census-Income (KDD), another table of the same
repository. So p-values cannot be equal; what the paper concludes from them can be compared.

Everything else that it prints is consistent, and our tests recompute it: t = −.3481 on 923.999 degrees of freedom,
F = 1.0017 with .8345 to 1.2023, D = 48/463 = .1037 with p = .0138; and for the old model D = .7667, t = 5.6528 on
688.778 and F = .2623 all follow if it codes 361 ages as 0 and 102 as 100. That is its *dummy* row. The mean of
0.2203024 is 22.03024.

## Table 7: p-values

*463 records*: every 65th of Adult, ages recoded alone, the middle of an interval as the paper takes it (35 for 30 −
40). *Release*: all records that are published, the same middle. *Whole years*: the same with 34.5, the middle of
the ages 30 to 39. *Spread*: the same with the records of an interval spread evenly over it.

### Kolmogorov–Smirnov

{ks}

### Welch t

{t}

### F test of variances

{f}

{distances}

## What it shows

- **"As the age interval decreases the results are better": borne out.** D falls from {d50:.3f} (50 years) to
  {d10:.3f} (10 years), and the published ages vary {f50:.2f} times as much as the original ones at 50 years,
  {f10:.2f} times at 10.
- **"Different distributions, but the same mean and variance": a matter of how many records are tested.** A test
  that rejects nothing has not seen a difference; few records see little. At 5 %, 463 records do not reject the mean
  at {few_t} and the variance at {few_f}; all records do not reject the mean at {many_t}, the variance at {many_f}.
- **The middle of an interval matters.** 35 is half a year too high for the ages 30 to 39 in whole years, and moves
  every mean by 0.5. The paper's means differ by 0.486, just that. With 34.5 the mean at 10 years differs by
  {gap:.3f} (p = {t_whole}).
- **Variances hold in the paper up to 50 years, here at {few_f} only, even for 463 records.** Its ages go from 0 to
  90 (standard deviation 21), Adult's are those of working people (13): an interval of 30 years or more is wide
  against that, and the middles lie further apart than the ages do.
- **The dummy row measures the coding, not the generalization.** An age that is generalized to the top is not told;
  0 and 100 are values of somebody's choosing. Its middle, {top:.1f} for everyone, has no variance to test.
- Spread evenly over an interval of 10 years, D is {d_spread:.3f} instead of {d10:.3f}: the better stand-in for a
  histogram. It adds the variance within the interval, so the variance is further off ({f_spread:.2f} instead of
  {f10:.2f} times the original's).

## The steps at 10 years

{steps}

Proposed: certainty penalty {proposed:.4f}, {suppressed} records suppressed: their decade, status and race hold too
few others, or one income only, and the boundaries let nobody else in. Old model:

{old_steps}

Certainty penalty {old:.4f} (both unweighted). Without weights the age goes second, to the top, and nothing of it is
left; race and sex stay as they are. So the paper's point holds, that weights and boundaries decide *where* the loss
falls; that there is less of it does not follow.

![distribution functions](hussien15.svg)

## Where we differ

- The threshold decides on requests, not on releases: `shoal.policy.disclosure_weights.weigh` says *release* or
*anonymize* for the
  columns that a request touches. The paper hands out raw data at or under the threshold; a release of ours promises
  its models, so they hold in it whatever its columns weigh.
- At the threshold: "under" is released and "above" changed, equal is not said; here equal is released, unless an
  identifier is asked for, which is never given out.
- Identifiers are left out, not starred. Suppression of records, which the paper does not have, ends a search that
  boundaries would make impossible; without it `Infeasible` names the boundary.
- `pace: level` also tests after each level of a column, so the last one may stay below its boundary.

All figures: [hussien15.csv](hussien15.csv).
"""


def wrapped(text: str) -> str:
    """The same text in lines of equal length; tables, titles and pictures as they are."""
    blocks = []
    for block in text.split("\n\n"):
        if block.startswith(("|", "#", "!")):
            blocks.append(block)
            continue
        items = [" ".join(item.split()) for item in re.split(r"\n(?=- )", block)]
        blocks.append("\n".join(_filled(item, "  " if item.startswith("- ") else "") for item in items))
    return "\n\n".join(blocks) + "\n"


def _filled(text: str, indent: str) -> str:
    return textwrap.fill(text, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def unweighted(release: shoal.Release) -> float:
    """The mean of the columns' certainty penalties."""
    return float(np.mean(list(release.audit.utility["certainty-penalty"].columns.values())))


def page(
    ages: Floats, found: dict[tuple[str, str], Row], releases: dict[int, shoal.Release], old: shoal.Release
) -> str:
    first, last = found["10 years", MANY], found["50 years", MANY]
    whole, spread = found["10 years", WHOLE], found["10 years", SPREAD]
    middle = whole.mean.interval
    return PAGE.format(
        mean=ages.mean(),
        variance=ages.var(ddof=1),
        ks=grid(found, "distribution", 0),
        t=grid(found, "mean", 1),
        f=grid(found, "variance", 2),
        distances=distances(found),
        d10=first.distribution.statistic,
        d50=last.distribution.statistic,
        f10=1 / first.variance.statistic,
        f50=1 / last.variance.statistic,
        few_t=passing(found, FEW, "mean"),
        few_f=passing(found, FEW, "variance"),
        many_t=passing(found, MANY, "mean"),
        many_f=passing(found, MANY, "variance"),
        top=(ages.min() + ages.max()) / 2,
        t_whole=shown(whole.mean.p_value),
        gap=0.0 if middle is None else abs(sum(middle)) / 2,
        f_spread=1 / spread.variance.statistic,
        d_spread=spread.distribution.statistic,
        steps=steps(releases[10]),
        old_steps=steps(old),
        proposed=unweighted(releases[10]),
        suppressed=releases[10].audit.suppressed,
        old=unweighted(old),
    )


def run() -> Iterator[Result]:
    """Write the page; yield the distances and what the releases lose."""
    ages = table()["age"].to_numpy().astype(np.float64)
    releases = {width: shoal.anonymize(table(), policy_of(width, proposed=True)) for width in WIDTHS}
    old = shoal.anonymize(table(), policy_of(10, proposed=False))
    found = {(row.interval, row.what): row for row in rows(ages, releases)}
    DOCS.mkdir(parents=True, exist_ok=True)
    (DOCS / f"{NAME}.md").write_text(wrapped(page(ages, found, releases, old)), encoding="utf-8")
    (DOCS / f"{NAME}.svg").write_text(chart(ages, releases), encoding="utf-8")
    head = "interval,what,records,ks_d,ks_p,t,t_p,f,f_p"
    (DOCS / f"{NAME}.csv").write_text("\n".join([head, *(row.csv() for row in found.values()), ""]), encoding="utf-8")
    for width in WIDTHS:
        row = found[f"{width} years", FEW]
        theirs = PAPER[f"{width} years"][1]
        yield Result(NAME, f"Welch p, 463 records, {width} years", row.mean.p_value, "", peer=f"paper {theirs}")
    yield Result(NAME, "certainty penalty, proposed, 10 years", unweighted(releases[10]), "", theirs=unweighted(old))
