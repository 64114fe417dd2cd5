import inspect
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
import torch

from mechlearn_zoo.methods.control import Rollout, collect

T, B = 4, 3


def rollout(**changes):
    zeros = torch.zeros(T, B)
    no = torch.zeros(T, B, dtype=torch.bool)
    parts = {
        "observations": torch.zeros(T + 1, B, 2), "actions": zeros.long(), "rewards": zeros, "terminated": no, "truncated": no,
        "log_mu": zeros,
    }  # fmt: skip
    return Rollout(**{**parts, **changes})


def at(t, b, value):
    out = torch.zeros(T, B)
    out[t, b] = value
    return out


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rewards": torch.zeros(T)}, r"`rewards` should have the shape \(T, B\).*Found \(4,\)"),
        ({"rewards": torch.zeros(T, 0)}, r"T and B at least 1. Found \(4, 0\)"),
        ({"observations": torch.zeros(T, B, 2)}, r"\(5, 3, ...\).*Found \(4, 3, 2\). Append the observation after the last"),
        ({"log_mu": torch.zeros(B, T)}, r"`log_mu` should have the shape \(4, 3\).*Found \(3, 4\)"),
        ({"log_mu": at(2, 1, -torch.inf)}, r"`log_mu` should be finite. Found -inf at t=2, b=1. An action of probability 0"),
        ({"rewards": at(0, 2, torch.nan)}, r"`rewards` should be finite. Found nan at t=0, b=2"),
        ({"terminated": at(1, 1, 1) > 0, "truncated": at(1, 1, 1) > 0}, "not both.*t=1, b=1. Use truncated & ~terminated"),
        ({"truncated": at(1, 1, 1) > 0, "final_observations": torch.zeros(2, 2)}, r"shape \(1, 2\).*Found \(2, 2\)"),
    ],
)
def test_what_does_not_fit(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        rollout(**changes)


def test_wrong_types():
    with pytest.raises(TypeError):
        rollout(rewards=[[0.0]])
    with pytest.raises(TypeError, match="`rewards` should be of a floating type"):
        rollout(rewards=torch.zeros(T, B, dtype=torch.long))
    with pytest.raises(TypeError, match="`terminated` should be of bool"):
        rollout(terminated=torch.zeros(T, B))


def test_large_rewards_are_no_error():
    assert rollout(rewards=torch.full((T, B), 3e38)).steps == T


class Counting:
    """Counts steps since the last reset; ends at 3 in world 0 (over) and at 2 in world 1 (cut)."""

    speaks_torch = True
    metadata = MappingProxyType({"autoreset_mode": "SameStep"})

    def reset(self, *, seed):
        self.count = torch.zeros(2)
        return self.count[:, None].clone(), {}

    def step(self, actions):
        self.count = self.count + 1
        final = self.count[:, None].clone()
        over = torch.tensor([self.count[0] == 3, False])
        cut = torch.tensor([False, self.count[1] == 2])
        self.count = self.count.masked_fill(over | cut, 0)
        return self.count[:, None].clone(), actions.float(), over, cut, {"final_obs": final}


def policy(observations, generator):
    return torch.randint(2, (len(observations),), generator=generator), torch.zeros(len(observations))


def test_collect():
    envs, generator = Counting(), torch.Generator().manual_seed(0)
    first = collect(envs, policy, 5, generator)
    assert first.observations[:, 0, 0].tolist() == [0, 1, 2, 0, 1, 2]
    assert first.observations[:, 1, 0].tolist() == [0, 1, 0, 1, 0, 1]
    assert first.terminated[:, 0].tolist() == [False, False, True, False, False]
    assert first.truncated[:, 1].tolist() == [False, True, False, True, False]
    assert first.final_observations.tolist() == [[2.0], [2.0]]
    assert first.rewards.tolist() == first.actions.tolist()
    assert collect(envs, policy, 1, generator, first.observations[-1]).terminated.tolist() == [[True, False]]
    assert torch.equal(collect(Counting(), policy, 5, torch.Generator().manual_seed(0)).actions, first.actions)


def test_collect_from_gymnasium():
    import gymnasium
    from gymnasium.vector import AutoresetMode

    modes = {mode: {"autoreset_mode": mode} for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP)}
    make = lambda mode: gymnasium.make_vec(  # noqa: E731
        "CartPole-v1", num_envs=2, vectorization_mode="sync", vector_kwargs=modes[mode], max_episode_steps=5
    )
    found = collect(make(AutoresetMode.SAME_STEP), policy, 12, torch.Generator().manual_seed(0))
    assert found.observations.shape == (13, 2, 4)
    assert found.truncated.sum() == 4
    assert found.final_observations.shape == (4, 4)
    with pytest.raises(ValueError, match="Found the autoreset mode 'NextStep'"):
        collect(make(AutoresetMode.NEXT_STEP), policy, 1, torch.Generator())


