"""The bench under a user's hands: wrong values, stops, refreshes, second tabs, drafts, presets, sweeps, keys.

Slow runs are those of the toy method, which waits before every letter.

It deliberately tests no decoding: methods have their own tests.
"""

import json
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.bench import SECONDS, Bench, turned
from tests.e2e.process import StudioProcess

LONG = SECONDS * 1000
PROVERB = "Festina lente, sed festina. " * 6
SLOW = ("toy_rotation", {"shift": 3, "pause": 0.4})
QUICK = ("toy_rotation", {"shift": 3, "pause": 0.0, "batch": 8})


def shows_letters(bench: Bench, letter: str, count: int = 2) -> None:
    """Wait until a pane shows at least so many letters of its run."""
    bench.page.wait_for_function(
        "([id, count]) => (document.querySelector(`#${id} .dp-view`)?.textContent ?? '').length >= count",
        arg=[f"dp-text-out-{letter}", count],
        timeout=LONG,
    )


# wrong values ---------------------------------------------------------------------------------------------------------


def test_a_value_out_of_range_is_said_at_its_control_and_one_press_mends_it(bench: Bench) -> None:
    bench.use(("autoregressive", {}), ("d2f", {"tau_add": 0.3}), prompt="Convert 4.250 mg to kg.")
    bench.type(bench.setting("B", "tau_conf"), "1.5")
    fault = bench.fault("B", "tau_conf")
    expect(fault).to_contain_text("must lie between 0 and 1")
    expect(fault.get_by_role("button")).to_have_text("Use 1")
    expect(bench.setting("B", "tau_conf")).to_have_value("1.50")
    bench.el("run").click()
    bench.until("bench.faults.length === 1 && bench.runs.length === 0")
    fault.get_by_role("button").click()
    expect(fault).to_have_count(0)
    bench.until("bench.faults.length === 0 && bench.panes[1].settings.tau_conf === 1")
    assert bench.state["panes"][1]["settings"]["tau_add"] == 0.3, "another setting was lost"
    expect(bench.prompt).to_have_value("Convert 4.250 mg to kg.")


def test_blocks_that_do_not_divide_name_the_nearest_length(bench: Bench) -> None:
    bench.use(("autoregressive", {}), ("d2f", {}), prompt="Convert 4.250 mg to kg.")
    bench.type(bench.setting("B", "block_size"), "28")
    fault = bench.fault("B", "max_new_tokens")
    expect(fault).to_contain_text("do not divide into blocks of 28")
    button = fault.get_by_role("button")
    expect(button).to_be_visible()
    button.click()
    expect(fault).to_have_count(0)
    bench.until("bench.faults.length === 0 && bench.panes[1].settings.max_new_tokens % 28 === 0")


def test_an_empty_prompt_is_said_at_the_prompt_and_outputs_stay(bench: Bench) -> None:
    bench.use(QUICK, QUICK, prompt="Festina lente").run_all().ended()
    bench.type(bench.prompt, "")
    expect(bench.shared_fault()).to_contain_text("The prompt is empty")
    comparison = bench.state["comparison"]
    bench.el("run").click()
    bench.until("bench.faults.length > 0")
    assert bench.state["comparison"] == comparison, "a refused run took the outputs away"
    expect(bench.out("A")).to_contain_text(turned("Festina lente", 3))
    expect(bench.line("A")).to_contain_text("settings changed since")
    bench.type(bench.prompt, "Festina lente")
    expect(bench.shared_fault()).to_have_count(0)


def test_a_repeat_count_beyond_the_limit_is_said_beside_it(bench: Bench) -> None:
    bench.type(bench.number("repeats"), "51")
    fault = bench.page.locator("#dp-bench-text .shared-run .err")
    expect(fault).to_contain_text("Repeats must lie between 1 and 50")
    fault.get_by_role("button", name="Use 50").click()
    expect(fault).to_have_count(0)
    bench.until("bench.repeats === 50")


# running, stopping, coming back ---------------------------------------------------------------------------------------


