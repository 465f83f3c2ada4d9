"""The parts of the service, each on its own: keys, rates, workers, jobs done together, answers that are kept."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.errors import PolicyError
from shoal.gateway.answer_service import AnswerService
from shoal.gateway.answer_source import AnswerSource, remember_answers
from shoal.gateway.config import ClientConfig, RetentionConfig
from shoal.gateway.evaluation import Evaluation, QueryableTable
from shoal.gateway.formats import Reply, choose_format, read_reply, write_reply
from shoal.gateway.group_commit import GroupCommit
from shoal.gateway.keys import Keyring
from shoal.gateway.labels import LabelReader
from shoal.gateway.limits import DeadlineExceeded, QueueFull, RateLimiter, WorkerPool
from shoal.gateway.mediator import Gateway
from shoal.gateway.releases import KeptAnswer, Releases
from shoal.gateway.request import Compare, Item, Order, Request
from shoal.gateway.stores import wait_turn
from shoal.gateway.union import UnionLayout
from shoal.gateway.verification import AnswerVerifier
from tests.gateway.served import hash_of

pytestmark = pytest.mark.service


def test_a_key_tells_whose_it_is_with_one_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("a.b", "a", "demo")
    ring = Keyring(
        {
            **{name: ClientConfig(key=hash_of(f"{name}.s")) for name in names[:2]},
            "demo": ClientConfig(key=hash_of("demo")),
        }
    )
    tried: list[str] = []
    real = Keyring.matches
    monkeypatch.setattr(Keyring, "matches", lambda self, stored, key: tried.append(stored) or real(self, stored, key))
    found = [ring.check(key) for key in ("a.b.s", "a.s", "demo", "a.b", "b.s", "nobody.s", "nobody", "", "demo.")]
    assert found == ["a.b", "a", "demo", None, None, None, None, None, None]
    assert len(tried) == 9  # each costs one hash, whoever is named


def test_a_client_without_a_key_cannot_come_through_the_door() -> None:
    assert Keyring({"ann": ClientConfig()}).check("ann") is None


def test_a_key_in_clear_is_not_taken_for_a_hash() -> None:
    with pytest.raises(PolicyError, match=r"clients\.ann\.key: is not an argon2 hash"):
        Keyring({"ann": ClientConfig(key="hunter2")})


def test_rates_fill_up_again_and_forget_who_is_long_gone() -> None:
    now = [0.0]
    rates = RateLimiter(clock=lambda: now[0])
    assert [rates.take("ann", 60) for _ in range(60)] == [0.0] * 60
    assert rates.take("ann", 60) == pytest.approx(1)
    rates.give_back("ann", 60)
    assert rates.take("ann", 60) == 0
    now[0] = 2.5
    assert [rates.take("ann", 60) > 0 for _ in range(3)] == [False, False, True]
    for number in range(20_000):
        rates.take(str(number), 1)
    assert rates.full_at.size == 10_000


def test_workers_refuse_more_than_may_wait_and_do_not_lose_what_is_late() -> None:
    go, done = threading.Event(), []

    def work() -> str:
        go.wait(20)
        done.append(1)
        raise ValueError("hunter2") if len(done) == 1 else TimeoutError

    async def tried() -> None:
        workers = WorkerPool(1, 1, 0.2)
        late = [asyncio.create_task(workers.run(work)) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(QueueFull):
            await workers.run(work)
        for one in late:
            with pytest.raises(DeadlineExceeded):
                await one
        assert workers.open_requests == 2
        go.set()
        while workers.open_requests:
            await asyncio.sleep(0.01)
        assert await workers.run(lambda: 7) == 7
        with pytest.raises(TimeoutError):  # an error of the work's own
            await workers.run(work)
        await workers.close()

    asyncio.run(tried())


def test_jobs_of_many_threads_are_done_in_few_goes() -> None:
    goes: list[int] = []

    def do(jobs: list[int]) -> list[int | Exception]:
        goes.append(len(jobs))
        time.sleep(0.02)
        return [ValueError(str(job)) if job == 7 else job * 2 for job in jobs]

    together: GroupCommit[int, int] = GroupCommit(do)  # type: ignore[arg-type]
    with ThreadPoolExecutor(16) as pool:
        found = [pool.submit(together.do, job) for job in range(64)]
    assert [one.result() for job, one in enumerate(found) if job != 7] == [job * 2 for job in range(64) if job != 7]
    assert isinstance(found[7].exception(), ValueError)
    assert sum(goes) == 64 and len(goes) < 16


def test_if_all_fail_each_is_told() -> None:
    def do(jobs: object) -> list[int]:
        raise RuntimeError("the disk")

    together: GroupCommit[int, int] = GroupCommit(do)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the disk"):
            together.do(1)


def test_answers_are_remembered_by_what_is_asked_not_by_what_python_takes_for_equal() -> None:
    frame, readers = pl.DataFrame({"on": [True, False]}), {"on": LabelReader("boolean", exact=True)}
    source = AnswerSource(QueryableTable(frame, readers), AnswerVerifier(frame, readers))
    asked = [Request("t", (Item("on", "on"),), where=Compare("on", "=", value)) for value in (True, "false")]
    assert [source.answer("ann", one).table["on"].to_list() for one in asked] == [[True], [False]]
    assert source.answer("ann", asked[0]) is source.answer("ann", asked[0])
    same = Request("t", (Item("on", "on"),), where=Compare("on", "=", 1))
    assert same == asked[0] and source.cache.get(repr(same)) is None


def test_the_memory_of_answers_is_bounded() -> None:
    memory = remember_answers(max_bytes=100_000)
    for number in range(200):
        table = pl.DataFrame({"a": np.arange(200)})
        memory.put(f"t{number}", Evaluation(table, np.arange(25)))
    assert memory.size <= 100_000 and memory.get("t199") is not None
    assert memory.get("t0") is None
    memory.put("large", Evaluation(pl.DataFrame({"a": np.arange(10_000)}), np.arange(1)))
    assert memory.get("large") is None


def test_small_answers_to_long_requests_are_bounded_too() -> None:
    """A count takes eight bytes, what it was asked by a thousand times as much."""
    memory = remember_answers(max_bytes=1_000_000)
    for number in range(200):
        long = Compare("a", "=", f"{number} {'x' * 10_000}")
        memory.put(repr(long), Evaluation(pl.DataFrame({"n": [1]}), np.arange(1)))
    assert 0 < memory.size <= 1_000_000 and memory.get(repr(long)) is not None


def test_kept_answers_go_when_they_are_old_or_too_many(example: Gateway) -> None:
    now = [time.time()]
    releases = Releases(RetentionConfig(days=2, size=10_000_000), example.ledger, clock=lambda: now[0])
    for number in range(3):
        releases.keep("ann", "x", example.ask("demo-client", "SELECT * FROM people", request=str(number)))
    assert len(list(releases.contents.iterdir())) == 1  # equal answers lie there once
    old = releases.locate("ann", "0")
    os.utime(old, (now[0] - 3 * 86_400,) * 2)
    releases.tidy(now=True)
    assert [releases.read_record("ann", str(number)) is not None for number in range(3)] == [False, True, True]
    Releases(RetentionConfig(size=0), example.ledger).tidy(now=True)
    assert not list(releases.records.iterdir()) and not list(releases.contents.iterdir())


def test_a_disk_that_is_full_does_not_spoil_the_answer(example: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    service, failed = AnswerService(example), []
    example.on_error = failed.append

    def full(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr("shoal.gateway.releases.write_whole", full)
    assert service.answer("demo-client", "SELECT * FROM people", number="1").table.height == 6
    assert isinstance(failed[0], OSError) and service.fetch("demo-client", "1") is None


def test_a_layout_survives_being_kept() -> None:
    layout = UnionLayout((Order("age", True), Order("sex")), 5, True, "owner")
    kept = KeptAnswer(asked="x", parts={"north": "y"}, layout=layout, rows=3, explanation={"notes": [], "k": 2.5})
    assert KeptAnswer.from_json(kept.to_json()) == kept
    assert b'"order_by": [["age", true], ["sex", false]]' in kept.to_json()  # as older versions wrote it


def test_every_kind_of_column_can_be_written() -> None:
    from datetime import date, datetime, time

    table = pl.DataFrame(
        {
            "*": [1.5, float("nan"), None],
            "^a$": ["x", None, 'q"\n'],
            "day": [date(2020, 1, 2), None, date(2021, 1, 1)],
            "at": [datetime(2020, 1, 2, 3), None, datetime(2021, 1, 1)],
            "clock": [time(1, 2, 3, 500_000), None, time(1)],
            "kind": pl.Series(["u", "v", None], dtype=pl.Categorical),
            "list": [[1], None, [2]],
        }
    )
    reply = Reply(table, {"request": "1"})
    assert b'"day":"2020-01-02"' in write_reply(reply, "json") and b"NaN" not in write_reply(reply, "json")
    for format in ("arrow", "parquet"):
        found = read_reply(write_reply(reply, format), format)  # type: ignore[arg-type]
        assert found.table["day"].to_list() == table["day"].to_list() and found.explanation == {"request": "1"}
    assert write_reply(reply, "csv").startswith(b"*,^a$,day")
    for format in ("json", "csv"):  # as every release writes them
        assert b"2020-01-02 03:00:00.000000" in write_reply(reply, format)  # type: ignore[arg-type]
        assert b"01:02:03.500" in write_reply(reply, format)  # type: ignore[arg-type]


SHARED = """
import threading
import polars as pl
from shoal.gateway.formats import Reply, write_reply
reply = Reply(pl.DataFrame({f"c{place}": [str(cell) for cell in range(200)] for place in range(12)}), {})
def write(number):
    for _ in range(300):
        write_reply(reply, ("json", "csv", "arrow", "parquet")[number % 4])
threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_threads_that_write_one_table_do_not_wait_for_each_other_for_ever() -> None:
    subprocess.run([sys.executable, "-c", SHARED], check=True, timeout=60)


@pytest.mark.parametrize(
    ("accept", "format"),
    [
        ("*/*", "json"),
        ("text/*", "csv"),
        ("application/*", "json"),
        ("application/vnd.apache.parquet;q=0.9, text/csv;q=0.5", "parquet"),
        ("text/csv;q=0", None),
        ("text/csv;q=x", None),
        (",;,", None),
    ],
)
def test_what_is_accepted(accept: str, format: str | None) -> None:
    assert choose_format(accept) == format


def test_libraries_of_the_service_are_imported_late(tmp_path: Path) -> None:
    heavy = "{'fastapi', 'uvicorn', 'argon2', 'httpx', 'starlette', 'polars', 'sqlglot'}"
    code = f"import sys, shoal.cli.app, shoal.gateway; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "set()"


def test_one_process_after_the_other_writes_the_ledger(tmp_path: Path) -> None:
    order: list[str] = []

    def write(name: str) -> None:
        with wait_turn(tmp_path / "turn"):  # each takes the file anew, as processes do
            order.append(name)
            time.sleep(0.05)
            order.append(name)

    threads = [threading.Thread(target=write, args=[name]) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order[::2] == order[1::2] and len(order) == 8
