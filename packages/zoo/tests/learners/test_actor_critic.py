import math

import pytest
import torch
from torch import Generator

from mechlearn_zoo.learners.actor_critic import ActorCritic, entropy, falling


def seeded(number=0):
    return Generator().manual_seed(number)


@pytest.mark.parametrize("shape", [(3, 4), (4, 84, 84)])
@torch.no_grad()
def test_actions_come_with_their_log_probabilities(shape):
    model = ActorCritic(shape, 5, 2, 8, seeded())
    seen = torch.rand(6, *shape, generator=seeded(1))
    actions, logs = model.act(seen, seeded(2))
    wanted = model.policy(model.features(seen)).log_softmax(-1)
    assert torch.equal(logs, wanted[torch.arange(6), actions])
    assert model.features(seen.unflatten(0, (2, 3))).shape == (2, 3, 8)  # time and environments, or either
    assert model.value(model.features(seen), torch.tensor([0, 1, 0, 1, 0, 1])).shape == (6,)


@torch.no_grad()
def test_bytes_are_shares_of_255():
    model = ActorCritic((4, 84, 84), 3, 1, 8, seeded())
    pictures = torch.randint(0, 256, (2, 4, 84, 84), generator=seeded(1))
    torch.testing.assert_close(model.features(pictures.byte()), model.features(pictures / 255))


def test_entropy_and_rate():
    assert float(entropy(torch.full((4,), 0.25).log())) == pytest.approx(math.log(4))
    rate = falling(0.1, 10)
    assert [rate(0), rate(5), rate(10)] == pytest.approx([0.1, 0.05, 0.0])
