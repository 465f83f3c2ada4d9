"""The ledger: a chain that shows tampering, whole whenever it is cut off."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from shoal.errors import LedgerError, Refused
from shoal.gateway.ledger import Ledger, LedgerEntry

ENTRY = LedgerEntry(
    request="r1",
    request_hash="asked",
    client="ann",
    owner="north",
    source="north/people",
    table="people",
    version="v1",
    action="release",
    weights={"people.sex": 2.0},
    digest="d1",
)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    found = Ledger(tmp_path / "ledger.sqlite")
    for number in range(5):
        assert found.append(replace(ENTRY, request=f"r{number}", weights={f"people.c{number}": 1.0}), number)
    return found


def test_what_a_client_has_is_known_after_a_restart(ledger: Ledger) -> None:
    read_history = Ledger(ledger.path).read_history("ann")
    assert read_history.newest == 5 and sorted(read_history.raw) == [f"people.c{number}" for number in range(5)]
    assert Ledger(ledger.path).read_history("bob").newest == 0
    assert ledger.verify() == 5


def test_a_ledger_is_not_continued_with_another_key(ledger: Ledger, tmp_path: Path) -> None:
    """A key that was lost, or that of another gateway, would break the chain for everybody."""
    with pytest.raises(LedgerError, match="does not fit the newest entry"):
        Ledger(ledger.path, tmp_path / "another.key")
    assert Ledger(ledger.path).verify() == 5


def test_entries_cannot_be_changed_or_removed(ledger: Ledger) -> None:
    with sqlite3.connect(ledger.path) as db:
        for statement in ("UPDATE entries SET client = 'bob'", "DELETE FROM entries"):
            with pytest.raises(sqlite3.IntegrityError):
                db.execute(statement)


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE entries SET client = 'bob' WHERE number = 2",
        "UPDATE entries SET said = '{}' WHERE number = 5",
        "UPDATE entries SET digest = 'x' WHERE number = 3",
        "UPDATE entries SET at = '2020' WHERE number = 1",
        "UPDATE entries SET previous = 'x' WHERE number = 3",
        "DELETE FROM entries WHERE number = 1",
        "DELETE FROM entries WHERE number = 3",
        "UPDATE entries SET number = 9 WHERE number = 5",
        "INSERT INTO entries SELECT 6, at, 'x', asked, client, owner, source, tabled, origin, version, said, digest, "
        "hash, 'h' FROM entries WHERE number = 5",
    ],
)
def test_tampering_is_found(ledger: Ledger, tampering: str) -> None:
    assert ledger.verify() == 5
    with sqlite3.connect(ledger.path) as db:
        db.executescript(f"DROP TRIGGER unchanged; DROP TRIGGER undeleted; {tampering}")
    with pytest.raises(LedgerError):
        ledger.verify()


def test_newest_entries_that_are_gone_are_found_by_a_head_kept_elsewhere(ledger: Ledger) -> None:
    head = ledger.head()
    with sqlite3.connect(ledger.path) as db:
        db.executescript("DROP TRIGGER undeleted; DELETE FROM entries WHERE number = 5")
    assert ledger.verify() == 4
    with pytest.raises(LedgerError, match="gone"):
        ledger.verify(head)


def test_the_chain_cannot_be_mended_without_the_key(ledger: Ledger, tmp_path: Path) -> None:
    forged = Ledger(tmp_path / "forged.sqlite")
    forged.append(ENTRY, 0)
    ledger.path.with_name("forged.sqlite.key").write_bytes(ledger.path.with_name("ledger.sqlite.key").read_bytes())
    with pytest.raises(LedgerError):
        Ledger(forged.path).verify()
    assert oct(ledger.path.with_name("ledger.sqlite.key").stat().st_mode)[-3:] == "600"


def test_nothing_is_entered_twice(ledger: Ledger) -> None:
    assert ledger.append(replace(ENTRY, request="r3"), 5)
    assert ledger.verify() == 5
    for change in ({"digest": "another"}, {"request_hash": "another"}):
        with pytest.raises(Refused, match="under this number"):
            ledger.append(replace(ENTRY, request="r3", **change), 5)
    assert ledger.append(replace(ENTRY, request="r3", client="bob"), 0)  # another client's numbers are its own


def test_a_decision_on_an_old_state_is_not_entered(ledger: Ledger) -> None:
    assert not ledger.append(replace(ENTRY, request="new"), 4)
    assert ledger.verify() == 5


def test_what_is_about_other_persons_is_not_in_the_way(ledger: Ledger) -> None:
    """Nor is it skipped in what is remembered of the client."""
    other = Ledger(ledger.path)
    assert other.append(replace(ENTRY, request="other", source="north/visits", weights={"north/visits.ward": 1.0}), 0)
    assert ledger.append(replace(ENTRY, request="own"), 5)
    assert not ledger.append(replace(ENTRY, request="both", related=frozenset({"north/visits"})), 5)
    known = ledger.read_history("ann")
    assert (known.newest, known.within(["north/people"]).newest, known.within(["north/visits"]).newest) == (7, 7, 6)
    assert "north/visits.ward" in known.raw
    assert ledger.append(replace(ENTRY, request="both", related=frozenset({"north/visits"})), 7)


def test_many_at_once(ledger: Ledger) -> None:
    def add(number: int) -> None:
        while not ledger.append(replace(ENTRY, request=f"t{number}"), ledger.read_history("ann").newest):
            pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert ledger.verify() == 45


def test_what_is_remembered_is_what_would_be_read(ledger: Ledger) -> None:
    other = Ledger(ledger.path)
    for number, action in enumerate(["release", "anonymize", "anonymize"]):
        entry = replace(ENTRY, request=f"m{number}", action=action)
        assert ledger.append(entry, 5 + number)
        known, read = ledger.read_history("ann", cached=True), other.read_history("ann")
        assert known.newest == read.newest == 6 + number
        assert known.sources == read.sources
    assert known.newest == 8


def test_what_is_remembered_is_not_enough_to_append_behind_another_gateway(ledger: Ledger) -> None:
    other = Ledger(ledger.path)
    stale = other.read_history("ann").newest
    assert ledger.append(replace(ENTRY, request="new"), stale)
    assert other.read_history("ann", cached=True).newest == stale
    assert not other.append(replace(ENTRY, request="behind"), stale)
    assert other.append(replace(ENTRY, request="behind"), other.read_history("ann").newest)
    assert other.append(replace(ENTRY, request="new"), stale)  # the same again is no second entry
    assert ledger.verify() == 7


WRITER = """
import sys
from dataclasses import replace
from shoal.gateway.ledger import Ledger, LedgerEntry
ledger = Ledger(sys.argv[1])
entry = LedgerEntry(
    request="r", request_hash="asked", client="ann", owner="north", source="f", table="people", version="v1",
    action="release", weights={"people.sex": 2.0}, digest="d" * 200_000)
