"""shoal hierarchy: what a person and a script see of one column's levels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests import command

CSV = "age,job,hours\n" + "".join(f"{20 + i % 10},{'abcd'[i % 4]},{1 + i % 100}\n" for i in range(200))


def run(*arguments: object, check: int = 0) -> str:
    done = command.run("hierarchy", *arguments, check=check)
    return " ".join((done.stdout + done.stderr).split()) if check else done.stdout


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text(CSV)
    return tmp_path / "data.csv"


def tree(data: Path, name: str, **labels: Any) -> Path:
    """Write a tree of the ages: each label with the values under it."""
    path = data.parent / f"{name}.csv"
    path.write_text("".join(f"{value};{label};*\n" for label, values in labels.items() for value in values))
    return path


# build


def test_build_json_is_the_contract(data: Path) -> None:
    found = json.loads(run("build", data, "-c", "hours", "-m", "cardinality-based", "--smallest", "10", "--json"))
    levels = found["levels"]
    assert [len(level["nodes"]) for level in levels] == [100, 10, 5, 3, 2, 1]
    for level in levels:
        for node in level["nodes"]:
            assert set(node) >= {"label", "records", "low", "high", "distortion"}
            assert "codes" not in node
        assert sum(node["records"] for node in level["nodes"]) == 200
    assert (levels[1]["nodes"][0]["low"], levels[1]["nodes"][0]["high"]) == (1, 10)
    assert [level["distortion"]["most"] for level in levels] == pytest.approx(
        [0, 0.4545, 0.9596, 1.9697, 2.9798, 5], 3e-4
    )
    assert levels[-1]["loss"] == 1.0
    assert found["nested"] is True
    assert "compared" not in found


def test_build_prints_what_each_level_costs(data: Path) -> None:
    printed = run("build", data, "-c", "hours", "-m", "conventional", "--smallest", "10").splitlines()
    assert printed[0].split() == [
        "level",
        "nodes",
        "least",
        "median",
        "most",
        "records",
        "distortion",
        "loss",
        "labels",
    ]
    assert printed[2].split()[:5] == ["1", "8", "24", "25", "26"]
    assert printed[-1].split()[:7] == ["4", "1", "200", "200", "200", "4", "1.0000"]


def test_parameters_reach_the_builder(data: Path) -> None:
    def nodes(*options: object) -> list[int]:
        found = json.loads(run("build", data, "--json", *options))
        return [len(level["nodes"]) for level in found["levels"]]

    assert nodes("-c", "hours", "-m", "conventional", "--smallest=25") == [100, 4, 2, 1]
    assert nodes("-c", "hours", "-m", "quantiles", "--parts", 4) == [100, 4, 1]
    assert nodes("-c", "hours", "-m", "intervals", "--breaks", "[[1,50,101],[1,101]]") == [100, 2, 1, 1]
    assert nodes("-c", "job", "-m", "ordering", "--order", "d,c,b,a", "--sizes", 2) == [4, 2, 1]
    assert nodes("-c", "job", "-m", "rare", "--records", 60, "--label", "5, or so") == [4, 1]
    assert nodes("-c", "hours", "-m", "intervals", "--widths", 10, "--domain", "0,200") == [100, 11, 1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-m", "conventional", "--smalest", "10"), "Conventional.smalest: is not a known key. Hint: did you mean"),
        (("-m", "conventional", "--smallest", "-1"), "Conventional.smallest: must be more than 0.0; got -1"),
        (("-m", "convetional"), "no such way to build levels; got 'convetional'. Hint: did you mean 'conventional'?"),
        (("-m", "intervals"), "Intervals: needs either widths or breaks."),
        (("-m", "dates"), "needs a column of dates"),
        (("-m", "tree", "--file", "nowhere.csv"), "nowhere.csv: cannot read"),
        (("-m", "suppress", "--out", "/nowhere/x.csv"), "cannot write the hierarchy"),
        (("-m", "divisor-based", "--out", "x.yaml"), "is no tree"),
    ],
)
def test_a_mistake_is_told_in_words(data: Path, options: tuple[str, ...], words: str) -> None:
    assert words in run("build", data, "-c", "hours", *options, check=1)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-m", "intervals", "--widths"),
        ("-m", "intervals", "5"),
        ("-m", "intervals", "--widths", "[5"),
        ("--k", "1"),
    ],
)
def test_wrong_usage_ends_with_2(data: Path, options: tuple[str, ...]) -> None:
    run("build", data, "-c", "hours", *options, check=2)


def test_auto_says_what_it_compared(data: Path) -> None:
    found = json.loads(run("build", data, "-c", "hours", "-m", "auto", "--k", 3, "--json"))
    assert [row["chosen"] for row in found["compared"]] == [True] + [False] * (len(found["compared"]) - 1)
    assert {"conventional", "cardinality-based", "divisor-based"} <= {row["method"] for row in found["compared"]}
    assert found["compared"][0]["nodes"] == [len(level["nodes"]) for level in found["levels"]]
    assert "3" in found["compared"][0]["losses"]
    printed = run("build", data, "-c", "hours", "-m", "auto", "--k", 3)
    assert "loss at k=3" in printed
    assert "chosen" in printed
    assert "level  nodes" in printed


@pytest.mark.parametrize("ending", ["csv", "yaml", "xml"])
def test_what_is_written_fits_the_column(data: Path, ending: str) -> None:
    path = data.parent / f"hours.{ending}"
    made = run("build", data, "-c", "hours", "-m", "quantiles", "--out", path, "--json")
    assert "fits" in run("check", data, "-c", "hours", "--file", path)
    again = json.loads(run("build", data, "-c", "hours", "--file", path, "--json"))
    labels = [[node["label"] for node in level["nodes"]] for level in json.loads(made)["levels"]]
    assert labels == [[node["label"] for node in level["nodes"]] for level in again["levels"]]


# draw


def test_draw_prints_counts_and_folds_long_levels(data: Path) -> None:
    printed = run("draw", data, "-c", "hours", "-m", "intervals", "--widths", "20,100", "--most", 3)
    assert printed.splitlines()[0] == "* (200)"
    assert "[0, 19] (38)" in printed
    assert "… 16 more (32 records)" in printed
    assert "… 2 more (80 records)" in printed


def test_draw_shows_the_same_label_once(data: Path) -> None:
    printed = run(
        "draw",
        data,
        "-c",
        "age",
        "-m",
        "tree",
        "--nodes",
        "{'*': {x: {y: [20, 21, 22, 23]}, z: [24, 25, 26, 27, 28, 29]}}",
    )
    assert printed.count("z (") == 1


def test_draw_says_where_a_label_has_two_parents(data: Path) -> None:
    printed = run("draw", data, "-c", "hours", "-m", "divisor-based", "--smallest", 20, "--most", 1)
    assert "[1, 25] (50)" in printed
    printed = run("draw", data, "-c", "hours", "-m", "divisor-based", "--smallest", 20)
    assert "[41, 60] (40, also under [51, 75])" in printed


def test_draw_writes_a_drawing_and_a_page(data: Path) -> None:
    svg, page = data.parent / "age.svg", data.parent / "age.html"
    assert f"drawing: {svg}" in run("draw", data, "-c", "age", "-m", "intervals", "--widths", 5, "--out", svg)
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    run("draw", data, "-c", "age", "-m", "auto", "--out", page)
    text = page.read_text(encoding="utf-8")
    for words in ("<!DOCTYPE html>", "<svg", "Level by level", "What was compared", "✓ chosen"):
        assert words in text, words
    assert sorted(path.name for path in data.parent.iterdir()) == ["age.html", "age.svg", "data.csv"]


def test_draw_refuses_other_files(data: Path) -> None:
    assert ".svg or .html" in run("draw", data, "-c", "age", "-m", "suppress", "--out", "age.pdf", check=2)
    assert "cannot write" in run("draw", data, "-c", "age", "-m", "suppress", "--out", "/nowhere/age.svg", check=1)


def test_draw_keeps_ten_thousand_values_short(tmp_path: Path) -> None:
    (tmp_path / "many.csv").write_text("v,w\n" + "".join(f"{i * 10},code{i:05d}\n" for i in range(10_000)))
    for column, method in (("v", "cardinality-based"), ("v", "suppress"), ("w", "ordering")):
        lines = run("draw", tmp_path / "many.csv", "-c", column, "-m", method, "-o", tmp_path / "x.html").splitlines()
        assert 3 <= len(lines) <= 450, (column, method, len(lines))
        assert (tmp_path / "x.html").stat().st_size < 1_000_000


def test_draw_of_hostile_labels(tmp_path: Path) -> None:
    labels = ["[bold]x[/]", "\\\\", "<script>", "a\tb", "[/]", "*", "\x1b[31mred"]
    (tmp_path / "data.csv").write_text("job,n\n" + "".join(f"{label},1\n" for label in labels))
    printed = run("draw", tmp_path / "data.csv", "-c", "job", "-m", "suppress", "-o", tmp_path / "x.html")
    for words in ("[bold]x[/] (1)", "<script> (1)", "[/] (1)", "\ufffd[31mred (1)"):
        assert words in printed, words
    assert "<script" not in (tmp_path / "x.html").read_text()


def test_a_column_of_missing_values_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n,1\n,2\n")
    assert "(missing) (2)" in run("draw", tmp_path / "data.csv", "-c", "a", "-m", "suppress")


# check


def test_check_of_a_good_tree(data: Path) -> None:
    good = tree(data, "good", **{"[20, 24]": range(20, 25), "25+": range(25, 30)})
    assert json.loads(run("check", data, "-c", "age", "--file", good, "--json")) == {
        "fits": True,
        "faults": [],
        "notes": [],
    }


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "values not covered": (
        {"[20, 24]": range(20, 25), "[25, 29]": range(25, 27)},
        "age: 3 of 10 values are missing from the tree; got '27', '28', '29'",
    ),
    "overlap": (
        {"[20, 25]": range(20, 25), "[25, 29]": range(25, 30)},
        "age, level 1: ranges overlap; got '[20, 25]' and '[25, 29]'",
    ),
    "gap": (
        {"20-24": range(20, 25), "26-29": range(26, 30)},
        "age, level 1: a gap between ranges; got '20-24' to '26-29'",
    ),
    "a value outside its label": (
        {"[20, 24]": range(20, 26), "[25, 29]": range(26, 30)},
        "age, level 1: values lie outside their label; got 25 under '[20, 24]'",
    ),
    "a value twice": ({"x": range(20, 30), "y": [20]}, "rows 1 and 11 say different labels of the same value"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_check_says_what_is_wrong(data: Path, name: str) -> None:
    labels, words = FAULTS[name]
    assert words in run("check", data, "-c", "age", "--file", tree(data, "bad", **labels), check=1)
    told = run("check", data, "-c", "age", "-m", "tree", "--file", data.parent / "bad.csv", "--json", check=1)
    assert '"fits": false' in told


def test_a_dash_ends_where_the_next_label_starts(data: Path) -> None:
    labels = {"20 - 25": range(20, 25), "25 - 30": range(25, 30)}
    assert "fits" in run("check", data, "-c", "age", "--file", tree(data, "touching", **labels))
    wrong = {"20 - 25": range(20, 26), "25 - 30": range(26, 30)}
    told = run("check", data, "-c", "age", "--file", tree(data, "touching", **wrong), check=1)
    assert "values lie outside their label; got 25 under '20 - 25'" in told


def test_check_names_a_child_with_two_parents(data: Path) -> None:
    path = data.parent / "two.csv"
    path.write_text("a;x;1;*\nb;x;2;*\nc;y;2;*\nd;y;2;*\n")
    assert "'x' has " in run("check", data, "-c", "job", "--file", path, check=1)


def test_check_names_levels_that_do_not_coarsen(data: Path) -> None:
    told = run("check", data, "-c", "hours", "-m", "divisor-based", "--smallest", 10, check=1)
    assert "level 3 does not coarsen level 2: '[21, 40]' has 2 parents" in told
    assert "level 2 does not" not in told
    assert "'[1, 25]', '[26, 50]'" in told
    run("build", data, "-c", "hours", "-m", "divisor-based", "--smallest", 10)


def test_check_of_breaks(data: Path) -> None:
    options = ("-c", "hours", "-m", "intervals", "--breaks")
    assert "fits" in run("check", data, *options, "1,50,101")
    assert "values outside the breaks; got 1, 2, 3" in run("check", data, *options, "4,50,101", check=1)
    assert "growing numbers" in run("check", data, *options, "1,50,40,101", check=1)
    assert "a gap: the breaks do not cover the domain" in run(
        "check", data, *options, "0,101", "--domain", "0,168", check=1
    )


def test_a_gap_without_values_is_only_a_note(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("v\n" + "".join(f"{n}\n" for n in (1, 2, 3, 41, 42)))
    run("build", tmp_path / "data.csv", "-c", "v", "-m", "intervals", "--widths", 10, "--out", tmp_path / "v.csv")
    told = run("check", tmp_path / "data.csv", "-c", "v", "--file", tmp_path / "v.csv")
    assert "fits" in told
    assert "Note: v, level 1: ranges leave gaps, but no value lies there; got '[0, 9]' to '[40, 49]'" in told


def test_check_takes_the_hierarchy_of_a_policy(data: Path) -> None:
    policy = data.parent / "policy.yaml"
    policy.write_text(
        "quasi_identifiers:\n  hours: {hierarchy: divisor-based, smallest: 10}\n"
        "  age: {hierarchy: tree, file: age.csv}\n  job: {}\nmodels: [{name: k-anonymity, k: 2}]\n"
    )
    tree(data, "age", **{"[20, 24]": range(20, 25), "[25, 29]": range(25, 30)})
    assert "fits" in run("check", data, "-c", "age", "--policy", policy)
    assert "level 3 does not coarsen level 2" in run("check", data, "-c", "hours", "-p", policy, check=1)
    assert "no hierarchy" in run("check", data, "-c", "job", "-p", policy, check=1)
    assert "takes the place" in run("check", data, "-c", "age", "-p", policy, "-m", "suppress", check=2)
    assert "[20, 24] (100)" in run("draw", data, "-c", "age", "-p", policy)
    assert "did you mean 'age'?" in run("check", data, "-c", "ages", "-p", policy, check=1)


# compare


def test_compare_puts_every_builder_that_fits_side_by_side(data: Path) -> None:
    rows = json.loads(run("compare", data, "-c", "hours", "--k", 4, "--json"))["compared"]
    assert rows[0]["chosen"]
    losses = [row["loss"] for row in rows if row["nested"]]
    assert losses == sorted(losses)
    for row in rows:
        assert len(row["nodes"]) == len(row["distortion"]) == row["levels"]
        assert row["loss_at_k"] == row["losses"]["4"]
    divisor = next(row for row in rows if row["method"] == "divisor-based")
    assert not divisor["nested"]
    printed = run("compare", data, "-c", "hours", "--k", 4)
    for words in ("method", "loss at k=4", "nodes per level", "distortion per level", "chosen", "does not nest"):
        assert words in printed, words


def test_compare_of_texts_and_of_nothing(data: Path, tmp_path: Path) -> None:
    methods = {row["method"] for row in json.loads(run("compare", data, "-c", "job", "--json"))["compared"]}
    assert {"suppress", "rare", "similarity"} <= methods
    (tmp_path / "none.csv").write_text("a,b\n,1\n,2\n")
    assert [
        row["method"] for row in json.loads(run("compare", tmp_path / "none.csv", "-c", "a", "--json"))["compared"]
    ] == ["suppress"]
    assert "did you mean 'job'?" in run("compare", data, "-c", "jobb", check=1)
