"""Several processes behind one port count a client's requests together, and a restart is no new allowance."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.gateway.ledger import Ledger
from shoal.gateway.limits import RateLimiter
from shoal.gateway.shared_rates import RateFile, SharedRates, open_rates
from tests.gateway.served import clients, example, served

pytestmark = pytest.mark.service

Clock = Callable[[], float]
EVENTS = st.lists(
    st.tuples(st.floats(0, 40), st.sampled_from(["ann", "bob"]), st.sampled_from(["take", "take", "take", "back"])),
    max_size=30,
)


@settings(max_examples=50, deadline=None)
@given(EVENTS, st.integers(1, 5))
def test_the_same_as_in_one_process(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[float, str, str]], rate: int
) -> None:
    """Whichever of two processes is asked."""
    now, file = [1e9], tmp_path_factory.mktemp("rates") / "rates"
    alone = RateLimiter(clock=lambda: now[0])
    two = [SharedRates(RateFile(file).use, "client", clock=lambda: now[0]) for _ in range(2)]
    for number, (seconds, name, what) in enumerate(events):
        now[0] += seconds
        if what == "back":
            alone.give_back(name, rate)
            two[number % 2].give_back(name, rate)
        else:
            assert two[number % 2].take(name, rate) == pytest.approx(alone.take(name, rate), abs=1e-5)


def test_a_clock_that_was_wrong_makes_nobody_wait_for_long(tmp_path: Path) -> None:
    now = [1e9 + 1e6]
    rates = SharedRates(RateFile(tmp_path / "rates").use, "client", clock=lambda: now[0])
    assert rates.take("ann", 1) == 0
    now[0] = 1e9
    assert rates.take("ann", 1) == 0 < rates.take("ann", 1) <= 60
    now[0] -= 5  # another machine's
    assert 60 < rates.take("ann", 1) <= 65
    now[0] += 65
    assert rates.take("ann", 1) == 0


def test_kinds_of_names_do_not_meet(tmp_path: Path) -> None:
    """An address that is called as a client does not use its tokens."""
    store = Ledger(tmp_path / "ledger.sqlite").store
    client, address = (open_rates(store, kind) for kind in ("client", "address"))
    assert (client.take("ann", 1), address.take("ann", 1)) == (0, 0)
    assert client.take("ann", 1) > 0


TAKER = """
import sys
from pathlib import Path
from shoal.gateway.ledger import Ledger
from shoal.gateway.shared_rates import open_rates
rates = open_rates(Ledger(sys.argv[1], sys.argv[2]).store, "client")
print(sum(rates.take("ann", 50) == 0 for _ in range(60)))
"""


def take_in_processes(location: str, key: Path) -> int:
    """Return how many tokens of fifty three processes get that ask for sixty each."""
    command = [sys.executable, "-c", TAKER, location, str(key)]
    takers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    return sum(int(taker.communicate()[0]) for taker in takers)


def test_processes_at_once_get_no_more_than_one(tmp_path: Path) -> None:
    assert 50 <= take_in_processes(str(tmp_path / "ledger.sqlite"), tmp_path / "key") <= 60  # it fills up meanwhile


def test_processes_on_several_machines_count_on_the_server(server: str, tmp_path: Path) -> None:
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS shoal_ledger CASCADE")
        assert 50 <= take_in_processes(server, tmp_path / "key") <= 60
        rates = open_rates(Ledger(server, tmp_path / "key").store, "client")
        rates.give_back("ann", 50)
        assert rates.take("ann", 50) == 0
        db.execute("DROP SCHEMA shoal_ledger CASCADE")
        assert rates.take("ann", 1) == 0 < rates.take("ann", 1)  # then each process counts for itself


def test_where_nothing_can_be_written_each_process_counts(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    rates = SharedRates(RateFile(folder / "rates").use, "client")
    shutil.rmtree(folder)
    assert rates.take("ann", 1) == 0 < rates.take("ann", 1)


def test_what_is_full_again_is_forgotten(tmp_path: Path) -> None:
    now, file = [0.0], RateFile(tmp_path / "rates")
    rates = SharedRates(file.use, "address", clock=lambda: now[0])
    for number in range(3_000):
        now[0] += 1
        rates.take(f"10.0.{number // 250}.{number % 250}", 10)
    with contextmanager(file.use)() as db:
        assert db.execute("SELECT count(*) FROM rates").fetchone()[0] < 1_100


def test_two_services_of_one_ledger_share_what_a_client_may_ask(tmp_path: Path) -> None:
    """At once, and one after the other."""
    config = example(tmp_path / "example", clients=clients(ann={"rate": 4}), server={"attempts": 3})
    statuses = []
    with served(config) as one, served(config) as other:
        statuses += [service.ask("SELECT sex FROM people").status_code for service in (one, other) * 2]
        for service in (one, other) * 2:
            with service.http(None, key=f"bob.wrong-{len(statuses)}") as http:
                statuses.append(http.get("/tables").status_code)
    with served(config) as again:
        statuses.append(again.ask("SELECT sex FROM people").status_code)
        statuses.append(again.ask("SELECT sex FROM people", "bob").status_code)
    assert statuses == [200] * 4 + [401] * 3 + [429] + [429, 429]
