"""Every method's claims, at the size the suite can afford, measured in a process of their own."""

import pytest

from app.bench.runner import TARGETS, bench
from tests.conformance.subject import Subject


def test_quick_claims_hold(subject: Subject) -> None:
    said: list[str] = []
    verdict = bench(subject.key, subject.location, quick=True, say=said.append)
    assert verdict.claims, "no claim is quick"
    assert verdict.holds, [claim for claim in verdict.claims if not claim.holds]


def test_every_claim_has_a_figure_and_a_floor(subject: Subject) -> None:
    names = [claim.name for claim in subject.claims.CLAIMS]
    assert names and len(set(names)) == len(names)


@pytest.mark.parametrize("target", TARGETS)
def test_quick_claims_about_the_studio_itself_hold(target: str) -> None:
    said: list[str] = []
    verdict = bench(target, None, quick=True, say=said.append)
    assert verdict.claims and verdict.holds, [claim for claim in verdict.claims if not claim.holds]
