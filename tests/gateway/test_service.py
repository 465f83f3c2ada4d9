"""The HTTP door: the paper's example in every form, who may ask, how much and how often, and what is written down."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pyarrow.parquet as pq
import pytest

from shoal import datasets
from shoal.errors import Refused, Unavailable
from shoal.gateway.client import GatewayClient, TooOften, Unauthorized
from shoal.gateway.formats import MEDIA
from shoal.gateway.mediator import Gateway
from tests.gateway.conftest import Memory
from tests.gateway.served import KEYS, Served, clients, example, served
from tests.gateway.test_decisions import POLICY, people
from tests.gateway.test_mediator import Broken, Down
from tests.gateway.test_paper import TABLE_6

pytestmark = pytest.mark.service

COLUMNS = ["name", "marital_status", "age", "race", "sex", "salary"]
QUERY_1 = "SELECT * FROM people"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(example(tmp_path_factory.mktemp("service") / "example")) as found:
        yield found


def told(response: httpx.Response) -> tuple[int, Any, list[str]]:
    problem = response.json()
    return response.status_code, problem["error"], [fault["what"] for fault in problem["faults"]]


def test_query_1_as_json(service: Served) -> None:
    answer = service.ask(QUERY_1).json()
    assert list(answer["columns"]) == COLUMNS
    assert sorted(tuple(record.values()) for record in answer["records"]) == TABLE_6
    (decided,) = answer["decisions"]
    assert (decided["total"], decided["threshold"], decided["action"]) == (20, 6, "anonymize")
    assert decided["attained"] == {"k-anonymity": 2, "distinct-l-diversity": 2}


@pytest.mark.parametrize("how", ["field", "header"])
@pytest.mark.parametrize("format", ["csv", "arrow", "parquet"])
def test_query_1_in_other_forms(service: Served, format: str, how: str) -> None:
    with service.http() as http:
        said = {"sql": QUERY_1, "format": format} if how == "field" else {"sql": QUERY_1}
        accept = {"Accept": f"text/html, {MEDIA[format]};q=0.5"} if how == "header" else {}  # type: ignore[index]
        response = http.post("/query", json=said, headers=accept)
    assert response.status_code == 200 and response.headers["content-type"].startswith(MEDIA[format])  # type: ignore[index]
    readers: dict[str, Any] = {"csv": pl.read_csv, "arrow": pl.read_ipc_stream, "parquet": pl.read_parquet}
    table = readers[format](io.BytesIO(response.content))
    assert table.columns == COLUMNS and sorted(table.rows()) == TABLE_6
    number = response.headers["shoal-request"]
    with service.http() as http:
        explained = http.get(f"/releases/{number}/explanation").json()
    assert explained["request"] == number and explained["decisions"][0]["total"] == 20
    if format == "parquet":
        assert json.loads(pq.read_schema(io.BytesIO(response.content)).metadata[b"shoal"]) == explained


def test_under_the_threshold_it_comes_back_untouched(service: Served) -> None:
    answer = service.ask("SELECT sex, race, salary FROM people", "bob").json()
    original = datasets.employees().select("sex", "race", "salary")
    assert sorted(tuple(record.values()) for record in answer["records"]) == sorted(original.rows())
    assert answer["decisions"][0]["action"] == "release"


def test_two_owners_and_the_column_that_names_them(service: Served) -> None:
    records = service.ask("SELECT * FROM staff", owner_column=True).json()["records"]
    assert sorted(record["owner"] for record in records) == ["north"] * 4 + ["south"] * 2


def test_a_refusal_is_told_by_its_reason(service: Served) -> None:
    status, error, (what,) = told(service.ask("SELECT upper(name) FROM people"))
    assert (status, error) == (403, "Refused") and "UPPER" in what


@pytest.mark.parametrize(
    ("key", "header"),
    [
        (None, "Authorization"),
        ("ann.guess", "Authorization"),
        ("ann", "Authorization"),
        ("nobody.secret", "Authorization"),
        (KEYS["late"], "Authorization"),
        ("x" * 5000, "Authorization"),
        ("ann.guess", "X-API-Key"),
    ],
)
def test_who_is_not_known_is_told_the_same_and_soon(service: Served, key: str | None, header: str) -> None:
    value = f"Bearer {key}" if header == "Authorization" else str(key)
    with httpx.Client(base_url=service.url, headers={} if key is None else {header: value}) as http:
        for ask in (http.get("/tables"), http.get("/releases/1"), http.post("/query", json={"sql": QUERY_1})):
            assert told(ask) == (401, "Unauthorized", ["no key, or none that is good"])
            assert ask.headers["www-authenticate"] == "Bearer" and ask.elapsed.total_seconds() < 3


def test_a_key_may_come_in_its_own_header(service: Served) -> None:
    with httpx.Client(base_url=service.url, headers={"X-API-Key": KEYS["ann"]}) as http:
        assert http.get("/tables").json()["tables"]["people"] == {"columns": COLUMNS, "owners": ["town"]}


@pytest.mark.parametrize(
    ("name", "method", "path"),
    [
        ("aud", "POST", "/query"),
        ("north", "POST", "/query"),
        ("north", "GET", "/releases/1"),
        ("ann", "GET", "/ledger"),
    ],
)
def test_another_role_is_refused(service: Served, name: str, method: str, path: str) -> None:
    with service.http(name) as http:
        response = http.request(method, path, json={"sql": QUERY_1} if method == "POST" else None)
    assert told(response) == (403, "Refused", ["this key has another role"])


def test_a_client_gets_its_own_answer_again_in_any_form(service: Served) -> None:
    first = service.ask("SELECT age, race, salary FROM people ORDER BY age DESC LIMIT 4", request="again-1").json()
    with service.http() as http:
        assert http.get("/releases/again-1").json() == first
        table = pl.read_csv(http.get("/releases/again-1", params={"format": "csv"}).content)
    assert table.rows() == [tuple(record.values()) for record in first["records"]]


def test_another_clients_answer_is_as_unknown_as_any(service: Served) -> None:
    assert service.ask(QUERY_1, request="anns").status_code == 200
    with service.http("bob") as bob, service.http("ann") as ann:
        refused = [bob.get("/releases/anns"), bob.get("/releases/anns/explanation"), ann.get("/releases/never")]
        assert ann.get("/releases/anns").status_code == 200
    assert {response.text for response in refused} == {refused[0].text}
    assert told(refused[0]) == (404, "Unknown", ["there is no such answer"])
    assert (
        service.ask("SELECT race FROM people", "bob", request="anns").status_code == 200
    )  # numbers are a client's own


def test_auditors_see_why_and_never_what(service: Served) -> None:
    service.ask(QUERY_1, request="audited")
    with service.http("aud") as http:
        for path in ("/releases/audited", "/releases/audited/explanation"):
            found = http.get(path)
            (decided,) = found.json()["decisions"]
            assert decided["total"] == 20 and decided["client"] == "ann"
            assert "Not_married" not in found.text and "records" not in found.json()
        assert http.get("/releases/never").status_code == 404


def test_a_kept_answer_that_was_changed_is_not_given(tmp_path: Path) -> None:
    with served(example(tmp_path / "example")) as service:
        answer = service.ask(QUERY_1, request="1").json()
        folder = Path(f"{service.gateway.ledger.path}.releases")
        (content,) = (folder / "contents").iterdir()
        assert oct(content.stat().st_mode)[-3:] == "600"
        pl.DataFrame(answer["records"]).with_columns(salary=pl.lit("1")).write_ipc_stream(content)
        with service.http() as http:
            assert told(http.get("/releases/1"))[:2] == (503, "LedgerError")
            content.write_bytes(b"half")
            assert told(http.get("/releases/1"))[:2] == (503, "LedgerError")
            content.unlink()
            assert http.get("/releases/1").status_code == 404
        assert service.ask(QUERY_1, request="1").json() == answer  # made anew, and not entered twice
        assert service.gateway.ledger.verify() == 1


def test_the_same_number_gives_the_same_answer_and_one_entry(tmp_path: Path) -> None:
    with served(example(tmp_path / "example")) as service:
        light = "SELECT sex, race FROM people"
        first = service.ask(light, request="1")
        assert service.ask("SELECT age FROM people", request="2").json()["decisions"][0]["action"] == "anonymize"
        assert service.ask("SELECT salary FROM people", request="3").status_code == 200
        again = service.ask(light, request="1")  # by now it would be weighed with what came after
        assert again.content == first.content and service.gateway.ledger.verify() == 3
        other = told(service.ask("SELECT sex FROM people", request="1"))
        assert other == (403, "Refused", ["something else was answered under this number"])


def test_the_ledger_is_told_to_auditors_and_owners(tmp_path: Path) -> None:
    with served(example(tmp_path / "example")) as service:
        service.ask("SELECT * FROM staff")
        service.ask("SELECT race FROM staff", "bob")
        with service.http("aud") as auditor, service.http("north") as owner:
            told_all, own = auditor.get("/ledger").json(), owner.get("/ledger").json()
            page = auditor.get("/ledger", params={"after": 1, "most": 1}).json()["entries"]
            assert told_all["verified"] == 4 and told_all["head"] == service.gateway.ledger.head()
            assert sorted(entry["owner"] for entry in told_all["entries"]) == ["north", "north", "south", "south"]
            assert {entry["owner"] for entry in own["entries"]} == {"north"} and len(own["entries"]) == 2
            assert [entry["number"] for entry in page] == [2]
            assert "Not_married" not in json.dumps(told_all)
            with service.gateway.ledger.store.reading() as db:
                db.executescript("DROP TRIGGER unchanged; UPDATE entries SET client = 'eve' WHERE number = 2")
            broken = auditor.get("/ledger").json()
            assert broken["verified"] is None and "entry 2" in broken["broken"]


def test_clients_are_slowed_down_each_on_its_own(tmp_path: Path) -> None:
    config = example(tmp_path / "example", clients=clients(ann={"rate": 3}))
    with served(config) as service, service.http() as ann, service.http("bob") as bob:
        assert [ann.get("/tables").status_code for _ in range(4)] == [200, 200, 200, 429]
        response = ann.get("/tables")
        assert told(response) == (429, "TooOften", ["too many requests"])
        assert 1 <= int(response.headers["retry-after"]) <= 20
        assert bob.get("/tables").status_code == 200


def test_an_address_that_tries_keys_has_to_wait_and_known_clients_do_not(tmp_path: Path) -> None:
    config = example(tmp_path / "example", server={"attempts": 3})
    with served(config) as service, service.http() as ann:
        assert ann.get("/tables").status_code == 200
        with ThreadPoolExecutor(8) as pool:

            def guess(number: int) -> int:
                with service.http(None, key=f"bob.{number}") as http:
                    return http.get("/tables").status_code

            found = sorted(pool.map(guess, range(10)))
        assert found == [401] * 3 + [429] * 7
        with service.http("bob") as bob:
            assert bob.get("/tables").status_code == 429  # nobody can go on guessing, not even rightly
        assert ann.get("/tables").status_code == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_a_request_that_is_too_large_is_not_read(tmp_path: Path, chunked: bool) -> None:
    with served(example(tmp_path / "example", server={"body": 2000})) as service, service.http() as http:
        large = json.dumps({"sql": QUERY_1 + " " * 3000}).encode()
        body: Any = (large[index : index + 500] for index in range(0, len(large), 500)) if chunked else large
        response = http.post("/query", content=body, headers={"Content-Type": "application/json"})
        assert told(response)[:2] == (413, "TooLarge")
        assert http.post("/query", json={"sql": QUERY_1}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"sql": 1}',
        b'{"sql": ""}',
        b'{"sql": "SELECT 1", "hunter2": 1}',
        b'{"sql": "SELECT 1", "format": "hunter2"}',
        b'{"sql": "SELECT 1", "request": "hunter2/.."}',
        b'{"sql": "\\ud800"}',
        b'\xff{"sql"',
    ],
)
def test_what_is_no_request_is_told_without_repeating_it(service: Served, body: bytes) -> None:
    with service.http() as http:
        response = http.post("/query", content=body, headers={"Content-Type": "application/json"})
    status, error, faults = told(response)
    assert (status, error) == (422, "Invalid") and all(faults) and "hunter2" not in response.text


def test_what_is_not_there_is_told_in_the_same_form(service: Served) -> None:
    with service.http() as http:
        assert told(http.get("/nothing"))[0] == 404
        assert told(http.get("/query"))[0] == 405
        assert told(http.post("/query", json={"sql": QUERY_1}, headers={"Accept": "image/png"}))[0] == 406


class Slow(Memory):
    """A table that takes as long as a test says."""

    def __init__(self, **tables: pl.DataFrame) -> None:
        super().__init__(**tables)
        self.go = threading.Event()

    def read(self, table: str) -> pl.DataFrame:
        self.go.wait(30)
        return super().read(table)


def slow_service(tmp_path: Path, source: Memory, **server: Any) -> Any:
    owner = {"database": {"duckdb": "not opened"}, "tables": {"people": {"policy": POLICY}}}
    config = example(tmp_path / "example", server=server, owners={"north": owner})
    return served(config, {"north": source})


def test_who_waits_too_long_gets_the_answer_later_under_its_number(tmp_path: Path) -> None:
    source = Slow(people=people())
    with slow_service(tmp_path, source, seconds=0.3) as service:
        late = service.ask("SELECT age, zip FROM people", request="late")
        assert told(late)[:2] == (504, "TooLong") and late.json()["request"] == "late"
        source.go.set()
        wait = time.monotonic() + 20
        while service.ask("SELECT age, zip FROM people", request="late").status_code == 504:
            assert time.monotonic() < wait
            time.sleep(0.1)
        answer = service.ask("SELECT age, zip FROM people", request="late").json()
        assert len(answer["records"]) == 60
        assert service.gateway.ledger.verify() == 1  # however often it was asked


def test_when_too_many_wait_the_next_is_sent_away(tmp_path: Path) -> None:
    source = Slow(people=people())
    with slow_service(tmp_path, source, workers=1, waiting=1) as service, ThreadPoolExecutor(2) as pool:
        first = [pool.submit(service.ask, "SELECT age, zip FROM people") for _ in range(2)]
        wait = time.monotonic() + 20
        while "shoal_requests_open 2" not in httpx.get(f"{service.url}/metrics").text:
            assert time.monotonic() < wait
            time.sleep(0.02)
        busy = service.ask("SELECT age, zip FROM people")
        assert told(busy)[:2] == (503, "Busy") and busy.headers["retry-after"] == "1"
        source.go.set()
        assert [one.result().status_code for one in first] == [200, 200]


def test_owners_that_are_down_are_told_by_health_and_by_requests(tmp_path: Path) -> None:
    with slow_service(tmp_path, Down()) as service:
        assert told(service.ask("SELECT age FROM people"))[:2] == (503, "Unavailable")


def test_strangers_who_ask_for_health_take_no_worker_from_clients(tmp_path: Path) -> None:
    """An owner's database hangs when its health is looked at; whoever has no key must not make clients wait for it."""

    class Hanging(Memory):
        go = threading.Event()

        def columns(self, table: str) -> tuple[str, ...]:
            self.go.wait(30)
            return super().columns(table)

    source = Hanging(people=people())
    with slow_service(tmp_path, source, workers=2) as service, ThreadPoolExecutor(4) as pool:
        strangers = [pool.submit(httpx.get, f"{service.url}/health", timeout=60) for _ in range(4)]
        time.sleep(0.5)
        began = time.monotonic()
        assert service.ask("SELECT age FROM people").status_code == 200
        assert time.monotonic() - began < 10
        source.go.set()
        assert [one.result().json()["status"] for one in strangers] == ["ok"] * 4


