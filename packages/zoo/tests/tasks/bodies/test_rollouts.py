from importlib.util import find_spec

import numpy as np
import pytest

from mechlearn_zoo.tasks.bodies import rollouts
from mechlearn_zoo.tasks.bodies.rollouts import STEPS, VERSION, collect
from pinned import assert_pinned

SIMULATED = all(find_spec(name) for name in ("gymnasium", "mujoco", "imageio"))
needs_simulator = pytest.mark.skipif(not SIMULATED, reason="gymnasium, mujoco or imageio is not installed")


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
def test_who_changes_the_draws_raises_the_version():
    first = collect("Swimmer", "always", seed=0, count=2, processes=1)
    assert_pinned(VERSION, first, (1, "03b475b1"), gymnasium="1.4.0", mujoco="4.0.0")


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("call", [lambda *which: collect(*which, seed=0, count=1), rollouts.make_environment])
def test_bonuses_and_bodies_that_there_are_not_are_refused(call):
    with pytest.raises(ValueError, match=r"`alive_bonus` should be .* Found 'Always'"):
        call("Hopper", "Always")
    with pytest.raises(ValueError, match=r"`environment` should be .* Found 'Ant'"):
        call("Ant", "always")
