import torch
from mechlearn_zoo_benchmarks.entrants.masks.reference import reference, score
from mechlearn_zoo_benchmarks.entrants.masks.workloads import WORKLOADS

import oracles


def test_the_reference_is_the_literal_oracle():
    problem = WORKLOADS["resnet20"](True, 2)
    found, double = reference(problem), problem.double()
    stacks = oracles.stacked_gradients(double.model, double.loss, double.x, double.y, double.environments)
    for gradient, stack in zip(found.gradients, stacks.values(), strict=True):
        torch.testing.assert_close(gradient, oracles.and_mask(stack, "0.2") * oracles.mean(stack))
    assert found.components == sum(p.numel() for p in problem.parameters)
    assert 0.9 < found.share_decided <= 1.0


def test_the_right_gradient_scores_exact():
    expected = reference(WORKLOADS["mlp-34"](True, 0))
    found = score([g.float() for g in expected.gradients], expected)
    assert (found.mismatches, found.exact) == (0, True)
    assert found.error < 1e-6


def test_a_wrong_mask_a_wrong_value_and_plain_averaging_do_not():
    problem = WORKLOADS["mlp-34"](True, 0)
    expected = reference(problem)
    problem.losses().mean().backward()
    plain = score([p.grad for p in problem.parameters], expected)
    assert not plain.exact
    assert plain.mismatches > 0.3 * expected.components
    scaled = score([1.01 * g for g in expected.gradients], expected)
    assert (scaled.mismatches, scaled.exact) == (0, False)
    flipped = [g.clone() for g in expected.gradients]
    index = int((expected.decided[0].flatten() & (flipped[0].flatten() != 0)).nonzero()[0])
    flipped[0].view(-1)[index] = 0.0
    assert score(flipped, expected)[:2] == (1, False)


def test_a_sign_in_doubt_decides_nothing():
    expected = reference(WORKLOADS["mlp-34"](True, 0))
    unsure = expected._replace(decided=[torch.zeros_like(d) for d in expected.decided])
    flipped = [g.clone() for g in expected.gradients]
    largest = flipped[0].abs().argmax()
    flipped[0].view(-1)[largest] = 0.0
    assert score(flipped, unsure)[:2] == (1, True)
