"""The page as a user's hands meet it: fields, buttons, panes; every wait is for something that shows.

Where: element ids are `dp-<tab>-<letter>-<part>` (ui.panes, ui.bench_page).

It deliberately sleeps nowhere, and judges nothing: tests do.
"""

import json
import re
import time
from typing import Any

from playwright.sync_api import Locator, Page, expect

SECONDS = 120
"""For anything that takes a worker or a page load: generous, because a busy machine is no failure."""
_MILLISECONDS = SECONDS * 1000


class Bench:
    """One browser tab on the text bench."""

    def __init__(self, page: Page, address: str, tab: str = "text") -> None:
        self.page = page
        self.address = address
        self.tab = tab

    # places -------------------------------------------------------------------------------------------------------

    def open(self, query: str = "") -> "Bench":
        self.page.goto(f"{self.address}{query}", timeout=_MILLISECONDS)
        return self

    def open_bench(self) -> "Bench":
        self.open()
        return self.drawn()

    def drawn(self) -> "Bench":
        """Wait until Gradio has laid out what the server holds, and the page's script has drawn around it."""
        expect(self.el("A", "run")).to_be_attached(timeout=_MILLISECONDS)
        self.wait_for_script(
            f"""async () => {{
              const state = await (await fetch("/studio/bench/{self.tab}")).json();
              const last = state.bench.panes.at(-1).pane;
              return !!document.getElementById(`dp-{self.tab}-laid-${{state.bench.revision}}`)
                && document.querySelector(`#dp-{self.tab}-${{last}}-run`) && document.querySelector(`#dp-{self.tab}-out-${{last}} .dp-view`)
                && state.bench.panes.every((pane) => Object.keys(pane.settings).every((name) =>
                  document.getElementById(`dp-{self.tab}-${{pane.pane}}-set-${{name}}`)));
            }}"""
        )
        return self

    def go(self, key: str) -> None:
        """To a tab or a panel by the row of tabs."""
        self.page.locator(f"#dp-nav-{key}").click()
        expect(self.page.locator(f"#dp-nav-{key}")).to_have_attribute("aria-selected", "true")

    def el(self, *parts: str) -> Locator:
        return self.page.locator(f"#{'-'.join(('dp', self.tab, *parts))}")

    # what stands there --------------------------------------------------------------------------------------------

    @property
    def prompt(self) -> Locator:
        return self.el("in", "prompt").locator("textarea")

    def number(self, *parts: str) -> Locator:
        return self.el(*parts).locator("input[type=number]")

    def setting(self, letter: str, name: str) -> Locator:
        return self.number(letter, "set", name)

    def out(self, letter: str) -> Locator:
        return self.el("out", letter).locator(".dp-view")

    def line(self, letter: str) -> Locator:
        """The provenance line below a pane."""
        return self.el("foot").locator(".prov").filter(has=self.page.locator(f".key:text-is('{letter}')"))

    @property
    def state(self) -> dict[str, Any]:
        """The bench as the server holds it for this browser."""
        text = self.page.evaluate(f"fetch('/studio/bench/{self.tab}').then((answer) => answer.text())")
        found: dict[str, Any] = json.loads(text)["bench"]
        return found

    def until(self, condition: str) -> None:
        """Wait until `condition` (JavaScript over `bench`, the server's state) holds."""
        script = f"async () => {{ const {{ bench }} = await (await fetch('/studio/bench/{self.tab}')).json(); return {condition}; }}"
        self.wait_for_script(script)

    def wait_for_script(self, script: str) -> None:
        """Wait until `script`, which asks the server, says true. The page's own waiting would take its promise for a yes."""
        until = time.monotonic() + SECONDS
        while not (answer := self.page.evaluate(script)):
            assert time.monotonic() < until, (script, answer, self.state)
            self.page.wait_for_timeout(50)

    # what hands do ------------------------------------------------------------------------------------------------

    def type(self, box: Locator, value: str) -> None:
        box.fill(value)
        box.blur()

    def choose(self, box: Locator, option: str) -> None:
        """Pick from one of Gradio's lists."""
        box.get_by_role("combobox").click()
        self.page.get_by_role("option", name=option, exact=True).click()

    def use(self, *panes: tuple[str, dict[str, Any]], prompt: str, seed: int = 1729, checkpoint: str = "") -> "Bench":
        """Fill the whole bench as "Use these" does, for one run each."""
        checkpoints = {"toy_rotation": "alphabet"}
        body = {
            "panes": [
                {"pane": letter, "method": method, "checkpoint": checkpoint or checkpoints.get(method, "pocket"), "settings": settings}
                for letter, (method, settings) in zip("ABCD", panes, strict=False)
            ],
            "inputs": {"prompt": prompt, "held_out": 0},
            "seed": seed,
        }
        assert self.post(f"bench/{self.tab}/use", body)["revision"] > 0
        self.page.evaluate("dispatchEvent(new Event('diptych:touch'))")
        self.drawn()
        expect(self.prompt).to_have_value(prompt)
        self.type(self.number("repeats"), "1")
        self.until("bench.repeats === 1")
        return self

    def post(self, path: str, body: Any) -> Any:
        """The page's own request to the studio."""
        script = """([path, body]) => fetch(`/studio/${path}`, {
          method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }).then((answer) => answer.text())"""
        return json.loads(self.page.evaluate(script, [path, body]))

    def run_all(self) -> "Bench":
        before = self.state["comparison"]
        self.el("run").click()
        self.until(f"bench.comparison !== {json.dumps(before)} && bench.runs.length > 0")
        return self

    def ended(self) -> "Bench":
        """Wait until nothing of the bench runs and every pane has its line."""
        self.until("bench.finished && bench.runs.length > 0")
        expect(self.el("stop")).to_be_disabled(timeout=_MILLISECONDS)
        expect(self.el("foot").locator(".prov .key")).to_have_count(len(self.state["shown"]), timeout=_MILLISECONDS)
        return self

    def fault(self, *parts: str) -> Locator:
        return self.el("fault", *parts).locator(".err")

    def shared_fault(self) -> Locator:
        return self.page.locator(f"#dp-bench-{self.tab} .shared-in .err")

    def wide(self) -> dict[str, int]:
        """How wide the page is, and how wide its content wants to be."""
        found: dict[str, int] = self.page.evaluate(
            "() => ({ window: document.documentElement.clientWidth, content: document.documentElement.scrollWidth })"
        )
        return found

    def overflowing(self) -> list[str]:
        """Elements that reach over the right edge without a box of their own that scrolls or clips."""
        found: list[str] = self.page.evaluate("""() => {
          const edge = document.documentElement.clientWidth + 1;
          const boxed = (el) => { for (let up = el.parentElement; up && up !== document.body; up = up.parentElement)
            if (getComputedStyle(up).overflowX !== "visible") return true; return false; };
          const beyond = (el) => el.checkVisibility() && el.getBoundingClientRect().right > edge && !boxed(el);
          return [...document.body.querySelectorAll("*")].filter(beyond).map((el) => `${el.tagName}#${el.id}.${el.className}`).slice(0, 5);
        }""")
        return found


def turned(text: str, shift: int) -> str:
    """What the toy method makes of `text`."""

    def letter(found: "re.Match[str]") -> str:
        first = ord("a") if found.group().islower() else ord("A")
        return chr(first + (ord(found.group()) - first + shift) % 26)

    return re.sub("[a-zA-Z]", letter, text)
