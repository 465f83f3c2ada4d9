"""The head that is kept apart: a ledger that vanished, was replaced or lost entries is not used, and none is made."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from shoal.errors import LedgerError, PolicyError, Unavailable
from shoal.gateway.config import GatewayConfig
from shoal.gateway.ledger import Ledger
from shoal.gateway.ledger_audit import InspectedLedger, open_to_accept
from shoal.gateway.ledger_head import HeadFile, HeadFolder, LedgerHead
from shoal.gateway.mediator import Gateway
from tests.gateway.conftest import Memory
from tests.gateway.test_decisions import POLICY, people
from tests.gateway.test_ledger import ENTRY

Change = Callable[[Path], None]


def fill(ledger: Ledger, count: int, client: str = "ann") -> None:
    """Add entries of a client."""
    entry = replace(ENTRY, client=client)
    before = ledger.read_history(client).newest
    for _ in range(count):
        assert ledger.append(replace(entry, request=f"{client} after {before}"), before)
        before = ledger.read_history(client).newest


def settle(path: Path) -> None:
    """Write everything that SQLite keeps beside the file into it, as a backup has it."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def head_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.key.head")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A ledger of ten entries, and a copy of it (``copy``) from when it had five."""
    made = Ledger(tmp_path / "ledger.sqlite")
    fill(made, 5)
    settle(made.path)
    shutil.copyfile(made.path, tmp_path / "copy")
    fill(made, 5)
    settle(made.path)
    return made


def delete(path: Path) -> None:
    for name in ("", "-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)


def replace_by_older(path: Path) -> None:
    Path(shutil.copyfile(path.with_name("copy"), path.with_name("another copy"))).replace(path)


def overwrite_with_older(path: Path) -> None:
    shutil.copyfile(path.with_name("copy"), path)


def remove_newest(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript("DROP TRIGGER undeleted; DELETE FROM entries WHERE number = 10")


def empty(path: Path) -> None:
    delete(path)
    path.touch()


DAMAGES = {
    "deleted": (delete, "gone"),
    "replaced by an older copy": (replace_by_older, "was replaced|older than its head"),
    "overwritten with an older copy": (overwrite_with_older, "older than its head"),
    "without its newest entry": (remove_newest, "older than its head"),
    "emptied": (empty, "was replaced|gone"),
}


@pytest.mark.parametrize(("damage", "told"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_ledger_that_is_not_what_it_was_is_not_used_any_more(ledger: Ledger, damage: Change, told: str) -> None:
    """Nor by a process that had it open: neither is anything read of a client's history nor an entry added."""
    seen = ledger.read_history("ann").newest
    damage(ledger.path)
    for use in (
        lambda: ledger.read_history("ann"),
        lambda: ledger.append(replace(ENTRY, request="after-the-damage"), seen),
        lambda: ledger.digests("ann", "ann after 3"),
        ledger.check,
        ledger.probe,
    ):
        with pytest.raises(LedgerError, match=told):
            use()
    kept = ledger.path.parent.glob("ledger.sqlite*")
    assert not any(b"after-the-damage" in file.read_bytes() for file in kept)


