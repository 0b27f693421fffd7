"""The registry finds methods, keeps broken ones out with a reason, and stays light."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from app import registry as module
from app.errors import UnknownMethod
from app.registry import MethodLocation, Registry, code_digest, load_card, load_method
from backends.contract import Tab

TOYS = Path(__file__).parent / "engine" / "toys"
ROOT = Path(__file__).resolve().parents[2]


def copy_toy(folder: Path, name: str, key: str = "") -> Path:
    target = folder / name
    shutil.copytree(TOYS / "scripted", target, ignore=shutil.ignore_patterns("__pycache__"))
    if key:
        card = target / "card.py"
        card.write_text(card.read_text().replace('key="scripted"', f'key="{key}"'))
    return target


def test_discovery_imports_no_numerical_library_and_no_page(tmp_path: Path) -> None:
    copy_toy(tmp_path, "toy")
    script = (
        "import sys, pathlib, json\n"
        "from app.registry import Registry\n"
        "import app.engine.local, app.checkpoints\n"
        f"found = Registry.discover((pathlib.Path({str(tmp_path)!r}),))\n"
        "heavy = [n for n in ('torch', 'transformers', 'gradio', 'peft', 'diffusers', 'safetensors') if n in sys.modules]\n"
        "print(json.dumps([[c.key for c in found.cards], [p.why for p in found.problems], heavy]))\n"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT, timeout=60)
    keys, problems, heavy = json.loads(answer.stdout.splitlines()[-1])
    assert heavy == []
    assert problems == []
    assert "scripted" in keys and len(keys) > 1


def test_own_methods_are_found_in_page_order() -> None:
    found = Registry.discover()
    order = {tab: place for place, tab in enumerate(Tab)}
    places = [(order[card.tab], card.order, card.key) for card in found.cards]
    assert places and places == sorted(places)
    assert found.problems == ()
    assert all(found.locate(card.key).folder == "" for card in found.cards)


def test_only_tabs_with_a_method_are_listed(tmp_path: Path) -> None:
    copy_toy(tmp_path, "toy")
    found = Registry.discover((tmp_path,))
    assert set(found.tabs) == {card.tab for card in found.cards}
    assert Tab.TEXT in found.tabs


def test_a_plug_in_folder_is_a_method_and_can_be_imported_from_its_location_alone(tmp_path: Path) -> None:
    copy_toy(tmp_path, "toy")
    location = Registry.discover((tmp_path,)).locate("scripted")
    again = MethodLocation.model_validate_json(location.model_dump_json())
    assert again.package == "diptych_plugins.toy"
    assert load_card(again).key == "scripted"
    assert callable(load_method(again).run)


def test_plug_in_folders_may_be_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_toy(tmp_path, "toy")
    monkeypatch.setenv(module.PLUGINS_VARIABLE, str(tmp_path))
    assert Registry.discover().card("scripted").title == "Scripted toy"


def test_a_plug_in_may_be_a_package_with_relative_imports(tmp_path: Path) -> None:
    toy = copy_toy(tmp_path, "toy")
    (toy / "__init__.py").write_text('NAME = "Renamed"\n')
    card = toy / "card.py"
    text = card.read_text().replace('title="Scripted toy"', "title=NAME")
    card.write_text(text.replace("from backends", "from . import NAME\nfrom backends", 1))
    assert Registry.discover((tmp_path,)).card("scripted").title == "Renamed"


@pytest.mark.parametrize(
    ("card", "reason"),
    [
        ("CARD = 1\n", "has no CARD"),
        ("import there_is_no_such_module\n", "there_is_no_such_module"),
        ("CARD = (\n", "SyntaxError"),
        ("raise SystemExit('no')\n", "SystemExit"),
    ],
)
def test_a_broken_plug_in_is_listed_with_its_reason_and_the_others_work(tmp_path: Path, card: str, reason: str) -> None:
    copy_toy(tmp_path, "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "card.py").write_text(card)
    found = Registry.discover((tmp_path,))
    assert found.card("scripted").key == "scripted"
    assert [Path(problem.where).name for problem in found.problems] == ["bad"]
    assert reason in found.problems[0].why


def test_the_first_of_two_methods_with_one_key_wins(tmp_path: Path) -> None:
    copy_toy(tmp_path, "alpha")
    copy_toy(tmp_path, "beta")
    found = Registry.discover((tmp_path,))
    assert found.locate("scripted").package == "diptych_plugins.alpha"
    assert len(found.problems) == 1 and "already taken" in found.problems[0].why


def test_a_plug_in_cannot_take_the_key_of_an_own_method(tmp_path: Path) -> None:
    own = Registry.discover().cards[0].key
    copy_toy(tmp_path, "thief", key=own)
    found = Registry.discover((tmp_path,))
    assert found.locate(own).folder == ""
    assert len(found.problems) == 1


def test_two_plug_in_folders_of_one_name_are_a_problem_not_a_mixture(tmp_path: Path) -> None:
    copy_toy(tmp_path / "one", "toy")
    copy_toy(tmp_path / "two", "toy", key="second")
    found = Registry.discover((tmp_path / "one", tmp_path / "two"))
    assert found.locate("scripted").folder == str((tmp_path / "one" / "toy").resolve())
    assert len(found.problems) == 1 and "already taken from" in found.problems[0].why


def test_a_name_bound_to_another_folder_gives_way(tmp_path: Path) -> None:
    copy_toy(tmp_path / "one", "toy")
    copy_toy(tmp_path / "two", "toy", key="second")
    assert Registry.discover((tmp_path / "one",)).card("scripted")
    assert Registry.discover((tmp_path / "two",)).card("second")


def test_missing_folders_and_names_that_are_not_python_names_are_problems(tmp_path: Path) -> None:
    copy_toy(tmp_path, "not-a-name")
    found = Registry.discover((tmp_path, tmp_path / "absent"))
    assert sorted(problem.why for problem in found.problems) == sorted(
        ["The folder's name must be letters, digits and underscores.", "This plug-in folder does not exist."]
    )


def test_installed_packages_offer_methods_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_toy(tmp_path, "packaged_toy", key="packaged")
    (tmp_path / "packaged_toy" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint(name="toy", value="packaged_toy", group=module.ENTRY_POINTS)
    monkeypatch.setattr(module, "entry_points", lambda group: [point] if group == module.ENTRY_POINTS else [])
    assert Registry.discover().locate("packaged") == MethodLocation(package="packaged_toy")


def test_an_unknown_key_names_those_that_are_known() -> None:
    with pytest.raises(UnknownMethod, match="autoregressive") as caught:
        Registry.discover().card("nothing")
    assert caught.value.fault().field == "method"


def test_the_code_digest_changes_with_the_code(tmp_path: Path) -> None:
    toy = copy_toy(tmp_path, "toy")
    location = Registry.discover((tmp_path,)).locate("scripted")
    before = code_digest(location)
    assert before == code_digest(location)
    with (toy / "method.py").open("a") as stream:
        stream.write("CHANGED = True\n")
    assert code_digest(location) != before
