import math

import pytest
import torch
from torch import nn

from craik.nn.perceptrons import Adversarial, Dropout, fast_resnet, mlp, relu_mlp, scaled_convolutions, trajectory_network


def make(seed=0, **options):
    return mlp(34, 1, torch.Generator().manual_seed(seed), **options)


def test_layers_and_output():
    model = make(hidden=16, layers=3)
    widths = [(layer.in_features, layer.out_features) for layer in model if isinstance(layer, nn.Linear)]
    assert widths == [(34, 16), (16, 16), (16, 16), (16, 1)]
    assert model(torch.ones(5, 34)).shape == (5, 1)


def test_batch_norm_and_dropout_stand_in_every_hidden_layer():
    model = make(hidden=8, layers=2, batch_norm=True, dropout=0.5)
    kinds = [type(module) for module in model]
    hidden = [nn.Linear, nn.BatchNorm1d, nn.LeakyReLU, Dropout]
    assert kinds == [*hidden, *hidden, nn.Linear]


def test_the_generator_alone_decides_what_is_dropped():
    before, x = torch.random.get_rng_state(), torch.ones(2000)
    first, again, other = (Dropout(0.25, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    y = first(x)
    assert torch.equal(y, again(x))
    assert not torch.equal(y, other(x))
    assert not torch.equal(y, first(x))
    assert sorted(set(y.tolist())) == pytest.approx([0, 4 / 3])
    assert float(y.mean()) == pytest.approx(1, abs=0.05)
    assert torch.equal(first.eval()(x), x)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_generator_alone_decides_the_weights():
    before = torch.random.get_rng_state()
    a, b, c = make(1), make(1), make(2)
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert not torch.equal(a[0].weight, c[0].weight)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(("init", "deviation"), [("kaiming", math.sqrt(2 / 256)), ("default", 1 / math.sqrt(3 * 256))])
def test_initial_scale(init, deviation):
    layer = make(hidden=256, layers=2, init=init)[2]
    assert float(layer.weight.detach().std()) == pytest.approx(deviation, rel=0.02)
    if init == "kaiming":
        assert torch.equal(layer.bias, torch.full_like(layer.bias, 0.01))


def test_relu_layers_stand_at_even_places():
    model = relu_mlp((5, 7, 9, 2), torch.Generator().manual_seed(0))
    assert [type(module) for module in model] == [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]
    assert model(torch.ones(3, 5)).shape == (3, 2)


def test_weight_norm_changes_the_parameters_and_not_the_function():
    plain, normed = (relu_mlp((5, 7, 2), torch.Generator().manual_seed(0), weight_norm=on) for on in (False, True))
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(plain(x), normed(x))
    assert sum("original1" in name for name, _ in normed.named_parameters()) == 2


def test_a_trajectory_network_convolves_over_time_and_keeps_its_length():
    model = trajectory_network(3, 16, (4, 5), 6, 8, torch.Generator().manual_seed(0))
    assert model(torch.randn(2, 16, 3, generator=torch.Generator().manual_seed(1))).shape == (2, 8)
    convolutions = [module for module in model if isinstance(module, nn.Conv1d)]
    assert [(c.in_channels, c.out_channels, c.kernel_size) for c in convolutions] == [(3, 4, (3,)), (4, 5, (3,))]
    # Frames are the convolutions' axis: one that moves by a place moves what comes out by a place.
    impulse = torch.zeros(1, 16, 3)
    impulse[0, 7, 0] = 1
    first = model[:2]
    torch.testing.assert_close(first(impulse).roll(1, dims=2), first(impulse.roll(1, dims=1)))


def test_the_multiplier_scales_the_initial_weights_of_convolutions():
    one, two = (scaled_convolutions((1, 4, 4), factor, torch.Generator().manual_seed(0)) for factor in (1.0, 2.0))
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        torch.testing.assert_close(2 * a, b)
    assert float(one[2].weight.detach().abs().max()) <= 1 / math.sqrt(4 * 9)
    assert one(torch.ones(2, 1, 7, 7)).shape == (2, 4, 7, 7)


@pytest.mark.parametrize(
    "make_network",
    [
        lambda generator: relu_mlp((3, 4), generator),
        lambda generator: trajectory_network(2, 3, (4,), 5, 6, generator),
        lambda generator: scaled_convolutions((1, 2), 1.0, generator),
    ],
)
def test_no_network_touches_the_global_generator(make_network):
    before = torch.random.get_rng_state()
    make_network(torch.Generator().manual_seed(0))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("norm", ["group", "batch"])
def test_fast_resnet_is_drawn_from_its_generator(norm):
    state = torch.get_rng_state()
    first, second, other = (
        fast_resnet(1, 10, torch.Generator().manual_seed(seed), width=8, norm=norm).state_dict() for seed in (0, 0, 1)
    )
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["0.0.weight"], other["0.0.weight"])


def test_fast_resnet_has_the_published_size():
    model = fast_resnet(3, 10, torch.Generator().manual_seed(0))
    assert sum(p.numel() for p in model.parameters()) == 6_573_120
    small = fast_resnet(1, 10, torch.Generator().manual_seed(0), width=8, norm="group")
    assert small(torch.rand(2, 1, 8, 8)).shape == (2, 10)


def test_the_discriminator_learns_and_the_embedding_is_trained_against_it():
    model = Adversarial(4, 3, 8, torch.Generator().manual_seed(0))
    x, environments = torch.randn(9, 4, generator=torch.Generator().manual_seed(1)), torch.arange(3).repeat(3)
    model.domain_loss(x, environments).backward()
    reversed_gradients = [p.grad.clone() for p in model.embedding.parameters()]
    own = [p.grad.clone() for p in model.discriminator.parameters()]
    model.zero_grad()
    torch.nn.functional.cross_entropy(model.discriminator(model.embedding(x)), environments).backward()
    for reversed_one, parameter in zip(reversed_gradients, model.embedding.parameters(), strict=True):
        torch.testing.assert_close(reversed_one, -parameter.grad)
    for gradient, parameter in zip(own, model.discriminator.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)
    assert all(p.grad is None or not p.grad.any() for p in model.classifier.parameters())