@pytest.mark.parametrize(("damage", "told"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_ledger_that_is_not_what_it_was_is_refused_at_start(ledger: Ledger, damage: Change, told: str) -> None:
    damage(ledger.path)
    before = ledger.path.exists()
    with pytest.raises(LedgerError, match=f"{told}.*gateway-ledger accept"):
        Ledger(ledger.path)
    assert ledger.path.exists() == before  # no empty one is left, on which a backup would be laid


def test_without_the_head_an_older_copy_would_pass(ledger: Ledger) -> None:
    """The chain alone does not tell: that the tests above find it is the head's doing."""
    delete(ledger.path)
    shutil.copyfile(ledger.path.with_name("copy"), ledger.path)
    assert InspectedLedger(ledger.path).verify() == 5


def test_a_head_that_is_gone_is_told(ledger: Ledger) -> None:
    head_of(ledger.path).unlink()
    with pytest.raises(LedgerError, match=r"nobody can tell.*gateway-ledger accept"):
        Ledger(ledger.path)
    with pytest.raises(LedgerError, match=r"ledger\.sqlite\.key\.head: the head of the ledger is gone"):
        ledger.append(replace(ENTRY, request="after"), 10)
    assert not head_of(ledger.path).exists()


def forge(path: Path) -> None:
    text = path.read_bytes()
    path.write_bytes(text.replace(b'"entries": 10', b'"entries": 05').replace(b'"entries": 9', b'"entries": 4'))


def sign_with_another_key(path: Path) -> None:
    path.unlink()
    HeadFile(path, bytes(32)).create(LedgerHead(0, 10, "0" * 64))


@pytest.mark.parametrize("change", [forge, sign_with_another_key, lambda path: path.write_bytes(b"\xff" * 600)])
def test_a_forged_head_is_told(ledger: Ledger, change: Change) -> None:
    change(head_of(ledger.path))
    for use in (lambda: Ledger(ledger.path), lambda: ledger.append(replace(ENTRY, request="after"), 10)):
        with pytest.raises(LedgerError, match="not signed with the ledger's key"):
            use()


def test_a_key_that_is_gone_is_not_made_anew(ledger: Ledger) -> None:
    key = ledger.path.with_name("ledger.sqlite.key")
    key.unlink()
    delete(ledger.path)
    with pytest.raises(LedgerError, match="the key of the ledger is gone"):
        Ledger(ledger.path)
    assert not key.exists() and not ledger.path.exists()


def test_a_head_of_another_ledger_is_told(ledger: Ledger, tmp_path: Path) -> None:
    """Same key, as many entries, all of the chain good: another ledger all the same."""
    other = tmp_path / "other" / "ledger.sqlite"
    other.parent.mkdir()
    shutil.copyfile(ledger.path.with_name("ledger.sqlite.key"), other.with_name("ledger.sqlite.key"))
    fill(Ledger(other), 10)
    settle(other)
    delete(ledger.path)
    shutil.copyfile(other, ledger.path)
    with pytest.raises(LedgerError, match="is not the one of its head"):
        Ledger(ledger.path)


CUT = """
import os, sys
from dataclasses import replace
from shoal.gateway import ledger as module
def cut(self, *given):
    os.kill(os.getpid(), 9)
module.Ledger._advance = cut
entry = module.LedgerEntry(
    request="cut", request_hash="asked", client="ann", owner="north", source="north/people", table="p", version="v",
    action="release", weights={}, digest="d")
module.Ledger(sys.argv[1]).append(entry, int(sys.argv[2]))
"""


@pytest.mark.parametrize("entries", [0, 10])
def test_killed_between_the_entry_and_its_head(ledger: Ledger, tmp_path: Path, entries: int) -> None:
    """The ledger is ahead by one batch, then: at the next start the head follows, and the entry counts."""
    path = ledger.path if entries else tmp_path / "new.sqlite"
    done = subprocess.run([sys.executable, "-c", CUT, str(path), str(entries)], check=False)
    assert done.returncode == -signal.SIGKILL
    report = InspectedLedger(path).inspect()
    assert (report.entries, report.head, report.is_whole) == (entries + 1, entries, True)
    again = Ledger(path)
    assert again.read_history("ann").newest == entries + 1
    assert InspectedLedger(path).inspect().head == entries + 1


def test_entries_that_were_put_behind_the_head_are_looked_at(ledger: Ledger) -> None:
    """Whoever has no key cannot add what the head does not know yet: also not below an entry that is good."""
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(entries)")]
        chosen = ", ".join({"number": "11", "request": "'x'", "hash": "'h'"}.get(name, name) for name in columns)
        db.execute(f"INSERT INTO entries SELECT {chosen} FROM entries WHERE number = 10")
    with pytest.raises(LedgerError):
        Ledger(ledger.path)


def test_what_was_entered_counts_although_its_head_could_not_be_written(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer does not leave; asked again under its number it does, when the head is written too."""

    def fail(self: HeadFile, head: LedgerHead) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(HeadFile, "_write", fail)
        for _ in range(2):
            with pytest.raises(LedgerError, match="cannot be written; got No space left"):
                ledger.append(replace(ENTRY, request="again"), 10)
    assert InspectedLedger(ledger.path).inspect().head == 10
    assert ledger.append(replace(ENTRY, request="again"), 10)
    assert InspectedLedger(ledger.path).inspect().head == ledger.verify() == 11


def test_several_processes_share_ledger_and_head(ledger: Ledger) -> None:
    """Whoever enters something, the head is the newest; nobody takes the others' entries for a replaced ledger."""
    three = [ledger, Ledger(ledger.path), Ledger(ledger.path)]

    def write(number: int) -> None:
        one, entry = three[number % 3], replace(ENTRY, request=f"many{number}", client=f"c{number % 7}")
        while not one.append(entry, one.read_history(entry.client).newest):
            pass

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(60)))
    report = InspectedLedger(ledger.path).inspect()
    assert (report.entries, report.head, report.is_whole) == (70, 70, True)
    three[1].check()


WRITER = """
import sys
from dataclasses import replace
from shoal.gateway.ledger import Ledger, LedgerEntry
ledger = Ledger(sys.argv[1])
for number in range(40):
    entry = LedgerEntry(
        request=str(number), request_hash="asked", client=sys.argv[2], owner="north", source="f", table="p",
        version="v", action="release", weights={}, digest="d")
    assert ledger.append(entry, ledger.read_history(sys.argv[2]).newest)
"""


def test_processes_that_begin_and_write_at_once(tmp_path: Path) -> None:
    """Three start on a ledger that is not there: one of them begins it, none is refused."""
    path = tmp_path / "new.sqlite"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in ("a", "b", "c")]
    assert [(writer.communicate()[1], writer.returncode) for writer in writers] == [("", 0)] * 3
    report = InspectedLedger(path).inspect()
    assert (report.entries, report.head, report.is_whole) == (120, 120, True)


