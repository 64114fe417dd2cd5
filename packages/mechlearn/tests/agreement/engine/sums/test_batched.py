"""Small parameters side by side against running sums, bit for bit, and steps of small networks against the definition."""

import pytest
import torch
from torch import nn

from mechlearn.agreement import Agreement, AndMask
from mechlearn.agreement.engine.combining import _counted_each
from mechlearn.agreement.engine.sums import RunningSums, SideBySide
from mechlearn.agreement.engine.sums.batched import added_together

SIGN = frozenset({"sign"})


def draw(environments, *shape, seed=0, dtype=torch.float32):
    return torch.randn(environments, *shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("chunk", [1, 2, 5, 20])
@pytest.mark.parametrize("shape", [(), (4,), (7, 3), (64, 64)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_sums_are_those_of_running_sums(chunk, shape, dtype):
    stack = draw(20, *shape, dtype=dtype)
    beside, running = SideBySide(stack[0], SIGN), RunningSums(stack[0], SIGN)
    for gradients in stack.split(chunk):
        beside.add(gradients.clone())
        running.add(gradients.clone())
    expected = running.statistics()
    assert beside.beside
    assert torch.equal(beside.total(), expected.gradient.reshape(-1))
    together = added_together([beside])
    assert torch.equal(together.sign, expected.sign.reshape(-1))
    assert together.environments == 20
    found = beside.statistics()  # adds them up after all
    assert not beside.beside
    assert torch.equal(found.gradient, expected.gradient)
    assert torch.equal(found.sign, expected.sign)


def test_what_comes_as_sums_joins_what_lies_beside():
    stack = draw(6, 5)
    beside = SideBySide(stack[0], SIGN)
    beside.add(stack[:2].clone())
    beside.add_silent(1)
    beside.add(stack[2:4].clone())
    beside.add_sums(2, stack[4:].sum(0), stack[4:].sign().sum(0))
    other = SideBySide(stack[0], SIGN)
    other.add(stack[:1].clone())
    running = RunningSums(stack[0], SIGN)
    running.join(other)
    assert torch.equal(running.statistics().gradient, stack[0])
    found = beside.statistics()
    assert found.environments == 7
    torch.testing.assert_close(found.gradient, stack.sum(0))
    assert torch.equal(found.sign, stack.sign().sum(0))


@pytest.mark.parametrize("sizes", [(4, 4, 4), (1, 1, 1, 1, 1), (2, 5, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_step_of_many_small_parameters(sizes, dtype):
    torch.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (nn.Linear(5, 5), nn.LayerNorm(5), nn.Tanh())]
    model = nn.Sequential(*layers, nn.Linear(5, 1)).to(dtype)
    model.register_parameter("empty", nn.Parameter(torch.zeros(0, 3, dtype=dtype)))
    ids = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    x = torch.randn(len(ids), 5, dtype=dtype)
    losses = model(x)[:, 0].square() + model.empty.sum()
    names = dict(model.named_parameters())
    rows = [torch.autograd.grad(losses[ids == e].mean(), list(names.values()), retain_graph=True) for e in range(len(sizes))]
    record = Agreement(model, AndMask(1.0)).backward(losses, ids)
    assert list(record.share_by_parameter) == list(record.paths) == list(names)
    for (name, parameter), gradients in zip(names.items(), zip(*rows, strict=True), strict=True):
        stack = torch.stack(gradients)
        mask = stack.sign().sum(0).abs() == len(sizes)
        torch.testing.assert_close(parameter.grad, stack.mean(0) * mask, rtol=1e-4, atol=1e-6)
        assert record.share_by_parameter[name] == (int(mask.sum()) / mask.numel() if mask.numel() else 1.0)
        assert parameter.grad.untyped_storage().nbytes() == parameter.numel() * parameter.element_size()


def test_a_gradient_that_is_not_finite_is_named():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)).double()
    with torch.no_grad():
        model[1].weight.zero_()
        model[1].bias.fill_(1.0)
    losses = (model(torch.ones(4, 3, dtype=torch.float64))[:, 0] - 1).abs().sqrt()
    with pytest.raises(FloatingPointError, match=r"gradient of '(0|1)\.(weight|bias)'"):
        Agreement(model, AndMask(1.0)).backward(losses, [0, 0, 1, 1])
    assert all(parameter.grad is None for parameter in model.parameters())


class TestIdsOfTheCallBefore:
    """A partition serves again where all ids are equal, and nowhere else."""

    def setup_method(self):
        torch.manual_seed(0)
        self.model, self.x = nn.Linear(3, 1), torch.randn(6, 3)
        self.agreement = Agreement(self.model, AndMask(1.0))

    def step(self, ids):
        self.model.zero_grad()
        losses = self.model(self.x)[:, 0].square()
        record = self.agreement.backward(losses, ids)
        found = [p.grad.clone() for p in self.model.parameters()]
        self.model.zero_grad()
        fresh = Agreement(self.model, AndMask(1.0)).backward(self.model(self.x)[:, 0].square(), ids)
        assert torch.equal(record.environments, fresh.environments)
        assert torch.equal(record.losses, fresh.losses)
        assert all(torch.equal(a, p.grad) for a, p in zip(found, self.model.parameters(), strict=True))
        return record

    def test_ids_that_change_in_place(self):
        array = torch.tensor([0, 0, 1, 1, 2, 2]).numpy()
        ids = torch.from_numpy(array)
        self.step(ids)
        array[:] = [0, 1, 1, 2, 2, 2]  # past torch's counter of versions
        self.step(ids)
        ids[0] = 2
        self.step(ids)

    def test_the_record_is_the_users(self):
        ids = torch.tensor([4, 4, 4, 7, 7, 7])
        self.step(ids).environments.fill_(0)
        assert self.step(ids).environments.tolist() == [4, 7]

    def test_another_number_of_losses_is_refused(self):
        ids = torch.tensor([0, 0, 1, 1, 2, 2])
        self.step(ids)
        with pytest.raises(ValueError, match="one id for each of the 4 losses"):
            self.agreement.backward(self.model(self.x[:4])[:, 0].square(), ids)


class Elsewhere(torch.Tensor):
    """A tensor that says it is on a GPU, where survivors of many parameters are counted by a few operations."""

    @property
    def device(self):
        return torch.device("cuda")


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.float32, torch.float64])
def test_survivors_of_many_parameters_are_counted_alike_everywhere(dtype):
    survives = torch.randint(0, 2, (1000,), generator=torch.Generator().manual_seed(0)).to(dtype)
    sizes = [1, 7, 300, 691, 1]
    found = [int(count) for count in _counted_each(survives.as_subclass(Elsewhere), sizes)]
    assert found == [int(part.sum()) for part in survives.split(sizes)]
    assert found == list(_counted_each(survives, sizes))
