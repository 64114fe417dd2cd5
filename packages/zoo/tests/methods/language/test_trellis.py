import warnings

import pytest
import torch
from torch import nn

import language_oracles as oracle
from mechlearn_zoo.methods.language.trellis import Trellis, TrellisNet, from_recurrent


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def recurrent(kind, layers, seed=0, upper=True):
    """A network in float64; without ``upper`` the biases that the theorem needs at 0 are."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = kind(3, 4, layers, batch_first=True).double()
        for parameter in network.parameters():
            nn.init.normal_(parameter, 0, 0.7)
    with torch.no_grad():
        for layer in range(1, layers):
            for name in (f"bias_ih_l{layer}", f"bias_hh_l{layer}"):
                bias = getattr(network, name)
                if not upper:
                    (bias if kind is nn.RNN else bias.chunk(4)[2]).zero_()
    return network


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("horizon", [1, 2, 4, 6])
def test_theorem(kind, layers, horizon):
    x = torch.randn(2, 9, 3, dtype=torch.float64, generator=seeded(1))
    network = recurrent(kind, layers, upper=False)
    net = from_recurrent(network, horizon)
    assert net.trellis.levels == horizon + layers - 1
    assert float((net(x).output - oracle.restarted(network, x, horizon)).detach().abs().max()) <= 1e-12
    network = recurrent(kind, layers)
    net = from_recurrent(network, horizon, warm=True)
    assert float((net(x).output - oracle.restarted(network, x, horizon)).detach().abs().max()) <= 1e-12


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM])
def test_the_theorem_needs_its_condition_on_biases(kind):
    x = torch.randn(2, 30, 3, dtype=torch.float64, generator=seeded(1))
    network = recurrent(kind, 2)
    with pytest.raises(ValueError, match=r"biases.*warm=True"):
        from_recurrent(network, 4)
    net = from_recurrent(recurrent(kind, 2, upper=False), 4)
    bias = network.bias_ih_l1 + network.bias_hh_l1
    gates = (0, 3, 2, 1) if kind is nn.LSTM else (0,)
    with torch.no_grad():  # as the restated theorem has it, the biases simply put in
        for g, theirs in enumerate(gates):
            net.bias[g * 8 + 4 : g * 8 + 8] = bias.chunk(len(gates))[theirs]
    error = (net(x).output - oracle.restarted(network, x, 4)).detach().abs().amax((0, 2))
    assert float(error[-10:].min()) > 1e-4  # it does not die out


@pytest.mark.parametrize("activation", ["lstm", "tanh"])
@pytest.mark.parametrize("dilations", [(1,), (1, 2, 4)])
def test_equals_the_literal_loop_and_its_gradient(activation, dilations):
    net = TrellisNet(2, 5, 3, Trellis(4, activation, dilations), seeded(0), spread=0.5).double()
    x = torch.randn(2, 7, 2, dtype=torch.float64, generator=seeded(1))
    net.truncated = True
    ours, theirs = net(x).output, oracle.trellis(net, x)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    weight = torch.randn(ours.shape, dtype=torch.float64, generator=seeded(2))
    parameters = list(net.parameters())
    for one, other in zip(
        torch.autograd.grad((ours * weight).sum(), parameters),
        torch.autograd.grad((theirs * weight).sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("activation", ["lstm", "tanh"])
def test_splitting_a_sequence_changes_nothing(activation):
    net = TrellisNet(2, 5, 3, Trellis(5, activation, (1, 3)), seeded(0), spread=0.5).double()
    x = torch.randn(2, 9, 2, dtype=torch.float64, generator=seeded(1))
    whole = net(x)
    first = net(x[:, :2])
    middle = net(x[:, 2:3], first.state)
    last = net(x[:, 3:], middle.state)
    torch.testing.assert_close(torch.cat([first.output, middle.output, last.output], 1), whole.output, rtol=1e-12, atol=1e-12)


def test_is_causal_and_reaches_as_far_as_it_says():
    net = TrellisNet(1, 4, 4, Trellis(3, dilations=(1, 2)), seeded(0), spread=1.0).double()
    net.truncated = True
    x = torch.randn(1, 10, 1, dtype=torch.float64, generator=seeded(1), requires_grad=True)
    assert net.trellis.reach == 5
    for t in range(10):
        (gradient,) = torch.autograd.grad(net(x).output[0, t].sum(), x)
        touched = gradient[0, :, 0] != 0
        expected = torch.zeros(10, dtype=torch.bool)
        expected[max(0, t - 4) : t + 1] = True
        assert torch.equal(touched, expected)


def test_options():
    net = TrellisNet(2, 5, 3, Trellis(5, weight_norm=True, dropout=0.5, auxiliary_every=2), seeded(0), spread=0.5)
    plain = TrellisNet(2, 5, 3, Trellis(5), seeded(0), spread=0.5)
    x = torch.randn(2, 6, 2, generator=seeded(1))
    found = net.eval()(x)
    assert len(found.auxiliary) == 2
    torch.testing.assert_close(found.output, plain(x).output)  # the length begins as the weight's own
    assert not torch.equal(net.train()(x).output, found.output)
    found.output.sum().backward()
    assert net.length.grad is not None


def test_bad_input():
    with pytest.raises(ValueError, match=r"`hidden` should be 5.*Found 4"):
        TrellisNet(1, 4, 5, Trellis(2), seeded(0))
    net = TrellisNet(1, 4, 4, Trellis(2), seeded(0))
    with pytest.warns(UserWarning, match=r"5 times and a reach of 3"):
        net(torch.zeros(2, 5, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state = net(torch.zeros(2, 3, 1)).state
    with pytest.raises(ValueError, match="Continue the same"):
        net(torch.zeros(3, 3, 1), state)
    with pytest.raises(TypeError, match=r"nn\.RNN"):
        from_recurrent(nn.GRU(2, 2), 3)
    with pytest.raises(ValueError, match="two directions"):
        from_recurrent(nn.LSTM(2, 2, bidirectional=True), 3)
    with pytest.raises(ValueError, match="horizon"):
        from_recurrent(nn.LSTM(2, 2), 0)
    with pytest.raises(ValueError, match="activation"):
        Trellis(2, "gru")