def test_a_head_is_whole_whenever_the_machine_stops(tmp_path: Path) -> None:
    """The newer of two heads is being written: cut anywhere, the older one is there."""
    place = HeadFile(tmp_path / "key.head", b"key")
    heads = [LedgerHead(0, number, "0" * 64) for number in (0, 1, 2)]
    place.create(heads[0])
    place.write(heads[1])
    before = place.path.read_bytes()
    place.write(heads[2])
    after = place.path.read_bytes()
    assert place.read() == heads[2] and len(before) == len(after)
    for cut in range(len(before) + 1):
        place.path.write_bytes(after[:cut] + before[cut:])
        assert place.read() in heads[1:], cut
    place.write(heads[0])  # an older one, of a process that was slower
    assert place.read() in heads[1:]


def test_heads_in_a_folder_are_written_once(ledger: Ledger, tmp_path: Path) -> None:
    folder, file = tmp_path / "heads", tmp_path / "elsewhere" / "ledger.head"
    with pytest.raises(LedgerError, match=r"heads, ledger\.head: the head of the ledger is gone"):
        Ledger(ledger.path, heads=[folder, file])  # a place that is new, or that somebody emptied
    InspectedLedger(ledger.path, heads=[folder, file]).accept("two more places for the head")
    kept = Ledger(ledger.path, heads=[folder, file])
    first = {path: path.read_bytes() for path in folder.iterdir()}
    fill(kept, 3)
    assert first == {path: path.read_bytes() for path in folder.iterdir()}  # one in a second is enough
    kept.close()
    assert first.items() < {path: path.read_bytes() for path in folder.iterdir()}.items()
    assert len(list(folder.iterdir())) == 2 and not any(path.stat().st_mode & 0o222 for path in folder.iterdir())
    report = InspectedLedger(ledger.path, heads=[folder, file]).inspect()
    assert (report.entries, report.head, report.is_whole) == (14, 14, True)
    newest = max(folder.iterdir())
    (folder / newest.name.replace("000014", "000015")).write_bytes(newest.read_bytes()[:50])  # the machine stopped
    assert HeadFolder(folder, kept._key).read() == kept.mark.look()


@pytest.mark.parametrize("kind", ["heads", "elsewhere.head"])
def test_another_place_tells_what_the_one_beside_the_key_cannot(ledger: Ledger, tmp_path: Path, kind: str) -> None:
    """Whoever restores ledger and head together, from the same day, is told by the place that they cannot write."""
    heads = [tmp_path / kind]
    InspectedLedger(ledger.path, heads=heads).accept("a place for the head")
    kept = Ledger(ledger.path, heads=heads)
    settle(ledger.path)
    saved = [shutil.copyfile(path, f"{path}.saved") for path in (ledger.path, head_of(ledger.path))]
    fill(kept, 2)
    kept.probe()  # as /health does
    delete(ledger.path)
    for path in saved:
        Path(path).replace(path.removesuffix(".saved"))
    assert Ledger(ledger.path).verify() == 11
    with pytest.raises(LedgerError, match="older than its head"):
        Ledger(ledger.path, heads=heads)


