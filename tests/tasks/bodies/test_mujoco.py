from importlib.util import find_spec

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import distill_worlds_oracles as oracles
from craik.tasks.bodies import rollouts as mujoco_rollouts
from craik.tasks.bodies.mujoco import BINS, bin_errors, measure_scales, mujoco, quantiles, to_split
from craik.tasks.bodies.rollouts import STEPS, VERSION, Rollout, collect
from pinned import assert_pinned

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


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=20, unique=True), st.floats(-1100, 1100))
def test_quantiles_follow_the_literal_definition(training, value):
    found = quantiles(np.array([value]), np.sort(np.array(training, dtype=float)))
    assert found[0] == pytest.approx(oracles.quantile(value, training), abs=1e-9)


def test_equal_returns_share_the_mean_of_their_ranks():
    assert quantiles(np.array([1.0]), np.array([0.0, 1.0, 1.0, 2.0]))[0] == pytest.approx(0.5)
    assert quantiles(np.array([7.0]), np.array([7.0, 7.0]))[0] == pytest.approx(0.5)


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


def test_errors_follow_the_literal_definition():
    logits = torch.randn(6, BINS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.tensor([0, 31, 4, 9, 16, 17])
    expected = [oracles.bin_error(row, place) for row, place in zip(logits.tolist(), y.tolist(), strict=True)]
    torch.testing.assert_close(bin_errors(logits, y), torch.tensor(expected, dtype=torch.float64))


def test_bad_settings_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"`environment` should be one of Swimmer, .*Found 'Ant'"):
        mujoco("Ant", cache=tmp_path)
    with pytest.raises(ValueError, match=r"`train` should be at least 1\. Found 0"):
        mujoco("Swimmer", train=0, cache=tmp_path)


def test_a_missing_simulator_is_named(monkeypatch):
    monkeypatch.setattr(mujoco_rollouts, "find_spec", lambda name: None if name == "imageio" else object())
    with pytest.raises(ImportError, match=r"Found no imageio\. Run `pip install"):
        collect("Swimmer", "always", seed=0, count=1)


@needs_simulator
def test_examples_do_not_depend_on_the_number_of_processes_nor_of_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = collect("HalfCheetah", "always", seed=3, count=9, processes=1)
    two = collect("HalfCheetah", "always", seed=3, count=7, processes=2)
    for a, b in zip(one, two, strict=True):
        assert len(a) == 9
        np.testing.assert_array_equal(a[:7], b)
    assert not list(tmp_path.iterdir())  # MuJoCo's log file is not left in the user's folder


@needs_simulator
def test_rollouts_are_what_they_say():
    found = collect("Hopper", "always", seed=5, count=3, processes=1)
    assert found.actions.shape == (3, STEPS, 3)
    assert set(np.unique(found.actions)) == {-1.0, 0.0, 1.0}
    # Hopper's reward: the bonus, plus the torso's velocity over the whole step, minus the cost of the action.
    net = found.rewards - 1.0 + 1e-3 * (found.actions**2).sum(2)
    before = np.concatenate([found.state[:, None], found.states[:, :-1]], axis=1)[:, :, 5]
    middle = (before + found.states[:, :, 5]) / 2
    assert np.corrcoef(net.ravel(), middle.ravel())[0, 1] > 0.95
    assert not np.array_equal(found.state[0], found.state[1])


@needs_simulator
def test_the_bonus_of_v5_is_paid_while_healthy_only():
    always, healthy = (collect("Hopper", bonus, seed=0, count=4, processes=1) for bonus in ("always", "while-healthy"))
    difference = always.rewards - healthy.rewards
    assert set(np.round(difference, 9).ravel()) == {0.0, 1.0}  # it falls, and goes on
    np.testing.assert_array_equal(always.states, healthy.states)


@needs_simulator
def test_a_small_dataset_comes_out_of_the_cache_the_second_time(tmp_path, monkeypatch):
    sizes = {"train": 40, "selection": 3, "test": 4, "cache": tmp_path, "processes": 1}
    first = mujoco("Swimmer", **sizes)
    assert first.train.x.shape == (40, 8 + STEPS * 2)
    assert first.train.privileged.shape == (40, STEPS, 9)
    assert not torch.equal(first.train.x[:3], first.selection.x)
    monkeypatch.setattr("craik.tasks.bodies.mujoco.collect", None)
    again = mujoco("Swimmer", **sizes)
    assert torch.equal(first.test.x, again.test.x)


@needs_simulator
def test_who_changes_the_draws_raises_the_version():
    first = collect("Swimmer", "always", seed=0, count=2, processes=1)
    assert_pinned(VERSION, first, (1, "03b475b1"), gymnasium="1.4.0", mujoco="4.0.0")
