"""The promise to whoever adds a method: a folder is enough. The toy lies in a plug-in folder and nothing else knows of it.

A real studio is started with that folder; the toy must be in its registry, its page, its HTTP names, its command line and its store.

It deliberately uses no part of the studio that knows the toy by name.
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from app.registry import Registry
from storage.store import Store
from storage.values import HistoryQuery
from tests.toy_method.place import place_toy

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
SECONDS = 60.0


@dataclass
class Served:
    """A studio that serves."""

    address: str
    data: Path
    plugins: Path

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.loads(answer.read())

    def finished(self, run: str) -> dict[str, Any]:
        until = time.monotonic() + SECONDS
        while True:
            page = self.ask(f"studio/watch?runs={run}&since={run}:0")
            if page["finished"] or time.monotonic() > until:
                return page["runs"][0]
            time.sleep(0.05)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    plugins = place_toy(folder / "plugins")
    options = ["--data", str(folder / "data"), "--plugins", str(plugins), "--device", "cpu", "--port", "0"]
    command = [sys.executable, "-P", "-m", "ui.cli", "studio", *options]
    with subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline() if process.stdout else ""
        address = re.search(r"http://\S+", line)
        assert address, line
        yield Served(address.group(), folder / "data", plugins)
        process.terminate()


def test_it_is_in_the_registry(served: Served) -> None:
    assert Registry.discover((served.plugins,)).card("toy_rotation").title == "Rotation"
    assert "toy_rotation" not in [card.key for card in Registry.discover().cards], "it is nowhere else"


def test_it_runs_over_http_and_is_kept_with_its_record(served: Served) -> None:
    known = {card["key"]: card for card in served.ask("studio/cards")["cards"]}
    assert "toy_rotation" in known
    run = served.ask("studio/api/runs", {"method": "toy_rotation", "inputs": {"prompt": "abc"}, "settings": {"shift": 1}})
    ended = served.finished(run["id"])
    assert ended["state"] == "done"
    with Store.open(None, served.data) as store:
        (kept,) = store.run(run["id"]).artifacts
        assert store.read_artifact(kept.id) == b"bcd"
        assert store.record_for_artifact(kept.id) is not None
        assert run["id"] in [one.id for one in store.history(HistoryQuery(method="toy_rotation", text="abc")).runs]


def test_it_can_be_compared_and_keeps_its_promise_of_equal_output(served: Served) -> None:
    panes = [
        {"pane": pane, "method": "toy_rotation", "checkpoint": "alphabet", "settings": {"batch": batch}}
        for pane, batch in (("A", 1), ("B", 4))
    ]
    made = served.ask("studio/api/comparisons", {"tab": "text", "panes": panes, "inputs": {"prompt": "Festina lente"}})
    until = time.monotonic() + SECONDS
    while not (summary := served.ask(f"studio/comparisons/{made['id']}/summary"))["finished"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert summary["verdicts"]["B"]["kind"] == "kept"
    steps = next(row for row in summary["ledger"] if row["name"] == "steps")
    assert (steps["cells"]["A"]["value"], steps["cells"]["B"]["value"]) == (13, 4)


def test_the_command_line_runs_it(served: Served, tmp_path: Path) -> None:
    options = ["--plugins", str(served.plugins), "--data", str(tmp_path), "--device", "cpu"]
    command = [sys.executable, "-P", "-m", "ui.cli", "run", "toy_rotation", "-p", "abc", *options]
    result = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=SECONDS)
    assert "def" in result.stdout, result.stderr


@pytest.mark.browser
def test_the_page_offers_it_with_its_settings(served: Served, chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_default_timeout(1000 * SECONDS)
    page.goto(served.address)
    page.locator("#dp-text-A-method input").click()
    page.get_by_role("option", name="Rotation").click()
    page.get_by_label("Letters at once").first.wait_for(state="attached")
    page.close()
