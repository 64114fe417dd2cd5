"""A model that torch.compile has compiled is served whatever ran before, environment by environment."""

import contextvars
import os

import pytest
import torch
from torch import nn

from definition_oracles import stacks_of
from mechlearn.agreement import Agreement, AndMask, GeometricMean
from one_layer import PAIRED, B, noise

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),  # torch.compile imports what torch deprecates
    pytest.mark.filterwarnings("ignore:.*one backward pass for each environment"),
]
BACKENDS = ["aot_eager", "inductor"] if os.environ.get("MECHLEARN_TRACED") else ["aot_eager"]
IDS = torch.tensor(PAIRED)


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    torch._dynamo.reset()


def net(dtype=torch.float64):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 8), nn.Softplus(), nn.Linear(8, 1)).to(dtype)


def losses_of(model, seed=0):
    return (model(noise(B, 5, seed=seed))[:, 0] - 1) ** 2


def nothing(model):
    del model


def a_step(model):
    losses_of(model).mean().backward()


def an_evaluation(model):
    with torch.no_grad():
        losses_of(model)


def two_passes(model):
    losses = losses_of(model)
    losses.mean().backward(retain_graph=True)
    losses.mean().backward()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("before", [nothing, a_step, an_evaluation, two_passes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("settings", [{}, {"normalise": "model"}, {"keep": ["0.weight"]}], ids=str)
def test_whatever_ran_before(before, settings, backend):
    model = net()
    compiled = torch.compile(model, backend=backend)
    before(compiled)
    agreement = Agreement(model, AndMask(0.5), **settings)
    for seed in range(3):  # ordinary steps between
        model.zero_grad()
        record = agreement.backward(losses_of(compiled, seed), IDS)
        assert set(record.paths.values()) == {"per-environment"}
        found = [p.grad for p in model.parameters()]
        stacks = stacks_of(losses_of(model, seed), IDS, list(model.parameters()))
        whole = torch.stack([stack.flatten(1).square().sum(1) for stack in stacks]).sum(0).sqrt()
        for gradient, stack in zip(found, stacks, strict=True):
            divided = stack / whole.view(-1, *[1] * (stack.dim() - 1)) if "normalise" in settings else stack
            wanted = divided.mean(0) * (stack.sign().sum(0).abs() >= 2)
            torch.testing.assert_close(gradient, wanted, rtol=1e-9, atol=1e-12)
        model.zero_grad()
        a_step(compiled)


def test_the_setting_is_as_before_where_a_step_fails():
    import torch._functorch.config as functorch

    model = net()
    compiled = torch.compile(model, backend="aot_eager")
    a_step(compiled)
    losses = losses_of(compiled)
    losses.mean().backward()
    with pytest.raises(RuntimeError, match="Found losses whose graph an earlier backward pass has used up"):
        Agreement(model, GeometricMean(0.5)).backward(losses, IDS)
    assert functorch.donated_buffer


def test_steps_leave_nothing_behind():
    model = net()
    compiled = torch.compile(model, backend="aot_eager")
    agreement, sizes = Agreement(model, AndMask(0.5)), []
    for _ in range(4):
        agreement.backward(losses_of(compiled), IDS)
        sizes.append(len(contextvars.copy_context()))
    assert sizes[1] == sizes[3]
