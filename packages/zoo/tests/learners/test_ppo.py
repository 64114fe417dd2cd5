"""PPO's update against its literal loss, and a learner that finds what pays and what it is curious about."""

from dataclasses import replace
from itertools import islice

import pytest
import torch
from torch import Generator

from mechlearn_zoo.learners.bonuses import Forward, curiosity, curious, losses_of
from mechlearn_zoo.learners.ppo import CLIP, ENTROPY, Walker, endless, learn, loss, update
from mechlearn_zoo.methods.control import Rollout, collect


class Line:
    """Cells 0 to 4, begun in the middle; the right end pays, both ends end the episode."""

    num_envs, metadata = 16, {"autoreset_mode": "SameStep"}

    def reset(self, *, seed):
        self.cells = torch.full((self.num_envs,), 2)
        return torch.nn.functional.one_hot(self.cells, 5).float(), {}

    def step(self, actions):
        self.cells = self.cells + 2 * torch.as_tensor(actions) - 1
        over, paid = (self.cells == 0) | (self.cells == 4), (self.cells == 4).float()
        self.cells = torch.where(over, 2, self.cells)
        return torch.nn.functional.one_hot(self.cells, 5).float(), paid, over, torch.zeros_like(over), {}


def seeded(number=0):
    return Generator().manual_seed(number)


def rollout():
    return collect(Line(), Walker(5, 2, seeded()).act, 12, seeded(1))


@torch.no_grad()
def test_the_loss_is_the_literal_one():
    found, model = rollout(), Walker(5, 2, seeded(2))
    count = found.actions.numel()
    advantages, targets = torch.randn(count, generator=seeded()), torch.randn(count, generator=seeded(1))
    total = 0.0
    for row in range(count):
        seen = found.observations[:-1].flatten(0, 1)[row]
        logs = model.log_probabilities(seen)
        ratio = float((logs[found.actions.flatten()[row]] - found.log_mu.flatten()[row]).exp())
        paid = min(ratio * float(advantages[row]), min(max(ratio, 1 - CLIP), 1 + CLIP) * float(advantages[row]))
        entropy = -float((logs.exp() * logs).sum())
        total += -paid - ENTROPY * entropy + 0.5 * float(model.critic(seen)[0] - targets[row]) ** 2
    assert float(loss(model, found, advantages, targets, torch.arange(count))) == pytest.approx(total / count, rel=1e-5)


def test_it_learns_what_pays():
    model = Walker(5, 2, seeded())
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    rewards = [float(found.rewards.mean()) for found in islice(learn(Line(), model, optimizer, 32, seeded(1)), 25)]
    assert rewards[-1] > 0.45 > 2 * rewards[0]  # an episode of two steps that always goes right pays a half a step


def test_the_bonus_takes_the_place_of_rewards():
    model = Walker(5, 2, seeded())
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)

    def left(found):
        return (found.actions == 0).float(), None

    found = list(islice(learn(Line(), model, optimizer, 32, seeded(1), left), 15))
    assert float(found[0].rewards.mean()) > 0.05
    assert float(found[-1].rewards.mean()) == 0.0  # the end that would pay is on the other side


@pytest.mark.parametrize("space", ["pixels", "random", "inverse", "vae"])
def test_curiosity_plugs_in(space):
    model, wonder = Walker(5, 2, seeded()), curiosity(space, 5, 2, 4, seeded(1))
    before = [parameter.detach().clone() for parameter in wonder.forward_model.parameters()]
    optimizer = torch.optim.Adam([p for p in [*model.parameters(), *wonder.parameters()] if p.requires_grad], 1e-3)
    found = next(learn(Line(), model, optimizer, 8, seeded(2), curious(wonder, 16)))
    assert found.rewards.shape == (8, 16)
    assert any(not torch.equal(old, new) for old, new in zip(before, wonder.forward_model.parameters(), strict=True))
    rows = torch.tensor([0, 5, 7])
    assert losses_of(wonder, found)(rows).isfinite()


def test_the_forward_model_s_shape():
    assert Forward(4, 2, seeded())(torch.zeros(3, 4), torch.tensor([0, 1, 1])).shape == (3, 4)


def test_a_bonus_that_is_not_finite_is_refused():
    model = Walker(5, 2, seeded())
    optimizer = torch.optim.Adam(model.parameters())
    with pytest.raises(ValueError, match="`rewards` should be finite"):
        next(learn(Line(), model, optimizer, 4, seeded(1), lambda found: (torch.full((4, 16), torch.nan), None)))


def test_an_update_takes_the_final_values_where_steps_are_cut():
    found = rollout()
    cut = replace(found, terminated=torch.zeros_like(found.terminated), truncated=found.terminated,
                  final_observations=torch.ones(int(found.terminated.sum()), 5))  # fmt: skip
    ends = []
    for one in (found, cut):
        model = Walker(5, 2, seeded())
        update(model, torch.optim.Adam(model.parameters()), one, one.rewards, seeded(3))
        ends.append(next(model.parameters()).detach())
    assert not torch.equal(*ends)


def test_a_roll_out_that_tells_of_no_ends():
    ends = torch.tensor([[True, False], [False, True]])
    made = Rollout(
        torch.zeros(3, 2, 1), torch.zeros(2, 2), torch.zeros(2, 2), ends, ends.flip(0), torch.zeros(2, 2), torch.ones(2, 1)
    )
    assert not endless(made).terminated.any()
    assert endless(made).cuts == 0