def test_what_breaks_inside_is_logged_by_its_kind_only(tmp_path: Path) -> None:
    with slow_service(tmp_path, Broken(people=people())) as service:
        response = service.ask("SELECT age FROM people")
        assert told(response)[:2] == (503, "Unavailable") and "person7" not in response.text
        failed = [line for line in service.lines() if line["event"] == "failed"]
        assert failed[0]["error"] == "RuntimeError" and "person7" not in service.written.getvalue()


def test_health_reads_nothing(service: Served, tmp_path: Path) -> None:
    owners = {"town": True, "north": True, "south": True}
    assert httpx.get(f"{service.url}/health").json() == {"status": "ok", "ledger": True, "owners": owners}
    config = example(tmp_path / "example")
    (tmp_path / "example" / "south.csv").unlink()
    with served(config) as other:
        assert httpx.get(f"{other.url}/health").json()["owners"] == {**owners, "south": False}


def test_metrics_count_without_names_of_clients_or_values(service: Served) -> None:
    service.ask("SELECT age, race FROM people WHERE salary = 'hunter2'")
    text = httpx.get(f"{service.url}/metrics").text
    assert 'shoal_requests_total{endpoint="/query",status="200"}' in text
    assert 'shoal_request_seconds_bucket{endpoint="/query",le="+Inf"}' in text
    assert "hunter2" not in text and "ann" not in text.replace("annotations", "")


