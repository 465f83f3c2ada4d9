"""What the README and the docs show is run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal import registry
from shoal.policy import Policy
from tests.command import run_code

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PYTHON = [(page.name, code) for page in PAGES for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.S)]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "code"), PYTHON)
def test_python_examples_run(page: str, code: str, tmp_path: Path) -> None:
    done = run_code(code, tmp_path)
    assert done.returncode == 0, done.stderr
    for promised in re.findall(r"print\(release\)\s+# (.*)", code):
        assert promised in done.stdout


def test_the_policies_that_are_shown_are_valid(tmp_path: Path) -> None:
    text = re.search(r"```yaml\n(.*?)```", (ROOT / "docs" / "policy.md").read_text(), re.S)
    assert text is not None
    (tmp_path / "education.csv").write_text("Masters;Higher;*\n")
    (tmp_path / "policy.yaml").write_text(text[1])
    assert Policy.read(tmp_path / "policy.yaml").subject == "person"
    short = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert short is not None and Policy.from_yaml(short[1]).k == 10


def test_every_command_is_told_and_exists() -> None:
    text = (ROOT / "README.md").read_text() + (ROOT / "docs" / "commands.md").read_text()
    done = subprocess.run(
        [sys.executable, "-c", "from shoal.cli import run; run()", "--help"], capture_output=True, text=True, check=True
    )
    for command in (
        "suggest",
        "check",
        "anonymize",
        "audit",
        "compare",
        "lattice",
        "hierarchy",
        "import",
        "list",
        "policy",
        "gateway",
        "gateway-key",
        "gateway-ledger",
        "query",
        "studio",
        "demo",
    ):
        assert re.search(rf"│ {command} ", done.stdout), command
        assert f"shoal {command}" in text or f"./dev {command}" in text, command


def test_the_figures_of_the_demo_are_true() -> None:
    table, policy = shoal.datasets.load("adult")
    audit = shoal.anonymize(table, policy).audit
    text = (ROOT / "README.md").read_text()
    assert f"records: {audit.records:,} in {audit.classes:,} classes" in text
    assert f"certainty penalty {audit.utility['certainty-penalty'].total:.4f}" in text
    before, after = audit.risk_before["prosecutor"], audit.risk["prosecutor"]
    assert f"on average {before['mean']:.1%} before, {after['mean']:.1%} after" in text


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_site_is_made_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for family in ("models", "algorithms", "hierarchies", "utility", "risk", "perturbations"):
        page = (tmp_path / "reference" / f"{family}.html").read_text(encoding="utf-8")
        assert f'id="{registry.names(family)[0]}"' in page
    assert "shoal anonymize" in (tmp_path / "reference" / "commands.html").read_text(encoding="utf-8")
    fetched = [
        page
        for page in tmp_path.rglob("*.html")
        if re.search(r'(?:src|<link[^>]+href)="https?://', page.read_text(encoding="utf-8"))
    ]
    assert not fetched, "the site works offline"


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 240
