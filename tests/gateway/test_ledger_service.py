"""The service, where its ledger is not what it was, or cannot be written: it says so, and nobody gets anything."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from shoal.gateway.ledger import Ledger
from tests.gateway.served import Served, example, served

pytestmark = pytest.mark.service

ASKED = "SELECT sex, race FROM people"


def health(service: Served) -> tuple[str, bool]:
    """Return what is said of the service and of its ledger, looked at now."""
    service.app.state.service.workers.answers.forget_health()
    told = httpx.get(f"{service.url}/health").json()
    return told["status"], told["ledger"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a small disk, where one can be mounted."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", path]
    if os.geteuid() or subprocess.run(command, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def fill(folder: Path) -> Path:
    """Fill a disk to its last byte."""
    more = folder / "more"
    with pytest.raises(OSError, match="No space"), more.open("wb", buffering=0) as file:
        while True:
            if file.write(bytes(4096)) < 4096:
                file.write(b"0")
    return more


def test_health_is_not_ok_with_a_full_disk(folder: Path, tmp_path: Path) -> None:
    with served(example(tmp_path / "example", ledger=str(folder / "ledger.sqlite"))) as service:
        assert service.ask(ASKED).status_code == 200
        assert health(service) == ("ok", True)
        more = fill(folder)
        assert health(service) == ("degraded", False)
        assert any("No space left" in line.get("said", "") for line in service.lines())
        more.unlink()
        assert health(service) == ("ok", True)
        assert service.ask(ASKED).status_code == 200


@pytest.mark.parametrize("name", ["ledger.sqlite", "ledger.sqlite.key.head"])
def test_without_ledger_or_head_nobody_gets_anything(tmp_path: Path, name: str) -> None:
    """Neither a new answer nor an earlier one; put back, it is as before."""
    path = tmp_path / "ledgers" / "ledger.sqlite"
    with served(example(tmp_path / "example", ledger=str(path))) as service:
        assert service.ask(ASKED, request="1").status_code == 200
        kept = path.with_name(name).rename(tmp_path / "kept")
        assert health(service) == ("degraded", False)
        assert [service.ask(ASKED, who).status_code for who in ("ann", "bob")] == [503, 503]
        with service.http() as http:
            assert http.get("/releases/1").status_code == 503
            assert service.ask(ASKED, request="1").status_code == 503
        assert not path.with_name(name).exists()
        kept.rename(path.with_name(name))
        assert health(service) == ("ok", True)
        assert service.ask(ASKED, request="1").status_code == 200


def test_a_ledger_of_yesterday_is_noticed_while_the_service_runs(tmp_path: Path) -> None:
    """What ann got today would be hers to get again, beside it."""
    path = tmp_path / "ledgers" / "ledger.sqlite"
    with served(example(tmp_path / "example", ledger=str(path))) as service:
        service.ask("SELECT sex FROM people")
        service.gateway.ledger.close()
        shutil.copytree(path.parent, tmp_path / "backup")
        assert service.ask("SELECT race FROM people").json()["decisions"][0]["action"] == "release"
        for old in path.parent.glob("ledger.sqlite*"):
            if old.is_file() and "key" not in old.name:
                old.unlink()
        shutil.copyfile(tmp_path / "backup" / "ledger.sqlite", path)
        assert service.ask("SELECT age FROM people").status_code == 503
        assert health(service) == ("degraded", False)


def test_two_services_write_one_chain(tmp_path: Path) -> None:
    config = example(tmp_path / "example", ledger=str(tmp_path / "ledger.sqlite"))
    with served(config) as one, served(config) as other:
        for number in range(6):
            assert (one, other)[number % 2].ask(f"SELECT sex FROM people LIMIT {number + 1}").status_code == 200
        assert [health(service) for service in (one, other)] == [("ok", True)] * 2
        first = one.ask("SELECT race FROM people", request="7").json()
        with other.http() as http:
            assert http.get("/releases/7").json()["records"] == first["records"]
        assert other.ask("SELECT age FROM people").json()["decisions"][0]["action"] == "anonymize"
    assert Ledger(tmp_path / "ledger.sqlite").verify() == 8
