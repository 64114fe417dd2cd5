from dataclasses import replace

import pytest
import torch

from craik.experiments.worlds.two_rooms import EXPERIMENT, run, ways
from craik.lab import Rows, judge
from craik.tasks.boards.two_rooms import TwoRooms

TINY = {"pairs": 500, "states": 4, "steps": 3, "hidden": 8, "plans": 5}


def rows():
    config = replace(EXPERIMENT.presets["quick"].config, **TINY)
    return [{**row, "seed": 100} for row in EXPERIMENT.run(config)]


def test_a_tiny_run_can_be_judged_and_drawn():
    found = rows()
    for claim in EXPERIMENT.claims:
        assert judge(claim, found, "quick").measured is not None
    assert set(EXPERIMENT.figures(Rows(found))) == {"states", "scores"}
    assert found == rows()


def test_states_that_see_the_wall_score_what_they_should():
    """Left and right room as two states: nothing is shared, and the counted table is the data's."""
    config = replace(EXPERIMENT.presets["quick"].config, **{**TINY, "states": 2})
    rooms = TwoRooms()
    pairs = rooms.pairs(4000, torch.Generator().manual_seed(0))
    found = run.scores(config, rooms, ways.counted(lambda points: (points[:, 0] > 0).long(), pairs, 2), pairs)
    assert found["purity"] == 1
    assert found["shared"] == pytest.approx(0, abs=1e-3)
    assert found["distance"] == pytest.approx(0, abs=1e-12)
    blind = run.scores(config, rooms, ways.counted(lambda points: (points[:, 1] > 0).long(), pairs, 2), pairs)
    assert blind["purity"] < 0.55
    assert blind["shared"] > 0.9
