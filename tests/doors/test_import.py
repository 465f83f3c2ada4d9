"""shoal import: a project of ARX in, a folder with a policy out."""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from tests.command import run

import shoal
from shoal.errors import PolicyError
from shoal.importers.arx_policy import translate_project
from shoal.importers.arx_project import read_project
from shoal.policy import Policy

COLUMNS = [
    ("name", "IDENTIFYING_ATTRIBUTE", ""),
    ("age", "QUASI_IDENTIFYING_ATTRIBUTE", "hierarchies/age.csv"),
    ("zip/code", "QUASI_IDENTIFYING_ATTRIBUTE", "hierarchies/zip/code.csv"),
    ("illness", "SENSITIVE_ATTRIBUTE", ""),
    ("ward", "INSENSITIVE_ATTRIBUTE", ""),
]
AGES = "".join(f"{age};{age // 10 * 10}-{age // 10 * 10 + 9};*\n" for age in range(20, 60))
ZIPS = "".join(f"8{n}00;8{n}**;8***;*\n" for n in range(4))
PROMISES = ("3-anonymity", "distinct-2-diversity for attribute 'illness'")


def write_project(
    path: Path,
    criteria: tuple[str, ...] = PROMISES,
    vocabulary: str = "2.0",
    hierarchy: str = AGES,
    data: bool = True,
    separator: str = ";",
) -> Path:
    """Write a project as ARX lays it out."""
    assigned = "".join(
        f"<assigment><name>{name}</name><type>{role}</type><datatype>String</datatype>"
        + (f"<ref>{ref}</ref><min>All</min><max>{'2' if name == 'zip/code' else 'All'}</max>" if ref else "")
        + "</assigment>"
        for name, role, ref in COLUMNS
    )
    criterion = "".join(f"<criterion>{escape(text)}</criterion>" for text in criteria)
    config = (
        "<config><relativeMaxOutliers>0.05</relativeMaxOutliers><metric>Loss</metric><attributeWeights>"
        "<attributeWeight><attribute>age</attribute><weight>0.75</weight></attributeWeight></attributeWeights>"
        f"<criteria>{criterion}</criteria></config>"
    )
    rows = "".join(f"n{i};{20 + i * 7 % 40};8{i % 4}00;{['flu', 'cold', 'ulcer'][i % 3]};A\n" for i in range(60))
    parts = {
        "metadata.xml": f"<metadata><version>3.9.1</version><vocabulary>{vocabulary}</vocabulary></metadata>",
        "project.xml": f"<project><name>Visits</name><separator>{separator}</separator></project>",
        "input/definition.xml": f"<definition>{assigned}</definition>",
        "input/config.xml": config,
        "input/config.dat": "a Java object",
        "input/hierarchies/age.csv": hierarchy,
        "input/hierarchies/zip/code.csv": ZIPS,
        "lattice.xml": "<lattice/>",
    }
    with zipfile.ZipFile(path, "w") as file:
        for name, content in {
            **parts,
            **({"data/input.csv": f"name;age;zip/code;illness;ward\n{rows}"} if data else {}),
        }.items():
            file.writestr(name, content)
    return path


def test_a_project_is_released_without_a_line_by_hand(tmp_path: Path) -> None:
    run("import", write_project(tmp_path / "project.deid"), "--out", tmp_path / "mine", "--data", check=0)
    policy = Policy.read(tmp_path / "mine" / "policy.yaml")
    assert policy.k == 3
    assert [model.key() for model in policy.models] == ["k-anonymity", "distinct-l-diversity"]
    assert policy.max_suppressed == 0.05
    assert policy.quasi_identifiers["age"].weight == 1.5
    assert policy.quasi_identifiers["zip/code"].boundaries == ("8***",)
    release = shoal.anonymize(tmp_path / "mine" / "data.csv", policy)
    assert release.audit.holds
    assert release.table.columns == ["age", "zip/code", "illness", "ward"]


def test_what_is_not_promised_stands_first(tmp_path: Path) -> None:
    odd = (
        "3-anonymity",
        "(0.1, 0.2)-presence",
        "0.2-closeness with hierarchical ground-distance for attribute 'illness'",
    )
    run("import", write_project(tmp_path / "project.deid", odd), "--out", tmp_path / "mine", check=0)
    lines = (tmp_path / "mine" / "policy.yaml").read_text().splitlines()
    assert all(line.startswith("# models: NOT PROMISED: ") for line in lines[:2])
    assert "(0.1, 0.2)-presence" in lines[0]
    assert any("ward" in line for line in lines)
    assert not (tmp_path / "mine" / "data.csv").exists()


