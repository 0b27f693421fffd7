"""Exports: every format of every target, each with a record beside it that verifies, and contents that say what was kept."""

import base64
import csv
import hashlib
import io
import json
import re
import secrets
import xml.etree.ElementTree as ElementTree
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from app.compare import fingerprint
from app.errors import FileChanged, RequestRefused, ResourceError
from app.exports import Format, export, formats
from app.exports.naming import file_name, title_part
from app.exports.tables import csv_bytes
from app.exports.text import fence
from app.provenance.chain import check_chain
from app.provenance.keys import Keys
from app.provenance.statement import Promise, sign_artifacts
from app.provenance.verify import SIDECAR, verify_bytes
from app.registry import Registry
from backends.parts.decoding_trace import Committed, DecodingTrace, Pass
from storage.store import Store
from storage.values import ComparisonRow, MetricRow, NewRun, PaneSpec, RunRow, RunState

ANSWER = "4.25 g = 0.00425 kg.\n```\nAnswer: 0.00425 kg\n```\n=cmd|' /C calc'!A0"
PROMPT = "Convert 4.250 g to kg. Show each step."


@pytest.fixture(scope="module")
def registry():
    return Registry.discover()


@pytest.fixture
def keys(tmp_path):
    return Keys.open(tmp_path / "data")


@pytest.fixture
def store(tmp_path):
    with Store.open(None, tmp_path / "data") as opened:
        yield opened


def trace(tokens: int, a_pass: int) -> DecodingTrace:
    """A decoder that commits `a_pass` tokens a pass."""
    passes = []
    for index, start in enumerate(range(0, tokens, a_pass), start=1):
        committed = tuple(
            Committed(position=place, token=100 + place, text=f"={place}", confidence=0.5 + place / (4 * tokens))
            for place in range(start, min(start + a_pass, tokens))
        )
        passes.append(Pass(index=index, seconds=index / 32, rows=32, cached=8, cache_bytes=1024, committed=committed))
    return DecodingTrace(
        method="x", prompt_tokens=9, block_size=16, positions=tokens, passes=tuple(passes), text="…", stopped_by="end of sequence"
    )


def metrics(seconds: float, right: int | None = 9) -> tuple[MetricRow, ...]:
    measured = (
        MetricRow(name="wall_seconds", value=seconds, unit="s", label="Wall time", better="lower"),
        MetricRow(name="tokens_per_second", value=64 / seconds, unit="tokens/s", label="Speed", better="higher"),
        MetricRow(name="cache_bytes", value=1_440_000.0, unit="B", label="Cache", better="lower"),
    )
    if right is None:
        return measured
    return (*measured, MetricRow(name="answers_right", value=right, unit="of", label="Answers right", better="higher", sample_size=10))


