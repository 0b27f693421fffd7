"""What every test gets: no network, no folder of the user's, one thread; and the option that forbids skips.

Environment variables are set before anything is imported, so that worker processes inherit them.

It deliberately offers no stand-in for a component: fixtures hand out real ones.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
BROWSER_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
)  # fmt: skip
PATIENCE_MS = 45_000
"""For anything a page does by itself: a busy machine is no failure, and a passing test never waits that long."""
_FOLDER = tempfile.TemporaryDirectory(prefix="diptych-tests-")
for _name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HF_HOME"):
    os.environ[_name] = str(Path(_FOLDER.name) / _name.lower())
os.environ.update(
    HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1", GRADIO_ANALYTICS_ENABLED="False",
    PYTHONPATH=os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
)  # fmt: skip
os.environ.pop("DIPTYCH_PLUGINS", None)
# A busy machine is slow, not wrong: examples are limited by number, never by time.
hypothesis_settings.register_profile("studio", deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
hypothesis_settings.load_profile("studio")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="a skipped test fails the run")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and session.config.getoption("--no-skips") and reporter.stats.get("skipped") and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        forbidden = " and none may be" if terminalreporter.config.getoption("--no-skips") else ""
        terminalreporter.write_line(f"{len(skipped)} tests were skipped{forbidden}:")
        for report in skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            terminalreporter.write_line(f"  {report.nodeid}: {reason}")


@pytest.fixture(scope="session")
def chromium() -> Iterator["Browser"]:
    """One browser for everything a worker tests in it: Playwright runs once a process."""
    from playwright.sync_api import expect, sync_playwright

    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:  # a user's machine; where skips are forbidden, this fails the run
        pytest.skip("no Chromium on this machine")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(BROWSER_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def assets() -> Path:
    """The repository's own assets: pocket checkpoints and examples."""
    return ROOT / "assets"


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """An empty data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    yield folder
