import math

import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from mechlearn_zoo.nn.mixtures import (
    Mixture,
    MixtureHead,
    at_temperature,
    mixture_log_prob,
    mixture_quantile,
    mixture_sample,
    tempered,
)


def parameters(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(*shape, dtype=torch.float64, generator=generator) for _ in range(3))


def test_density_is_that_of_torch_distributions():
    logits, means, log_scales = parameters(7, 3, 5)
    y = 2 * torch.randn(7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    wanted = MixtureSameFamily(Categorical(logits=logits), Normal(means, log_scales.exp())).log_prob(y)
    torch.testing.assert_close(mixture_log_prob(logits, means, log_scales, y), wanted, rtol=0, atol=1e-12)


def test_density_integrates_to_one():
    y = torch.linspace(-60, 60, 200_001, dtype=torch.float64)
    logits, means, log_scales = (one.expand(len(y), 4) for one in parameters(4))
    density = mixture_log_prob(logits, means, log_scales, y).exp()
    assert float(torch.trapezoid(density, y)) == pytest.approx(1, abs=1e-10)


def test_gradient():
    inputs = [one.requires_grad_() for one in (*parameters(3, 4), parameters(3)[0])]
    assert torch.autograd.gradcheck(mixture_log_prob, inputs)


@pytest.mark.parametrize("log_scale", [-20.0, 40.0])
def test_extreme_scales_stay_finite(log_scale):
    inputs = [torch.zeros(2, 3), torch.tensor([[0.0, 1.0, 4.0]] * 2), torch.full((2, 3), log_scale), torch.tensor([0.5, 5.0])]
    inputs = [one.requires_grad_() for one in inputs]
    found = mixture_log_prob(*inputs)
    found.sum().backward()
    assert found.isfinite().all()
    assert all(one.grad.isfinite().all() for one in inputs)


def test_temperature_one_is_the_identity_and_others_are_literal():
    mixture = parameters(4, 3)
    for own, found in zip(mixture, tempered(*mixture, 1.0), strict=True):
        assert torch.equal(own, found)
    hot = tempered(*mixture, 4.0)
    torch.testing.assert_close(hot.log_scales.exp(), 2 * mixture[2].exp())
    weights = mixture[0].softmax(-1) ** 0.25
    torch.testing.assert_close(hot.log_weights.softmax(-1), weights / weights.sum(-1, keepdim=True))


def test_temperature_nought_is_the_mean_of_the_heaviest():
    mixture = parameters(50, 5)
    found = mixture_sample(*tempered(*mixture, 0.0), torch.Generator().manual_seed(0))
    assert torch.equal(found, mixture[1][torch.arange(50), mixture[0].argmax(-1)])


def test_samples_have_the_density():
    logits, means, log_scales = (one.expand(200_000, 3) for one in parameters(3))
    found = mixture_sample(logits, means, log_scales, torch.Generator().manual_seed(1))
    law = MixtureSameFamily(Categorical(logits=logits[0]), Normal(means[0], log_scales[0].exp()))
    edges = torch.linspace(-3, 3, 13, dtype=torch.float64)
    share = torch.stack([(found < edge).double().mean() for edge in edges])
    assert float((share - law.cdf(edges)).abs().max()) < 4 * 0.5 / math.sqrt(len(found))


def test_a_component_without_weight_is_never_drawn():
    logits = torch.tensor([0.0, 0.0, 0.0, -math.inf]).expand(100_000, 4)
    found = mixture_sample(logits, torch.arange(4.0).expand(100_000, 4), torch.full((100_000, 4), -math.inf), torch.Generator())
    assert found.unique().tolist() == [0, 1, 2]


def test_the_head_gives_shapes_and_a_floor():
    head = MixtureHead(6, 2, 5, torch.Generator().manual_seed(0), least_log_scale=-0.1)
    mixture = head(torch.randn(3, 4, 6))
    assert all(one.shape == (3, 4, 2, 5) for one in mixture)
    assert float(mixture.log_scales.detach().min()) == pytest.approx(-0.1)


def test_what_is_refused():
    with pytest.raises(ValueError, match="`temperature` should be finite and at least 0"):
        tempered(*parameters(2), -1.0)
    with pytest.raises(TypeError):
        MixtureHead(6, 2, 2.0, torch.Generator())
    generator, three = torch.Generator().manual_seed(0), parameters(2, 5)
    before = generator.get_state()
    for place, value, what in (
        (0, math.nan, "`log_weights` should be numbers"),
        (0, math.inf, "`log_weights` should be numbers"),
        (1, math.nan, r"`means` should be finite\. Found nan at \(0, 0\)"),
        (2, math.nan, "`log_scales` should have finite exponentials"),
        (2, 800.0, "`log_scales` should have finite exponentials"),
    ):
        broken = [part.detach().clone() for part in three]
        broken[place][0, 0] = value
        with pytest.raises(ValueError, match=what):
            mixture_sample(*broken, generator)
    assert torch.equal(generator.get_state(), before)


def test_shapes_and_generators_that_are_refused(as_installed):
    logits, means, log_scales = parameters(3, 2, 5)
    with pytest.raises(ValueError, match=r"`y` should have the shape \(2,\)\. Found \(3,\)\. One value for each mixture"):
        mixture_log_prob(logits[0], means[0], log_scales[0], torch.zeros(3))
    with pytest.raises(ValueError, match=r"`log_scales` should have the shape \(2, 5\)\. Found \(2, 4\)"):
        mixture_log_prob(logits[0], means[0], log_scales[0, :, :4], torch.zeros(2))
    with pytest.raises(TypeError, match="`means` should hold floating numbers"):
        mixture_log_prob(logits, means.long(), log_scales, torch.zeros(3, 2))
    with pytest.raises(ValueError, match="what can be expanded to it"):
        mixture_quantile(Mixture(logits, means, log_scales), torch.zeros(3), torch.zeros(3, 2))
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 6\)\. Found \(3, 5\)"):
        MixtureHead(6, 2, 5, torch.Generator())(torch.zeros(3, 5))
    before = torch.get_rng_state()
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
        mixture_sample(logits, means, log_scales, None)
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
        MixtureHead(6, 2, 5, None)
    assert torch.equal(torch.get_rng_state(), before)