@pytest.mark.parametrize(
    ("criterion", "name", "parameters"),
    [
        ("5-anonymity", "k-anonymity", {"k": 5}),
        ("distinct-4-diversity for attribute 'illness'", "distinct-l-diversity", {"l": 4}),
        ("grassberger-entropy-2.5-diversity for attribute 'illness'", "entropy-l-diversity", {"l": 2.5}),
        ("shannon-entropy-3.0-diversity for attribute 'illness'", "entropy-l-diversity", {"estimator": "shannon"}),
        ("recursive-(4.0,3)-diversity for attribute 'illness'", "recursive-l-diversity", {"c": 4.0, "l": 3}),
        (
            "0.2-closeness with equal ground-distance for attribute 'illness'",
            "t-closeness",
            {"t": 0.2, "distance": "equal"},
        ),
        ("0.2-closeness with ordered distance for attribute 'illness'", "t-closeness", {"distance": "ordered"}),
        ("1.0-disclosure privacy for attribute 'illness'", "delta-disclosure", {"delta": 1.0}),
        ("enhanced-2.0-likeness for attribute 'illness'", "beta-likeness", {"beta": 2.0, "enhanced": True}),
        ("basic-2.0-likeness for attribute 'illness'", "beta-likeness", {"enhanced": False}),
        ("(0.1)-avg-reidentification-risk", "average-risk", {"threshold": 0.1}),
        ("(0.02)-sample-uniqueness", "sample-uniqueness", {"threshold": 0.02}),
    ],
)
def test_promises_have_their_counterpart(
    criterion: str, name: str, parameters: dict[str, object], tmp_path: Path
) -> None:
    project = read_project(write_project(tmp_path / "project.deid", (criterion,)))
    (model,) = translate_project(project).policy.models
    assert model.key() == name
    for field, value in parameters.items():
        got = getattr(model, field)
        assert value in (got, (got,))


def test_files_never_leave_the_folder(tmp_path: Path) -> None:
    run("import", write_project(tmp_path / "project.deid"), "--out", tmp_path / "mine", check=0)
    written = sorted(path.relative_to(tmp_path / "mine").as_posix() for path in (tmp_path / "mine").rglob("*.*"))
    assert written == ["hierarchies/1-age.csv", "hierarchies/2-zip_code.csv", "policy.yaml"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vocabulary": "7.0"}, "not known here; got '7.0'"),
        ({"hierarchy": "20;2*;*\n21;*\n"}, "differ in length"),
        ({"criteria": ("1-anonymity",)}, "at least 2"),
    ],
)
def test_a_project_that_is_not_understood_leaves_nothing(
    changes: dict[str, object], words: str, tmp_path: Path
) -> None:
    project = write_project(tmp_path / "project.deid", **changes)  # type: ignore[arg-type]
    done = run("import", project, "--out", tmp_path / "mine", check=1)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "mine").exists()


def test_no_project_at_all(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("readme.txt", "nothing")
    with pytest.raises(PolicyError, match="is no project of ARX"):
        read_project(tmp_path / "other.zip")
    (tmp_path / "cut.deid").write_bytes(write_project(tmp_path / "project.deid").read_bytes()[:-300])
    assert "Traceback" not in run("import", tmp_path / "cut.deid", "--out", tmp_path / "mine", check=1).stderr


def test_a_table_that_is_not_there_and_a_folder_that_is(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project.deid", data=False)
    assert "holds no table" in run("import", project, "--out", tmp_path / "mine", "--data", check=1).stderr
    assert not (tmp_path / "mine").exists()
    run("import", project, "--out", tmp_path / "mine", check=0)
    assert "a policy already" in run("import", project, "--out", tmp_path / "mine", check=1).stderr


def test_a_damaged_table_leaves_no_policy(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project.deid")
    whole = bytearray(project.read_bytes())
    place = whole.index(b"name;age;zip/code")
    whole[place : place + 4] = b"nema"  # its sum no longer fits
    project.write_bytes(whole)
    done = run("import", project, "--out", tmp_path / "mine", "--data", check=1)
    assert "cannot read the project" in done.stderr and "Traceback" not in done.stderr
    assert not list((tmp_path / "mine").iterdir())


def test_a_separator_that_is_none_is_told(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project.deid", separator="::")
    done = run("import", project, "--out", tmp_path / "mine", check=1)
    assert "cannot be read as rows" in done.stderr and "Traceback" not in done.stderr
