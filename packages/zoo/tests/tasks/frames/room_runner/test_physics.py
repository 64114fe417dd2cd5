from dataclasses import replace

import numpy as np
import pytest

from mechlearn_zoo.tasks.frames.room_runner import SMALL, RunnerPhysics, WalkRecording
from mechlearn_zoo.tasks.frames.room_runner.buildings import Building, Door, Room, sample_building
from mechlearn_zoo.tasks.frames.room_runner.physics import RUNNER_RADIUS, simulate, target, wall_boxes
from mechlearn_zoo.tasks.generation import Rejected

STEPS = replace(SMALL, recording=WalkRecording(frame_every=1))


def two_rooms(direct=True):
    """A room of 3 x 2 and one of 2 x 3 at its right, with a door between them."""
    first, second = Room(3, 1, 3, 2), Room(3, 3, 2, 3)
    first.next, first.door = second, Door(4, 2, 0, 1)
    first.behind.append(second)
    horizontal, vertical = np.zeros((11, 10), bool), np.zeros((10, 11), bool)
    for room in (first, second):
        horizontal[[room.y, room.y + room.height], room.x : room.x + room.width] = True
        vertical[room.y : room.y + room.height, [room.x, room.x + room.width]] = True
    vertical[4, 3] = False
    return Building((first, second), second, first, 0, horizontal, vertical)


def walk(settings, seed=0):
    return simulate(settings, two_rooms(), np.random.default_rng(seed))


def test_the_runner_walks_through_the_door_to_the_other_room():
    path = walk(STEPS)
    assert path[0].tolist() == [1.5, 3.5]
    assert path[-1, 0] > 3
    assert 4 + RUNNER_RADIUS < path[np.argmax(path[:, 0] > 3), 1] < 5 - RUNNER_RADIUS + 0.15


def test_the_runner_never_leaves_the_rooms():
    for seed in range(5):
        building = sample_building(SMALL.geometry, np.random.default_rng(seed))
        path = simulate(STEPS, building, np.random.default_rng(seed))
        if not isinstance(path, Rejected):
            assert all(building.room_at(*point) for point in path.tolist())
            assert building.room_at(*path[-1].tolist()) is building.final


def test_a_direct_runner_is_faster_than_an_exploring_one():
    direct, exploring = (
        len(walk(replace(STEPS, physics=RunnerPhysics(direct_probability=probability)))) for probability in (1.0, 0.0)
    )
    assert exploring > 1.5 * direct


def test_speed_tends_to_force_over_drag():
    """Along one axis, away from walls: v' = v + dt (f - c v), so f / c in the end."""
    path = walk(replace(STEPS, physics=RunnerPhysics(direct_probability=1.0)))
    speed = np.abs(np.diff(path, axis=0)).max() / STEPS.physics.time_step
    assert speed <= STEPS.physics.force / STEPS.physics.drag + 1e-3


def test_frames_are_every_third_step_and_go_on_after_arrival():
    every, third = walk(STEPS), walk(SMALL)
    assert np.array_equal(third[:-3], every[::3][: len(third) - 3])
    arrival = int(np.argmax(every[:, 0] >= 3))
    assert len(every) == arrival + STEPS.recording.steps_after + 1


def test_noise_in_the_acceleration_changes_the_path_but_not_where_it_leads():
    noisy = walk(replace(STEPS, physics=RunnerPhysics(acceleration_noise=5.0)))
    assert not np.array_equal(noisy[:10], walk(STEPS)[:10])
    assert noisy[-1, 0] > 2.8


def test_who_does_not_arrive_is_rejected():
    assert walk(replace(STEPS, recording=WalkRecording(frame_every=1, max_steps=3))) == Rejected("timed out")


def test_who_is_thrown_out_of_the_building_is_rejected():
    found = [walk(replace(STEPS, physics=RunnerPhysics(acceleration_noise=40.0)), seed) for seed in range(10)]
    assert "left the building" in [one.reason for one in found if isinstance(one, Rejected)]


def test_targets_as_published():
    first, second = two_rooms().rooms
    assert target(second, 3.1, 3.1) == second.centre
    assert target(first, 2.0, 4.5 - 2.5)[0] == pytest.approx(first.centre[0])  # more than two cells away: the middle
    before = target(first, 2.9, 4.5)
    assert before[0] > 3  # straight before the door: through it
    aside = target(first, 2.7, 3.6)
    assert aside[0] < 3  # aside: back into the room


def test_walls_in_a_line_are_one_box():
    horizontal, vertical = np.zeros((3, 2), bool), np.zeros((2, 3), bool)
    horizontal[0] = True
    vertical[0, 0] = True
    assert wall_boxes(horizontal, vertical) == [(0, -0.1, 2, 0.2), (-0.1, 0, 0.2, 1)]