def test_under_vmap_a_density_is_one_for_each():
    three, y = parameters(4, 2, 5), torch.randn(4, 2, dtype=torch.float64)
    torch.testing.assert_close(torch.func.vmap(mixture_log_prob)(*three, y), mixture_log_prob(*three, y))


@pytest.mark.parametrize("temperature", [1e-37, 1e-39, 1e-46, 1e-300])
def test_the_least_temperatures_leave_the_heaviest(temperature):
    logits = torch.tensor([[1.0, 3.0, 2.0], [-math.inf, -70.0, -80.0], [5.0, 5.0, 4.0], [0.0, 0.0, 0.0]])
    wanted = torch.tensor([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [1 / 3] * 3])
    torch.testing.assert_close(at_temperature(logits, temperature).softmax(-1), wanted)
    found = tempered(logits, logits, torch.zeros(4, 3), temperature)
    chosen = mixture_quantile(found, torch.full((4,), 0.4), torch.zeros(4))
    assert chosen.tolist() == [3.0, -70.0, 5.0, 0.0]


@pytest.mark.parametrize("temperature", [0.3, 1e-20, 3.0, 1e50])
def test_a_temperature_that_a_type_bears_is_a_quotient(temperature):
    logits = torch.tensor([[1.0, 3.0, -math.inf], [-math.inf] * 3, [math.inf, 0.0, 1.0]])
    found = at_temperature(logits, temperature)
    assert torch.equal(found, logits / min(temperature, torch.finfo(torch.float32).max))
    gradient = torch.func.vmap(torch.func.grad(lambda row: at_temperature(row, temperature).logsumexp(-1)))(logits[:1, :2])
    assert gradient.isfinite().all()


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda part: part.to("meta"), "should be on the device"),
        (lambda part: part.to_sparse(), "should be dense"),
        (lambda part: torch.nested.nested_tensor([part, part], layout=torch.jagged), "should be dense. Found a nested one"),
        (lambda part: part.to(torch.float8_e4m3fn), "should hold floats of two bytes or more"),
    ],
)
def test_a_part_of_a_mixture_that_cannot_be_computed_with_is_named(as_installed, change, sentence, place):
    parts = [part.detach() for part in parameters(3, 2, 5)]
    parts[place] = change(parts[place])
    for call in (
        lambda: mixture_log_prob(*parts, torch.zeros(3, 2, dtype=torch.float64)),
        lambda: tempered(*parts, 0.5),
        lambda: mixture_sample(*parts, torch.Generator()),
        lambda: mixture_quantile(Mixture(*parts), torch.zeros(3, 2).double(), torch.zeros(3, 2).double()),
    ):
        with pytest.raises((TypeError, ValueError), match=sentence):
            call()
    three, y = [part.detach() for part in parameters(3, 2, 5)], change(torch.zeros(3, 2, dtype=torch.float64))
    with pytest.raises((TypeError, ValueError), match=f"`y` {sentence}"):
        mixture_log_prob(*three, y)
    with pytest.raises((TypeError, ValueError), match=f"`uniform` {sentence}"):
        mixture_quantile(Mixture(*three), y, y)
