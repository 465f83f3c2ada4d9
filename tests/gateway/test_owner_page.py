"""The owner's page: what it shows, who may see it, and what a click does."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from shoal.gateway.owner_overview import OwnerOverview
from shoal.gateway.revocations import Revocations
from shoal.gateway.sessions import SECONDS, Sessions
from tests.gateway.served import KEYS, Served, example, served

pytestmark = pytest.mark.service

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(example(tmp_path / "example")) as found:
        yield found


@contextmanager
def open_page(service: Served, key: str = KEYS["town"]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, follow_redirects=True, timeout=60) as browser:
        browser.post("/owner/login", data={"key": key})
        yield browser


def token_of(page: str) -> str:
    return re.findall(r'name="token" value="([^"]+)"', page)[0]


def row_of(page: str, *cells: str) -> str:
    rows = [row for row in re.findall(r"<tr>(.*?)</tr>", page, re.S) if all(f">{cell}<" in row for cell in cells)]
    assert len(rows) == 1, rows
    return html.unescape(re.sub(r"<[^>]+>", "|", rows[0]))


def test_who_got_what_and_what_is_left(service: Served) -> None:
    assert service.ask("SELECT sex, race FROM people").status_code == 200
    assert service.ask("SELECT * FROM people", "bob").status_code == 200
    with open_page(service) as browser:
        page = browser.get("/owner").text
    allowance = row_of(page, "ann", "race, sex", "6")
    assert "|6||6||" in allowance and "| 0|" in allowance
    assert "| 6|" in row_of(page, "bob", "people", "nothing")
    assert "as it is" in row_of(page, "ann", "as it is") and "anonymized" in row_of(page, "bob", "anonymized")
    assert "Charley" not in page and "50000" not in page
    assert "<script" not in page and "http://" not in page


@pytest.mark.parametrize(
    "key", ["ann.secret-of-ann", "aud.secret-of-aud", "town.wrong", "late.secret-of-late", "", HOSTILE]
)
def test_nobody_else_sees_it(service: Served, key: str) -> None:
    with open_page(service, key) as browser:
        page = browser.get("/owner")
        assert 'name="key"' in page.text and "What is left" not in page.text and HOSTILE not in page.text
        for path in ("verify", "revoke"):
            answer = browser.post(f"/owner/{path}", data={"token": "guess", "client": "ann", "sure": "yes"})
            assert 'name="key"' in answer.text
    assert service.ask("SELECT race FROM people").status_code == 200


def test_a_form_of_another_page_does_nothing(service: Served) -> None:
    with open_page(service) as browser:
        for token in ("", "guess"):
            browser.post("/owner/revoke", data={"token": token, "client": "ann", "sure": "yes"})
        cookie = next(iter(browser.cookies.jar))
        rest = str(cookie._rest).lower()  # type: ignore[attr-defined]
        assert "httponly" in rest and "strict" in rest
    assert service.ask("SELECT race FROM people").status_code == 200


def test_the_page_says_what_browsers_may_do_with_it(service: Served) -> None:
    answer = httpx.get(f"{service.url}/owner")
    assert answer.headers["cache-control"] == "no-store" and answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_a_key_is_revoked_at_once_and_for_ever(service: Served) -> None:
    assert service.ask("SELECT race FROM people").status_code == 200
    with open_page(service) as browser:
        token = token_of(browser.get("/owner").text)
        asked = browser.post("/owner/revoke", data={"token": token, "client": "ann"}).text
        assert "Revoke the key of" in asked and service.ask("SELECT race FROM people").status_code == 200
        done = browser.post("/owner/revoke", data={"token": token, "client": "ann", "sure": "yes"}).text
        assert "revoked by town" in row_of(done, "ann", "no end")
        for other in ("town", "aud", "nobody", HOSTILE):  # clients only, and no key that does more
            answer = browser.post("/owner/revoke", data={"token": token, "client": other, "sure": "yes"})
            assert answer.status_code == 404 and HOSTILE not in answer.text
    assert service.ask("SELECT race FROM people").status_code == 401
    assert service.ask("SELECT race FROM people", "bob").status_code == 200
    config = service.gateway.config
    said = [entry for entry in service.gateway.ledger.entries() if entry["action"] == "revoke"]
    assert [(entry["client"], entry["owner"]) for entry in said] == [("ann", "town")]
    assert [line["client"] for line in service.lines() if line["event"] == "revoked"] == ["ann"]
    with served(config) as again:
        assert again.ask("SELECT race FROM people").status_code == 401


def test_the_chain_is_verified_and_a_break_is_shown(service: Served) -> None:
    service.ask("SELECT race FROM people")
    with open_page(service) as browser:
        token = token_of(browser.get("/owner").text)
        assert "The chain is whole: 1 entries" in browser.post("/owner/verify", data={"token": token}).text
        with service.gateway.ledger.store.reading() as db:
            db.execute("DROP TRIGGER unchanged")
            db.execute("UPDATE entries SET client = 'bob'")
        assert "The chain is broken" in browser.post("/owner/verify", data={"token": token}).text


def test_a_session_ends(service: Served) -> None:
    with open_page(service) as browser:
        assert "What is left" in browser.get("/owner").text
        browser.post("/owner/logout")
        assert "What is left" not in browser.get("/owner").text
    now = [0.0]
    sessions = Sessions(clock=lambda: now[0])
    cookie = sessions.begin("town", "key")
    assert sessions.find(cookie) is not None
    now[0] = SECONDS + 1
    assert sessions.find(cookie) is None


def test_only_what_is_new_in_the_ledger_is_read(service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, read = service.gateway.ledger, []
    entries = ledger.entries
    monkeypatch.setattr(ledger, "entries", lambda **said: read.append(said["after"]) or entries(**said))
    overview = OwnerOverview(service.gateway, "town")
    for count in range(3):
        service.ask("SELECT race FROM people", request=f"r{count}")
        assert overview.read()["answers"][0]["request"] == f"r{count}"
    assert read == [0, 1, 1, 2, 2, 3]


def test_a_list_of_revoked_keys_that_cannot_be_read_lets_nobody_in(service: Served) -> None:
    service.gateway.config.locate("revoked").write_text("cut sho")
    assert service.ask("SELECT race FROM people").status_code == 503
    assert Revocations(Path("nowhere")).holds("$argon2id$") is False