class Overwriting(Counting):
    """Writes into its own arrays, as gymnasium's do with copy=False."""

    speaks_torch = False

    def reset(self, *, seed):
        self.mine = [np.zeros((2, 1), np.float32), np.zeros(2, np.float32), np.zeros(2, bool), np.zeros(2, bool)]
        self.mine[0][:] = super().reset(seed=seed)[0]
        return self.mine[0], {}

    def step(self, actions):
        *answer, infos = super().step(torch.as_tensor(actions))
        for own, part in zip(self.mine, answer, strict=True):
            own[:] = part.numpy()
        return *self.mine, infos


def test_environments_that_overwrite_their_arrays_are_copied():
    found, wanted = (collect(envs, policy, 5, torch.Generator().manual_seed(0)) for envs in (Overwriting(), Counting()))
    for name in ("observations", "rewards", "terminated", "truncated", "final_observations"):
        assert torch.equal(getattr(found, name), getattr(wanted, name))


def test_collect_from_gymnasium_without_copies():
    import gymnasium
    from gymnasium.vector import AutoresetMode

    def made(copy):
        modes = {"autoreset_mode": AutoresetMode.SAME_STEP, "copy": copy}
        return gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync", vector_kwargs=modes)

    found, wanted = (collect(made(copy), policy, 12, torch.Generator().manual_seed(0)) for copy in (False, True))
    assert torch.equal(found.observations, wanted.observations)
    assert not torch.equal(found.observations[0], found.observations[1])


def test_what_is_wrong_with_another_mode():
    envs = Counting()
    for mode, why in (("NextStep", ", whose first step of an episode ignores"), ("Disabled", ", which never begins another")):
        envs.metadata = {"autoreset_mode": mode}
        with pytest.raises(ValueError, match=f"Found the autoreset mode '{mode}'{why}"):
            collect(envs, policy, 1, torch.Generator())


class Later(Counting):
    """The same worlds by gymnasium's default: the step behind the end of an episode resets, whatever the action."""

    def step(self, actions):
        again = self.__dict__.setdefault("over", torch.zeros(2, dtype=torch.bool))
        self.count = (self.count + 1).masked_fill(again, 0)
        over, cut = torch.tensor([self.count[0] == 3, False]), torch.tensor([False, self.count[1] == 2])
        self.over = over | cut
        return self.count[:, None].clone(), actions.float().masked_fill(again, 0), over, cut, {"final_obs": self.count[:, None]}


@pytest.mark.parametrize("metadata", [None, {}, {"render_fps": 30}])
def test_environments_that_do_not_say_when_they_reset_are_asked(metadata):
    """Of five steps of each of these worlds one or two are resets; they were learned as steps of the world."""
    envs = Later()
    envs.metadata = metadata
    with pytest.raises(ValueError, match=r"should say when the next episode begins.*Found nothing.*'SameStep'\} if these"):
        collect(envs, policy, 5, torch.Generator())


def test_collect_refuses():
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator"):
        inspect.unwrap(collect)(Counting(), policy, 1, None)
    with pytest.raises(ValueError, match="`steps` should be at least 1"):
        collect(Counting(), policy, 0, torch.Generator())
    silent = Counting()
    step = silent.step
    silent.step = lambda actions: (*step(actions)[:4], {})
    with pytest.raises(ValueError, match=r"infos\['final_obs'\]"):
        collect(silent, policy, 3, torch.Generator())
    assert replace(rollout(), log_mu=torch.ones(T, B)).batch == B
