"""A newcomer's first hour: the page opens on an example, both panes run, the results are taken away, found, verified, replayed.

One browser walks the whole way once (`visit`); the tests look at where it stands.

It deliberately reads what a user sees, and asks the server only to hold the two against each other.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, FilePayload, expect

from tests.e2e.bench import SECONDS, Bench
from tests.e2e.conftest import NO_RUN, Watcher
from tests.e2e.process import StudioProcess

LONG = SECONDS * 1000


@dataclass
class Visit:
    """A browser whose user pressed Run all on the example, and what stood there before."""

    bench: Bench
    context: BrowserContext
    first_prompt: str = ""
    first_texts: dict[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> dict[str, dict[str, Any]]:
        """Letter -> the run its pane shows."""
        state = self.bench.state
        by_id = {run["id"]: run for run in state["runs"]}
        return {letter: by_id[run] for letter, run in state["shown"].items()}


@pytest.fixture(scope="module")
def visit(chromium: Browser, studio: StudioProcess, watcher: Watcher) -> Iterator[Visit]:
    context = watcher.watch(chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True), studio.address)
    bench = Bench(context.new_page(), studio.address).open_bench()
    found = Visit(bench, context, bench.prompt.input_value())
    found.first_texts = {letter: bench.el("out", letter).inner_text() for letter in "AB"}
    bench.type(bench.number("repeats"), "1")
    bench.until("bench.repeats === 1")
    bench.run_all().ended()
    yield found
    context.close()


@pytest.fixture
def at_the_bench(visit: Visit) -> Iterator[Visit]:
    """The visit, on the bench, whatever an earlier test opened."""
    visit.bench.go("text")
    expect(visit.bench.el("foot").locator(".prov .key")).to_have_count(2)
    yield visit


def take(visit: Visit, letter: str, label: str, suffix: str) -> dict[str, bytes]:
    """Export a pane's output through its list; the archive's files by name."""
    page = visit.bench.page
    menu = visit.bench.line(letter).locator("details.exp")
    menu.locator("summary").click()
    with page.expect_download() as awaited:
        row = menu.locator(".row").filter(has_text=label).filter(has_text=suffix.upper()).first
        row.locator(f"xpath=self::button | .//button[text()='{suffix.upper()}']").click()
    return unpacked(Path(awaited.value.path()).read_bytes())


def unpacked(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def drop(visit: Visit, files: dict[str, bytes]) -> None:
    """Drop files on Verify as a mouse does."""
    visit.bench.go("verify")
    visit.bench.page.evaluate(
        """(files) => {
          const moved = new DataTransfer();
          for (const [name, bytes] of Object.entries(files)) moved.items.add(new File([new Uint8Array(bytes)], name));
          document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: moved }));
        }""",
        {name: list(data) for name, data in files.items()},
    )


def test_the_first_start_opens_on_the_text_tab_with_an_example(visit: Visit) -> None:
    page = visit.bench.page
    assert len(visit.first_prompt) > 10
    assert all("Nothing run yet" in text for text in visit.first_texts.values())
    assert [tab.inner_text() for tab in page.locator(".dp-nav [role=tab]").all()] == ["Text", "History", "Models", "Verify"]
    assert "Example:" in visit.bench.el("example").get_by_role("combobox").input_value()
    assert visit.bench.state["panes"][0]["baseline"], "the baseline stands on the left"


def test_run_all_fills_both_panes_with_tokens_coloured_by_their_pass(at_the_bench: Visit) -> None:
    for letter, run in at_the_bench.runs.items():
        out = at_the_bench.bench.out(letter)
        expect(out.locator(".tokens i").first).to_be_visible(timeout=LONG)
        assert run["state"] == "done", run["fault"]
        text = next(artifact for artifact in run["artifacts"] if artifact["kind"] == "text")
        kept = json.loads(visit_get(at_the_bench, f"artifacts/{text['id']}/json"))["text"]
        shown = "".join(token.text_content() or "" for token in out.locator(".tokens i").all())
        assert kept.strip() and kept.strip() in shown, (letter, kept, shown)
        colours = out.locator(".tokens i").evaluate_all("(all) => new Set(all.map((one) => getComputedStyle(one).backgroundColor)).size")
        assert colours > 1, letter


def visit_get(visit: Visit, path: str) -> str:
    return str(visit.bench.page.evaluate(f"fetch('/studio/{path}').then((answer) => answer.text())"))


def test_costs_stand_in_the_ledger_with_ratios_and_a_verdict_below_the_panes(at_the_bench: Visit) -> None:
    bench = at_the_bench.bench
    rows = bench.el("cost").locator(".ledger .lr")
    expect(rows.first).to_be_visible()
    summary = json.loads(visit_get(at_the_bench, f"comparisons/{bench.state['comparison']}/summary"))
    assert [row.locator(".what").inner_text() for row in rows.all()] == [row["label"] for row in summary["ledger"]]
    wall = next(row for row in summary["ledger"] if row["name"] == "wall_seconds")
    expect(rows.first).to_contain_text(wall["ratios"]["B"]["words"])
    kind = summary["verdicts"]["B"]["kind"]
    pin = bench.el("hinge", "B").locator(".pin")
    expect(pin).to_have_text("≠" if kind in ("different", "broken") else "=")
    expect(bench.el("verdict").locator(".line")).not_to_be_empty()


def test_each_pane_has_a_signed_line_with_the_digest_of_what_was_kept(at_the_bench: Visit) -> None:
    for letter, run in at_the_bench.runs.items():
        line = at_the_bench.bench.line(letter)
        first = run["artifacts"][0]
        data = at_the_bench.bench.page.request.get(f"{at_the_bench.bench.address}studio/artifacts/{first['id']}").body()
        assert hashlib.sha256(data).hexdigest() == first["digest"]
        expect(line).to_contain_text("Signed")
        expect(line.locator("code")).to_have_attribute("title", f"sha256 {first['digest']}")
        assert first["record"] is not None


@pytest.mark.parametrize(
    ("letter", "label", "suffix"),
    [("A", "Text", "txt"), ("B", "Everything, with the trace", "json"), ("B", "Block timeline", "svg")],
)
def test_an_export_comes_with_its_record_and_verify_says_signed_here(at_the_bench: Visit, letter: str, label: str, suffix: str) -> None:
    files = take(at_the_bench, letter, label, suffix)
    (name,) = (name for name in files if not name.endswith(".intoto.json"))
    assert set(files) == {name, f"{name}.intoto.json"} and name.endswith(f".{suffix}")
    drop(at_the_bench, files)
    said = at_the_bench.bench.page.locator(".dp-say")
    expect(said).to_contain_text("Signed here, and unchanged since.")
    expect(at_the_bench.bench.page.locator(".dp-two .pin.on")).to_have_text("=")
    expect(at_the_bench.bench.page.locator("dl.facts").first).to_contain_text(name)


def test_one_flipped_bit_of_an_export_is_seen(at_the_bench: Visit) -> None:
    files = take(at_the_bench, "A", "Text", "txt")
    (name,) = (name for name in files if not name.endswith(".intoto.json"))
    changed = bytearray(files[name])
    changed[len(changed) // 2] ^= 1
    drop(at_the_bench, files | {name: bytes(changed)})
    page = at_the_bench.bench.page
    expect(page.locator(".dp-say.bad")).to_contain_text("The file was changed.")
    expect(page.locator(".dp-two .pin.bad")).to_have_text("≠")


def test_the_archive_itself_can_be_chosen_in_verify(at_the_bench: Visit) -> None:
    files = take(at_the_bench, "B", "Text, settings and costs", "md")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    at_the_bench.bench.go("verify")
    chosen = FilePayload(name="export.zip", mimeType="application/zip", buffer=packed.getvalue())
    at_the_bench.bench.page.locator("input[type=file]").set_input_files(chosen)
    expect(at_the_bench.bench.page.locator(".dp-say")).to_contain_text("Signed here")


def test_a_file_of_somebody_else_has_no_record(at_the_bench: Visit) -> None:
    drop(at_the_bench, {"letter.txt": b"nobody signed this"})
    expect(at_the_bench.bench.page.locator(".dp-say")).to_contain_text("No record.")


def test_the_signed_lines_verify_button_opens_the_record_with_its_settings(at_the_bench: Visit) -> None:
    at_the_bench.bench.line("B").get_by_role("button", name="Verify").click()
    page = at_the_bench.bench.page
    expect(page.locator(".dp-say")).to_contain_text("Signed here, and unchanged since.")
    labels = page.locator("dl.facts dt").all_inner_texts()
    assert {"Commit above confidence", "Seed", "Shared input"} <= set(labels)
    page.get_by_role("button", name="Show all of it").click()
    expect(page.locator(".dp-raw")).to_contain_text(at_the_bench.runs["B"]["id"])


def test_a_replay_repeats_the_output_and_says_so_at_the_line(at_the_bench: Visit) -> None:
    line = at_the_bench.bench.line("B")
    line.get_by_role("button", name="Replay").click()
    expect(line.locator(".replayed")).to_contain_text("Replayed:", timeout=LONG)
    expect(line.locator(".bad")).to_have_count(0)
    replays = [run for run in json.loads(visit_get(at_the_bench, "history"))["runs"] if run["purpose"] == "replay"]
    assert replays and replays[0]["digest"] == at_the_bench.runs["B"]["artifacts"][0]["digest"]


def test_history_finds_the_runs_by_words_and_settings_and_keeps_a_star(at_the_bench: Visit, studio: StudioProcess) -> None:
    bench, page = at_the_bench.bench, at_the_bench.bench.page
    bench.go("history")
    rows = page.locator("tbody tr")
    page.get_by_label("Search runs").fill("surely nobody wrote this")
    expect(page.locator(".dp-empty").filter(has_text="Nothing fits")).to_be_visible()
    page.get_by_label("Search runs").fill(at_the_bench.first_prompt.split()[0])
    expect(rows.first).to_be_visible()
    found = rows.filter(has_text="pane B").first
    found.get_by_role("button", name="Star").click()
    expect(found.get_by_role("button", name="Star")).to_have_attribute("aria-pressed", "true")
    page.reload()
    page.locator(".chip", has_text="Starred 1").click()
    expect(rows).to_have_count(1)
    assert json.loads(studio.get("studio/history?starred=true"))["runs"][0]["id"] == at_the_bench.runs["B"]["id"]


def test_runs_of_history_are_tagged_named_compared_and_opened_side_by_side(at_the_bench: Visit) -> None:
    bench, page = at_the_bench.bench, at_the_bench.bench.page
    runs = at_the_bench.runs
    before = bench.state["inputs"], [pane["settings"] for pane in bench.state["panes"]]
    bench.go("history")
    page.locator(".chip", has_text="All").click()
    tick = {letter: page.locator(f"tr[data-run='{run['id']}'] input[type=checkbox]") for letter, run in runs.items()}
    tick["A"].check()
    tray = page.get_by_label("Compare tray")
    tray.get_by_label("Tags").fill("quokka, first hour")
    tray.get_by_label("Tags").blur()
    expect(page.locator(f"tr[data-run='{runs['A']['id']}'] .tag")).to_have_text(["quokka", "first hour"])
    tick["B"].check()
    expect(tray.locator(".dl")).to_contain_text("method")
    expect(tray.locator(".dl")).to_contain_text("differs in")
    tray.get_by_role("button", name="Open side by side").click()
    look = page.locator(".dp-look")
    expect(look.locator(".dp-view .tokens i").first).to_be_visible()
    expect(look.locator(".dp-hinge .pin").first).to_be_visible()
    expect(look.locator(".ledger .lr").first).to_be_visible()
    assert f"runs={runs['A']['id']},{runs['B']['id']}" in page.url
    assert (bench.state["inputs"], [pane["settings"] for pane in bench.state["panes"]]) == before, "looking changed a control"


def test_a_link_to_a_run_opens_it_in_another_browser(at_the_bench: Visit, context: BrowserContext, studio: StudioProcess) -> None:
    run = at_the_bench.runs["B"]
    other = Bench(context.new_page(), studio.address).open(f"?run={run['id']}")
    look = other.page.locator(".dp-look")
    expect(look.locator(".dp-view .tokens i").first).to_be_visible(timeout=LONG)
    expect(look.locator(".prov code")).to_have_attribute("title", f"sha256 {run['artifacts'][0]['digest']}")
    gone = Bench(context.new_page(), studio.address).open(f"?run={NO_RUN}")
    expect(gone.page.locator(".dp-look .err")).to_contain_text("There is nothing with this id.", timeout=LONG)


def test_use_these_puts_a_past_comparison_back_into_the_controls(
    at_the_bench: Visit, context: BrowserContext, studio: StudioProcess
) -> None:
    other = Bench(context.new_page(), studio.address).open(f"?comparison={at_the_bench.bench.state['comparison']}")
    other.page.get_by_role("button", name="Use these").click(timeout=LONG)
    other.drawn()
    expect(other.prompt).to_have_value(at_the_bench.first_prompt)
    assert [pane["method"] for pane in other.state["panes"]] == [pane["method"] for pane in at_the_bench.bench.state["panes"]]


def test_the_command_line_sees_what_the_page_made(at_the_bench: Visit, studio: StudioProcess, tmp_path: Path) -> None:
    run = at_the_bench.runs["A"]
    written = studio.line("export", run["id"], "txt", "-o", str(tmp_path))
    assert written.returncode == 0, written.stderr
    (file,) = (path for path in tmp_path.iterdir() if not path.name.endswith(".intoto.json"))
    assert hashlib.sha256(file.read_bytes()).hexdigest() == next(one["digest"] for one in run["artifacts"] if one["kind"] == "text")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390], ids=["wide", "phone"])
def test_no_page_is_wider_than_the_window(at_the_bench: Visit, shots: Path, width: int, dark: bool) -> None:
    bench, page = at_the_bench.bench, at_the_bench.bench.page
    page.set_viewport_size({"width": width, "height": 900 if width > 500 else 844})
    switch = page.get_by_role("button", name="Switch between light and dark")
    if (switch.inner_text() == "Light") != dark:
        switch.click()
    name = f"{'phone' if width < 500 else 'wide'}-{'dark' if dark else 'light'}"
    run = at_the_bench.runs["B"]
    try:
        for place, seen in (
            ("text", "#dp-text-foot .prov"),
            ("history", "tbody tr"),
            ("models", ".mods tbody tr"),
            ("verify", ".drop"),
            ("look", ".dp-look .tokens i"),
        ):
            if place == "look":
                bench.open(f"?runs={at_the_bench.runs['A']['id']},{run['id']}")
            else:
                bench.go(place)
            expect(page.locator(seen).first).to_be_visible(timeout=LONG)
            page.screenshot(path=shots / f"{place}-{name}.png", full_page=True)
            assert bench.overflowing() == [], (place, name)
            assert bench.wide()["content"] <= bench.wide()["window"], (place, name)
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})
        bench.go("text")


def test_nothing_left_this_machine(at_the_bench: Visit, studio: StudioProcess, watcher: Watcher) -> None:
    """The browser's requests and the server's sockets, over all that was done above; workers refuse to leave by themselves."""
    assert watcher.elsewhere == []
    assert studio.left_the_machine == []


def test_the_guard_on_the_network_works(studio: StudioProcess) -> None:
    """A guard that sees nothing would prove nothing."""
    before = len(studio.left_the_machine)
    leave = "import socket\ntry:\n socket.create_connection(('192.0.2.1', 80), 1)\nexcept PermissionError: print('refused')"
    said = studio.line_of_python(leave)
    assert said.strip() == "refused"
    assert len(studio.left_the_machine) == before + 1
