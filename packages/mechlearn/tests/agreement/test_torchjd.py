import pytest
import torch

import oracles
from mechlearn.agreement import AndMask, GeometricMean, SandMask, combine, torchjd
from small_models import batch, make, squared


def test_an_aggregator_of_the_environments_gradients():
    model = make("mlp", 0)
    x, y, ids = batch(0, [0, 1, 1, 2])
    stacks = oracles.stacked_gradients(model, squared, x, y, ids)
    for _ in range(2):  # gradients are added to what is there
        torchjd.aggregate(model, squared(model(x), y), ids, lambda matrix: combine(AndMask(0.3), matrix).gradient)
    for name, parameter in model.named_parameters():
        gradient, _ = oracles.combine("and-mask", stacks[name], "0.3")
        torch.testing.assert_close(parameter.grad, 2 * gradient, rtol=1e-12, atol=1e-15)


def test_hooks_run_once_on_what_the_aggregator_makes():
    model, seen, done = make("mlp", 0), [], []
    x, y, ids = batch(0, [0, 1, 1, 2])
    first = next(model.parameters())
    first.register_hook(lambda gradient: seen.append(gradient.clone()))
    first.register_post_accumulate_grad_hook(lambda parameter: done.append(parameter.grad.clone()))
    torchjd.aggregate(model, squared(model(x), y), ids, lambda matrix: matrix.mean(0))
    assert [len(seen), len(done)] == [1, 1]
    assert torch.equal(seen[0], first.grad)
    assert torch.equal(done[0], first.grad)


def test_too_large_or_misshapen_is_refused_before_a_gradient_is_touched():
    model = make("mlp", 0)
    x, y, ids = batch(0, [0, 1])
    with pytest.raises(ValueError, match=r"at most `limit` = 100 elements. Found 2 environments x 128 components"):
        torchjd.aggregate(model, squared(model(x), y), ids, lambda matrix: matrix.mean(0), limit=100)
    with pytest.raises(ValueError, match=r"each of 128 components. Found shape \(2,\)"):
        torchjd.aggregate(model, squared(model(x), y), ids, lambda matrix: matrix.mean(1))
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("rule", [AndMask(0.5), GeometricMean(0.2), SandMask(0.1)])
def test_a_rule_is_a_torchjd_aggregator(rule):
    aggregation = pytest.importorskip("torchjd.aggregation")
    aggregator = torchjd.as_aggregator(rule)
    assert isinstance(aggregator, aggregation.Aggregator)
    matrix = torch.randn(5, 7, generator=torch.Generator().manual_seed(0)) + 0.5
    before = matrix.clone()
    assert torch.equal(aggregator(matrix), combine(rule, matrix).gradient)
    assert torch.equal(matrix, before)
    assert type(rule).__name__ in repr(aggregator)


def test_a_torchjd_aggregator_takes_our_place():
    aggregation = pytest.importorskip("torchjd.aggregation")
    model = make("mlp", 0)
    x, y, ids = batch(0, [0, 1, 1, 2])
    torchjd.aggregate(model, squared(model(x), y), ids, aggregation.Mean())
    stacks = oracles.stacked_gradients(model, squared, x, y, ids)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, stacks[name].mean(0))


def test_without_torchjd_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torchjd.aggregation", None)
    with pytest.raises(ModuleNotFoundError, match="pip install"):
        torchjd.as_aggregator(AndMask())
