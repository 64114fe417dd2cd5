"""Training by stable-baselines3, which is in an extra of its own, on a simulator that is easy to predict."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mechlearn_zoo.tasks.pictures.coinrun import expert as experts
from mechlearn_zoo.tasks.pictures.coinrun import keeping, ppo
from mechlearn_zoo.tasks.pictures.coinrun.errors import CollectorError
from mechlearn_zoo.tasks.pictures.coinrun.games import make_games
from mechlearn_zoo.tasks.pictures.coinrun.levels import Levels

sb3 = pytest.importorskip("stable_baselines3")
pytest.importorskip("stable_baselines3.common.vec_env")

TRAINING = ppo.Training(steps=32, hyperparameters=ppo.Hyperparameters(games=2, rollout=8, epochs=1, batch=8))


def test_an_expert_is_trained_saved_and_trained_on(python, tmp_path):
    kept = []
    first = experts.train(python, TRAINING, keep=lambda expert: kept.append(expert.steps))
    assert (first.steps, kept) == (32, [16, 32])
    keeping.save(first, tmp_path / "expert.pt")
    start = keeping.load(tmp_path / "expert.pt")
    frames = np.random.default_rng(0).integers(0, 256, (3, 64, 64, 3)).astype(np.uint8)
    torch.testing.assert_close(start.probabilities(frames), first.probabilities(frames))
    weights = [weight.clone() for weight in start.policy.parameters()]
    further = experts.train(python, TRAINING, start=start)
    assert further.steps == 64
    assert further.seconds > start.seconds
    assert all(torch.equal(a, b) for a, b in zip(weights, start.policy.parameters(), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(weights, further.policy.parameters(), strict=True))


def test_an_expert_comes_from_its_seed_and_leaves_the_global_generators_alone(python):
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    weights = []
    for seed in (1, 1, 2):
        policy = experts.train(python, replace(TRAINING, seed=seed)).policy
        weights.append(torch.cat([weight.detach().flatten() for weight in policy.parameters()]))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002


def test_ppo_sees_rewards_in_units_of_the_discounted_returns_deviation(python):
    """Action 7 is worth 10 at every third step, and each episode's return starts from 0: 0, 0, 10, 0, 0, 10, ..."""
    with Levels(python, games=2, levels=0, mode="easy", seed=0) as levels:
        games = make_games(sb3, levels, discount=0.9)
        games.reset()
        steps = [games.step(np.array([7, 0])) for _ in range(12)]
    rewards = np.array([rewards for _, rewards, _, _ in steps])
    assert set(rewards[:, 1]) == {0.0}
    returns = [10.0 * (game == 0) * (step % 3 == 2) for step in range(12) for game in (0, 1)]
    assert rewards[-1, 0] == pytest.approx(10 / np.std(returns), rel=0.01)
    episodes = [info["episode"]["r"] for _, _, _, infos in steps for info in infos if "episode" in info]
    assert episodes == [10.0, 0.0] * 4


def test_rewards_can_be_left_as_they_are(python):
    with Levels(python, games=2, levels=0, mode="easy", seed=0) as levels:
        games = make_games(sb3, levels)
        games.reset()
        assert [games.step(np.array([7, 7]))[1].tolist() for _ in range(3)] == [[0, 0], [0, 0], [10, 10]]


def test_who_trains_on_plays_levels_in_another_order(python, monkeypatch):
    seeds = []

    def noted(*_, seed, **__):
        seeds.append(seed)
        raise CollectorError("enough")

    monkeypatch.setattr(experts, "Levels", noted)
    for steps in (None, 48, 2**31 + 5):
        start = None if steps is None else experts.Expert(None, steps, 0.0, None)
        with pytest.raises(CollectorError, match="enough"):
            experts.train(python, replace(TRAINING, seed=3), start=start)
    assert seeds == [3, 51, 8]


def test_files_that_hold_no_expert_are_refused(tmp_path):
    (tmp_path / "text.pt").write_bytes(b"no expert")
    torch.save(torch.zeros(3), tmp_path / "tensor.pt")
    for name in ("text.pt", "tensor.pt"):
        with pytest.raises(CollectorError, match="should be a file that mechlearn coinrun wrote"):
            keeping.load(tmp_path / name)
