"""Who may ask the studio: the browser with the token, no other name, no other page; and what every answer says."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from shoal.errors import PolicyError, Unavailable
from shoal.studio.guard import CONTENT_POLICY, Doorkeeper
from shoal.studio.server import Address, serve_studio
from tests.studio.served import HOST, OWN, Served


def test_without_the_token_nothing_is_shown(served: Served) -> None:
    stranger = served.browse()
    for path in ("/", "/data", "/state", "/policy.yaml", "/columns/values?column=name", "/static/studio.js"):
        answer = stranger.get(path, follow_redirects=False)
        assert answer.status_code == 403 and "Ann" not in answer.text, path
    assert stranger.get("/", params={"token": "guess"}).status_code == 403
    assert stranger.post("/policy/undo", headers=OWN).status_code == 403
    assert stranger.get("/data", headers={"cookie": f"{served.keeper.name}=guess"}).status_code == 403


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_sees(served: Served) -> None:
    stranger = served.browse()
    answer = stranger.get("/", params={"token": served.keeper.token}, follow_redirects=False)
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and served.keeper.token.lower() not in cookie
    assert stranger.get("/data").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:8001", ""])
def test_another_name_is_refused(served: Served, host: str) -> None:
    assert served.client.get("/data", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{HOST}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": f"http://{HOST}"},
        {"sec-fetch-site": "none"},
    ],
)
def test_a_change_that_another_page_asks_for_is_refused(served: Served, headers: dict[str, str]) -> None:
    before = served.text
    answer = served.client.post("/columns/role", data={"column": "age", "role": "sensitive"}, headers=headers)
    assert answer.status_code == 403 and served.text == before


def test_pages_are_not_shown_inside_other_sites(served: Served) -> None:
    assert served.client.get("/data", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert served.client.get("/data", headers={"sec-fetch-site": "same-site"}).status_code == 403


def test_every_answer_is_strict_and_stored_nowhere(served: Served) -> None:
    for path in ("/data", "/state", "/static/studio.css", "/nothing", "/policy.yaml"):
        headers = served.client.get(path).headers
        assert headers["content-security-policy"] == CONTENT_POLICY and headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert "unsafe" not in CONTENT_POLICY and CONTENT_POLICY.startswith("default-src 'none'")


def test_no_page_has_an_inline_script_or_style(served: Served) -> None:
    for step in ("data", "columns", "promises", "explore", "risk", "release", "columns/hierarchy?column=age"):
        page = served.client.get(f"/{step}").text
        assert page.count("<script") == 1 and '<script src="/static/studio.js" defer></script>' in page
        assert " style=" not in page and "<style" not in page and " onclick" not in page and "javascript:" not in page
        assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https://" not in page


def test_a_password_opens_where_others_reach_it_and_guesses_are_slow() -> None:
    now = [0.0]
    keeper = Doorkeeper(frozenset([HOST]), secure=True, password="a long password", clock=lambda: now[0])
    assert not keeper.opens(keeper.token) and not keeper.takes("guess")
    assert not keeper.takes("a long password")  # too soon
    now[0] = 2.0
    assert keeper.takes("a long password")


def test_log_in_by_password(tmp_path: Path) -> None:
    served = Served(tmp_path, is_local=False)
    served.keeper.password = "a long password"
    stranger = served.browse()
    assert stranger.get("/", params={"token": served.keeper.token}).url.path == "/login"
    assert stranger.post("/login", data={"password": "guess"}, headers=OWN).status_code == 403
    served.keeper.clock = lambda: 10.0**9
    page = stranger.post("/login", data={"password": "a long password"}, headers=OWN)
    assert page.url.path == "/data" and "reached by HTTPS" in page.text
    served.studio.close()


def test_nobody_else_reaches_a_studio_in_clear_or_without_a_password(tmp_path: Path) -> None:
    certificate = tmp_path / "cert.pem"
    certificate.touch()
    with pytest.raises(PolicyError, match="HTTPS"):
        Address(host="0.0.0.0", password="a long password").require_closed()
    with pytest.raises(PolicyError, match="password"):
        Address(host="0.0.0.0", password="short", tls_cert=certificate, tls_key=certificate).require_closed()
    Address(host="0.0.0.0", password="a long password", tls_cert=certificate, tls_key=certificate).require_closed()
    assert "token" not in Address(host="0.0.0.0", password="a long password").write(8443, "secret")
    assert Address().write(8000, "secret") == "http://127.0.0.1:8000/?token=secret"


def test_a_port_that_is_taken_is_told(served: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Unavailable, match="cannot listen"):
        serve_studio(served.studio, Address(port=taken.getsockname()[1]), opens=False)
