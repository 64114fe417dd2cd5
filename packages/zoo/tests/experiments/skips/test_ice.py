"""Slides end where a literal walk ends, and only the way there is drawn."""

import numpy as np
import pytest
import torch

from mechlearn_zoo.experiments.skips.options.ice import PUSHES, cells, codes, draw_building, draw_walks, slid


@pytest.fixture(scope="module")
def building():
    return draw_building(5, 0.2, np.random.default_rng(0))


@pytest.fixture(scope="module")
def walks(building):
    return draw_walks(building, 30, 3, np.random.default_rng(1))


def test_a_building_has_as_many_blocked_cells_as_asked_for(building):
    assert building.sum() == 5
    assert draw_building(2, 1.0, np.random.default_rng(0)).sum() == 2  # two stay free


def test_a_push_ends_before_what_is_blocked():
    building = np.zeros((3, 4), dtype=bool)[:3, :3].copy()
    building[1, 2] = True
    assert slid(building, (0, 1), 0) == (1, 1)  # to the right, against the blocked cell
    assert slid(building, (0, 0), 0) == (2, 0)
    assert slid(building, (0, 0), 2) == (0, 2)
    assert slid(building, (2, 0), 2) == (2, 0)  # it cannot move down
    assert slid(building, (1, 1), 3) == (1, 0)


def test_walks_follow_their_plans_and_never_stand_in_blocked_cells(building, walks):
    for b in range(30):
        length = int(walks.frames.lengths[b])
        ids, frames = walks.pushes[b, : length - 1].tolist(), walks.frames.frames[b, :length]
        assert [push for t, push in enumerate(ids) if t == 0 or push != ids[t - 1]] == walks.plans[b].tolist()
        cell = tuple(cells(frames[:1], 5)[0].tolist())
        for push, end in zip(walks.plans[b].tolist(), walks.ends[b].tolist(), strict=True):
            before, cell = cell, slid(building, cell, push)
            assert before != cell == tuple(end)
        switches = [t for t in range(1, length - 1) if ids[t] != ids[t - 1]] + [length - 1]
        assert [cells(frames[t : t + 1], 5)[0].tolist() for t in switches] == walks.ends[b].tolist()


def test_how_long_a_slide_takes_is_drawn(building, walks):
    lengths = {}
    for b in range(30):
        lengths.setdefault((walks.plans[b][0].item(), *walks.ends[b][0].tolist()), set()).add(int(walks.frames.lengths[b]))
    assert max(map(len, lengths.values())) > 1


def test_codes_are_read_back_and_seeds_repeat(building):
    stands = np.array([[x, y] for x in range(5) for y in range(5)], dtype=float)
    assert cells(codes(stands, 5), 5).tolist() == stands.astype(int).tolist()
    again = [draw_walks(building, 4, 2, np.random.default_rng(7)) for _ in range(2)]
    assert torch.equal(again[0].frames.frames, again[1].frames.frames)
    assert torch.equal(again[0].some(torch.tensor([1])).plans, again[1].plans[1:2])
    assert len(PUSHES) == 4


@pytest.mark.parametrize(("side", "blocked"), [(1, 0.2), (4, 1.5)])
def test_bad_buildings_are_refused(side, blocked):
    with pytest.raises(ValueError, match="should"):
        draw_building(side, blocked, np.random.default_rng(0))


def test_bad_walks_are_refused():
    blocked = np.ones((3, 3), dtype=bool)
    blocked[0, 0] = False
    with pytest.raises(ValueError, match="free cell with another"):
        draw_walks(blocked, 1, 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="count"):
        draw_walks(np.zeros((3, 3), dtype=bool), 0, 1, np.random.default_rng(0))
