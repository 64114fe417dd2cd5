import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from mechlearn_zoo.experiments.agreement.coinrun.textured_grid.environment import TexturedGrid
from mechlearn_zoo.experiments.agreement.coinrun.textured_grid.levels import World, policy

WORLD = World()


def test_it_is_a_gymnasium_environment():
    environment = TexturedGrid(WORLD, levels=3)
    check_env(environment, skip_render_check=True)
    _, info = environment.reset(seed=1, options={"level": 2})
    assert info == {"level": 2}
    for _ in range(200):
        expert = policy(environment.level, environment.row, environment.column, WORLD)
        _, reward, done, _, _ = environment.step(expert.argmax())
        if done:
            break
    assert (reward, done) == (1.0, True)


@pytest.mark.parametrize(("levels", "error"), [(0, ValueError), (-1, ValueError), (2.7, TypeError)])
@pytest.mark.usefixtures("as_installed")
def test_numbers_of_levels_that_cannot_be(levels, error):
    with pytest.raises(error, match="`levels` should be"):
        TexturedGrid(WORLD, levels=levels)


def test_steps_that_cannot_be_taken():
    environment = TexturedGrid(WORLD, levels=3)
    with pytest.raises(RuntimeError, match=r"Call reset\(\) first"):
        environment.step(np.int64(0))
    environment.reset(seed=0)
    for action in (-1, 4):
        with pytest.raises(ValueError, match=rf"`action` should be 0, 1, 2 or 3.* Found .*{action}"):
            environment.step(np.int64(action))
    with pytest.raises(ValueError, match="`level` should be at least 0"):
        environment.reset(options={"level": -1})