def test_a_lost_ledger_head_and_key_are_told_by_another_place(ledger: Ledger, tmp_path: Path) -> None:
    InspectedLedger(ledger.path, heads=[tmp_path / "heads"]).accept("a place for the head")
    delete(ledger.path)
    for path in (head_of(ledger.path), ledger.path.with_name("ledger.sqlite.key")):
        path.unlink()
    with pytest.raises(LedgerError, match="not signed with the ledger's key"):
        Ledger(ledger.path, heads=[tmp_path / "heads"])


def test_a_place_that_cannot_be_written_stops_answers(ledger: Ledger, tmp_path: Path) -> None:
    heads = [tmp_path / "heads"]
    InspectedLedger(ledger.path, heads=heads).accept("a place for the head")
    kept = Ledger(ledger.path, heads=heads)
    shutil.rmtree(heads[0])
    for use in (lambda: kept.append(replace(ENTRY, request="after"), 10), kept.probe):
        with pytest.raises(LedgerError, match="head"):
            use()


@pytest.mark.parametrize("damage", [overwrite_with_older, replace_by_older, delete])
def test_a_restored_copy_needs_the_owners_word(ledger: Ledger, damage: Change) -> None:
    """It is entered, and afterwards the line that was given up is as foreign as any other ledger."""
    given_up = shutil.copyfile(ledger.path, ledger.path.with_name("given up"))
    damage(ledger.path)
    if damage is overwrite_with_older:
        delete(ledger.path)  # and what SQLite had beside it
        overwrite_with_older(ledger.path)
    accepted = open_to_accept(ledger.path).accept("the disk broke; backup of Monday")
    entries = 1 if damage is delete else 6
    assert (accepted.accepted, accepted.entries) == (1, entries)
    again = Ledger(ledger.path)
    (entered,) = again.entries(after=entries - 1)
    assert (entered["action"], entered["decision"]["reason"]) == ("accept", "the disk broke; backup of Monday")
    fill(again, 7)
    assert again.verify() == entries + 7
    assert InspectedLedger(ledger.path).inspect().is_whole
    delete(ledger.path)
    shutil.copyfile(given_up, ledger.path)
    with pytest.raises(LedgerError, match="head"):
        Ledger(ledger.path)


def test_only_what_is_whole_and_needs_it_is_accepted(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="nothing to accept"):
        open_to_accept(ledger.path).accept("no reason")
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as db:
        db.executescript("DROP TRIGGER unchanged; UPDATE entries SET client = 'bob' WHERE number = 3")
    head_of(ledger.path).unlink()
    with pytest.raises(LedgerError, match="entry 3: the chain is broken"):
        open_to_accept(ledger.path).accept("it is good")
    assert not head_of(ledger.path).exists()
    with pytest.raises(LedgerError, match="there is no such key"):
        open_to_accept(tmp_path / "ledger.sqlit").accept("a slip of the finger")
    assert not (tmp_path / "ledger.sqlit").exists()


def test_a_head_that_was_accepted_goes_on_where_the_gateway_runs(ledger: Ledger) -> None:
    """The file is the same, only its head was lost: whoever runs need not start anew."""
    head_of(ledger.path).unlink()
    with pytest.raises(LedgerError):
        ledger.append(replace(ENTRY, request="after"), 10)
    open_to_accept(ledger.path).accept("a slip of the finger")
    assert ledger.append(replace(ENTRY, request="after"), 10)
    assert ledger.verify() == 12 and InspectedLedger(ledger.path).inspect().is_whole


def test_a_gateway_answers_nothing_without_its_ledger(opened: Callable[..., Gateway]) -> None:
    source = Memory(people=people())
    gateway = opened(source, POLICY)
    gateway.ask("ann", "SELECT sex FROM people")
    path = gateway.ledger.path
    delete(path)
    for client in ("ann", "bob"):
        with pytest.raises(Unavailable):
            gateway.ask(client, "SELECT sex FROM people")
    with pytest.raises(LedgerError, match="the ledger is gone"):
        opened(source, POLICY)
    assert not path.exists()


def test_where_heads_are_kept_is_said_in_the_configuration(tmp_path: Path) -> None:
    policy = {"quasi_identifiers": ["age"], "models": [{"name": "k-anonymity", "k": 2}]}
    north = {"database": {"files": {"people": "a.csv"}}, "tables": {"people": {"policy": policy}}}
    for said, meant in (("worm", ("worm",)), (["a.head", "worm"], ("a.head", "worm")), ([], ())):
        config = GatewayConfig(owners={"north": north}, ledger="ledger.sqlite", ledger_head=said)
        assert config.ledger_head == meant
    with pytest.raises(PolicyError, match="ledger_head"):
        GatewayConfig(owners={"north": north}, ledger="ledger.sqlite", ledger_head=7)


