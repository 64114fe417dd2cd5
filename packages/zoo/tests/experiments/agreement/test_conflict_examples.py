"""Single examples as environments."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from claimlab import Rows, judge
from mechlearn.agreement import Agreement, AndMask, Heterogeneous, Homogeneous, Qualitative
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.agreement import label_noise
from mechlearn_zoo.experiments.agreement.label_noise.conflict_examples import METHODS, Combination, by_example

EXPERIMENT = label_noise.EXPERIMENT.at("conflict-examples")
SMALL = replace(EXPERIMENT.presets["conflict-examples"].config, examples=24, batch=12, hidden=4, epochs=2)


def test_a_tiny_run_can_be_judged_and_drawn_and_made_again():
    rows, again = ([{**row, "seed": 100} for row in EXPERIMENT.run(SMALL)] for _ in range(2))
    assert rows == again
    for claim in EXPERIMENT.claims:
        assert judge(claim, rows, "conflict-examples").measured is not None
    assert EXPERIMENT.figures(Rows(rows))


def test_gradients_by_example_are_single_backward_passes_and_the_mask_is_agreements():
    model = mlp(64, 10, torch.Generator().manual_seed(0), 5, 2).double()
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(6, 64, dtype=torch.float64, generator=generator), torch.randint(10, (6,), generator=generator)
    found = by_example(model)(x, y)
    for row in range(6):
        wanted = torch.autograd.grad(cross_entropy(model(x[row]), y[row]), list(model.parameters()))
        for gradient, own in zip(found.values(), wanted, strict=True):
            torch.testing.assert_close(gradient[row], own)
    Agreement(model, AndMask(0.3)).backward(cross_entropy(model(x), y, reduction="none"), range(6))
    combined = METHODS["AND 0.3"].of(6)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(combined(found[name]), parameter.grad)


def test_the_t_test_is_that_of_the_mean():
    g = torch.randn(20, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(2)) + 0.3
    t = g.mean(0) / (g.std(0, correction=0) / 20**0.5)
    assert torch.equal(Combination(t=2.0).of(20)(g) != 0, t.abs() > 2)


@pytest.mark.parametrize("rule", [Qualitative(), Homogeneous(), Heterogeneous()])
def test_rules_that_need_a_variance_refuse_single_examples_and_name_the_mask(rule):
    model = torch.nn.Linear(3, 2)
    losses = model(torch.ones(4, 3)).square().sum(1)
    with pytest.raises(ValueError, match=r"should have two examples or more.*AndMask is the rule: a sign test"):
        Agreement(model, rule).backward(losses, range(4))


def test_a_batch_beyond_the_examples_is_refused():
    with pytest.raises(ValueError, match="batch should be at most 8"):
        replace(SMALL, examples=8)
