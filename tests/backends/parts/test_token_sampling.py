"""Choosing tokens from logits."""

import pytest
import torch

from backends.contract import NumericalError
from backends.parts.language_models.sampling import SamplingRule, check_finite, choose, cut, gumbel_choice

LOGITS = torch.tensor([[2.0, 1.0, 0.0, -1.0], [0.0, 3.0, 2.9, -5.0]])


def test_greedy_takes_the_best_and_its_probability() -> None:
    choice = choose(LOGITS, SamplingRule())
    assert choice.tokens.tolist() == [0, 1]
    assert torch.allclose(choice.probabilities, LOGITS.softmax(-1).max(-1).values)
    assert torch.equal(choice.scores, choice.probabilities)


def test_margin_and_entropy_order_positions_differently_from_probability() -> None:
    margin = choose(LOGITS, SamplingRule(confidence="margin")).scores
    entropy = choose(LOGITS, SamplingRule(confidence="neg_entropy")).scores
    shares = LOGITS.softmax(-1)
    assert torch.allclose(margin, shares.sort(-1).values[:, -1] - shares.sort(-1).values[:, -2])
    assert torch.allclose(entropy, (shares * shares.log()).sum(-1), atol=1e-5)


def test_the_threshold_probability_is_the_same_for_every_score() -> None:
    found = [choose(LOGITS, SamplingRule(confidence=kind)).probabilities for kind in ("max_prob", "margin", "neg_entropy")]
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


def test_top_k_and_top_p_keep_the_best_token() -> None:
    assert torch.isfinite(cut(LOGITS, None, 1)).sum(-1).tolist() == [1, 1]
    assert torch.isfinite(cut(LOGITS, 0.01, None)).sum(-1).tolist() == [1, 1]
    assert torch.isfinite(cut(LOGITS, 0.6, None)).sum(-1).tolist() == [1, 2]
    assert torch.isfinite(cut(LOGITS, 1.0, 9)).all()


def test_the_same_seed_draws_the_same_tokens_and_another_seed_others() -> None:
    rule = SamplingRule(temperature=1.0)
    logits = torch.zeros(64, 50)
    draws = [choose(logits, rule, torch.Generator().manual_seed(seed)).tokens for seed in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])


def test_gumbel_draws_follow_the_softmax() -> None:
    logits = torch.tensor([[1.0, 0.0, -1.0]]).expand(20_000, 3)
    counts = gumbel_choice(logits, 1.0, torch.Generator().manual_seed(0)).bincount(minlength=3) / 20_000
    assert (counts - logits[0].softmax(-1)).abs().max() < 0.015
    assert gumbel_choice(LOGITS, 0.0, None).tolist() == [0, 1]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_values_that_are_not_numbers_stop_with_the_pass_named(bad: float) -> None:
    logits = LOGITS.clone()
    logits[1, 2] = bad
    with pytest.raises(NumericalError, match="pass 7"):
        check_finite(logits, 7)
    logits[1, 2] = -torch.inf
    check_finite(logits, 7)