def test_stopping_one_pane_keeps_what_it_made_and_lets_the_other_finish(bench: Bench) -> None:
    bench.use(SLOW, QUICK, prompt=PROVERB).run_all()
    shows_letters(bench, "A", 3)
    bench.page.locator("#dp-text-pane-A").get_by_role("button", name="Stop pane").click()
    bench.ended()
    line = bench.line("A")
    expect(line).to_contain_text("partial")
    expect(line).to_contain_text("stopped by you")
    expect(line).to_contain_text("Signed")
    kept = bench.out("A").inner_text().strip()
    whole = turned(PROVERB, 3)
    assert 3 <= len(kept) < len(whole) - 10 and whole.startswith(kept)
    expect(bench.out("B")).to_contain_text(whole.strip())
    line.get_by_role("button", name="Verify").click()
    expect(bench.page.locator(".dp-say")).to_contain_text("Signed here, and unchanged since.")


def test_a_refresh_in_the_middle_goes_on_showing_and_a_second_tab_stops_it(
    bench: Bench, context: BrowserContext, studio: StudioProcess
) -> None:
    bench.use(SLOW, prompt=PROVERB).run_all()
    shows_letters(bench, "A", 3)
    run = bench.state["shown"]["A"]
    bench.page.reload()
    bench.drawn()
    assert bench.state["shown"]["A"] == run, "a refresh must not start anything"
    shows_letters(bench, "A", 4)
    expect(bench.el("stop")).to_be_enabled()
    second = Bench(context.new_page(), studio.address).open_bench()
    shows_letters(second, "A", 4)
    second.el("stop").click()
    second.ended()
    bench.ended()
    expect(bench.line("A")).to_contain_text("stopped by you")
    assert bench.state["runs"][0]["partial"]


def test_a_run_goes_on_when_its_tab_is_closed(bench: Bench, context: BrowserContext, studio: StudioProcess) -> None:
    bench.use(("toy_rotation", {"shift": 1, "pause": 0.15}), prompt="abcdefghijklmno").run_all()
    shows_letters(bench, "A", 1)
    bench.page.close()
    again = Bench(context.new_page(), studio.address).open_bench().ended()
    expect(again.out("A")).to_contain_text("bcdefghijklmnop")
    expect(again.line("A")).to_contain_text("Signed")
    assert again.state["runs"][0]["state"] == "done"


# drafts, panes, presets -----------------------------------------------------------------------------------------------


def test_everything_typed_survives_a_refresh(bench: Bench) -> None:
    bench.use(("toy_rotation", {"shift": 3}), ("toy_rotation", {"shift": 5}), prompt="before")
    bench.type(bench.prompt, "Nunc est\nbibendum")
    bench.type(bench.setting("A", "shift"), "11")
    bench.type(bench.number("seed"), "77")
    bench.until("bench.inputs.prompt === 'Nunc est\\nbibendum' && bench.panes[0].settings.shift === 11 && bench.seed === 77")
    bench.el("add").click()
    bench.until("bench.panes.length === 3")
    bench.drawn()
    bench.page.reload()
    bench.drawn()
    expect(bench.prompt).to_have_value("Nunc est\nbibendum")
    expect(bench.setting("A", "shift")).to_have_value("11")
    expect(bench.setting("B", "shift")).to_have_value("5")
    expect(bench.setting("C", "shift")).to_have_value("5")
    expect(bench.number("seed")).to_have_value("77")


def test_what_is_pasted_and_erased_is_kept_like_what_is_typed(bench: Bench) -> None:
    bench.prompt.click()
    bench.page.keyboard.press("Control+A")
    bench.page.evaluate("document.execCommand('insertText', false, 'pasted')")
    bench.until("bench.inputs.prompt === 'pasted'")
    bench.page.keyboard.press("Backspace")
    bench.until("bench.inputs.prompt === 'paste'")


