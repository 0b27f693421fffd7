"""The page as it is sent: quick, without numerical libraries, built from the cards alone, and allowed to run only its own scripts."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from fastapi import FastAPI

from app.api import Studio
from backends.contract import field_specs
from tests.ui.conftest import ask
from ui.content_policy import policy_for
from ui.drafts import Draft, Drafts, fresh_pane
from ui.panes import RenderedPanes, render_panes
from ui.server import ServerOptions, address, head_of_page
from ui.theme import theme

HEAVY = ("torch", "transformers", "diffusers", "torchvision", "tensorflow", "peft")
WEB = Path(__file__).resolve().parents[2] / "ui" / "web"


def test_building_the_whole_application_imports_no_numerical_library(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from app.api import Studio; from ui.server import ServerOptions, build_app\n"
        f"studio = Studio.open(Path({str(tmp_path)!r}), engine='none'); build_app(studio, ServerOptions()); studio.close()\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=280, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_the_page_answers_with_its_own_styles_and_scripts_in_the_head(app: FastAPI) -> None:
    answer = ask(app, "/")
    head = answer.text.partition("</head>")[0]
    assert answer.status == 200 and "/studio/static/js/app.js" in head and "/studio/static/css/tokens.css" in head
    for name in re.findall(r'(?:src|href)="(/studio/static/[^"]+)"', head):
        assert ask(app, name).status == 200, name


def test_each_inline_script_of_the_page_is_allowed_by_its_digest_and_no_other(app: FastAPI) -> None:
    answer = ask(app, "/")
    policy = answer.headers["content-security-policy"]
    scripts = re.findall(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", answer.body, re.DOTALL)
    assert scripts
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script).digest()).decode() in policy
    assert policy.count("'sha256-") == len({script for script in scripts if script.strip()})
    assert "sha256" not in policy_for(b"<script src='x.js'></script>")


def test_gradio_is_told_to_report_nothing_and_to_keep_no_history(app: FastAPI) -> None:
    page = ask(app, "/").text
    config = json.loads(re.search(r"window\.gradio_config = (\{.*?\});</script>", page, re.DOTALL).group(1))  # type: ignore[union-attr]
    assert config["analytics_enabled"] is False
    assert not config.get("run_history") and config["footer_links"] == []
    assert all(dependency["api_visibility"] != "public" for dependency in config["dependencies"])
    assert not any(component["type"] == "html" for component in config["components"])


def test_only_tabs_that_have_a_method_are_on_the_page(app: FastAPI, studio: Studio) -> None:
    page = ask(app, "/").text
    config = json.loads(re.search(r"window\.gradio_config = (\{.*?\});</script>", page, re.DOTALL).group(1))  # type: ignore[union-attr]
    tabs = [component["props"]["id"] for component in config["components"] if component["type"] == "tabitem"]
    assert tabs == [tab.value for tab in studio.registry.tabs]


def rendered(studio: Studio, draft: Draft) -> tuple[RenderedPanes, dict[str, Any]]:
    drafts = Drafts(studio)
    with gr.Blocks() as page:
        panes = render_panes(draft, drafts.cards(draft.tab), drafts, studio.models.added)
    return panes, {str(block.elem_id): block for block in page.blocks.values() if getattr(block, "elem_id", None)}


def test_a_plug_ins_settings_appear_as_controls_with_their_labels(studio: Studio) -> None:
    card = studio.registry.card("toy_rotation")
    draft = Draft(tab="text", inputs={"prompt": "abc"}, panes=(fresh_pane(card), fresh_pane(card, {"shift": 13})))
    panes, blocks = rendered(studio, draft)
    for letter in ("A", "B"):
        for spec in field_specs(card.settings):
            assert blocks[f"dp-text-{letter}-set-{spec.name}"].label == f"{spec.label}, pane {letter}"
    assert blocks["dp-text-B-set-shift"].value == 13
    assert set(panes.run_buttons) == {"A", "B"}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_bench_of_one_to_four_panes_has_a_row_a_setting_and_a_hinge_a_challenger(studio: Studio, count: int) -> None:
    cards = Drafts(studio).cards("text")
    draft = Draft(tab="text", inputs={}, panes=tuple(fresh_pane(cards[place % len(cards)]) for place in range(count)))
    panes, blocks = rendered(studio, draft)
    fields = {spec.name for pane in draft.panes for spec in field_specs(studio.registry.card(pane.method).settings)}
    assert {name for name in fields if f"dp-text-row-{name}" in blocks} == fields
    assert sum(name.startswith("dp-text-hinge-") for name in blocks) == count - 1
    assert len(panes.components) == sum(len(field_specs(studio.registry.card(pane.method).settings)) for pane in draft.panes)


def test_the_controls_of_a_pane_that_meanwhile_holds_another_method_are_left_out(studio: Studio) -> None:
    toy = studio.registry.card("toy_rotation")
    other = next(card for card in Drafts(studio).cards("text") if card.key != "toy_rotation")
    draft = Draft(tab="text", inputs={}, panes=(fresh_pane(toy),))
    panes, _ = rendered(studio, draft)
    values = tuple(5 if spec.name == "shift" else draft.panes[0].settings[spec.name] for _, _, spec in panes.fields)
    assert panes.collect(draft, values).panes[0].settings["shift"] == 5
    changed = draft.changed(panes=(fresh_pane(other),))
    assert panes.collect(changed, values).panes == changed.panes


def test_the_theme_names_no_colour_of_its_own() -> None:
    built = theme()
    for name in ("button_primary_background_fill", "input_border_color", "body_text_color", "block_background_fill"):
        assert str(getattr(built, name)).startswith(("var(--", "transparent"))
        dark = getattr(built, f"{name}_dark", None)
        assert dark is None or str(dark) == str(getattr(built, name))


def test_the_pages_scripts_take_no_markup_and_name_no_other_server() -> None:
    scripts = [*(WEB / "js").glob("*.js"), *(WEB / "views").glob("*.js")]
    assert scripts
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "https://"):
            assert word not in text, (path.name, word)


def test_the_head_lists_every_style_and_view_found_once() -> None:
    names = re.findall(r'/studio/static/([^"]+)"', head_of_page())
    assert len(names) == len(set(names))
    assert {f"css/{path.name}" for path in (WEB / "css").glob("*.css")} <= set(names)
    assert names[0] == "css/tokens.css"


@pytest.mark.parametrize(
    ("listen", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:7860/"),
        ("::1", "http://[::1]:7860/"),
        ("0.0.0.0", "http://127.0.0.1:7860/"),
        ("::", "http://[::1]:7860/"),
    ],
)
def test_the_printed_address_is_one_a_browser_opens(listen: str, expected: str) -> None:
    assert address(ServerOptions(listen=listen, auth=(("a", "b"),))) == expected
