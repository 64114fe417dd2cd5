import copy

import torch
from torch import Generator

from mechlearn_zoo.learners.q_learning import DISCOUNT, SHARE, QLearner


def learner(*widths):
    return QLearner(widths, Generator().manual_seed(0))


def test_an_update_is_that_of_the_definition_over_a_batch_of_one_transition():
    q = learner(2, 8, 3)
    torch.nn.init.normal_(q.slow[0].weight, generator=q.generator)  # so that the two choose otherwise
    before, slow = copy.deepcopy(q.values), copy.deepcopy(q.slow)
    state, after = torch.tensor([0.3, -1.0]), torch.tensor([-0.7, 2.0])
    best = before(after).tolist().index(max(before(after).tolist()))
    error = before(state)[1] - (0.5 + DISCOUNT * slow(after).tolist()[best])
    loss = error**2 / 2 if abs(error) < 1 else abs(error) - 0.5
    gradients = torch.autograd.grad(loss, list(before.parameters()))
    q.learn(state[None], torch.tensor([1]), torch.tensor([0.5]), after[None], torch.zeros(1), 1)
    for value, old, gradient in zip(q.values.parameters(), before.parameters(), gradients, strict=True):
        assert torch.allclose(value.grad, gradient, atol=1e-6)
        assert (value - old).abs().max() > 0
    for moved, old, value in zip(q.slow.parameters(), slow.parameters(), q.values.parameters(), strict=True):
        assert torch.allclose(moved, (1 - SHARE) * old + SHARE * value)


def test_it_finds_the_values_of_a_corridor():
    # Action 1 walks from cell 0 to cell 1 and out of it, where 1 is paid; action 0 ends the episode for nothing.
    cells = torch.eye(2).repeat_interleave(2, 0)
    actions, ended = torch.tensor([0, 1, 0, 1]), torch.tensor([1.0, 0.0, 1.0, 1.0])
    q = learner(2, 32, 2)
    q.learn(cells, actions, torch.tensor([0.0, 0.0, 0.0, 1.0]), torch.eye(2)[[0, 1, 0, 0]], ended, 800)
    assert torch.allclose(q.values(torch.eye(2)), torch.tensor([[0.0, DISCOUNT], [0.0, 1.0]]), atol=0.05)
    assert [q.act(cell, exploring=0.0) for cell in torch.eye(2)] == [1, 1]


def test_it_explores_in_a_share_of_the_steps():
    q, state = learner(2, 4, 5), torch.ones(2)
    best = q.act(state, exploring=0.0)
    other = sum(q.act(state, exploring=0.5) != best for _ in range(1000)) / 1000
    assert abs(other - 0.5 * 4 / 5) < 0.06