def test_the_log_tells_who_and_what_kind_but_no_text(tmp_path: Path) -> None:
    with served(example(tmp_path / "example")) as service:
        service.ask("SELECT age, race FROM people WHERE race <> 'hunter2' AND age > 12345", request="n1")
        service.ask("SELECT age FROM people WHERE hunter2 = 'hunter2' -- hunter2")
        with service.http(None, key="hunter2") as http:
            http.get("/hunter2")
            http.get("/releases/1?format=hunter2")
        line = next(line for line in service.lines() if line.get("request") == "n1")
        assert line["client"] == "ann" and line["tables"] == ["people"] and line["columns"] == ["age", "race"]
        assert line["action"] == "anonymize" and line["status"] == 200 and line["milliseconds"] > 0
        assert "hunter2" not in service.written.getvalue() and "12345" not in service.written.getvalue()
        assert KEYS["ann"] not in service.written.getvalue() and "SELECT" not in service.written.getvalue()


def test_a_key_ends_on_its_day_also_for_who_was_known(tmp_path: Path) -> None:
    config = example(tmp_path / "example", clients=clients(ann={"expires": date(2026, 5, 1)}))
    days = [date(2026, 5, 1)]
    with served(config) as service, service.http() as http:
        assert http.get("/tables").status_code == 401  # today is later
    from shoal.gateway.keys import Keyring

    ring = Keyring(config.clients, day=lambda: days[0])
    assert ring.check(KEYS["ann"]) == ring.find_known(KEYS["ann"]) == "ann"
    days[0] = date(2026, 5, 2)
    assert ring.find_known(KEYS["ann"]) is None and ring.check(KEYS["ann"]) is None


