"""Watching changes nothing that is trained."""

import copy
import random

import numpy as np
import pytest
import torch
from torch import nn

import traced_models
from mechlearn.agreement.statistics import gradient_statistics, watch

IDS = [0, 1, 2, 0, 1, 2, 2, 2]


class Drawing(nn.Module):
    """Draws from every generator there is, counts its calls, and learns statistics of its inputs."""

    def __init__(self):
        super().__init__()
        self.layer, self.drop, self.norm = nn.Linear(3, 4), nn.Dropout(0.5), nn.BatchNorm1d(4)
        self.head = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 2))
        self.own, self.calls, self.seen = torch.Generator().manual_seed(3), 0, []
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.calls += 1
        h = self.drop(self.layer(x))
        self.seen.append(h.shape)
        self.mean.lerp_(h.detach().mean(0), 0.1)
        self.norm(h.detach())
        h = h + torch.rand(4, generator=self.own) + random.random() + float(np.random.rand())  # noqa: NPY002
        return self.head(h)


def losses_of(model):
    return lambda x: model(x).square().sum(1)


def state_of(model):
    own = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    grads = {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}
    modes = [layer.training for layer in model.modules()]
    draws = torch.get_rng_state(), model.own.get_state(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    return own, grads, modes, draws, model.calls, list(model.seen), {n: id(b) for n, b in model.named_buffers()}


def test_nothing_changes_bit_for_bit():
    torch.manual_seed(0)
    model, x = Drawing(), torch.randn(8, 3)
    losses_of(model)(x).mean().backward()
    model.norm.eval()
    before, grads = state_of(model), {name: p.grad for name, p in model.named_parameters()}
    found = watch(model, losses_of(model), x, environments=IDS, examples=True)
    assert found.norms.shape == (3,)
    assert found.example_norms.shape == (8,)
    after = state_of(model)
    assert all(torch.equal(one, other) for one, other in zip(before[0].values(), after[0].values(), strict=True))
    assert all(
        torch.equal(one, after[1][name]) if one is not None else after[1][name] is None for name, one in before[1].items()
    )
    assert all(p.grad is grads[name] for name, p in model.named_parameters())
    assert before[2] == after[2]
    assert before[4:] == after[4:]
    assert torch.equal(before[3][0], after[3][0])
    assert torch.equal(before[3][1], after[3][1])
    assert before[3][2:] == after[3][2:]


def test_training_with_and_without_is_the_same():
    def trained(watched):
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        model, data = Drawing(), torch.randn(5, 8, 3)
        model.norm.eval()
        optimizer = torch.optim.Adam(model.parameters(), 0.1)
        for step, x in enumerate(data):
            random.seed(step)  # the type checker of the tests draws from it
            if watched:
                watch(model, losses_of(model), x, environments=IDS)
            optimizer.zero_grad()
            losses = losses_of(model)(x)
            if watched:
                gradient_statistics(model, losses, IDS, examples=True)
            losses.mean().backward()
            optimizer.step()
        return model.state_dict()

    one, other = trained(watched=False), trained(watched=True)
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_nothing_changes_where_the_function_fails():
    model, x = Drawing(), torch.randn(8, 3)
    before = state_of(model)

    def fails(x):
        model(x)
        model.eval()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        watch(model, fails, x, environments=IDS)
    after = state_of(model)
    assert before[2] == after[2]
    assert before[4:] == after[4:]
    assert torch.equal(before[3][0], after[3][0])


def test_retained_gradients_and_hooks_of_parameters_stay():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(8, 3)
    seen = []
    model[0].weight.register_hook(seen.append)
    losses = losses_of(model)(x)
    gradient_statistics(model, losses, IDS)
    assert not seen
    assert all(p.grad is None for p in model.parameters())
    losses.mean().backward()
    assert len(seen) == 1


@pytest.mark.parametrize("name", ["checkpoint", "tied language model", "weight norm", "second derivatives by autograd"])
def test_watching_is_measuring(name):
    model, losses_of_model, drawn = traced_models.made(name)
    batch, ids = drawn(8), IDS
    with torch.no_grad():  # as in a callback
        found = watch(model, losses_of_model, *batch, environments=ids)
    torch.testing.assert_close(found.cosines, gradient_statistics(model, losses_of_model(*batch), ids).cosines)


def test_a_compiled_model_runs_as_it_was():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1)), torch.randn(8, 3)
    compiled = torch.compile(model, backend="aot_eager")
    expected = gradient_statistics(model, losses_of(model)(x), IDS)
    before = copy.deepcopy(model.state_dict())
    for _ in range(2):
        found = watch(compiled, losses_of(compiled), x, environments=IDS)
        assert list(found.paths) == list(expected.paths)
        assert set(found.paths.values()) == {"layer"}
        torch.testing.assert_close(found.cosines, expected.cosines)
        losses_of(compiled)(x).mean().backward()
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    torch._dynamo.reset()


def test_its_own_graph_is_freed():
    kept = []

    def losses_of(x):
        kept.append(model(x)[:, 0].square())
        return kept[-1]

    model = nn.Linear(2, 1)
    watch(model, losses_of, torch.randn(4, 2), environments=[0, 0, 1, 1], examples=True)
    with pytest.raises(RuntimeError, match="second time"):
        kept[0].sum().backward()
