import pytest
import torch
from torch import Generator

from mechlearn_zoo.learners.planning import FLOOR, Ensemble, cem, disagreement
from mechlearn_zoo.methods.control.disagreement import jensen_renyi


def test_an_ensemble_predicts_what_each_member_alone_does():
    ensemble = Ensemble(2, 1, Generator().manual_seed(0), members=3)
    ensemble.scale = torch.tensor([0.5, 2.0])
    states, actions = torch.randn(7, 2), torch.randn(7, 1)
    means, variances = ensemble.predict(states, actions)
    for index in range(3):
        mean, raw = ensemble.stack.member(index)(torch.cat((states, actions), 1)).chunk(2, 1)
        assert torch.allclose(means[index], states + ensemble.scale * mean, atol=1e-6)
        assert torch.allclose(variances[index], ensemble.scale**2 * (raw.exp().log1p() + FLOOR), atol=1e-6)


def test_a_fit_finds_changes_and_their_noise():
    generator = Generator().manual_seed(0)
    states, actions = torch.randn(500, 2, generator=generator), torch.rand(500, 1, generator=generator)
    noise = torch.randn(500, generator=generator)
    following = states + torch.stack((actions[:, 0], noise), 1)
    ensemble = Ensemble(2, 1, generator, members=2)
    ensemble.fit(states, actions, following, 400, generator)
    means, variances = ensemble.predict(states, actions)
    assert (means[..., 0] - following[:, 0]).abs().mean() < 0.05
    assert 0.5 < variances[..., 1].mean() < 1.5
    assert variances[..., 0].mean() < 0.05


class Toy(Ensemble):
    """Three members that agree on action -1, and differ more the larger the action is."""

    def __init__(self):
        """Need no networks."""

    def __len__(self):
        return 3

    def predict(self, states, actions):
        gaps = torch.tensor([-1.0, 0.0, 1.0])[:, None, None] * (actions + 1)
        return states + gaps, torch.ones(3, *states.shape)


def test_a_planner_takes_the_action_on_which_members_differ():
    plan = cem(lambda plans: disagreement(Toy(), torch.zeros(1), plans), torch.zeros(4, 1), Generator().manual_seed(0))
    assert plan.min() > 0.8
    assert disagreement(Toy(), torch.zeros(1), torch.tensor([[[-1.0]], [[1.0]]])).argmax() == 1


def test_disagreement_is_a_sum_over_the_steps_of_each_plan_in_its_member():
    ensemble, plans = Ensemble(2, 1, Generator().manual_seed(1), members=2), torch.rand(3, 4, 1)
    start, wanted = torch.tensor([0.2, -0.4]), []
    for index, plan in enumerate(plans):
        state, total = start[None], 0.0
        for action in plan:
            means, variances = ensemble.predict(state, action[None])
            total, state = total + float(jensen_renyi(means, variances)), means[index % 2].clamp(-1, 1)
        wanted.append(total)
    assert torch.allclose(disagreement(ensemble, start, plans), torch.tensor(wanted), atol=1e-4)


def test_the_cross_entropy_method_finds_a_maximum():
    target = torch.tensor([[0.3], [-0.6]])
    plan = cem(lambda plans: -(plans - target).square().sum((1, 2)), torch.zeros(2, 1), Generator().manual_seed(0), rounds=8)
    assert torch.allclose(plan, target, atol=0.02)


def test_one_member_cannot_disagree():
    with pytest.raises(ValueError, match="members"):
        Ensemble(2, 1, Generator(), members=1)
