"""``shoal gateway-ledger``: for auditors, and for the owner's word."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from shoal.gateway.ledger import Ledger
from tests.command import run
from tests.gateway.test_families import ask, opened, owner, table, write
from tests.gateway.test_ledger_head import delete, head_of, settle


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A gateway's folder, with its configuration, ``backup`` of its ledger, and two entries since."""
    write(tmp_path)
    (tmp_path / "gateway.yaml").write_text(
        json.dumps(
            {
                "owners": {"nord": owner({"staff": "people.csv"}, staff=table())},
                "clients": {"ann": {}},
                "ledger": "ledger.sqlite",
                "ledger_head": "heads",
            }
        )
    )
    gateway = opened(tmp_path, north=owner({"people": "people.csv"}, people=table()))
    ask(gateway, "sex")
    settle(gateway.ledger.path)
    shutil.copyfile(gateway.ledger.path, tmp_path / "backup")
    gateway.ledger.close()
    renamed = opened(tmp_path, nord=owner({"staff": "people.csv"}, staff=table()))
    ask(renamed, "race", "staff")
    ask(renamed, "town", "staff")
    renamed.ledger.close()
    return tmp_path


def restore(folder: Path) -> Path:
    path = folder / "ledger.sqlite"
    delete(path)
    shutil.copyfile(folder / "backup", path)
    return path


def test_a_whole_ledger_is_told_so(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file() and "-" not in path.name}
    done = run("gateway-ledger", "verify", folder / "ledger.sqlite", check=0)
    assert "entries  3\nclients  ann\n" in done.stdout and "head     3 entries\n" in done.stdout
    assert "table    north/people, now nord/staff: people.csv\n" in done.stdout
    assert done.stdout.endswith("The chain is whole, and no entry is missing.\n")
    assert {path: path.read_bytes() for path in before} == before
    told = json.loads(run("gateway-ledger", "verify", folder / "ledger.sqlite", "--json", check=0).stdout)
    assert (told["entries"], told["head"], told["whole"], told["faults"]) == (3, 3, True, [])
    run("gateway-ledger", "verify", folder / "ledger.sqlite", "--noted", told["newest"], check=0)


def test_a_restored_copy_is_told_and_accepted(folder: Path) -> None:
    noted = Ledger(folder / "ledger.sqlite").head()
    path = restore(folder)
    done = run("gateway-ledger", "verify", path, check=1)
    assert "older than its head" in done.stderr and "is whole" not in done.stdout
    assert json.loads(run("gateway-ledger", "verify", path, "--json", check=1).stdout)["whole"] is False
    run("gateway-ledger", "accept", path, check=2)  # without a reason
    run("gateway-ledger", "accept", path, "--reason", " ", check=2)
    accepted = run("gateway-ledger", "accept", path, "--reason", "the disk broke\x1b[31m", check=0)
    assert accepted.stdout.startswith("Accepted: entry 2 says why.")
    done = run("gateway-ledger", "verify", path, check=0)
    assert "the disk broke" in done.stdout and "\x1b" not in done.stdout and "after 1 accepted" in done.stdout
    assert "was once the newest" in run("gateway-ledger", "verify", path, "--noted", noted, check=1).stderr
    assert "nothing to accept" in run("gateway-ledger", "accept", path, "--reason", "again", check=1).stderr
    assert ask(opened(folder, nord=owner({"staff": "people.csv"}, staff=table())), "race", "staff") == "release"


def test_where_ledger_and_heads_are_may_be_read_from_the_configuration(folder: Path) -> None:
    """Its other place has no head yet: that is told, and accepted once."""
    config = folder / "gateway.yaml"
    assert "heads: the head of the ledger is gone" in run("gateway-ledger", "verify", config, check=1).stderr
    run("gateway-ledger", "accept", config, "--reason", "a second place", check=0)
    run("gateway-ledger", "verify", config, check=0)
    restore(folder)
    shutil.copyfile(next((folder / "heads").iterdir()), head_of(folder / "ledger.sqlite"))
    assert run("gateway-ledger", "verify", config, check=1).returncode == 1


def test_what_is_no_ledger_is_told(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_text("no ledger")
    (tmp_path / "ledger.sqlite.key").write_text("ab" * 32)
    for name in ("ledger.sqlite", "nowhere.sqlite", "nowhere.yaml"):
        assert run("gateway-ledger", "verify", tmp_path / name, check=1).stderr
        assert run("gateway-ledger", "accept", tmp_path / name, "--reason", "x", check=1).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.sqlite", "ledger.sqlite.key"]