def test_the_python_client(service: Served) -> None:
    with GatewayClient(service.url, KEYS["bob"]) as client:
        assert client.tables()["tables"]["people"]["columns"] == COLUMNS
        answer = client.query("SELECT sex, race FROM people", request="py-1")
        assert answer.table.columns == ["sex", "race"] and answer.actions == {"town": "release"}
        assert client.release("py-1").table.equals(answer.table) and answer.request == "py-1"
        with pytest.raises(Refused, match="UNION"):
            client.query("SELECT sex FROM people UNION SELECT sex FROM people")
        with pytest.raises(Refused, match="no such answer"):
            client.release("never")
    with GatewayClient(service.url, KEYS["aud"]) as client:
        assert client.ledger()["verified"] > 0
    with GatewayClient(service.url, "bob.guess") as client, pytest.raises(Unauthorized):
        client.tables()
    with GatewayClient("http://127.0.0.1:1", "x") as client, pytest.raises(Unavailable, match="cannot be reached"):
        client.tables()


def test_the_python_client_is_told_to_wait(tmp_path: Path) -> None:
    config = example(tmp_path / "example", clients=clients(ann={"rate": 1}))
    with served(config) as service, GatewayClient(service.url, KEYS["ann"]) as client:
        client.tables()
        with pytest.raises(TooOften) as early:
            client.tables()
        assert 0 < early.value.wait <= 60


def test_the_end_waits_for_what_makes_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that goes on holds connections, and their library complains on the standard output."""
    begun, ready = threading.Event(), threading.Event()

    def prepare(_: Gateway) -> None:
        begun.set()
        time.sleep(0.5)
        ready.set()

    monkeypatch.setattr(Gateway, "prepare", prepare)
    with served(example(tmp_path / "example")):
        assert begun.wait(5)
    assert ready.is_set()
