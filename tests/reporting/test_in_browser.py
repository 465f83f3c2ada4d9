"""The report in a real browser without a network: no error on its console, every chart drawn, every text there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import shoal

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
pytestmark = [pytest.mark.browser, pytest.mark.skipif(not BROWSER, reason="needs Chromium")]

# what a browser lays out has a size: charts that are there but not drawn have none
MEASURE = """<script>
const drawn = [...document.querySelectorAll('figure svg'), ...document.querySelectorAll('.losses svg')];
const boxes = drawn.map(one => one.getBoundingClientRect());
document.title = boxes.map(one => Math.round(one.width) + 'x' + Math.round(one.height)).join(' ')
    + ' overflow ' + (document.documentElement.scrollWidth - document.documentElement.clientWidth);
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    table, policy = shoal.datasets.load("adult")
    shoal.anonymize(table.head(3_000), policy).write(folder)
    return (folder / "report.html").read_text(encoding="utf-8")


def opened(page: str, path: Path, width: int) -> tuple[str, str]:
    """Return the page as the browser made it, and what it wrote on its console."""
    path.write_text(page, encoding="utf-8")
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={path.parent / 'profile'}"]
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", f"--window-size={width},2000"]
    command = [BROWSER, *quiet, *offline, "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@pytest.mark.parametrize("width", [1200, 700])
def test_every_chart_is_drawn_and_nothing_is_asked_of_a_network(page: str, tmp_path: Path, width: int) -> None:
    allowed = page.replace("default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'")
    shown, console = opened(allowed.replace("</body>", MEASURE + "</body>"), tmp_path / "report.html", width)
    assert console == ""
    measured = re.search(r"<title>(.*?) overflow (-?\d+)</title>", shown)
    assert measured is not None
    sizes = [tuple(map(int, size.split("x"))) for size in measured[1].split()]
    assert len(sizes) == page.count("<svg") >= 4 + 2 * len(shoal.datasets.load("adult")[1].quasi_identifiers)
    bars = len(shoal.datasets.load("adult")[1].quasi_identifiers)  # in the lines that say what each column lost
    assert all(wide > 100 and tall > 20 for wide, tall in sizes[:-bars])
    assert all(wide > 40 and tall > 4 for wide, tall in sizes[-bars:])
    assert int(measured[2]) <= 0, "something is wider than the page"
    for text in ("Holds: the table keeps its policy", "What is kept", "native-country", "What this does not show"):
        assert text in shown


def test_the_page_itself_allows_no_script(page: str, tmp_path: Path) -> None:
    shown, console = opened(page.replace("</body>", MEASURE + "</body>"), tmp_path / "report.html", 1200)
    assert " overflow " not in shown.split("</title>")[0]
    assert "Content Security Policy" in console
