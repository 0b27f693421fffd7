"""A quick start builds the same page: Gradio's components are the same classes, and its files are left alone.

It deliberately times nothing: `bench studio` does.
"""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import {first}, json, inspect, pathlib
import gradio, gradio.component_meta as meta
stubs = pathlib.Path(gradio.__file__).parent.rglob("*.pyi")
kinds = {{name: one for name, one in vars(gradio.components).items() if inspect.isclass(one)}}
described = {{name: [sorted(dir(one)), [str(event) for event in getattr(one, "EVENTS", [])], str(inspect.signature(one.__init__))]
              for name, one in kinds.items()}}
print(json.dumps([described, meta.create_or_modify_pyi.__name__, sorted((str(stub), stub.stat().st_mtime_ns) for stub in stubs)]))
"""


def told(first: str) -> Any:
    program = PROGRAM.format(first=first)
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200, check=True)
    return json.loads(re.sub(r" at 0x[0-9a-f]+", "", answer.stdout))


@pytest.fixture(scope="module")
def both() -> tuple[Any, Any]:
    return told("sys"), told("ui")


def test_every_component_is_the_same_class_with_the_same_events_and_arguments(both: tuple[Any, Any]) -> None:
    plain, quick = both
    assert len(plain[0]) > 40 and quick[0] == plain[0]


def test_the_step_is_left_out_and_no_file_of_gradio_is_touched(both: tuple[Any, Any]) -> None:
    plain, quick = both
    assert (plain[1], quick[1]) == ("create_or_modify_pyi", "<lambda>")
    assert quick[2] == plain[2]


def test_asking_twice_or_too_late_changes_nothing() -> None:
    again = "n = len(sys.meta_path); install(); assert len(sys.meta_path) == n"
    program = f"import sys; from ui.quick_gradio import install; {again}; import gradio; {again}"
    subprocess.run([sys.executable, "-c", program], timeout=200, check=True)
