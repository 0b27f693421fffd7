"""What a card must say, and what must lie beside it: the page, the command line and the records are made of this."""

import json
from pathlib import Path

from app.checkpoints import resolve
from app.engine.runtime import configure
from app.registry import Registry
from app.validation import parse, shared_part
from backends.contract import Fault, Group, field_specs
from tests.conformance.subject import ASSETS, Subject


def folder_of(subject: Subject) -> Path:
    return Path(subject.claims.__file__ or "").parent


def test_no_method_was_left_out(registry: Registry) -> None:
    assert not registry.problems
    assert "toy_rotation" in [card.key for card in registry.cards]


def test_the_card_is_complete(subject: Subject) -> None:
    card = subject.card
    for text in (card.title, card.summary, card.licence, card.paper.title, card.paper.authors):
        assert text.strip()
    assert card.outputs and card.examples and card.checkpoints
    assert card.tolerance > 0 or card.determinism.value != "tolerance"
    keys = [checkpoint.key for checkpoint in card.checkpoints]
    assert len(set(keys)) == len(keys)
    for checkpoint in card.checkpoints:
        assert checkpoint.title and checkpoint.licence, f"{checkpoint.key} has no title or no licence"


def test_every_setting_explains_itself(subject: Subject) -> None:
    for spec in field_specs(subject.card.settings):
        assert spec.label and spec.effect and isinstance(spec.group, Group), spec.name
        if spec.kind in ("int", "float"):
            assert spec.minimum is not None and spec.maximum is not None, f"{spec.name} has no range"
            assert spec.default is None or spec.minimum <= spec.default <= spec.maximum
        assert spec.name.isidentifier()
    for spec in field_specs(subject.card.inputs):
        assert spec.label and spec.effect, spec.name


def test_the_defaults_are_legal(subject: Subject) -> None:
    subject.card.settings()
    assert not isinstance(subject.parse(subject.example(), {})[0], Fault)


def test_examples_presets_and_sweep_name_what_exists(subject: Subject, registry: Registry) -> None:
    names = set(subject.card.settings.model_fields)
    assert set(subject.card.sweep) <= names
    for preset in subject.card.presets:
        subject.card.settings.model_validate(preset.settings)
    for example in subject.card.examples:
        for place, (key, settings) in enumerate(example.panes):
            other = registry.card(key)
            chosen = example.checkpoints[place] if place < len(example.checkpoints) else ""
            checkpoint = other.checkpoint(chosen) if chosen else other.checkpoints[0]
            parsed = parse(other, checkpoint, shared_part(other, example.inputs), settings)
            assert not isinstance(parsed[0], Fault), f"{example.title}: {key}: {parsed[0]}"


def test_the_baseline_is_a_method_of_the_same_tab(subject: Subject, registry: Registry) -> None:
    if subject.card.baseline:
        assert registry.card(subject.card.baseline).tab is subject.card.tab


def test_the_folder_has_its_readme_and_names_the_paper(subject: Subject) -> None:
    text = (folder_of(subject) / "README.md").read_text(encoding="utf-8")
    paper = subject.card.paper
    assert paper.title in text or (paper.arxiv and paper.arxiv in text)


def test_a_pocket_checkpoint_is_here_and_says_how_it_was_made(subject: Subject) -> None:
    assert subject.small, "no pocket checkpoint on this machine"
    for checkpoint in subject.card.checkpoints:
        for source in checkpoint.sources:
            if source.kind == "pocket":
                card = (ASSETS / "pocket" / source.location / "CARD.md").read_text(encoding="utf-8").lower()
                assert all(word in card for word in ("data", "seed", "minutes")), source.location


def test_every_small_checkpoint_loads(subject: Subject) -> None:
    for checkpoint in subject.small:
        assert subject.model(checkpoint) is not None


def test_a_checkpoint_in_the_published_layout_loads_and_runs(subject: Subject, tmp_path: Path) -> None:
    made = tuple(subject.claims.published(tmp_path / "published"))
    assert made
    configure(1)
    for resolved in made:
        assert resolve(resolved.checkpoint, ASSETS).paths, "the gate every checkpoint passes"
        model = subject.method.load(resolved, "cpu", resolved.checkpoint.dtype)
        ended = subject.run(checkpoint=resolved.checkpoint, model=model, limit=20.0)
        assert ended.error is None, f"{resolved.checkpoint.key}: {ended.error}"
        assert ended.artifacts


def test_the_card_travels_as_json(subject: Subject) -> None:
    for model in (subject.card.inputs, subject.card.settings):
        json.dumps([spec.model_dump(mode="json") for spec in field_specs(model)], allow_nan=False)
    for checkpoint in subject.card.checkpoints:
        json.loads(checkpoint.model_dump_json())
