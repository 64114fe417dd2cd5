from gymnasium.utils.env_checker import check_env

from craik.tasks.pictures.textured_grid.environment import TexturedGrid
from craik.tasks.pictures.textured_grid.levels import World, policy

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