def test_panes_are_added_copied_swapped_and_removed(bench: Bench) -> None:
    bench.use(("toy_rotation", {"shift": 3}), ("toy_rotation", {"shift": 5}), prompt="abc")
    bench.el("swap").click()
    bench.until("bench.panes[0].settings.shift === 5 && bench.panes[1].settings.shift === 3")
    bench.drawn().el("copy-B").click()
    bench.until("bench.panes[1].settings.shift === 5")
    bench.drawn().page.get_by_role("button", name="Remove pane B").click()
    bench.until("bench.panes.length === 1")
    bench.drawn()
    expect(bench.el("out", "B")).to_have_count(0)


def test_another_method_in_a_pane_brings_its_own_settings(bench: Bench) -> None:
    bench.use(("toy_rotation", {}), ("toy_rotation", {}), prompt="abc")
    bench.choose(bench.el("B", "method"), "D2F")
    bench.until("bench.panes[1].method === 'd2f'")
    bench.drawn()
    expect(bench.setting("B", "tau_conf")).to_have_value("0.90")
    expect(bench.el("B", "set", "shift")).to_have_count(0)


def test_a_preset_is_saved_by_name_and_chosen_again(bench: Bench) -> None:
    bench.use(("toy_rotation", {"shift": 3}), ("toy_rotation", {"shift": 21}), prompt="abc")
    bench.page.get_by_role("button", name="Save preset…").click()
    dialog = bench.page.locator("dialog")
    dialog.get_by_label("Name of the preset").fill("Twenty-one")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_have_count(0)
    bench.drawn()
    bench.choose(bench.el("A", "preset"), "A: Twenty-one, v1")
    bench.until("bench.panes[0].settings.shift === 21")
    bench.drawn()
    expect(bench.setting("A", "shift")).to_have_value("21")


# comparing ------------------------------------------------------------------------------------------------------------


def test_an_exact_cache_beside_none_is_equal_as_promised(bench: Bench) -> None:
    bench.use(("d2f", {"kv_cache": False}), ("d2f", {"kv_cache": True}), prompt="Convert 4.250 mg to kg. Show each step.").run_all().ended()
    pin = bench.el("hinge", "B").locator(".pin")
    expect(pin).to_have_text("=", timeout=LONG)
    expect(pin).to_have_class("pin on")
    expect(pin).to_have_attribute("aria-label", "Equal, as promised")
    expect(bench.el("verdict").locator(".line.kept")).to_be_visible()
    digests = {run["artifacts"][0]["digest"] for run in bench.state["runs"]}
    assert len(digests) == 1, "the badge must be earned"


def test_a_difference_is_hollow_and_names_the_first_place(bench: Bench) -> None:
    bench.use(("toy_rotation", {"shift": 1, "pause": 0.0}), ("toy_rotation", {"shift": 2, "pause": 0.0}), prompt="abc").run_all().ended()
    pin = bench.el("hinge", "B").locator(".pin")
    expect(pin).to_have_text("≠", timeout=LONG)
    expect(pin).to_have_class("pin")
    expect(bench.el("verdict")).to_contain_text("First difference at character 1")


def test_a_sweep_of_a_threshold_draws_every_cell_and_opens_one(bench: Bench) -> None:
    bench.use(("autoregressive", {}), ("d2f", {}), prompt="Convert 4.250 mg to kg. Show each step.")
    bench.el("sweep").click()
    dialog = bench.page.locator("dialog")
    dialog.get_by_label("Across: setting").select_option(label="Commit above confidence")
    dialog.get_by_label("Across: values, separated by commas").fill("0.5, 0.7, 0.9")
    expect(dialog.locator(".dp-plan")).to_contain_text("3 cells")
    dialog.get_by_role("button", name="Start sweep").click()
    expect(dialog).to_have_count(0)
    bench.until("bench.sweep && bench.finished && bench.runs.length > 0")
    sweep = bench.page.locator(".dp-sweep")
    expect(sweep.locator(".cells button[data-pane]")).to_have_count(3)
    expect(sweep.locator(".chart .mark")).to_have_count(3, timeout=LONG)
    expect(sweep.locator(".result")).not_to_be_empty()
    sweep.locator(".cells button[data-pane='2']").click()
    expect(sweep.locator(".pick")).to_contain_text("0.7")
    sweep.get_by_role("button", name="Open", exact=True).click()
    expect(bench.page.locator(".dp-look .tokens i").first).to_be_visible(timeout=LONG)
    bench.page.go_back()
    bench.page.get_by_role("button", name="back to the panes").click()
    bench.until("!bench.sweep")
    expect(bench.el("out", "A")).to_be_visible()


