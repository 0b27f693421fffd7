"""Every method's claims, at the size the suite can afford, measured in a process of their own."""

from pathlib import Path

from app.bench import reliability
from app.bench.reliability import measure_engine
from app.bench.runner import bench
from backends.contract import BenchContext
from tests.conformance.subject import ASSETS, Subject


def test_quick_claims_hold(subject: Subject) -> None:
    said: list[str] = []
    verdict = bench(subject.key, subject.location, quick=True, say=said.append)
    assert verdict.claims, "no claim is quick"
    assert verdict.holds, [claim for claim in verdict.claims if not claim.holds]


def test_every_claim_has_a_figure_and_a_floor(subject: Subject) -> None:
    names = [claim.name for claim in subject.claims.CLAIMS]
    assert names and len(set(names)) == len(names)


def test_quick_claims_about_the_studio_itself_hold() -> None:
    said: list[str] = []
    verdict = bench("studio", None, quick=True, say=said.append)
    assert verdict.claims and verdict.holds, [claim for claim in verdict.claims if not claim.holds]


def test_killed_workers_and_stopped_runs_leave_everything_verifiable(tmp_path: Path) -> None:
    """The store's part of the reliability bench has its own tests; this is the rest of it, small."""
    figures = measure_engine(BenchContext(assets=ASSETS, scratch=tmp_path, quick=True), rounds=2)
    claimed = [claim for claim in reliability.CLAIMS if claim.quick and claim.name in figures]
    assert len(claimed) == 4
    assert all(claim.judge(figures[claim.name]).holds for claim in claimed), figures
    assert figures["outputs_verified"] > 0
