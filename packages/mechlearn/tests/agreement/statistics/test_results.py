"""What the numbers mean: formulas against held gradients, and estimates against populations that are known."""

import itertools

import pytest
import torch
from torch import nn

import statistics_oracles as oracle
import traced_models
from mechlearn.agreement import Agreement, AndMask
from mechlearn.agreement.statistics import GradientStatistics, Noise, ParameterStatistics, gradient_statistics


def statistics_of(rows, ids):
    """Statistics of gradients that are given, (B, P), a row each."""
    ids = torch.as_tensor(ids)
    stack = torch.stack([rows[ids == e].mean(0) for e in ids.unique()])
    gram = stack @ stack.T
    one = ParameterStatistics(rows.shape[1], gram.diagonal(), gram.sum(1), gram, 0, 0, rows.square().sum(1))
    environments, index, sizes = ids.unique(return_inverse=True, return_counts=True)
    losses = torch.zeros(len(sizes), dtype=torch.float64)
    return GradientStatistics(environments, tuple(sizes.tolist()), index, losses, {"p": one}, {"p": "layer"})


POPULATION = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [3.0, 0.0]], dtype=torch.float64)
MEAN = POPULATION.mean(0)
VARIANCE = (POPULATION - MEAN).square().sum() / 3


def test_noise_of_environments_is_unbiased():
    """The mean over all 27 equally likely draws of three from a population of three."""
    draws = itertools.product(range(3), repeat=3)
    found = Noise.averaged([statistics_of(POPULATION[list(draw)], range(3)).noise for draw in draws])
    torch.testing.assert_close(found.signal, MEAN.square().sum())
    torch.testing.assert_close(found.variance, VARIANCE)
    torch.testing.assert_close(found.scale, VARIANCE / MEAN.square().sum())
    torch.testing.assert_close(found.signal_to_noise, MEAN.square().sum() / VARIANCE)


def test_noise_of_rows_is_unbiased():
    """Two environments of another population each, two rows drawn of one and three of the other: all 243 draws."""
    other = POPULATION * 2 + 1
    every = [
        statistics_of(torch.cat([POPULATION[list(one)], other[list(two)]]), [0, 0, 1, 1, 1])
        for one in itertools.product(range(3), repeat=2)
        for two in itertools.product(range(3), repeat=3)
    ]
    whole = (MEAN + other.mean(0)) / 2
    of_other = (other - other.mean(0)).square().sum() / 3
    found = Noise.averaged([one.example_noise for one in every])
    torch.testing.assert_close(found.signal, whole.square().sum())
    torch.testing.assert_close(found.variance, (VARIANCE + of_other) / 2)
    by_environment = Noise.averaged([one.noise_by_environment for one in every])
    torch.testing.assert_close(by_environment.signal, torch.stack([MEAN.square().sum(), other.mean(0).square().sum()]))
    torch.testing.assert_close(by_environment.variance, torch.stack([VARIANCE, of_other]))


def test_noise_with_two_batch_sizes_is_that_of_the_paper():
    """Appendix A.1 with B_small = 1 and B_big = 5, as it is written there."""
    rows = traced_models.noise(5, 7)
    small, big = rows.square().sum(1).mean(), rows.mean(0).square().sum()
    signal, variance = (5 * big - small) / (5 - 1), (small - big) / (1 / 1 - 1 / 5)
    for found in (statistics_of(rows, range(5)).noise, statistics_of(rows, [0] * 5).example_noise):
        torch.testing.assert_close(found.signal, signal)
        torch.testing.assert_close(found.variance, variance)
    assert statistics_of(rows, range(5)).critical_batch_size == pytest.approx(statistics_of(rows, [0] * 5).critical_batch_size)


def test_noise_without_signal():
    found = Noise(torch.tensor([-1.0, 2.0]), torch.tensor([3.0, 4.0]))
    assert found.scale.tolist() == [torch.inf, 2.0]
    assert found.signal_to_noise.tolist() == [0.0, 0.5]


@pytest.fixture(scope="module")
def language():
    model, losses_of, drawn = traced_models.made("tied language model")
    batch, ids = drawn(12), traced_models.scattered(12, 4)
    return model, losses_of, batch, ids, gradient_statistics(model, losses_of(*batch), ids, examples=True)


