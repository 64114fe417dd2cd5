from importlib.util import find_spec

import numpy as np
import pytest
import torch

from mechlearn_zoo.tasks.bodies.mujoco import Sizes, measure_scales, mujoco, to_split
from mechlearn_zoo.tasks.bodies.quantiles import BINS
from mechlearn_zoo.tasks.bodies.rollouts import STEPS, Rollout

SIMULATED = all(find_spec(name) for name in ("gymnasium", "mujoco", "imageio"))
needs_simulator = pytest.mark.skipif(not SIMULATED, reason="gymnasium, mujoco or imageio is not installed")


def made_up(count: int, seed: int = 0) -> Rollout:
    generator = np.random.default_rng(seed)
    return Rollout(
        state=3 + 2 * generator.normal(size=(count, 5)),
        actions=generator.integers(-1, 2, size=(count, STEPS, 2)).astype(float),
        states=3 + 2 * generator.normal(size=(count, STEPS, 5)),
        rewards=generator.normal(size=(count, STEPS)),
        healthy=np.ones(count),
    )


def test_training_labels_fill_the_bins_evenly_and_others_are_clipped():
    raw = made_up(64 * BINS)
    scales = measure_scales(raw)
    counts = to_split(raw, scales).y.bincount(minlength=BINS)
    assert int(counts.min()) >= 63
    extreme = made_up(2)._replace(rewards=np.stack([np.full(STEPS, -100.0), np.full(STEPS, 100.0)]))
    assert to_split(extreme, scales).y.tolist() == [0, BINS - 1]


def test_the_training_set_gives_the_units_of_all():
    raw = made_up(500)
    scales = measure_scales(raw)
    train = to_split(raw, scales)
    torch.testing.assert_close(train.x.mean(0), torch.zeros(5 + 2 * STEPS), atol=1e-5, rtol=0)
    torch.testing.assert_close(train.x.std(0, correction=0), torch.ones(5 + 2 * STEPS), atol=1e-4, rtol=0)
    torch.testing.assert_close(train.privileged[:, :, 5].std(correction=0), torch.ones(()), atol=1e-4, rtol=0)
    state_unit = torch.from_numpy(raw.state.std(0)).float()
    moved = raw._replace(states=raw.states + 1)
    shift = (to_split(moved, scales).privileged - train.privileged)[:, :, :5]
    torch.testing.assert_close(shift, (1 / state_unit).expand_as(shift), atol=1e-4, rtol=1e-4)


def test_a_component_that_never_changes_stays_finite():
    raw = made_up(50)
    raw.state[:, 0] = 4.0
    assert bool(to_split(raw, measure_scales(raw)).x.isfinite().all())


def test_bad_settings_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"`environment` should be one of Swimmer, .*Found 'Ant'"):
        mujoco("Ant", cache=tmp_path)
    with pytest.raises(ValueError, match=r"`train` should be at least 1\. Found 0"):
        Sizes(train=0)


@needs_simulator
def test_a_small_dataset_comes_out_of_the_cache_the_second_time(tmp_path, monkeypatch):
    options = {"sizes": Sizes(40, 3, 4), "cache": tmp_path, "processes": 1}
    first = mujoco("Swimmer", **options)
    assert first.train.x.shape == (40, 8 + STEPS * 2)
    assert first.train.privileged.shape == (40, STEPS, 9)
    assert not torch.equal(first.train.x[:3], first.selection.x)
    monkeypatch.setattr("mechlearn_zoo.tasks.bodies.mujoco.collect", None)
    again = mujoco("Swimmer", **options)
    assert torch.equal(first.test.x, again.test.x)


def test_what_only_rounding_moves_keeps_the_unit_one():
    """0.1 has no sum without rounding: 4,000 of them seem to deviate by 6e-15."""
    raw = made_up(4000)
    raw.state[:, 0] = 0.1
    raw.state[:, 1] = 1e5 + np.random.default_rng(0).normal(scale=1e-6, size=4000)
    raw.rewards[:] = 0.1
    assert raw.state[:, 0].std() > 0
    scales = measure_scales(raw)
    assert scales.x[1][0] == scales.reward[1] == 1
    assert np.array_equal(scales.x[1][1:5], raw.state.std(axis=0)[1:])
    found = to_split(raw, scales)
    assert found.x[:, 0].abs().max() < 1e-12
    assert found.privileged[..., 5].abs().max() < 1e-12


@pytest.mark.usefixtures("as_installed")
def test_another_bonus_is_refused_before_anything_is_kept(tmp_path):
    with pytest.raises(ValueError, match=r"`alive_bonus` should be .*while-healthy.* Found 'Always'"):
        mujoco("Hopper", alive_bonus="Always", cache=tmp_path)
    assert list(tmp_path.iterdir()) == []