class Studio:
    """Puts finished runs of real methods into the store."""

    def __init__(self, store: Store, keys: Keys, registry: Registry) -> None:
        self.store, self.keys, self.registry = store, keys, registry

    def run(self, method: str = "d2f", seconds: float = 0.5, a_pass: int = 4, right: int | None = 9, **changes) -> RunRow:
        state = changes.pop("state", RunState.DONE)
        card = self.registry.card(method)
        settings = card.settings(**changes.pop("settings", {})).model_dump(mode="json")
        inputs = card.inputs(prompt=PROMPT).model_dump(mode="json")
        mark = fingerprint(method, card.checkpoints[0].key, inputs, settings, 1729, "cpu", "float32")
        fields = {
            "id": secrets.token_hex(16), "method": method, "method_title": card.title, "tab": "text", "checkpoint": card.checkpoints[0].key,
            "inputs": inputs, "settings": settings, "seed": 1729, "device": "cpu", "title": "Convert 4.250 g to kg", "fingerprint": mark,
        }  # fmt: skip
        row = self.store.add_runs([NewRun(**(fields | changes))])[0]
        self.store.claim({"cpu"})
        row = self.store.run(row.id)
        sign = sign_artifacts(row, self.keys, Promise.of(card))
        answer = {"kind": "text", "name": "answer", "media_type": "text/plain", "data": ANSWER.encode()}
        steps = trace(64, a_pass).model_dump_json().encode()
        kept = {"kind": "decoding_trace", "name": "trace", "media_type": "application/json", "data": steps}
        for artifact in (answer, kept):
            self.store.add_artifact(row.id, artifact | {"facts": {}, "partial": False}, sign)
        return self.store.finish(row.id, state, metrics=metrics(seconds, right))

    def comparison(self, repeats: int = 2) -> ComparisonRow:
        panes = tuple(
            PaneSpec(pane=pane, method=method, checkpoint=self.registry.card(method).checkpoints[0].key, settings={})
            for pane, method in (("A", "autoregressive"), ("B", "d2f"))
        )
        row = self._add("panes", panes, (), repeats)
        for repeat in range(repeats):
            self.run("autoregressive", 1.9 + repeat / 10, 1, 9, comparison=row.id, pane="A", repeat=repeat)
            self.run("d2f", 0.6 + repeat / 10, 4, 8, comparison=row.id, pane="B", repeat=repeat)
        self.run("d2f", 60.0, 4, 0, comparison=row.id, pane="B", purpose="warmup")
        return row

    def sweep(self, scored: bool = True) -> ComparisonRow:
        """Four cells: one computed before the sweep, two for it, one that failed."""
        card = self.registry.card("d2f")
        values = (0.5, 0.7, 0.9, 0.99)

        def settings(value: float) -> dict:
            return card.settings(tau_conf=value).model_dump(mode="json")

        self.run("d2f", 0.2, right=6 if scored else None, settings={"tau_conf": 0.5})
        panes = tuple(
            PaneSpec(pane=str(number), method="d2f", checkpoint=card.checkpoints[0].key, settings=settings(value))
            for number, value in enumerate(values, start=1)
        )
        row = self._add("sweep", panes, ({"field": "tau_conf", "values": list(values)},), 1)
        cell = {"comparison": row.id, "purpose": "sweep"}
        self.run("d2f", 0.3, right=8 if scored else None, settings={"tau_conf": 0.7}, pane="2", **cell)
        self.run("d2f", 0.5, right=9 if scored else None, settings={"tau_conf": 0.9}, pane="3", **cell)
        self.run("d2f", 0.5, right=9, settings={"tau_conf": 0.99}, pane="4", state=RunState.FAILED, **cell)
        return row

    def _add(self, kind: str, panes: tuple[PaneSpec, ...], axes: tuple, repeats: int) -> ComparisonRow:
        return self.store.add_comparison(
            id=secrets.token_hex(16), tab="text", title="Convert 4.250 g to kg", kind=kind, inputs={"prompt": PROMPT}, seed=1729,
            repeats=repeats, baseline=panes[0].pane, panes=panes, axes=axes, owner="",
        )  # fmt: skip

    def export(self, target, key: str, **options):
        return export(self.store, self.keys, self.registry, target, key, **options)

    def formats(self, target) -> tuple[Format, ...]:
        return formats(self.store, self.registry, target)

    def text(self, target, key: str) -> str:
        return self.export(target, key)[0].data.decode()


@pytest.fixture
def studio(store, keys, registry):
    return Studio(store, keys, registry)


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


RUN_FORMATS = (
    "txt", "md", "json", "csv", "trace.json", "trace.csv", "timeline.svg", "timeline.png", "timeline.svg+c2pa", "timeline.png+c2pa",
    "crate",
)  # fmt: skip