def test_numbers_of_the_model(language):
    model, losses_of, batch, ids, found = language
    stack = torch.cat(list(oracle.stacks_of(model, losses_of, batch, ids).values()), 1)
    close = {"rtol": 1e-8, "atol": 1e-12}
    torch.testing.assert_close(found.norms, stack.norm(dim=1), **close)
    torch.testing.assert_close(found.norm, stack.mean(0).norm(), **close)
    torch.testing.assert_close(found.cosines, nn.functional.cosine_similarity(stack[:, None], stack[None], dim=2), **close)
    mean = stack.mean(0).expand_as(stack)
    torch.testing.assert_close(found.cosines_with_mean, nn.functional.cosine_similarity(stack, mean), **close)
    signal, variance = oracle.noise_of(stack)
    torch.testing.assert_close(found.noise.signal, signal, **close)
    torch.testing.assert_close(found.noise.variance, variance, **close)
    rows = torch.cat(list(oracle.rows_of(model, losses_of, batch).values()), 1)
    torch.testing.assert_close(found.example_norms, rows.norm(dim=1), **close)
    losses = losses_of(*batch).detach()
    torch.testing.assert_close(found.losses, torch.stack([losses[ids == e].mean() for e in range(4)]), **close)
    assert found.sizes == tuple(ids.bincount().tolist())
    assert found.index.tolist() == ids.tolist()


def test_layers_and_parts_add_up(language):
    model, _, _, _, found = language
    layers = found.layers()
    assert list(layers)[:2] == ["embed", "positions"]
    assert "blocks.1.mlp.0" in layers
    torch.testing.assert_close(sum(one.norms.square() for one in layers.values()), found.norms.square())
    torch.testing.assert_close(
        found.part("blocks.0").norms.square() + found.part("blocks.1").norms.square(), (found.part("blocks").norms.square())
    )
    assert set(found.part("blocks.0").paths) == {f"blocks.0.{name}" for name, _ in model.blocks[0].named_parameters()}
    torch.testing.assert_close(found.part("embed.weight").cosines, layers["embed"].cosines)
    share = sum(one.sign_agreement * sum(p.size for p in one.parameters.values()) for one in layers.values())
    assert share / sum(p.numel() for p in model.parameters()) == pytest.approx(found.sign_agreement)


def test_signs_are_those_of_the_mask():
    """Small integers, so that every gradient is exact, zeros among them."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    for parameter in model.parameters():
        parameter.data = torch.randint(-2, 3, parameter.shape).float()
    for count, ids in ((6, range(6)), (12, [0, 1, 2] * 4)):
        x = torch.randint(-2, 3, (count, 4)).float()
        losses = model(x).square().sum(1)
        found = gradient_statistics(model, losses, ids)
        stacks = oracle.stacks_of(model, lambda x: model(x).square().sum(1), (x,), ids)
        for name, stack in stacks.items():
            one = found.part(name)
            assert one.sign_agreement * stack.shape[1] == int(((stack > 0).all(0) | (stack < 0).all(0)).sum())
            assert one.sign_conflict * stack.shape[1] == int(((stack > 0).any(0) & (stack < 0).any(0)).sum())
        record = Agreement(model, AndMask(1.0)).backward(losses, ids)
        assert {name: found.part(name).sign_agreement for name in record.share_by_parameter} == record.share_by_parameter


def test_without_pairs_all_but_cosines_is_the_same(language):
    model, losses_of, batch, ids, found = language
    other = gradient_statistics(model, losses_of(*batch), ids, pairs=False)
    torch.testing.assert_close(other.norms, found.norms)
    torch.testing.assert_close(other.cosines_with_mean, found.cosines_with_mean)
    torch.testing.assert_close(other.noise.scale, found.noise.scale)
    assert other.sign_conflict == found.sign_conflict


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("scale", [1.0, 1e-24])
def test_narrow_types(dtype, scale):
    """Squares of gradients of 1e-24 are 0 in float32."""
    if scale != 1.0 and dtype == torch.float16:
        pytest.skip("nothing of that size is a float16")
    model, losses_of, drawn = traced_models.made("mlp", dtype=torch.float64)
    batch, ids = drawn(12), traced_models.scattered(12, 4)
    wide = gradient_statistics(model, losses_of(*batch), ids, examples=True)
    model.to(dtype)
    found = gradient_statistics(model, losses_of(*(t.to(dtype) for t in batch)) * scale, ids, examples=True)
    rtol = 1e-4 if dtype == torch.float32 else 0.05
    torch.testing.assert_close(found.norms / scale, wide.norms, rtol=rtol, atol=0)
    torch.testing.assert_close(found.example_norms / scale, wide.example_norms, rtol=rtol, atol=0)
    torch.testing.assert_close(found.cosines, wide.cosines, rtol=0, atol=rtol)


def test_what_is_not_finite_is_nan_where_it_is():
    model = nn.Linear(2, 1, bias=False)
    x = torch.tensor([[1.0, 2.0], [torch.inf, 1.0], [2.0, 1.0]])
    found = gradient_statistics(model, model(x)[:, 0] ** 2, range(3))
    assert torch.isfinite(found.norms).tolist() == [True, False, True]
    assert torch.isfinite(found.cosines).tolist() == [[True, False, True], [False] * 3, [True, False, True]]
