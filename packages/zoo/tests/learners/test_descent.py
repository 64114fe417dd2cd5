"""The loop's two lines are the literal ones, bit for bit."""

from copy import deepcopy

import pytest
import torch

from claimlab.running.checkpoints import loops
from mechlearn_zoo.learners.descent import descend, descend_apart, kept_steps

X = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))


def network():
    model = torch.nn.Linear(3, 1)
    torch.nn.init.normal_(model.weight, generator=torch.Generator().manual_seed(1))
    torch.nn.init.zeros_(model.bias)
    return model


def made():
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)


@pytest.mark.parametrize("clip", [None, 0.5])
def test_a_step_is_the_literal_one(clip):
    model, optimizer, schedule = made()
    wanted, their_optimizer, their_schedule = made()
    for rows in X.split(8):
        descend(optimizer, 10 * model(rows).square().mean(), schedule, clip)
        their_optimizer.zero_grad()
        (10 * wanted(rows).square().mean()).backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(wanted.parameters(), clip)
        their_optimizer.step()
        their_schedule.step()
    assert torch.equal(model.weight, wanted.weight)
    assert torch.equal(model.bias, wanted.bias)
    assert schedule.get_last_lr() == their_schedule.get_last_lr()


def test_a_player_s_step_leaves_the_other_s_gradients_alone():
    judge, painter = network(), torch.nn.Linear(2, 3)
    twin = deepcopy(painter)
    optimizer = torch.optim.SGD(painter.parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    descend_apart(optimizer, judge(painter(X[:, :2])).mean(), schedule)
    assert judge.weight.grad is None
    judge(twin(X[:, :2])).mean().backward()
    for one, other in zip(painter.parameters(), twin.parameters(), strict=True):
        assert torch.equal(one, other - 0.1 * other.grad)
    assert schedule.get_last_lr() == [0.05]


def run(steps):
    """A loop that draws and trains; what it had at every step."""
    model, optimizer, schedule = made()
    generator, found = torch.Generator().manual_seed(2), []
    for step in kept_steps("training", steps, model, optimizer, schedule, generator):
        rows = X[torch.randint(len(X), (8,), generator=generator)]
        descend(optimizer, model(rows).square().mean(), schedule)
        found.append((step, float(model.weight.detach().sum())))
    return found, model


class Killed(BaseException):
    """A process comes to its end."""


def test_a_killed_loop_continues_where_it_was(tmp_path, monkeypatch):
    whole, model = run(6)
    assert [step for step, _ in whole] == list(range(6))
    left, write = [3], loops.write

    def counted(path, content):
        write(path, content)
        left[0] -= 1
        if not left[0]:
            raise Killed

    monkeypatch.setattr(loops, "_keepers", [])
    monkeypatch.setattr(loops, "write", counted)
    keep = lambda: loops.use(loops.Keeper(tmp_path / "a.safetensors", {"seed": 0}, 0.0, lambda text: None))  # noqa: E731
    keep()
    with pytest.raises(Killed):
        run(6)
    keep()
    again, same = run(6)
    assert again == whole[3:]
    assert torch.equal(same.weight, model.weight)
    keep()
    assert run(6)[0] == []  # what is over is not computed again, and its parts are put back
    assert torch.equal(same.weight, model.weight)
