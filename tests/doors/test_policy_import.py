"""shoal policy import: a configuration of the UTD toolbox in, a policy out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import run

from shoal.policy import Policy

PAPERS = Path(__file__).parent.parent / "papers"


@pytest.mark.parametrize("name", ["adult", "isp"])
def test_a_printed_configuration_becomes_a_policy(name: str, tmp_path: Path) -> None:
    done = run("policy", "import", PAPERS / f"utd-{name}.xml", check=0)
    policy = Policy.from_yaml(done.stdout)
    assert policy.k == 100
    assert len(policy.quasi_identifiers) == 3
    assert "name: mondrian" in done.stdout
    assert done.stdout.startswith("# data: dataset/")
    assert "# others: the toolbox publishes" in done.stdout

    run("policy", "import", PAPERS / f"utd-{name}.xml", "--out", tmp_path / "policy.yaml", check=0)
    assert (tmp_path / "policy.yaml").read_text() == done.stdout
    run("policy", "show", tmp_path / "policy.yaml", check=0)


def test_the_policy_anonymizes(tmp_path: Path) -> None:
    (tmp_path / "config.xml").write_text(
        "<config method='Datafly' k='3'><id><att index='0' name='name'/></id><qid>"
        "<att index='1' name='age'><vgh value='[0:100]'><node value='[0:50]'/><node value='[50:100]'/></vgh></att>"
        "</qid><sens><att index='2' name='illness'/></sens></config>"
    )
    rows = "".join(f"n{i},{i * 5 % 100},{['flu', 'cold'][i % 2]}\n" for i in range(40))
    (tmp_path / "data.csv").write_text("name,age,illness\n" + rows)
    run("policy", "import", tmp_path / "config.xml", "-o", tmp_path / "policy.yaml", check=0)
    run("anonymize", tmp_path / "data.csv", "-p", tmp_path / "policy.yaml", "-o", tmp_path / "out", check=0)
    assert (tmp_path / "out" / "release.csv").read_text().splitlines()[0] == "age,illness"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("<config><qid>", "not well-formed XML"),
        ("<!DOCTYPE config><config/>", "DOCTYPE"),
        ("<config k='3'><qid><att index='0' name='a'><vgh value='0..9'/></att></qid></config>", "is not a range"),
        ("<config k='1'><qid><att index='0' name='a'><vgh value='[0:9]'/></att></qid></config>", "at least 2"),
    ],
)
def test_a_mistake_ends_with_1_and_leaves_nothing(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "config.xml").write_text(content)
    done = run("policy", "import", tmp_path / "config.xml", "--out", tmp_path / "policy.yaml", check=1)
    assert words in done.stderr
    assert not (tmp_path / "policy.yaml").exists()


def test_a_file_or_folder_that_is_not_there(tmp_path: Path) -> None:
    assert "none.xml" in run("policy", "import", tmp_path / "none.xml", check=1).stderr
    out = tmp_path / "no" / "policy.yaml"
    assert "policy.yaml" in run("policy", "import", PAPERS / "utd-isp.xml", "--out", out, check=1).stderr
