"""E1: some three hundred payloads through every text the page shows, in a real browser, with a canary that must never sing.

Sinks: prompt, output, title, tag, note, preset, file name, file content, search, errors, the words of a hostile plug-in's card
(titles, labels, effects, examples, checkpoints, presets, choices), Markdown and SVG exports dropped back, and the address.

It deliberately opens few pages: payloads come in batches.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.e2e.bench import SECONDS, Bench
from tests.e2e.conftest import Watcher
from tests.e2e.payloads import PAYLOADS, packed
from tests.e2e.process import StudioProcess, running_studio
from tests.toy_method.place import place_toy

LONG = SECONDS * 1000
ROWS = 50
"""Runs on one page of History."""
HOSTILE_CARD = {
    'title="Rotation"': "title=P[0]",
    'summary="Turns every letter of the prompt by a shift."': "summary=P[1]",
    'title="De vita Caesarum"': "title=P[2]",
    'authors="Suetonius"': "authors=P[3]",
    'title="Alphabet"': "title=P[4]",
    'limits="Letters outside the Latin alphabet stay as they are."': "limits=P[5]",
    'title="A proverb"': "title=P[6]",
    'point="Four letters at a time give the same text in a quarter of the steps."': "point=P[7]",
    'Preset(name="Thirteen"': "Preset(name=P[8]",
    'source="its own inverse"': "source=P[9]",
    'licence="public domain"': "licence=P[10]",
    'key="toy_rotation"': 'key="hostile_words"',
    '(("toy_rotation", {"batch": 1}), ("toy_rotation", {"batch": 4}))': '(("hostile_words", {}),)',
}
HOSTILE_SETTINGS = {
    'label="Shift"': "label=P[11]",
    'effect="how far each letter is turned"': "effect=P[12]",
    'symbol="s"': "symbol=P[13]",
    'unit="letters"': "unit=P[14]",
    'label="Case"': "label=P[15]",
}
FOREIGN = """() => {
  const acts = (one) => one.name.startsWith("on") || (/^\\s*(java|vb)script:/i.test(one.value) && /href|src|action|data/.test(one.name));
  const odd = ["iframe", "object", "embed", "base", "frameset", "portal", "isindex", "marquee", "math", "xmp", "listing"];
  const foreign = (el) => odd.includes(el.localName) || [...el.attributes].some(acts)
    || (el.localName === "script" && el.textContent.includes("canary"));
  const config = (el) => el.localName === "script" && el.textContent.trimStart().startsWith("window.gradio_config = ");
  const gradios = (el) => el.matches('base[href="./"]') || config(el);
  return [...document.querySelectorAll("*")].filter((el) => foreign(el) && !gradios(el)).map((el) => el.outerHTML.slice(0, 200));
}"""
"""Elements that only a payload could have made."""


@dataclass
class Canary:
    """What sang, and what the page made of the payloads."""

    sang: list[str] = field(default_factory=list)

    def check(self, page: Page) -> None:
        """Nothing sang, and no payload became an element or an attribute that acts."""
        assert self.sang == []
        made: list[str] = page.evaluate(FOREIGN)
        assert made == []


def place_hostile(plugins: Path) -> None:
    """A plug-in whose every word is a payload."""
    words = packed(150)
    spare = plugins.parent / "spare"
    place_toy(spare, "hostile_words")
    folder = spare / "hostile_words"
    for file, changes in (("card.py", HOSTILE_CARD), ("settings.py", HOSTILE_SETTINGS)):
        text = (folder / file).read_text(encoding="utf-8")
        for before, after in changes.items():
            assert before in text, before
            text = text.replace(before, after)
        head, marker, body = text.partition("from pathlib" if file == "card.py" else "from typing")
        (folder / file).write_text(f"{head}P = {words!r}\n{marker}{body}", encoding="utf-8")
    folder.rename(plugins / "hostile_words")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "plugins").mkdir()
    place_hostile(folder / "plugins")
    with running_studio(folder) as running:
        yield running


@pytest.fixture(scope="module")
def canary() -> Canary:
    return Canary()


@pytest.fixture(scope="module")
def bench(chromium: Browser, studio: StudioProcess, watcher: Watcher, canary: Canary) -> Iterator[Bench]:
    """One browser on the bench, its canary in place before any script of the page."""
    context = watcher.watch(chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True), studio.address)
    context.expose_function("canary", lambda *numbers: canary.sang.append(str(numbers)))
    context.on("dialog", lambda dialog: (canary.sang.append(dialog.message), dialog.dismiss()))
    page = context.new_page()
    page.on("popup", lambda popup: canary.sang.append(popup.url))
    yield Bench(page, studio.address).open_bench()
    context.close()


def done_runs(bench: Bench, prompts: list[str]) -> list[str]:
    """Finished runs whose output is their prompt, word for word."""
    settings = {"shift": 0, "pause": 0.0, "batch": 8}
    sent = [{"method": "toy_rotation", "inputs": {"prompt": prompt}, "settings": settings, "title": prompt[:190]} for prompt in prompts]
    ids = [bench.post("api/runs", body)["id"] for body in sent]
    until = time.monotonic() + SECONDS
    while any(not ended(bench, run) for run in ids):
        assert time.monotonic() < until
    return ids


def ended(bench: Bench, run: str) -> bool:
    text = bench.page.evaluate(f"fetch('/studio/runs/{run}').then((answer) => answer.text())")
    state = json.loads(text)["state"]
    assert state in ("queued", "running", "done"), state
    return bool(state == "done")


@pytest.fixture(scope="module")
def marked(bench: Bench) -> list[str]:
    """A page of History whose titles, tags, notes, prompts and outputs are payloads: each payload stands in every one of these places."""
    prompts = packed(len("".join(PAYLOADS)) // ROWS + 200, "\n")[:ROWS]
    runs = done_runs(bench, prompts)
    titles, tags = packed(200), [payload[:40] for payload in PAYLOADS]
    for number, run in enumerate(runs):
        share = slice(number * len(tags) // len(runs), (number + 1) * len(tags) // len(runs))
        bench.post(f"runs/{run}/title", {"title": titles[number % len(titles)]})
        bench.post(f"runs/{run}/tags", {"tags": tags[share][:20]})
        bench.post(f"runs/{run}/note", {"note": prompts[number]})
    return runs


def test_there_are_three_hundred_payloads_and_the_canary_can_sing(bench: Bench, canary: Canary) -> None:
    """A canary that cannot sing would prove nothing."""
    assert len(PAYLOADS) >= 290 and len(set(PAYLOADS)) == len(PAYLOADS)
    other = bench.page.context.browser
    assert other is not None
    context = other.new_context()
    context.expose_function("canary", lambda *numbers: canary.sang.append(str(numbers)))
    page = context.new_page()
    page.set_content(f"<!doctype html><body>{PAYLOADS[0]}<p>{PAYLOADS[43]}")
    page.wait_for_function("document.images[0]?.complete")
    page.evaluate("() => canary('last')")
    context.close()
    assert len(canary.sang) >= 2
    canary.sang.clear()


def test_a_prompt_of_all_payloads_is_text_in_the_controls_the_output_and_the_verdict(bench: Bench, canary: Canary) -> None:
    whole = "\n".join(PAYLOADS)
    panes = [("toy_rotation", {"shift": shift, "pause": 0.0, "batch": 8}) for shift in (0, 13)]
    # Line ends and NUL are what a text box keeps of them.
    typed = whole.replace("\0", "")
    bench.use(*panes, prompt=typed).run_all().ended()
    expect(bench.out("A")).to_contain_text("canary(1)")
    shown = bench.out("A").evaluate("(el) => el.textContent")
    missing = [payload for payload in PAYLOADS[:60] if "\x01" not in payload and payload.replace("\0", "") not in shown]
    assert missing == [], "the output is not shown faithfully"
    expect(bench.el("verdict")).to_contain_text("First difference")
    canary.check(bench.page)
    bench.el("out", "A").hover()
    bench.page.mouse.move(300, 300)
    canary.check(bench.page)


def test_the_words_of_a_hostile_plug_in_are_text_in_every_control_list_and_dialog(bench: Bench, canary: Canary, watcher: Watcher) -> None:
    page = bench.page
    watcher.refused.add("/studio/bench/text/plan")
    bench.use(("toy_rotation", {}), ("hostile_words", {"shift": 5}), prompt="abc", checkpoint="alphabet")
    for letter in "AB":
        bench.el(letter, "method").get_by_role("combobox").click()
        expect(page.get_by_role("option").first).to_be_visible()
        canary.check(page)
        page.keyboard.press("Escape")
    bench.el("example").get_by_role("combobox").click()
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("Escape")
    bench.el("B", "preset").get_by_role("combobox").click()
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("Escape")
    bench.type(bench.setting("B", "shift"), "99")
    expect(bench.fault("B", "shift")).to_contain_text("must lie between")
    bench.el("sweep").click()
    expect(page.locator("dialog .dp-axis").first).to_be_visible()
    canary.check(page)
    page.locator("dialog").get_by_role("button", name="Cancel").click()
    bench.type(bench.setting("B", "shift"), "1")
    bench.until("bench.faults.length === 0")
    bench.run_all().ended()
    expect(bench.out("B")).to_contain_text("bcd")
    canary.check(page)
    bench.line("B").locator("summary").click()
    expect(bench.line("B").locator(".menu button").first).to_be_visible()
    canary.check(page)
    page.keyboard.press("Escape")


def test_preset_names_are_text(bench: Bench, canary: Canary) -> None:
    bench.use(("toy_rotation", {}), ("toy_rotation", {"shift": 9}), prompt="abc")
    for name in packed(80):
        bench.post("bench/text/preset", {"pane": "B", "name": name})
    bench.drawn()
    bench.el("A", "preset").get_by_role("combobox").click()
    expect(bench.page.get_by_role("option").nth(20)).to_be_attached()
    canary.check(bench.page)
    bench.page.keyboard.press("Escape")


def test_titles_tags_notes_prompts_and_searches_are_text_in_history(bench: Bench, canary: Canary, marked: list[str]) -> None:
    page = bench.page
    told = json.loads(page.evaluate("fetch('/studio/history').then((answer) => answer.text())"))["runs"]
    assert {run["id"] for run in told} >= set(marked)
    bench.go("history")
    expect(page.locator("tbody tr")).to_have_count(len(told))
    expect(page.locator("tbody .tag").first).to_be_visible()
    canary.check(page)
    for number in (0, 1):
        page.locator("tbody tr input[type=checkbox]").nth(number).check()
        expect(page.locator("[aria-label='Compare tray'] .acts").first).to_be_visible()
        canary.check(page)
    for search in (PAYLOADS[0], PAYLOADS[43], '"' * 9, "NEAR((("):
        page.get_by_label("Search runs").fill(search)
        expect(page.locator("tbody tr, .dp-empty b").first).to_be_attached()
    canary.check(page)


def test_payloads_are_text_in_the_queue(bench: Bench, canary: Canary) -> None:
    page = bench.page
    bench.post("queue/pause", {"paused": True})
    titles = packed(190)[:20]
    sent = [bench.post("api/runs", {"method": "hostile_words", "inputs": {"prompt": "a"}, "title": title})["id"] for title in titles]
    bench.go("text")
    bench.go("history")
    page.get_by_role("button", name="reorder…").click()
    expect(page.locator(".dp-line-list li").nth(19)).to_be_visible()
    canary.check(page)
    for run in sent:
        bench.post(f"runs/{run}/cancel", {})
    bench.post("queue/pause", {"paused": False})


def test_payloads_are_text_where_runs_are_looked_at(bench: Bench, canary: Canary, marked: list[str]) -> None:
    for query in (f"?runs={','.join(marked[:4])}", f"?run={marked[5]}"):
        bench.open(query)
        expect(bench.page.locator(".dp-look .dp-view").first).to_contain_text("canary", timeout=LONG)
        canary.check(bench.page)


@pytest.mark.parametrize(
    "query", ["?run={}", "?tab={}", "?comparison={}", "?runs={}", "#{}", "?__theme={}", "?tab=verify&artifact={}", "?tab=history&find={}"]
)
def test_payloads_in_the_address_are_not_even_shown(bench: Bench, canary: Canary, query: str) -> None:
    bench.open(query.format(quote("".join(PAYLOADS[:12]))))
    expect(bench.page.locator(".dp-nav [role=tab]").first).to_be_visible(timeout=LONG)
    canary.check(bench.page)


def test_names_contents_and_records_of_files_are_text_in_verify(bench: Bench, canary: Canary, marked: list[str]) -> None:
    page = bench.page
    bench.open("?tab=verify")
    box = page.locator("input[type=file]")
    for start in range(0, 60, 4):
        names = [payload.replace("/", "∕").replace("\0", "")[:120] for payload in PAYLOADS[start : start + 4]]
        files = [FilePayload(name=name, mimeType="text/html", buffer="\n".join(PAYLOADS[start:]).encode()) for name in names]
        box.set_input_files(files)
        expect(page.locator(".dp-say")).to_have_count(len(files))
        canary.check(page)
    for form in ("txt", "md", "json", "csv"):
        data = page.request.get(f"{bench.address}studio/export?target={marked[0]}&format={form}").body()
        box.set_input_files(FilePayload(name=f"{form}.zip", mimeType="application/zip", buffer=data))
        expect(page.locator(".dp-say")).to_contain_text("Signed here", timeout=LONG)
        page.get_by_role("button", name="Show all of it").click()
        expect(page.locator(".dp-raw")).to_be_visible()
        canary.check(page)


def test_the_words_of_models_are_text_and_folder_faults_too(bench: Bench, canary: Canary, watcher: Watcher) -> None:
    page = bench.page
    watcher.refused.add("/studio/models/folder")
    bench.open("?tab=models")
    expect(page.locator(".mods tbody tr").first).to_be_visible(timeout=LONG)
    page.get_by_role("button", name="Add a folder…").click()
    dialog = page.locator("dialog")
    dialog.get_by_label("Method").select_option(value="toy_rotation")
    dialog.get_by_label("Name", exact=True).fill(PAYLOADS[0])
    dialog.locator("input[name=base]").fill(PAYLOADS[0])
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.locator(".err")).to_be_visible()
    canary.check(page)
    dialog.get_by_role("button", name="Cancel").click()


def test_generated_files_fetched_directly_run_nothing(bench: Bench, canary: Canary, marked: list[str]) -> None:
    """An exported or stored file opened by its address is a download, never a page."""
    page = bench.page
    run: Any = json.loads(page.evaluate(f"fetch('/studio/runs/{marked[0]}').then((answer) => answer.text())"))
    for path in (f"artifacts/{run['artifacts'][0]['id']}", f"export?target={marked[0]}&format=md"):
        with page.expect_download() as awaited:
            page.evaluate("(path) => { location.href = `/studio/${path}` }", path)
        assert awaited.value.suggested_filename
    canary.check(page)
    answer = page.request.get(f"{bench.address}studio/artifacts/{run['artifacts'][0]['id']}")
    assert answer.headers["content-disposition"].startswith("attachment") and "sandbox" in answer.headers["content-security-policy"]
