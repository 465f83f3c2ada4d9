"""The studio in a real browser: by clicks from a file to an audited release, and whatever people do meanwhile.

One test, one service, one browser: each part takes up where the one before ended, as a person does. Where there is no
Chromium (``apt-get install chromium chromium-driver``) all of it is skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.policy import Policy
from tests.command import run

webdriver = pytest.importorskip("selenium.webdriver")
pytest.importorskip("fastapi")
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.select import Select  # noqa: E402

BROWSER = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), "")
DRIVER = shutil.which("chromedriver") or ""
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="needs Chromium: apt-get install chromium chromium-driver"
)

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
RECORDS = 1_500
STEPS = ("data", "columns", "promises", "explore", "risk", "release")

# what a person who cannot see needs: a name for every input, and a contrast of 4.5 to 1 for every text
AUDIT = """
const seen = (one) => one.getClientRects().length && getComputedStyle(one).visibility !== 'hidden';
const named = (one) => one.ariaLabel || (one.labels && one.labels.length) || one.textContent.trim() || one.title;
const light = (v) => v / 255 <= .03928 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
const luminance = (c) => .2126 * light(c[0]) + .7152 * light(c[1]) + .0722 * light(c[2]);
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const behind = (one) => { for (; one; one = one.parentElement) { const c = parse(getComputedStyle(one).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return parse('255 255 255'); };
const contrast = (one) => { const a = luminance(parse(getComputedStyle(one).color)), b = luminance(behind(one));
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); };
const every = (selector) => [...document.querySelectorAll(selector)].filter(seen);
const inputs = every('input:not([type=hidden]), select, textarea, button, a, summary');
const written = (one) => [...one.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
const texts = every('main *, aside *, nav *, header *').filter((one) => written(one) &&
    !one.closest('svg') && !one.disabled && one.tagName !== 'OPTION');
const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
return {
  unnamed: inputs.filter((one) => !named(one)).map((one) => one.outerHTML.slice(0, 120)),
  faint: texts.filter((one) => contrast(one) < 4.5).map((one) => contrast(one) + one.outerHTML.slice(0, 100)),
  tabbed: [...document.querySelectorAll('[tabindex]')].filter((one) => one.tabIndex > 0).length,
  twice: ids.filter((id, place) => ids.indexOf(id) !== place),
  headings: document.querySelectorAll('h1').length, language: document.documentElement.lang,
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
};
"""


class Person:
    """Somebody before a browser."""

    def __init__(self, driver: Any, address: str, folder: Path) -> None:
        self.driver, self.address, self.folder = driver, address, folder
        self.base = address.partition("/?")[0]

    def go(self, path: str) -> None:
        self.driver.get(f"{self.base}/{path}")
        self.settle()

    def find(self, selector: str) -> Any:
        return self.until(lambda: self.driver.find_elements(By.CSS_SELECTOR, selector))[0]

    def click(self, selector: str) -> None:
        self.until(lambda: self._click(self.find(selector)))

    def _click(self, found: Any) -> bool:
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
        found.click()
        return True

    def press(self, words: str) -> None:
        """Click the button that says so."""
        xpath = f"//main//button[starts-with(normalize-space(), '{words}')]"
        self.until(lambda: self._click(self.until(lambda: self.driver.find_elements(By.XPATH, xpath))[0]))

    def choose(self, selector: str, value: str) -> None:
        self.until(lambda: Select(self.find(selector)).select_by_value(value) is None)

    def type(self, selector: str, text: str) -> None:
        """Write over what a field holds."""
        found = self.find(selector)
        found.clear()
        found.send_keys(text)

    def until(self, condition: Callable[[], Any], seconds: float = 300) -> Any:
        """Wait until something is true of the page."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if found := condition():
                    return found
            except StaleElementReferenceException:
                pass  # the page was just replaced
            time.sleep(0.05)
        raise AssertionError(self.driver.find_element(By.TAG_NAME, "body").text[:2000])

    def settle(self) -> None:
        """Wait until nothing is loaded any more."""
        self.until(
            lambda: not self.driver.find_elements(By.CSS_SELECTOR, "[data-poll], form[aria-busy], [data-reload]")
        )

    def reads(self, words: str) -> bool:
        return bool(self.until(lambda: words in self.driver.find_element(By.TAG_NAME, "body").text))

    @property
    def yaml(self) -> str:
        value: str = self.driver.execute_script("return document.getElementById('yaml').value")
        return value

    def until_yaml(self, test: Callable[[Policy], bool]) -> None:
        """Wait until the policy beside the page is so."""
        self.until(lambda: test(Policy.from_yaml(self.yaml)))

    def console(self) -> list[str]:
        """Return what went wrong on the pages since it was asked last."""
        return [one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"]


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    folder = tmp_path
    shoal.datasets.adult().head(RECORDS).write_csv(folder / "adult.csv")
    command = [sys.executable, "-c", "from shoal.cli import run; run()", "studio", "--no-open", "--project", "project"]
    service = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    address = service.stdout.readline().split()[-1]
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        driver.get(address)
        yield Person(driver, address, folder)
    finally:
        driver.quit()
        service.terminate()
        service.wait(30)


def a_table_is_uploaded_and_drafted(person: Person) -> None:
    person.find("#table-file").send_keys(str(person.folder / "adult.csv"))
    assert person.reads("1,500 records, 15 columns")
    person.go("columns")
    assert person.find("[aria-label='Role of age']").get_attribute("value") == "quasi_identifiers"
    policy = Policy.from_yaml(person.yaml)
    assert "age" in policy.quasi_identifiers and policy.models


def a_policy_written_by_hand_is_applied_and_clicks_change_it(person: Person) -> None:
    text = shoal.datasets.policy("adult").to_yaml()
    person.driver.execute_script("document.getElementById('yaml').value = arguments[0]", text)
    person.click("#apply")
    person.until_yaml(lambda policy: policy.k == 10)
    person.choose("[aria-label='Role of race']", "sensitive")
    person.until_yaml(lambda policy: "race" in policy.sensitive)
    assert person.driver.execute_script("return document.activeElement.ariaLabel") == "Role of race"  # focus stays
    person.click("#undo")
    person.until_yaml(lambda policy: "race" in policy.quasi_identifiers)
    person.click("#redo")
    person.until_yaml(lambda policy: "race" in policy.sensitive)
    person.click("#undo")
    person.until_yaml(lambda policy: "race" in policy.quasi_identifiers)


def a_hierarchy_is_edited(person: Person) -> None:
    person.go("columns/hierarchy?column=education")
    person.reads("It covers every value")
    Select(person.find("#one")).select_by_visible_text("School")
    person.find("#renamed").send_keys("At school")
    person.press("Rename")
    person.reads("At school")
    person.until_yaml(lambda policy: "At school" in str(policy.quasi_identifiers["education"].hierarchy))
    person.settle()
    assert person.driver.find_element(By.CSS_SELECTOR, "#drawing svg").size["height"] > 100


def an_infeasible_policy_is_relaxed_by_its_button(person: Person) -> None:
    person.go("promises")
    person.type("#m1-l", "20\t")  # there are 14 occupations
    person.until_yaml(lambda policy: policy.models[1].asked == 20)
    person.click("button.relax")
    person.reads("Every promise can be kept")
    assert Policy.from_yaml(person.yaml).models[1].asked <= 14
    person.click("#undo")
    person.until_yaml(lambda policy: policy.models[1].asked == 20)
    person.click("#undo")
    person.until_yaml(lambda policy: policy.models[1].asked == 3)


def another_window_sees_the_change_and_cannot_overwrite_it(person: Person) -> None:
    person.go("columns")
    first = person.driver.current_window_handle
    person.driver.switch_to.new_window("tab")
    person.go("columns")
    person.choose("[aria-label='Role of race']", "identifiers")
    person.until_yaml(lambda policy: "race" in policy.identifiers)
    person.driver.switch_to.window(first)
    person.click("#apply")  # the older text
    person.reads("changed in another window")
    person.until(lambda: person.driver.find_element(By.ID, "elsewhere").is_displayed())
    person.click("#elsewhere button")
    person.until_yaml(lambda policy: "race" in policy.identifiers)
    person.click("#undo")
    person.until_yaml(lambda policy: "race" in policy.quasi_identifiers)
    assert not [one for one in person.console() if "422" not in one]


def a_search_is_stopped_after_a_reload_in_the_middle(person: Person) -> None:
    person.go("promises?algorithm=shoal")
    person.type("#search-effort", "1000")
    person.press("Search like this")
    person.until_yaml(lambda policy: policy.algorithm.parameters() == {"effort": 1000})
    person.driver.get(f"{person.base}/release")
    person.click("#run")
    person.reads("searching for less loss")
    person.driver.refresh()
    person.reads("searching for less loss")
    person.click("#stop")
    person.reads("this is the best it had found")
    assert person.reads("Every promise holds")
    person.click("#undo")
    person.until_yaml(lambda policy: policy.algorithm.key() == "mondrian")


def the_release_has_the_bytes_of_the_command_line(person: Person) -> None:
    person.driver.get(f"{person.base}/release")
    person.find("#made")
    person.click("#run")
    person.until(lambda: "Release 2" in person.driver.find_element(By.CSS_SELECTOR, "main").text)
    person.settle()
    assert person.reads("Every promise holds")
    job = person.driver.current_url.partition("job=")[2]
    made = person.folder / "project" / "releases" / job
    assert shoal.audit(made / "release" / "release.csv", made / "policy.yaml").holds
    assert person.yaml == (made / "policy.yaml").read_text()
    (data,) = (person.folder / "project" / "data").iterdir()
    run("anonymize", data, "--policy", made / "policy.yaml", "--out", person.folder / "out", check=0)
    for path in (person.folder / "out").iterdir():
        assert path.read_bytes() == (made / "release" / path.name).read_bytes(), path.name


def every_step_can_be_read_and_reached_by_all(person: Person, width: int, theme: str) -> None:
    person.console()
    features = [{"name": "prefers-color-scheme", "value": theme}]
    person.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    person.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for step in (*STEPS, "columns/hierarchy?column=age"):
        person.go(step)
        found = person.driver.execute_script(AUDIT)
        assert found == {
            "unnamed": [],
            "faint": [],
            "tabbed": 0,
            "twice": [],
            "headings": 1,
            "language": "en",
            "wide": 0,
        }, (step, found)
    assert person.console() == []


def nothing_was_asked_of_another_host(person: Person) -> None:
    asked = [one["message"] for one in person.driver.get_log("performance") if "requestWillBeSent" in one["message"]]
    urls = [json.loads(one)["message"]["params"].get("request", {}).get("url", "") for one in asked]
    assert len(urls) > 50
    assert {url for url in urls if url and not url.startswith((person.base, "data:", "chrome", "about:"))} == set()


def markup_in_cells_and_names_is_inert(person: Person) -> None:
    hostile = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
    table = (
        shoal.datasets.patients().head(4).with_columns(shoal.datasets.patients()["age"].cast(pl.String).alias(hostile))
    )
    table = table.with_columns(table["disease"] + hostile)
    table.write_csv(person.folder / "hostile.csv")
    person.go("data")
    person.find("#table-file").send_keys(str(person.folder / "hostile.csv"))
    person.reads("4 records")
    for step in ("data", "columns", "promises", "risk", "release"):
        person.driver.get(f"{person.base}/{step}")
        time.sleep(0.3)
        assert "studio" in person.driver.title and not person.driver.find_elements(By.CSS_SELECTOR, "main img")
    try:
        person.driver.switch_to.alert.dismiss()
        raise AssertionError("a script ran")
    except WebDriverException:
        pass


def test_a_person_works_through_all_of_it(person: Person) -> None:
    a_table_is_uploaded_and_drafted(person)
    a_policy_written_by_hand_is_applied_and_clicks_change_it(person)
    a_hierarchy_is_edited(person)
    an_infeasible_policy_is_relaxed_by_its_button(person)
    another_window_sees_the_change_and_cannot_overwrite_it(person)
    a_search_is_stopped_after_a_reload_in_the_middle(person)
    the_release_has_the_bytes_of_the_command_line(person)
    for width in (1400, 700):
        for theme in ("light", "dark"):
            every_step_can_be_read_and_reached_by_all(person, width, theme)
    nothing_was_asked_of_another_host(person)
    markup_in_cells_and_names_is_inert(person)
