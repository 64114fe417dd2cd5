import pytest
import torch

from mechlearn_zoo.nn.equations import EquationLayer, equation_network, sparsity
from nn_oracles import equation_layer


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("units", [(2, 3, 4), (0, 2, 0), (1, 0, 1), (0, 0, 3)])
def test_is_the_literal_layer(units):
    layer = EquationLayer(5, *units, generator()).double()
    x = torch.randn(7, 5, dtype=torch.float64, generator=generator(1))
    weight, bias = layer.linear.weight.tolist(), layer.linear.bias.tolist()
    wanted = torch.tensor([equation_layer(row, weight, bias, units) for row in x.tolist()], dtype=torch.float64)
    torch.testing.assert_close(layer(x), wanted, rtol=1e-12, atol=1e-12)
    assert layer(x).shape[-1] == layer.outputs
    assert torch.equal(layer(x.view(7, 1, 5))[:, 0], layer(x))


def test_gradients_are_those_of_differences():
    layer = EquationLayer(3, 1, 2, 2, generator()).double()
    x = torch.randn(4, 3, dtype=torch.float64, generator=generator(1), requires_grad=True)
    assert torch.autograd.gradcheck(layer, (x,))


def test_a_network_can_hold_a_formula_everywhere():
    """sin(2 x) + x y, far outside of any data."""
    model = equation_network(2, 1, generator(), units=(0, 1, 1)).double()
    layer, last = model
    with torch.no_grad():
        layer.linear.weight.copy_(torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        layer.linear.bias.zero_()
        last.weight.fill_(1.0)
        last.bias.zero_()
    x = 100 * torch.randn(50, 2, dtype=torch.float64, generator=generator(1))
    torch.testing.assert_close(model(x)[:, 0], (2 * x[:, 0]).sin() + x[:, 0] * x[:, 1])


def test_penalty_is_of_weights_alone_and_layers_stack():
    model = equation_network(2, 3, generator(), units=(1, 1, 1), layers=2)
    assert [tuple(p.shape) for p in model.parameters()] == [(4, 2), (4,), (4, 3), (4,), (3, 3), (3,)]
    wanted = sum(float(p.detach().abs().sum()) for p in model.parameters() if p.dim() == 2)
    assert float(sparsity(model).detach()) == pytest.approx(wanted)
    assert float(sparsity(torch.nn.ReLU())) == 0


def test_weights_come_from_the_generator():
    before = torch.get_rng_state()
    one, other, third = (EquationLayer(2, 1, 1, 1, generator(seed)) for seed in (3, 3, 4))
    assert torch.equal(one.linear.weight, other.linear.weight)
    assert not torch.equal(one.linear.weight, third.linear.weight)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.usefixtures("as_installed")
def test_what_is_refused():
    with pytest.raises(ValueError, match="should have units"):
        EquationLayer(2, 0, 0, 0, generator())
    with pytest.raises(ValueError, match="`sines`"):
        EquationLayer(2, 1, -1, 0, generator())
    with pytest.raises(TypeError, match="`products`"):
        EquationLayer(2, 1, 1, "two", generator())
    with pytest.raises(TypeError, match="Generator"):
        EquationLayer(2, 1, 1, 1, 0)
    with pytest.raises(ValueError, match="`layers`"):
        equation_network(2, 1, generator(), layers=0)