def test_every_format_of_every_target_verifies_here_and_elsewhere(studio, tmp_path):
    elsewhere = Keys.open(tmp_path / "elsewhere")
    run, comparison, sweep = studio.run(), studio.comparison(), studio.sweep()
    assert tuple(found.key for found in studio.formats(run)) == RUN_FORMATS
    for target in (run, *run.artifacts, comparison, sweep):
        for form in studio.formats(target):
            file, beside = studio.export(target, form.key)
            assert beside.name == file.name + SIDECAR and file.name.endswith("." + form.extension)
            here = verify_bytes(file.data, file.name, beside.data, studio.keys, studio.store)
            assert (here.verdict, here.valid) == ("signed here", True), (form.key, here.sentence)
            there = verify_bytes(file.data, file.name, beside.data, elsewhere)
            assert (there.verdict, there.method) == ("signed by another key", here.method) and here.settings
            assert not verify_bytes(file.data + b" ", file.name, beside.data, studio.keys).valid
            assert (here.credentials is not None) == form.key.endswith("+c2pa")
    assert check_chain(studio.store, studio.keys).holds


def test_pictures_and_json_carry_their_record_inside(studio):
    run = studio.run()
    for key in ("json", "timeline.svg", "timeline.png"):
        file = studio.export(run, key)[0]
        report = verify_bytes(file.data, file.name, None, studio.keys)
        assert (report.verdict, report.found, report.settings) == ("signed here", "inside the file", run.settings)


def test_content_credentials_are_intact_and_name_the_record_of_the_bare_picture(studio):
    run = studio.run()
    file, beside = studio.export(run, "timeline.png+c2pa")
    found = verify_bytes(file.data, file.name, beside.data, studio.keys).credentials
    assert found is not None and found.intact and found.here and "not on a public trust list" in found.sentence
    predicate = json.loads(base64.b64decode(json.loads(beside.data)["payload"]))["predicate"]
    assert found.record in predicate["parents"]
    assert Image.open(io.BytesIO(file.data)).size[0] > 700


def test_a_crate_holds_every_output_with_a_record_that_verifies(studio):
    comparison = studio.comparison()
    archive = zipfile.ZipFile(io.BytesIO(studio.export(comparison, "crate")[0].data))
    names = set(archive.namelist()) - {"ro-crate-metadata.json"}
    outputs = {name for name in names if not name.endswith(SIDECAR)}
    assert len(outputs) == 2 * 2 * 2 and names == outputs | {name + SIDECAR for name in outputs}  # repeats, panes, artifacts; no warm-up
    for name in outputs:
        assert verify_bytes(archive.read(name), name, archive.read(name + SIDECAR), studio.keys, studio.store).verdict == "signed here"
    graph = {entity["@id"]: entity for entity in json.loads(archive.read("ro-crate-metadata.json"))["@graph"]}
    actions = [entity for entity in graph.values() if entity["@type"] == "CreateAction"]
    assert len(actions) == 4
    for action in actions:
        assert graph[action["instrument"]["@id"]]["name"] in ("Autoregressive", "D2F")
        values = {graph[item["@id"]]["name"]: graph[item["@id"]]["value"] for item in action["object"]}
        assert values["input/prompt"] == PROMPT and values["seed"] == 1729
        assert {item["@id"] for item in action["result"]} <= outputs


def test_a_file_taken_as_it_is_has_the_artifacts_own_record(studio):
    run = studio.run()
    file, beside = studio.export(run, "txt")
    assert file.data == ANSWER.encode()
    assert beside.data == studio.store.record_for_artifact(run.artifacts[0].id).envelope


def test_a_derived_file_names_the_records_of_what_it_was_made_from(studio):
    run = studio.run()
    beside = studio.export(run, "trace.csv")[1]
    predicate = json.loads(base64.b64decode(json.loads(beside.data)["payload"]))["predicate"]
    parents = {studio.store.record_for_artifact(artifact.id).digest for artifact in run.artifacts}
    assert set(predicate["parents"]) == parents
    assert {found["digest"]["sha256"] for found in predicate["materials"]} == {artifact.digest for artifact in run.artifacts}


def test_no_words_of_the_title_enter_a_record(studio):
    run = studio.run(title="xylophone secrets")
    for form in studio.formats(run):
        file, beside = studio.export(run, form.key)
        assert file.name.startswith("xylophone-secrets-d2f-")
        assert b"xylophone" not in base64.b64decode(json.loads(beside.data)["payload"])