number = ledger.read_history("ann").newest
while True:
    print(number, flush=True)
    assert ledger.append(replace(entry, request=f"r{number}"), number)
    number += 1
"""


def test_killed_in_the_middle_nothing_is_lost_and_nothing_is_twice(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    done = 0
    for wait in (0.0, 0.003, 0.007, 0.013):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        while int(writer.stdout.readline()) < done + 3:
            pass
        time.sleep(wait)
        os.kill(writer.pid, signal.SIGKILL)
        begun = int((writer.stdout.read().split() or [done + 3])[-1])
        writer.wait()
        ledger = Ledger(path)
        done = ledger.verify()
        assert begun <= done <= begun + 1  # all that were finished, and the one that was begun whole or not at all
        assert [entry["request"] for entry in ledger.entries()] == [f"r{number}" for number in range(done)]


def test_killed_inside_a_transaction_leaves_nothing_of_it(ledger: Ledger) -> None:
    code = """
import os, sqlite3, sys
from shoal.gateway import ledger as module
real = module.Ledger._append
def cut(self, *given):
    assert real(self, *given)
    os.kill(os.getpid(), 9)
module.Ledger._append = cut
entry = module.LedgerEntry(
    request="cut", request_hash="asked", client="ann", owner="north", source="north/people", table="p", version="v",
    action="release", weights={}, digest="d")
