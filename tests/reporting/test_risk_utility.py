"""The R-U map has every release, and marks those that no other beats in both."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command import run
from tests.perturbations.tables import people

import shoal
from shoal.explore.compare import compare
from shoal.reporting.risk_utility_page import map_risk_and_loss, render_risk_utility_page


def test_the_front_is_what_no_other_beats() -> None:
    table, policy = shoal.datasets.load("patients")
    rows = compare(table, policy, [2, 3, 40], ["mondrian", "shoal"], with_risk=True)
    found = map_risk_and_loss(rows)
    released = [row for row in rows if row["attained"] is not None]
    assert [(point["algorithm"], point["k"]) for point in found["points"]] == [
        (row["algorithm"], row["k"]) for row in released
    ]
    places = [(point["risk"]["mean"], point["loss"]) for point in found["points"]]
    for point, (risk, loss) in zip(found["points"], places, strict=True):
        beaten = any(other != (risk, loss) and other[0] <= risk and other[1] <= loss for other in places)
        assert point["front"] == (not beaten)
    text = render_risk_utility_page(found)
    assert text.count('<td class="name">') == len(found["points"])
    assert text == render_risk_utility_page(found)


def test_without_any_release_the_page_says_so() -> None:
    found = map_risk_and_loss([{"algorithm": "mondrian", "k": 9, "attained": None}])
    assert "No algorithm found a release" in render_risk_utility_page(found)


def test_the_command(tmp_path: Path) -> None:
    table, policy = shoal.datasets.load("patients")
    table.write_csv(tmp_path / "data.csv")
    policy.write(tmp_path / "policy.yaml")
    asked = ["compare", str(tmp_path / "data.csv"), "--policy", str(tmp_path / "policy.yaml"), "--map"]
    assert run(*asked).returncode == 2  # nowhere to write it
    told = run(*asked, "--k", "2,3", "--algorithms", "mondrian", "--out", str(tmp_path / "out"), "--quiet")
    assert told.returncode == 0, told.stderr
    found = json.loads((tmp_path / "out" / "map.json").read_text(encoding="utf-8"))
    assert [point["k"] for point in found["points"]] == [2, 3]
    assert (tmp_path / "out" / "map.html").exists()


def test_a_grid_of_perturbations(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "data.csv")
    (tmp_path / "policy.yaml").write_text(
        "others: drop\nperturb:\n  - {name: rank-swapping, columns: [income], window: 0.1}\n"
        "  - {name: pram, columns: [job], retain: 0.9}\n"
    )
    asked = ["compare", str(tmp_path / "data.csv"), "--policy", str(tmp_path / "policy.yaml")]
    vary = ["--vary", "rank-swapping.window=0.0001,0.01,0.5", "--vary", "pram.retain=0.5,0.9"]
    told = run(*asked, "--map", *vary, "--out", str(tmp_path / "out"))
    assert told.returncode == 0, told.stderr
    assert "window 0.0001, retain 0.5: no release" in told.stdout and "nobody to swap with" in told.stdout
    found = json.loads((tmp_path / "out" / "map.json").read_text(encoding="utf-8"))
    points = {point["setting"]: point for point in found["points"]}
    assert found["risk"] == "record-linkage" and len(points) == 4
    near, far = points["window 0.01, retain 0.9"], points["window 0.5, retain 0.5"]
    assert near["risk"]["distance"] > far["risk"]["distance"] and near["loss"] < far["loss"]
    assert "by agreement" in (tmp_path / "out" / "map.html").read_text()
    for wrong, words in (
        (["--vary", "pram.retain=0.5"], "--map"),
        (["--map", "--vary", "noise.share=0.5"], "no such method"),
        (["--map", "--vary", "pram.keep=0.5"], "no such parameter"),
        (["--map", "--vary", "pram.retain"], "is no method.parameter=values"),
        (["--map", "--vary", "pram.retain=2"], "retain"),
    ):
        done = run(*asked, *wrong, "--out", str(tmp_path / "other"))
        assert done.returncode != 0 and words in done.stderr and "Traceback" not in done.stderr
        assert not (tmp_path / "other").exists()
