"""Each step by an HTTP client: what is shown, what is changed, what is refused; hostile names and cells are inert."""

from __future__ import annotations

import logging
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.engines import fingerprint
from shoal.policy import Policy
from shoal.studio.app import log_error
from shoal.studio.drafts import find_role, list_role, read_draft
from tests.command import run
from tests.studio.served import HOST, OWN, PATIENTS, POLICY, Served, read

HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"


def upload(served: Served, name: str, content: bytes) -> object:
    """Upload a table as the page's script does."""
    return served.client.post("/data/upload", content=content, headers={**OWN, "x-file-name": name})


def test_a_table_is_uploaded_looked_at_and_drafted(tmp_path: Path) -> None:
    served = Served(tmp_path)
    assert "Drop a file here" in served.get("/data").text
    upload(served, "../../etc/patients.csv", PATIENTS.encode())
    assert "6 records" in served.wait("/data/looking")
    assert "data-reload" in served.get("/data/looking", seen="0").text  # a page from before knows no columns
    assert "data-reload" not in served.get("/data/looking", seen=str(served.studio.project.state.revision)).text
    source = served.studio.project.state.source
    assert source is not None and source.name == "patients.csv"
    assert Path(source.path).parent == served.studio.project.folder / "data" and "patients" not in source.path
    assert Path(source.path).stat().st_mode & 0o077 == 0
    assert find_role(read_draft(served.text), "name") == "identifiers"  # a draft, as suggest makes it
    assert Policy(**read_draft(served.text)) == shoal.suggest(source.path).policy
    page = read(served.get("/columns").text)
    assert "the name speaks of health" in page and "Ann" not in page  # no value before it is asked for
    assert "Ann" in served.wait("/data/rows") and "Ann 1" in served.wait("/columns/values?column=name")
    upload(served, "other.csv", PATIENTS.replace("Ann", "Eve").encode())
    assert not Path(source.path).exists() and "Eve" in served.wait("/data/rows")
    served.studio.close()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.exe", b"x", "no kind of table"),
        ("a.csv", b"", "empty"),
        ("a.csv", b"x" * 2000, "too large"),
        ("", b"x", "no kind"),
    ],
)
def test_what_is_no_table_is_refused_and_leaves_nothing(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    served = Served(tmp_path, largest_upload=1000)
    answer = upload(served, name, content)
    assert answer.status_code == 422 and said in read(answer.text)  # type: ignore[attr-defined]
    assert served.studio.project.state.source is None
    assert (
        not list((served.studio.project.folder / "data").glob("*"))
        if (served.studio.project.folder / "data").exists()
        else True
    )
    served.studio.close()


def test_a_file_that_cannot_be_read_says_why_and_where(tmp_path: Path) -> None:
    served = Served(tmp_path).open(tmp_path, "age,zip\n1,2\n3,4,5\n", "")
    assert "cannot be read" in served.wait("/data/looking")
    served.studio.close()


def test_how_a_file_is_read_can_be_said(tmp_path: Path) -> None:
    table = "age;weight\n21;72,5\n24;81,25\n36;64,5\n38;70,5\n"
    served = Served(tmp_path).open(tmp_path, table, "")
    assert read_draft(served.text)["read"] == {"decimal": ",", "delimiter": ";"}
    served.post("/data/reading", delimiter=";", decimal=",", missing="24", strip="false", totals="", header="")
    served.wait("/data/looking")
    assert read_draft(served.text)["read"]["missing"] == ["24"]
    assert "missing" in served.wait("/data/rows")
    served.studio.close()


def test_the_hierarchy_of_a_column_is_tried_taken_and_edited(served: Served) -> None:
    tried = served.post("/columns/hierarchy/try", column="age", method="intervals", **{"of-widths": "10, 20"})
    assert tried.status_code == 200 and "[10, 20]" not in served.text
    spec = '{"hierarchy": "intervals", "widths": [10, 20]}'
    assert spec and "covers every value" in _wait_tried(served)
    served.post("/columns/hierarchy", column="age", method="intervals", **{"of-widths": "10, 20"})
    assert list_role(read_draft(served.text), "quasi_identifiers")["age"]["widths"] == [10, 20]
    assert "[20, 29]" in served.wait("/columns/hierarchy/drawing?column=age")
    served.post("/columns/hierarchy/edit", column="age", way="rename", one="[20, 29]", name="twenties")
    served.post("/columns/hierarchy/edit", column="age", way="move", moved="36", under="twenties")
    nodes = list_role(read_draft(served.text), "quasi_identifiers")["age"]
    assert nodes["hierarchy"] == "tree" and "twenties" in str(nodes["nodes"])
    refused = served.post("/columns/hierarchy/edit", column="age", way="merge", label=["twenties"], name="x")
    assert refused.status_code == 422 and "two or more" in read(refused.text)
    assert "Lost at k" in served.wait("/columns/hierarchy/fit?column=age")


def _wait_tried(served: Served) -> str:
    for _ in range(100):
        page = served.post("/columns/hierarchy/try", column="age", method="intervals", **{"of-widths": "10, 20"}).text
        if "data-poll" not in page:
            return read(page)
    raise AssertionError("never drawn")


def test_a_hierarchy_that_misses_values_says_which(served: Served) -> None:
    served.post("/columns/hierarchy", column="zip", method="tree", **{"of-nodes": "'*': {a: ['1000', '1010']}"})
    shown = served.wait("/columns/hierarchy/drawing?column=zip")
    assert "4 of 6 values are missing from the tree" in shown and "covers every value" not in shown


def test_several_hierarchy_files_are_matched_by_name_and_reviewed_before_they_count(served: Served) -> None:
    zips = "\n".join(f"{code};{str(code)[:2]}*;*" for code in (1000, 1010, 1100, 1110, 2000, 2010))
    files = [
        ("files", ("ZIP.csv", zips)),
        ("files", ("bad.yaml", "a: [")),
        ("files", ("tree_age.yaml", "'*': [21, 24]")),
    ]
    before = served.text
    review = served.client.post("/columns/upload", files=files, headers=OWN)
    assert review.url.path == "/columns/files" and served.text == before
    shown = review.text
    assert "<option selected>zip</option>" in shown and "<option selected>age</option>" in shown
    assert "is not YAML" in read(shown)
    served.post("/columns/files", **{"for-ZIP.csv": "zip", "for-tree_age.yaml": ""})
    specs = list_role(read_draft(served.text), "quasi_identifiers")
    assert specs["zip"]["hierarchy"] == "tree" and specs["age"]["hierarchy"] == "intervals"
    text = POLICY.replace("{hierarchy: mask, keep: [3, 2, 1]}", "{hierarchy: tree, file: ZIP.csv}")
    assert served.post("/policy", text=text, step="columns", revision="").status_code == 200  # now it was uploaded
    refused = served.client.post("/columns/upload", files=[("files", ("a.sh", "x"))], headers=OWN)
    assert refused.status_code == 422


def test_details_of_a_column(served: Served) -> None:
    assert "How much the column matters" in read(served.get("/columns/details", column="age").text)
    served.post("/columns/details", column="age", weight="3", missing="own-value", publish="ranges", ends="rounded")
    spec = list_role(read_draft(served.text), "quasi_identifiers")["age"]
    assert spec["weight"] == 3 and spec["publish"] == "ranges" and spec["hierarchy"] == "intervals"


def test_promises_are_set_added_and_dropped(served: Served) -> None:
    page = read(served.get("/promises").text)
    assert "Every record looks like at least k - 1 others" in page and "Protects from" in page
    served.post("/promises/model", name="k-anonymity", number="0", k="3")
    served.post("/promises/model", name="distinct-l-diversity", on="illness", l="2")
    policy = Policy(**read_draft(served.text))
    assert [model.asked for model in policy.models] == [3, 2]
    refused = served.post("/promises/model", name="k-anonymity", number="0", k="1")
    assert refused.status_code == 422 and "must be at least 2" in read(refused.text)
    served.post("/promises/model", name="x", number="1", drop="1")
    served.post("/promises/rest", max_suppressed="12.5", publish="sets", suppressed="drop")
    served.post("/promises/search", name="shoal", effort="0")
    served.post("/promises/context", dataset="Patients of 2024", risk="maximum")
    policy = Policy(**read_draft(served.text))
    assert (policy.max_suppressed, policy.publish, policy.suppressed, len(policy.models)) == (0.125, "sets", "drop", 1)
    assert policy.algorithm.key() == "shoal" and policy.context is not None
    assert policy.context.dataset == "Patients of 2024"
    assert "followed" in read(served.post("/promises/preset", preset="ihsn-3").text)


def test_conflicts_are_told_and_a_relaxation_is_one_click(served: Served) -> None:
    served.post("/promises/model", name="k-anonymity", number="0", k="4")
    served.post("/promises/model", name="distinct-l-diversity", on="illness", l="4")
    told = served.wait("/promises/live")
    assert "cannot be met" in told and "Each of these was tried and works" in told
    revision = str(served.studio.project.state.revision)
    assert served.post("/promises/relax", number="9", revision=revision).status_code == 422
    served.post("/promises/relax", number="0", revision=revision)
    assert "Every promise can be kept" in served.wait("/promises/live")
    assert served.post("/promises/relax", number="0", revision=revision).status_code == 422  # another policy by now


@pytest.mark.slow
def test_explore(served: Served) -> None:
    assert "cannot be kept" in served.wait("/explore/preview")  # k = 10 of 6 records
    page = served.post("/explore/compare", k="2, 3", algorithm=["mondrian"])
    job = page.url.params["job"]
    assert "mondrian 2" in served.wait(f"/explore/found?job={job}")
    job = served.post("/explore/lattice").url.params["job"]
    assert "nodes" in served.wait(f"/explore/found?job={job}")
    served.post("/explore/node", **{"at-age": "2", "at-zip": "1"})
    policy = Policy(**read_draft(served.text))
    assert policy.algorithm.parameters() == {"levels": {"age": 2, "zip": 1}}
    page = served.post("/explore/policies", version=["now", "step-0"])
    shown = served.wait(f"/explore/found?job={page.url.params['job']}")
    assert "fixed-levels" in shown and "What changed" in shown
    assert served.post("/explore/compare", k="two", algorithm="mondrian").status_code == 422


@pytest.mark.slow
def test_the_release_is_byte_for_byte_that_of_the_command_line(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "STRETCH", 2**14)  # as the command line has it, which is another process
    job = served.post("/release/run", mapping="1").url.params["job"]
    shown = served.wait(f"/release/made?job={job}")
    assert "Every promise holds" in shown and "k-anonymity 2 2 yes" in shown and "before" in shown
    made = served.studio.project.folder / "releases" / job
    run("anonymize", tmp_path / "table.csv", "--policy", made / "policy.yaml", "--out", tmp_path / "out", check=0)
    for name in ("release.csv", "audit.json", "report.html", "manifest.json"):
        assert (made / "release" / name).read_bytes() == (tmp_path / "out" / name).read_bytes(), name
    for name in ("table-release", "audit", "report", "external", "manifest", "policy", "mapping"):
        answer = served.get("/release/file", job=job, name=name)
        assert answer.status_code == 200 and "attachment" in answer.headers["content-disposition"]
    rows = pl.read_csv(served.get("/release/file", job=job, name="mapping").content)
    assert sorted(rows["original_record"]) == [1, 2, 3, 4, 5, 6]
    report = served.get("/release/report", job=job)
    assert report.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    for name in ("../policy.yaml", "/etc/passwd", "nothing"):
        assert served.get("/release/file", job=job, name=name).status_code == 422
    assert served.get("/release/file", job="../..", name="audit").status_code == 422
    assert "Ann" not in "".join(path.read_text() for path in (served.studio.project.folder / "jobs").iterdir())
    assert "prosecutor" in read(served.get("/risk").text) and "Records at risk" in served.wait("/risk/before")
    attack = served.post("/risk/attack", attack=["uniqueness", "linking"]).url.params["job"]
    assert "uniqueness" in served.wait(f"/risk/attacks?job={attack}")
    served.post("/columns/role", column="age", role="sensitive")
    served.post("/release/restore", job=job)
    assert find_role(read_draft(served.text), "age") == "quasi_identifiers"
    served.post("/release/forget", job=job)
    assert not made.exists() and "Release 1" not in served.get("/release").text


@pytest.mark.slow
def test_markup_in_names_and_cells_is_text(tmp_path: Path) -> None:
    names = pl.DataFrame(
        {HOSTILE: ["a", HOSTILE, "b", "c"], "age": [21, 22, 31, 32], "illness": [HOSTILE, "x", "y", "z"]}
    )
    names.write_csv(tmp_path / "given.csv")
    policy = Policy(
        quasi_identifiers={
            HOSTILE: {"hierarchy": "tree", "nodes": {"*": {HOSTILE + "2": ["a", HOSTILE], "d": ["b", "c"]}}}
        },
        sensitive=["illness"],
        others="drop",
        models=[{"name": "k-anonymity", "k": 2}],
    )
    served = Served(tmp_path).open(tmp_path, (tmp_path / "given.csv").read_text(), policy.to_yaml())
    job = served.post("/release/run").url.params["job"]
    paths = [
        "/data",
        "/columns",
        "/promises",
        "/explore",
        "/risk",
        "/release",
        f"/release/made?job={job}",
        "/risk/before",
    ]
    paths += ["/data/rows", "/explore/preview", "/promises/live", "/columns/fit"]
    column = str(served.client.build_request("GET", "/", params={"column": HOSTILE}).url.query, "ascii")
    paths += [
        f"/columns/{part}?{column}" for part in ("values", "details", "hierarchy", "hierarchy/drawing", "hierarchy/fit")
    ]
    for path in paths:
        served.wait(path) if "data-poll" in served.client.get(path).text else None
        page = served.client.get(path).text
        assert "<img" not in page and "<script>" not in page, path
    assert "&lt;img" in served.client.get(f"/columns/hierarchy/drawing?{column}").text
    served.studio.close()


def test_logs_hold_no_value_of_the_data(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        log_error(ValueError("Ann has flu"))
        served.get("/columns/values", column="name")
        served.wait("/data/rows")
    assert "ValueError" in caplog.text and "Ann" not in caplog.text and served.keeper.token not in caplog.text


def test_what_is_not_there_is_told(served: Served) -> None:
    assert served.get("/nothing").status_code == 404
    assert served.get("/release/made", job="none").status_code == 422
    large = served.client.post("/policy", content=b"x" * 20_000_000, headers=OWN | {"host": HOST})
    assert large.status_code == 422 and "too large" in large.text
