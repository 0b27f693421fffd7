"""E11: with accounts, nobody reads, stops, marks, moves or deletes what belongs to another, whatever id is named.

Every route that names a run, comparison or artifact is tried with ids of another account, and lists are searched for them.

It deliberately leaves rows without an owner open: they were made on this machine without accounts.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from fastapi import FastAPI

from app.api import Studio
from app.values import CompareRequest, SubmitRequest
from storage.values import PaneSpec, RunState
from tests.hostile.conftest import SECONDS, run_toy
from tests.hostile.requests import get, post

SECRET = "Adas secret prompt quokka"


@dataclass(frozen=True)
class Belongings:
    """What ada has: a finished run, its replay, a comparison, an artifact, and a run that waits."""

    run: str
    replay: str
    comparison: str
    artifact: str
    waiting: str

    @property
    def ids(self) -> tuple[str, ...]:
        return self.run, self.replay, self.comparison, self.artifact, self.waiting


@pytest.fixture(scope="module")
def adas(studio: Studio) -> Iterator[Belongings]:
    studio.cancel_all()
    studio.pause(False)
    done = run_toy(studio, SECRET, owner="ada", shift=1)
    pane = PaneSpec(pane="A", method="toy_rotation", checkpoint="alphabet", settings={"pause": 0.0, "batch": 8})
    comparison = studio.compare(CompareRequest(tab="text", panes=(pane,), inputs={"prompt": SECRET}, owner="ada"))
    replay = studio.replay(done.id)
    assert studio.engine is not None
    for run in (replay, *studio.store.comparison_runs(comparison.id)):
        studio.engine.wait(run.id, SECONDS)
    studio.pause(True)
    waiting = studio.submit(SubmitRequest(method="toy_rotation", inputs={"prompt": SECRET}, title=SECRET, owner="ada"))
    yield Belongings(done.id, replay.id, comparison.id, done.artifacts[0].id, waiting.id)
    studio.cancel(waiting.id)
    studio.pause(False)


READING = (
    "/studio/runs/{run}", "/studio/runs/{run}/thumb", "/studio/runs/{replay}/replay", "/studio/artifacts/{artifact}",
    "/studio/artifacts/{artifact}/json",
    "/studio/watch?runs={run}", "/studio/watch?comparison={comparison}", "/studio/comparisons/{comparison}/summary",
    "/studio/beside?runs={run}",
    "/studio/formats/{run}", "/studio/formats/{comparison}", "/studio/formats/{artifact}", "/studio/export?target={run}&format=txt",
    "/studio/export?target={comparison}&format=csv", "/studio/export?target={artifact}&format=txt", "/studio/verify/artifact/{artifact}",
    "/studio/watch?runs={waiting}",
)  # fmt: skip
CHANGING = (
    ("/studio/runs/{run}/cancel", {}), ("/studio/runs/{waiting}/cancel", {}), ("/studio/runs/{run}/replay", {}),
    ("/studio/runs/{run}/retry", {}),
    ("/studio/runs/{waiting}/move", {"to": 1}), ("/studio/runs/{run}/star", {"starred": True}), ("/studio/runs/{run}/tags",
    {"tags": ["taken"]}),
    ("/studio/runs/{run}/note", {"note": "taken"}), ("/studio/runs/{run}/title", {"title": "taken"}), ("/studio/history/delete",
    {"runs": ["{run}"]}),
    ("/studio/api/comparisons/{comparison}/cancel", {}),
)  # fmt: skip


@pytest.mark.parametrize("path", READING)
def test_another_account_reads_nothing_by_id(shared: FastAPI, adas: Belongings, path: str) -> None:
    named = path.format(**vars(adas))
    assert get(shared, named, "ada").status in (200, 422), "the route itself must work for its owner"
    answer = get(shared, named, "bob")
    assert answer.status == 404
    assert "quokka" not in answer.text


@pytest.mark.parametrize(("path", "body"), CHANGING)
def test_another_account_changes_nothing_by_id(
    shared: FastAPI, studio: Studio, adas: Belongings, path: str, body: dict[str, object]
) -> None:
    rows = [studio.run(adas.run), studio.run(adas.waiting)]
    sent = json.loads(json.dumps(body).replace("{run}", adas.run))
    answer = post(shared, path.format(**vars(adas)), sent, "bob")
    assert answer.status == 404, answer.text[:300]
    assert [studio.run(adas.run), studio.run(adas.waiting)] == rows


@pytest.mark.parametrize(
    "path", ["/studio/history", "/studio/history?text=quokka", "/studio/queue", "/studio/status", "/studio/bench/text", "/studio/models"]
)
def test_no_list_shows_another_accounts_words_or_ids(shared: FastAPI, adas: Belongings, path: str) -> None:
    answer = get(shared, path, "bob")
    assert answer.status == 200
    assert "quokka" not in answer.text
    assert not any(known in answer.text for known in adas.ids)


def test_what_runs_now_is_told_to_its_owner_alone(shared: FastAPI, studio: Studio) -> None:
    studio.pause(False)
    studio.cancel_all()
    run = studio.submit(
        SubmitRequest(method="toy_rotation", inputs={"prompt": SECRET * 20}, settings={"pause": 0.5}, title=SECRET, owner="ada")
    )
    assert studio.engine is not None
    try:
        while not any(event["type"] == "step" for event in studio.engine.events(run.id, 0).events):
            assert not studio.run(run.id).state.final
        for path in ("/studio/status", "/studio/queue", "/studio/bench/text"):
            answer = get(shared, path, "bob")
            assert answer.status == 200
            assert "quokka" not in answer.text and run.id not in answer.text, path
        assert post(shared, f"/studio/runs/{run.id}/cancel", {}, "bob").status == 404
        post(shared, "/studio/queue/stop", {}, "bob")
        assert studio.run(run.id).state is RunState.RUNNING, "stopping everything stopped somebody else's run"
    finally:
        studio.cancel(run.id)
        studio.engine.wait(run.id, SECONDS)


def test_drafts_belong_to_their_account(shared: FastAPI, adas: Belongings) -> None:
    pane = {"pane": "A", "method": "toy_rotation", "checkpoint": "alphabet", "settings": {}}
    assert post(shared, "/studio/bench/text/use", {"panes": [pane], "inputs": {"prompt": SECRET}}, "ada").status == 200
    assert json.loads(get(shared, "/studio/bench/text", "ada").body)["bench"]["inputs"]["prompt"] == SECRET
    assert "quokka" not in get(shared, "/studio/bench/text", "bob").text


def test_an_owner_named_in_a_body_is_not_believed(shared: FastAPI, studio: Studio, adas: Belongings) -> None:
    studio.pause(True)
    body = {"method": "toy_rotation", "inputs": {"prompt": "bobs own"}, "owner": "ada"}
    made = json.loads(post(shared, "/studio/api/runs", body, "bob").body)
    assert made["owner"] == "bob"
    assert get(shared, f"/studio/runs/{made['id']}", "ada").status == 404
    studio.cancel(made["id"])


def test_two_hundred_guessed_ids_find_nothing(shared: FastAPI, adas: Belongings) -> None:
    assert all(len(known) == 32 and int(known, 16) >= 0 for known in adas.ids), "128 bits"
    for guess in range(200):
        near = f"{(int(adas.run, 16) + guess + 1) % 2**128:032x}"
        assert get(shared, f"/studio/runs/{near}", "bob").status == 404
        assert post(shared, f"/studio/runs/{near}/cancel", {}, "bob").status == 404
