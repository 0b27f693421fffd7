"""The same runs on a real Ray cluster of one processor on this machine."""

from collections.abc import Iterator

import pytest

from app.engine import signing
from app.engine.protocol import EngineOptions
from app.engine.ray import RayEngine
from app.provenance.chain import check_chain
from storage.values import RunState

from .conftest import Bench


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with pytest.MonkeyPatch.context() as patch:
        bench = Bench(tmp_path_factory.mktemp("ray"))
        patch.setenv("DIPTYCH_TOY_FOLDER", str(bench.scripts))
        sign = signing(bench.store, bench.registry, bench.keys)
        bench.running = RayEngine(
            bench.store,
            bench.registry,
            bench.data,
            bench.assets,
            bench.finished.append,
            sign,
            EngineOptions(warm_modules=(), warm_methods=False, stop_grace=0.5),
            processors=1,
        )
        bench.running.start()
        bench.pipe()
        yield bench
        bench.running.shutdown()
        bench.store.close()


def test_a_run_on_the_cluster_gives_what_it_gives_here(cluster: Bench) -> None:
    run = cluster.run("step preview:draft metric:right produce:answer", seconds=120)
    assert run.state is RunState.DONE and cluster.text(run, "answer") == "answer of 7"
    assert run.environment["engine"] == "ray" and run.artifacts[0].record is not None
    kinds = [event["type"] for event in cluster.running.events(run.id).events]
    assert kinds == ["progress", "progress", "step", "preview", "metric", "produced"]
    assert check_chain(cluster.store, cluster.keys).holds


def test_a_crash_on_the_cluster_fails_one_run_and_the_next_works(cluster: Bench) -> None:
    run = cluster.run("produce:first segfault", seconds=60)
    assert run.state is RunState.FAILED and run.fault is not None and "SIGSEGV" in run.fault["what"]
    assert [artifact.name for artifact in run.artifacts] == ["first"]
    assert cluster.run("step", seconds=60).state is RunState.DONE


def test_runs_on_the_cluster_stop_and_are_killed_when_they_do_not(cluster: Bench) -> None:
    for mark, waiting in (("checks", "wait:never"), ("ignores", "block:pipe")):
        run = cluster.submit(f"preview:draft touch:{mark} {waiting}")
        cluster.reached(mark, 60)
        assert cluster.running.cancel(run)
        ended = cluster.running.wait(run, 30)
        assert ended.state is RunState.CANCELLED and cluster.text(ended, "answer") == "draft"
    assert cluster.run("step", seconds=60).state is RunState.DONE
