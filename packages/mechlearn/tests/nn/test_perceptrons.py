import math

import pytest
import torch
from torch import nn

from mechlearn.nn.perceptrons import CodePerceptron, Dropout, mlp, relu_mlp


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


def test_a_relu_network_does_not_touch_the_global_generator():
    before = torch.random.get_rng_state()
    relu_mlp((3, 4), torch.Generator().manual_seed(0))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_code_perceptron_adds_to_its_input_and_begins_near_the_identity():
    model = CodePerceptron(3, 2, torch.Generator().manual_seed(0), hidden=8, gain=6.0)
    frames, beside = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5, 1.0]]), torch.zeros(2, 2)
    wanted = model.net(torch.cat([frames, beside], 1)) + 6 * frames - 3
    torch.testing.assert_close(model(frames, beside), wanted)
    assert torch.equal((model(frames, beside) > 0)[0], frames[0] > 0.5)


def test_the_global_generator_is_never_drawn_from(as_installed):
    before = torch.get_rng_state()
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
        mlp(2, 1, None)
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
        relu_mlp((2, 1), None)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("dropout", [1.0, -0.5])
def test_a_probability_of_dropping_lies_below_1(dropout):
    with pytest.raises(ValueError, match=r"`dropout` should lie in \[0, 1\)"):
        make(dropout=dropout)
    with pytest.raises(ValueError, match=r"`probability` should lie in \[0, 1\)"):
        Dropout(dropout, torch.Generator())
