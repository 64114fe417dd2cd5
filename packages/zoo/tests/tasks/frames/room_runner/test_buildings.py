import numpy as np
import pytest

from mechlearn_zoo.tasks.frames.room_runner import PUBLISHED, SMALL, BuildingGeometry, RunnerPhysics, WalkRecording
from mechlearn_zoo.tasks.frames.room_runner.buildings import Building, layout_vector, sample_building
from mechlearn_zoo.tasks.generation import Rejected

DRAWN = [sample_building(SMALL.geometry, np.random.default_rng(seed)) for seed in range(60)]
BUILDINGS = [building for building in DRAWN if not isinstance(building, Rejected)]


def cells(room):
    return {(y, x) for y in range(room.y, room.y + room.height) for x in range(room.x, room.x + room.width)}


def reached(building: Building) -> set[tuple[int, int]]:
    """Every cell that can be walked to from the first room, wall by wall."""
    found, waiting = set(), [(building.rooms[0].y, building.rooms[0].x)]
    while waiting:
        y, x = waiting.pop()
        if (y, x) in found:
            continue
        found.add((y, x))
        ways = [
            (not building.horizontal[y, x], (y - 1, x)),
            (not building.horizontal[y + 1, x], (y + 1, x)),
            (not building.vertical[y, x], (y, x - 1)),
            (not building.vertical[y, x + 1], (y, x + 1)),
        ]
        waiting += [cell for is_open, cell in ways if is_open]
    return found


def test_rooms_are_two_by_three_inside_and_apart():
    for building in BUILDINGS:
        every = [cell for room in building.rooms for cell in cells(room)]
        assert len(every) == len(set(every)) == 6 * len(building.rooms)
        assert {tuple(sorted((room.height, room.width))) for room in building.rooms} == {(2, 3)}
        assert all(0 <= y < 10 and 0 <= x < 10 for y, x in every)


def test_the_way_leads_to_the_final_room_and_to_no_dead_end_beside_it():
    for building in BUILDINGS:
        walked = reached(building)
        way = [building.rooms[0]]
        while way[-1].next is not None:
            way.append(way[-1].next)
        assert way[-1] is building.final
        assert walked == set().union(*map(cells, way))
        assert not walked & cells(building.other)
        assert building.other is not building.final


def test_doors_open_one_cell_between_two_rooms():
    for building in BUILDINGS:
        for room in building.rooms:
            if room.door is not None:
                door = room.door
                assert (door.y, door.x) in cells(room)
                assert (door.y + door.dy, door.x + door.dx) in cells(room.next)
                assert abs(door.dy) + abs(door.dx) == 1


def test_the_colour_is_a_fair_coin():
    assert np.mean([building.label for building in BUILDINGS]) == pytest.approx(0.5, abs=0.2)


def test_points_are_found_in_their_room():
    building = BUILDINGS[0]
    for room in building.rooms:
        assert building.room_at(*room.centre) is room
    assert building.room_at(-1.0, 3.0) is None


def test_layouts_hold_walls_and_coloured_rooms():
    building = BUILDINGS[0]
    layout = layout_vector(building)
    assert layout.shape == (11 * 10 * 2 + 4,)
    assert layout[:-4].sum() == building.horizontal.sum() + building.vertical.sum()
    named = {0: layout[-4:-2], 1: layout[-2:]}
    assert tuple(named[building.label]) == building.final.centre
    assert tuple(named[1 - building.label]) == building.other.centre


def test_published_buildings_fill_most_of_the_ground():
    building = sample_building(PUBLISHED.geometry, np.random.default_rng(1))
    assert len(building.rooms) > 20
    assert 5 <= building.rooms[0].y <= 7
    assert 5 <= building.rooms[0].x <= 8


@pytest.mark.parametrize(
    ("bundle", "changes", "rule"),
    [
        (BuildingGeometry, {"height": 13}, "`height` and `width` should be at least"),
        (RunnerPhysics, {"direct_probability": -0.1}, r"`direct_probability` should lie in \[0, 1\]"),
        (RunnerPhysics, {"acceleration_noise": -1.0}, "`acceleration_noise` should be finite and at least 0"),
        (WalkRecording, {"frame_every": 0}, "`frame_every` should be at least 1"),
        (WalkRecording, {"steps_after": 0}, "`steps_after` should be at least 1"),
        (RunnerPhysics, {"time_step": 0.0}, "`time_step` should be positive"),
    ],
)
def test_bad_settings_are_refused(bundle, changes, rule):
    with pytest.raises(ValueError, match=rule):
        bundle(**changes)


@pytest.mark.usefixtures("as_installed")
def test_sizes_that_are_not_whole_are_refused():
    with pytest.raises(TypeError, match=r"`height` should be a whole number. Found 20.0"):
        BuildingGeometry(height=20.0)
