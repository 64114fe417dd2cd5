import copy

import pytest
import torch
from torch import nn

import distill_models as models
from mechlearn.distill.examples.streams import Stream
from mechlearn.distill.saving.undoing import undone_on_failure


def touched(module, optimizer, stream):
    """Do everything that a step does: draw rows and noise, move parameters, moments and running averages, leave gradients."""
    stream.take(2)
    torch.rand(3)
    module(models.randn(0, 6, 6)).sum().backward()
    optimizer.step()


@pytest.mark.parametrize("make", [torch.optim.Adam, lambda p: torch.optim.SGD(p, 0.1, momentum=0.5)])
@pytest.mark.parametrize("steps_before", [0, 2])
def test_what_a_failing_block_has_touched_is_put_back(make, steps_before):
    module = models.student("batch norm")
    optimizer, generator = make(module.parameters()), models.generator(2)
    stream = Stream(torch.arange(11), 3, generator)
    for _ in range(steps_before):
        touched(module, optimizer, stream)

    def present():
        parts = [module.state_dict(), optimizer.state_dict(), stream.state_dict(), [p.grad for p in module.parameters()]]
        return str(copy.deepcopy([*parts, generator.get_state().tolist(), torch.get_rng_state().tolist()]))

    before = present()

    def interrupted():
        with undone_on_failure(generator, (stream,), module, optimizer):
            optimizer.zero_grad()
            touched(module, optimizer, stream)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert present() == before


def test_what_does_not_fail_stays():
    module = models.filled(nn.Linear(6, 3), 0)
    optimizer, generator = torch.optim.SGD(module.parameters(), 0.1), models.generator()
    stream = Stream(torch.arange(11), 3, generator)
    before = module.weight.detach().clone()
    with undone_on_failure(generator, (stream,), module, optimizer):
        touched(module, optimizer, stream)
    assert not torch.equal(module.weight, before)


class Counting(nn.Module):
    """Assigns its buffers anew in every pass, one of them from nothing."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.register_buffer("passes", torch.zeros(()))
        self.register_buffer("last", None)

    def forward(self, x):
        self.passes = self.passes + 1
        self.last = x.detach()
        return self.layer(x)


def test_buffers_that_a_pass_assigns_are_put_back():
    module, generator = Counting().double(), models.generator()
    module(models.randn(0, 2, 6))
    module.last = None
    passes = module.passes

    def failing():
        with undone_on_failure(generator, (), module):
            module(models.randn(0, 2, 6))
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert module.passes is passes
    assert float(passes) == 1
    assert module.last is None