def test_a_disk_that_is_full_is_told(tmp_path: Path) -> None:
    """A real one, of half a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if (
        os.geteuid()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", folder], check=False).returncode
    ):
        pytest.skip("no disk can be mounted here")
    try:
        ledger = Ledger(folder / "ledger.sqlite")
        fill(ledger, 3)
        ledger.probe()
        with pytest.raises(OSError), (folder / "more").open("wb", buffering=0) as file:
            while file.write(bytes(4096)) == 4096:
                pass
            raise OSError
        with pytest.raises(LedgerError, match="nothing can be written beside the ledger; got No space left"):
            ledger.probe()
        assert sorted(path.name for path in folder.iterdir() if "probe" in path.name) == []
        with pytest.raises(LedgerError, match="cannot be used"):
            ledger.append(replace(ENTRY, request="large", digest="d" * 100_000), 3)
        (folder / "more").unlink()
        ledger.probe()
        fill(ledger, 2)
        assert InspectedLedger(ledger.path).inspect().is_whole
        settle(ledger.path)
        gc.collect()  # else the disk is busy
        ledger.close()
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        with pytest.raises(LedgerError, match=r"cannot be used|nothing can be written|cannot be written"):
            ledger.probe()
        ledger.store.close()
        report = InspectedLedger(ledger.path).inspect()  # an auditor's copy on a medium that cannot be written
        assert (report.entries, report.is_whole) == (5, True)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def shared(server: str, tmp_path: Path) -> Ledger:
    """A ledger of five entries on a PostgreSQL server."""
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS shoal_ledger CASCADE")
    found = Ledger(server, tmp_path / "shared.key")
    fill(found, 5)
    return found


LOSSES = {
    "without its newest entry": "ALTER TABLE entries DISABLE TRIGGER ALL; DELETE FROM entries WHERE number = 5",
    "emptied": "ALTER TABLE entries DISABLE TRIGGER ALL; TRUNCATE entries",
    "dropped": "DROP SCHEMA shoal_ledger CASCADE",
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_a_ledger_on_a_server_that_lost_entries_is_not_used(shared: Ledger, server: str, loss: str) -> None:
    with psycopg.connect(server, autocommit=True, options="-c search_path=shoal_ledger") as db:
        db.execute(loss)
        for use in (
            lambda: shared.append(replace(ENTRY, request="after"), 5),
            lambda: shared.read_history("ann"),
            shared.probe,
            lambda: Ledger(server, shared.path),
        ):
            with pytest.raises(LedgerError, match=r"older than its head|cannot be used|is gone"):
                use()
        accepted = open_to_accept(server, shared.path).accept("the server was set up anew")
        assert Ledger(server, shared.path).verify() == accepted.entries
        db.execute("DROP SCHEMA shoal_ledger CASCADE")


def test_gateways_on_other_machines_share_a_ledger_on_a_server(shared: Ledger, server: str, tmp_path: Path) -> None:
    """Each has a head of its own; one that was behind while another wrote is not in the way."""
    with pytest.raises(LedgerError, match=r"nobody can tell"):
        Ledger(server, shutil.copyfile(shared.path, tmp_path / "other.key"))
    shutil.copyfile(f"{shared.path}.head", tmp_path / "other.key.head")
    other = Ledger(server, tmp_path / "other.key")
    fill(other, 3, "bob")
    fill(shared, 2)
    shared.probe()
    again = InspectedLedger(server, tmp_path / "other.key").inspect()
    assert (again.entries, again.head, again.is_whole) == (10, 8, True)
    assert Ledger(server, tmp_path / "other.key").mark.look().entries == 10


@pytest.mark.slow
def test_a_server_that_only_lets_read_is_told(shared: Ledger, server: str) -> None:
    shared.probe()
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
        try:
            shared.store.close()
            with pytest.raises(LedgerError, match="cannot be used; got ReadOnlySqlTransaction"):
                shared.probe()
        finally:
            db.execute("SET default_transaction_read_only = off")
            db.execute("ALTER DATABASE postgres RESET default_transaction_read_only")