def test_markdown_keeps_the_models_text_inside_its_fence(studio):
    text = studio.text(studio.run(), "md")
    opened = re.search(r"^(`{4,})text\n", text[text.index("## Output") :], re.M)
    assert opened is not None and f"\n{opened[1]}\n" in text[text.index(opened[0]) :]
    assert ANSWER in text
    for line in ("| Commit above confidence | 0.9 |", "| Cache | 1.44 MB |", "| Answers right | 9 of 10 |"):
        assert line in text


@settings(deadline=None)
@given(st.text(alphabet="`a\n", max_size=40))
def test_nothing_inside_a_fence_can_close_it(text):
    bars = fence(text).partition("text")[0]
    assert all(set(line.strip()) != {"`"} or len(line.strip()) < len(bars) for line in text.split("\n"))


def test_json_holds_text_trace_settings_and_costs(studio):
    run = studio.run()
    whole = json.loads(studio.text(run, "json"))
    assert whole["text"] == ANSWER and whole["settings"] == run.settings and whole["metrics"]["wall_seconds"]["value"] == 0.5
    assert DecodingTrace.model_validate(whole["trace"]) == trace(64, 4)
    assert "owner" not in whole


def test_the_table_of_tokens_has_one_line_a_token_in_order(studio):
    rows = table(studio.text(studio.run(), "trace.csv"))
    assert [int(row["position"]) for row in rows] == list(range(64))
    assert rows[17] | {"confidence": ""} == {
        "position": "17", "block": "2", "pass": "5", "seconds": "0.15625", "confidence": "", "token": "117", "text": '"=17"',
    }  # fmt: skip


@settings(deadline=None)
@given(st.text(max_size=20))
def test_no_cell_of_text_is_run_by_a_spreadsheet(text):
    cell = next(csv.reader(io.StringIO(csv_bytes((text,), ()).decode("utf-8", "surrogatepass"), newline="")), [""])
    assert not (cell and cell[0][:1] in ("=", "+", "-", "@", "\t", "\r", "\n"))


def test_the_comparison_table_has_every_repeat_and_no_warm_up(studio):
    rows = table(studio.text(studio.comparison(), "csv"))
    walls = [(row["pane"], row["repeat"], row["value"]) for row in rows if row["measure"] == "wall_seconds"]
    assert walls == [("A", "1", "1.9"), ("A", "2", "2"), ("B", "1", "0.6"), ("B", "2", "0.7")]


def test_comparison_markdown_and_json_state_medians_spreads_and_ratios_in_words(studio):
    comparison = studio.comparison()
    text = studio.text(comparison, "md")
    assert "1.95 s ± 0.05 s" in text and "3.0× faster" in text and "1 fewer" in text and "Median of 2" in text
    wall = next(row for row in json.loads(studio.text(comparison, "json"))["ledger"] if row["name"] == "wall_seconds")
    assert wall["cells"]["B"] == {"value": pytest.approx(0.65), "spread": pytest.approx(0.05), "count": 2, "sample_size": None}