# keys -----------------------------------------------------------------------------------------------------------------


def test_keys_run_stop_and_list_themselves(bench: Bench) -> None:
    bench.use(SLOW, prompt=PROVERB)
    bench.page.locator("body").click(position={"x": 5, "y": 5})
    bench.page.keyboard.press("?")
    dialog = bench.page.locator("dialog")
    expect(dialog).to_contain_text("run all panes")
    bench.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    bench.prompt.focus()
    bench.page.keyboard.press("?")
    expect(dialog).to_have_count(0)
    expect(bench.prompt).to_have_value(PROVERB + "?")
    bench.page.keyboard.press("Control+Enter")
    bench.until("bench.runs.length === 1")
    assert bench.state["inputs"]["prompt"] == PROVERB + "?", "what was typed a moment ago is what runs"
    shows_letters(bench, "A", 1)
    bench.page.keyboard.press("Escape")
    bench.ended()
    expect(bench.line("A")).to_contain_text("stopped by you")


def test_the_queue_is_paused_reordered_and_resumed(bench: Bench) -> None:
    page = bench.page
    bench.post("queue/pause", {"paused": True})
    try:
        for prompt in ("first", "second", "third"):
            bench.post("api/runs", {"method": "toy_rotation", "inputs": {"prompt": prompt}, "settings": {"pause": 0.0}, "title": prompt})
        bench.go("history")
        page.get_by_role("button", name="All 3, reorder…").click()
        page.get_by_role("button", name="Move to the front: Rotation, third").click()
        order = page.locator(".dp-line-list li")
        expect(order.first).to_contain_text("third")
        page.get_by_role("button", name="Remove Rotation, second").click()
        expect(order).to_have_count(2)
    finally:
        page.get_by_role("button", name="Resume queue").click()
    bench.wait_for_script("async () => (await (await fetch('/studio/queue')).json()).jobs.length === 0")
    told = json.loads(page.evaluate("fetch('/studio/history?method=toy_rotation').then((answer) => answer.text())"))["runs"]
    states = {run["title"]: run["state"] for run in told if run["title"] in ("first", "second", "third")}
    assert states == {"first": "done", "second": "cancelled", "third": "done"}


def test_a_failed_run_says_why_in_its_pane_and_the_other_pane_goes_on(bench: Bench, studio: StudioProcess) -> None:
    """The weights vanish between two runs: the fault names them, and nothing else is lost."""
    weights = studio.plugins / "toy_rotation" / "weights"
    hidden = Path(f"{weights}-hidden")
    bench.post("models/unload", {"method": "toy_rotation", "checkpoint": "alphabet"})
    weights.rename(hidden)
    try:
        bench.use(("toy_rotation", {"pause": 0.0}), ("autoregressive", {"max_new_tokens": 8}), prompt="abc").run_all()
        bench.until("bench.finished")
        expect(bench.el("out", "A").locator(".err")).to_contain_text("is not here", timeout=LONG)
        expect(bench.out("B").locator(".tokens i").first).to_be_visible(timeout=LONG)
    finally:
        hidden.rename(weights)


def test_nothing_left_this_machine(bench: Bench, studio: StudioProcess) -> None:
    assert studio.left_the_machine == []


def test_a_new_visitor_sees_no_draft_of_another(bench: Bench, page: Page) -> None:
    assert bench.state["comparison"] is None
    assert "Nothing run yet" in bench.el("out", "A").inner_text()
