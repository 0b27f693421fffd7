"""Nothing private to a machine or a person enters a record: home paths, user and host names, tokens, environment."""

import base64
import json
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.provenance.scrub import Scrubber
from app.provenance.statement import sign_artifacts
from backends.contract import Fault
from storage.values import RunState

USER, HOST, HOME = "mrquimby", "quimby-laptop.example", "/home/mrquimby"
ENVIRONMENT = {
    "HOME": HOME, "USER": USER, "HOSTNAME": HOST, "HF_TOKEN": "hf_QuimbyQuimbyQuimby1234",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENGbPx",
    "DB_PASSWORD": "correct horse battery", "SESSION_COOKIE": "c00kie-c00kie-c00kie",
}  # fmt: skip
PRIVATE = [
    f"{HOME}/models/llada", f"{HOME}", USER, HOST, "quimby-laptop", "hf_QuimbyQuimbyQuimby1234", "wJalrXUtnFEMIK7MDENGbPx",
    "correct horse battery", "c00kie-c00kie-c00kie", "/Users/lovelace/Desktop", "C:\\Users\\lovelace\\Desktop",
    "ghp_abcdefghijklmnop1234567890",
    "sk-proj-abcdefghijklmnop", "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK",
]  # fmt: skip
TELLTALES = [
    HOME, USER, HOST, "quimby-laptop", "QuimbyQuimby", "wJalrXUt", "correct horse", "c00kie-c00kie", "lovelace", "abcdefghijklmnop",
    "AKIAIOSF", "SflKxwRJ",
]  # fmt: skip


@pytest.fixture
def private_machine(monkeypatch):
    """A machine whose account, host, home and environment are the ones above."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LOGNAME", USER)
    monkeypatch.setattr("platform.node", lambda: HOST)


def leaks(text: str) -> list[str]:
    return [telltale for telltale in TELLTALES if telltale in text]


def scrubber() -> Scrubber:
    return Scrubber(homes=(HOME,), names=(USER, HOST, "quimby-laptop"), secrets=tuple(ENVIRONMENT[name] for name in list(ENVIRONMENT)[3:]))


WORDS = st.text(string.ascii_letters + " .,:;()'\"\n", max_size=12)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PRIVATE), WORDS), max_size=8), st.sampled_from(" ,:'\"(\n"))
def test_no_mixture_of_private_strings_survives(parts, between):
    cleaned = scrubber().text(between + between.join(parts) + between)
    stripped = cleaned
    for part in parts:  # what hypothesis invented is not private
        if part not in PRIVATE:
            stripped = stripped.replace(part, "") if part.strip() else stripped
    assert leaks(stripped) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("No file /home/mrquimby/models/a/model.safetensors.", "No file ~/models/a/model.safetensors."),
        ("cannot open '/mnt/disk/models/x.bin'", "cannot open '…/x.bin'"),
        ("3.1 tokens/s, 36/40 right and 1/2", "3.1 tokens/s, 36/40 right and 1/2"),
        ("the urn:diptych:run:v1 and text/plain", "the urn:diptych:run:v1 and text/plain"),
        ("clone://lovelace:pa55w0rd!@host/x", "clone://[removed]@host/x"),
        ("said mrquimby on quimby-laptop", "said [name] on [name]"),
        ("mrquimbyish is a word", "mrquimbyish is a word"),
    ],
)
def test_what_is_cut_and_what_is_kept(text, kept):
    assert scrubber().text(text) == kept


def test_values_are_never_rewritten_only_withheld():
    scrub = scrubber()
    assert scrub.withhold({"a": [f"{HOME}/x.png"]}) and scrub.withhold("hf_QuimbyQuimbyQuimby1234")
    assert not scrub.withhold("Is mrquimby a word? Root of 2, /usr/bin/env") and not scrub.withhold({"n": 3})


def test_generic_account_names_stay_words():
    assert Scrubber(names=("root", "user")).text("the root of the user") == "the root of the user"


def test_a_record_of_a_private_machine_leaks_nothing(private_machine, store, keys, add_run, add_artifact):
    everything = " | ".join(PRIVATE)
    run = add_run(
        inputs={"prompt": f"Read {HOME}/notes.txt with hf_QuimbyQuimbyQuimby1234", "held_out": 0},
        settings={"note": everything, "cache": True},
        title=everything, owner=USER, checkpoint=f"folder of {USER}",
    )  # fmt: skip
    environment = {"device": f"CPU of {HOST}", "packages": {"torch": "2.13.0"}, "code": {"version": HOME}, "cwd": HOME, "env": ENVIRONMENT}
    environment["engine"] = "ray://cluster.quimby.example:10001"
    store.set_environment(run.id, environment, {f"base{HOME}/m.safetensors": "a" * 64})
    fault = Fault(kind="X", what=everything, why=everything).model_dump(mode="json")
    failed = store.finish(run.id, RunState.FAILED, fault=fault, notes=({"level": "warning", "text": everything},))
    produced = {"kind": "text", "name": "answer", "media_type": "text/plain", "data": b"x", "facts": {"from": everything}, "partial": True}
    artifact = store.add_artifact(run.id, produced, sign_artifacts(failed, keys))
    payload = base64.b64decode(json.loads(store.record_for_artifact(artifact.id).envelope)["payload"]).decode()
    assert leaks(payload) == []
    predicate = json.loads(payload)["predicate"]
    assert predicate["inputs"]["digests"].keys() == {"prompt"} and predicate["inputs"]["values"] == {"held_out": 0}
    assert predicate["settings"]["digests"].keys() == {"note"} and predicate["settings"]["values"] == {"cache": True}
    assert predicate["environment"].keys() == {"device", "packages", "code", "engine"} and predicate["environment"]["engine"] == "ray"
