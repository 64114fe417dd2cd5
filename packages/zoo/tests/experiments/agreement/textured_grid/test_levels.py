from itertools import pairwise

import numpy as np
import pytest

from mechlearn_zoo.experiments.agreement.coinrun.textured_grid import levels as grid

WORLD = grid.World()


def brute_distance(level, start):
    """Steps to the goal, by trying all positions that k moves can reach."""
    reached, steps = {start}, 0
    while level.goal not in reached:
        reached |= {
            (row + dr, column + dc)
            for row, column in reached
            for dr, dc in ((0, 1), (0, -1), (1, 0), (-1, 0))
            if not level.walls[row + dr, column + dc]
        }
        steps += 1
        assert steps < 200
    return steps


@pytest.mark.parametrize("number", [0, 7, 123])
def test_distances_are_shortest(number):
    level = grid.level(number, WORLD)
    for row, column in np.argwhere(level.distance >= 0).tolist():
        assert brute_distance(level, (row, column)) == level.distance[row, column]
    assert (level.distance[level.walls] == -1).all()


def test_the_expert_prefers_shorter_ways_and_knows_walls():
    level = grid.level(3, WORLD)
    for row, column in np.argwhere(level.distance > 0).tolist():
        policy = grid.policy(level, row, column, WORLD)
        after = [
            level.distance[row, column] if level.walls[row + r, column + c] else level.distance[row + r, column + c]
            for r, c in grid.MOVES
        ]
        order = np.argsort(after, kind="stable")
        assert all(policy[a] >= policy[b] - 1e-12 for a, b in pairwise(order))
        assert policy.sum() == pytest.approx(1)
        np.testing.assert_allclose(
            np.log(policy[order[0]] / policy), (np.array(after) - min(after)) / WORLD.temperature, atol=1e-12
        )


def test_levels_are_the_same_for_everyone_and_differ_in_looks():
    one, other = grid.level(5, WORLD), grid.level(5, WORLD)
    assert np.array_equal(one.background, other.background)
    assert not np.array_equal(one.background, grid.level(6, WORLD).background)


def test_a_frame_shows_agent_and_goal():
    level = grid.level(5, WORLD)
    row, column = np.argwhere(level.distance > 0)[0].tolist()
    image = grid.frame(level, row, column, WORLD)
    assert image.shape == (21, 21, 3)
    assert (image[3 * row, 3 * column] == 255).all()
    assert tuple(image[3 * level.goal[0] + 1, 3 * level.goal[1] + 1]) == (255, 215, 0)
    changed = (image != level.background).any(axis=2)
    assert changed.sum() <= 9


@pytest.mark.parametrize("settings", [{"cells": 4}, {"pixels": 1}, {"walls": 0.7}, {"temperature": 0.0}])
def test_a_world_that_cannot_be(settings):
    with pytest.raises(ValueError, match="Found"):
        grid.World(**settings)