module.Ledger(sys.argv[1]).append(entry, 5)
"""
    assert subprocess.run([sys.executable, "-c", code, str(ledger.path)], check=False).returncode == -signal.SIGKILL
    assert ledger.verify() == 5
    assert ledger.append(replace(ENTRY, request="cut"), 5)
    assert ledger.verify() == 6


@pytest.fixture
def shared(server: str, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger on a PostgreSQL server."""
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS shoal_ledger CASCADE")
    found = Ledger(server, tmp_path / "shared.key")
    for number in range(5):
        assert found.append(replace(ENTRY, request=f"r{number}", weights={f"people.c{number}": 1.0}), number)
    yield found


def test_a_ledger_on_a_server_is_the_same_chain(shared: Ledger, ledger: Ledger, server: str) -> None:
    again = Ledger(server, shared.path)
    assert again.verify(shared.head()) == ledger.verify() == 5
    assert again.read_history("ann") == ledger.read_history("ann")
    told = [[{**entry, "at": ""} for entry in one.entries(after=1, most=3, owner="north")] for one in (again, ledger)]
    assert told[0] == told[1] and len(told[0]) == 3


def test_entries_on_a_server_cannot_be_changed_removed_or_forged(shared: Ledger, server: str) -> None:
    with psycopg.connect(server, autocommit=True, options="-c search_path=shoal_ledger") as db:
        for statement in ("UPDATE entries SET client = 'bob'", "DELETE FROM entries", "TRUNCATE entries"):
            with pytest.raises(psycopg.errors.RaiseException):
                db.execute(statement)
        db.execute("ALTER TABLE entries DISABLE TRIGGER ALL")
        db.execute("UPDATE entries SET client = 'bob' WHERE number = 3")
    with pytest.raises(LedgerError, match="entry 3"):
        shared.verify()


def test_two_gateways_write_one_ledger(shared: Ledger, server: str) -> None:
    """Each has its own connections; no number is given twice, and who decided on too little decides again."""
    both = [shared, Ledger(server, shared.path)]

    def write(number: int) -> None:
        one, entry = both[number % 2], replace(ENTRY, request=f"many{number}")
        while not one.append(entry, one.read_history("ann").newest):
            pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(60)))
    assert [one.verify() for one in both] == [65, 65]
    assert [entry["number"] for entry in shared.entries()] == list(range(1, 66))


def test_a_connection_to_the_ledger_that_was_cut_is_made_anew(shared: Ledger, server: str) -> None:
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    with pytest.raises(LedgerError, match="cannot be used"):  # whether the entry was written is not known
        shared.append(replace(ENTRY, request="cut"), 5)
    assert shared.append(replace(ENTRY, request="cut"), 5)
    assert shared.verify() == 6


def test_a_ledger_on_a_server_needs_a_key_elsewhere(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LedgerError, match="key of its own"):
        Ledger(server)
    monkeypatch.delenv("NO_SUCH_LEDGER", raising=False)
    with pytest.raises(LedgerError, match="environment"):
        Ledger("$NO_SUCH_LEDGER")
    with pytest.raises(LedgerError) as error:
        Ledger("postgresql://me:hunter2@127.0.0.1:1/db", tmp_path / "some.key")
    assert "hunter2" not in str(error.value)


def test_a_ledger_on_a_server_takes_nothing_for_granted(server: str, tmp_path: Path) -> None:
    """Neither that a commit waits for the disk, nor that a trigger of that name is its own."""
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS shoal_ledger CASCADE")
        db.execute("CREATE TABLE theirs ()")
        db.execute("CREATE FUNCTION theirs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
        db.execute("CREATE TRIGGER append_only BEFORE DELETE ON theirs EXECUTE FUNCTION theirs()")
        db.execute("ALTER DATABASE postgres SET synchronous_commit = off")
        try:
            ledger = Ledger(server, tmp_path / "shared.key")
            assert ledger.append(ENTRY, 0)
            with ledger.store.reading() as session:
                assert session.execute("SHOW synchronous_commit").fetchone() == ("on",)
            with pytest.raises(psycopg.Error, match="append only"):
                db.execute("DELETE FROM shoal_ledger.entries")
        finally:
            db.execute("ALTER DATABASE postgres RESET synchronous_commit")
            db.execute("DROP TABLE theirs")
            db.execute("DROP SCHEMA shoal_ledger CASCADE")