def test_the_cost_plot_shows_losses_as_plainly_as_gains(studio):
    picture = studio.text(studio.comparison(), "svg")
    words = {node.text: node.get("fill") for node in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")}
    assert words["3.0× faster"] == "#2164b4" and words["1 fewer"] == "#5f6a6d"


def test_the_timelines_of_a_comparison_share_one_scale(studio):
    texts = [
        node.text
        for node in ElementTree.fromstring(studio.text(studio.comparison(), "timeline.svg")).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert "Done at pass 16." in texts and "48 passes fewer than the longest here." in texts


def test_a_sweep_lists_every_cell_with_those_found_from_before(studio):
    rows = table(studio.text(studio.sweep(), "csv"))
    assert [(row["tau_conf"], row["state"], row["answers_right"]) for row in rows] == [
        ("0.5", "done", "6"), ("0.7", "done", "8"), ("0.9", "done", "9"), ("0.99", "failed", "9"),
    ]  # fmt: skip


def test_the_trade_off_labels_each_finished_cell_with_its_threshold(studio):
    picture = ElementTree.fromstring(studio.text(studio.sweep(), "svg"))
    bold = [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text") if node.get("font-weight") == "700"]
    assert bold[-3:] == ["0.5", "0.7", "0.9"]
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}circle"))) == 3
    assert any("3 of 4 cells" in (node.text or "") for node in picture.iter())


def test_a_sweep_without_a_score_says_what_to_do(studio):
    with pytest.raises(ResourceError) as caught:
        studio.export(studio.sweep(scored=False), "svg")
    assert "held-out" in caught.value.fault().next_step
    assert [form.key for form in studio.formats(studio.sweep(scored=False))] == ["csv", "json", "crate"]
    assert {"svg", "png"} <= {form.key for form in studio.formats(studio.sweep())}


def test_pictures_come_in_the_resolution_and_theme_asked_for(studio):
    run = studio.run()
    small, large = (Image.open(io.BytesIO(studio.export(run, "timeline.png", dpi=dpi)[0].data)) for dpi in (96, 300))
    assert round(large.width / small.width, 2) == round(300 / 96, 2) and round(large.info["dpi"][0]) == 300
    dark = Image.open(io.BytesIO(studio.export(run, "timeline.png", theme="dark")[0].data)).convert("RGB")
    assert dark.getpixel((2, 2)) == (0x18, 0x1E, 0x21)


def test_an_unknown_format_is_refused_with_the_known_ones(studio):
    with pytest.raises(RequestRefused) as caught:
        studio.export(studio.run(), "docx")
    assert caught.value.fault().field == "format" and "timeline.svg" in caught.value.fault().why


def test_a_stored_file_that_was_altered_is_not_exported(studio, monkeypatch):
    run = studio.run()
    path = studio.store.artifact_path(run.artifacts[0].digest)
    path.chmod(0o644)
    path.write_bytes(b"altered")
    monkeypatch.setattr(studio.store, "read_artifact", lambda _id: path.read_bytes())  # a store that did not notice
    with pytest.raises(FileChanged):
        studio.export(run, "txt")


def test_an_artifact_of_a_kind_nobody_listed_is_exported_as_it_is(studio):
    run = studio.run()
    mesh = {"kind": "mesh", "name": "scan", "media_type": "model/gltf-binary", "data": b"glTF", "facts": {}, "partial": False}
    row = studio.store.add_artifact(run.id, mesh, None)
    assert [(found.key, found.extension) for found in studio.formats(row)] == [("scan", "glb")]
    file, beside = studio.export(row, "scan")
    assert file.data == b"glTF" and verify_bytes(file.data, "x", beside.data, studio.keys, studio.store).verdict == "signed here"


def test_a_malformed_trace_is_named_and_still_exports_as_json(studio):
    run = studio.run()
    odd = {"kind": "decoding_trace", "name": "odd", "media_type": "application/json", "data": b"{}", "facts": {}, "partial": False}
    row = studio.store.add_artifact(run.id, odd, None)
    assert studio.export(row, "trace.json")[0].data == b"{}"
    with pytest.raises(ResourceError):
        studio.export(row, "timeline.svg")


def test_a_run_of_a_method_that_was_removed_still_exports(studio):
    run = studio.run()
    bare = Registry((), ())
    file, beside = export(studio.store, studio.keys, bare, run, "md")
    assert b"tau conf" in file.data.replace(b"\\_", b" ")
    assert verify_bytes(file.data, "x", beside.data, studio.keys).determinism == "none"


@settings(deadline=None)
@given(st.text(max_size=60), st.sampled_from([None, "A", "..", "con"]))
def test_names_are_safe_on_every_system(title, pane):
    name = title_part(title) + file_name(pane, "d2f", hashlib.sha256(title.encode("utf-8", "replace")).hexdigest(), "svg")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*\.svg", name) and len(name) < 120
