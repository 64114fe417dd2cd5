from dataclasses import replace

import pytest
import torch

from craik.experiments.worlds.two_rooms import EXPERIMENT, run, ways
from craik.lab import Rows, judge
from craik.tasks.boards.two_rooms import TwoRooms

TINY = {"pairs": 500, "states": 4, "steps": 3, "hidden": 8, "plans": 5}


def rows(preset="quick"):
    config = replace(EXPERIMENT.presets[preset].config, **TINY)
    return [{**row, "seed": 100} for row in EXPERIMENT.run(config)]


@pytest.mark.parametrize("preset", ["quick", "lamps"])
def test_a_tiny_run_can_be_judged_and_drawn(preset):
    found = rows(preset)
    for claim in EXPERIMENT.claims:
        assert judge(claim, found, preset).measured is not None
    assert set(EXPERIMENT.figures(Rows(found))) == {"states", "scores"}
    assert found == rows(preset)


def test_lamps_flicker_beside_the_place():
    config = EXPERIMENT.presets["lamps"].config
    places = torch.rand(500, 2, 2, generator=torch.Generator().manual_seed(0))
    found = run.lit(config, places, torch.Generator().manual_seed(1))
    assert torch.equal(found[..., :2], places)
    light = found[..., 2:]
    assert light.shape == (500, 2, 2)
    assert float(light.abs().max()) == pytest.approx(2, abs=0.02)
    assert abs(float((light[:, 0] * light[:, 1]).mean())) < 0.1  # of one frame and the next
    plain = replace(config, lamps=0)
    generator = torch.Generator().manual_seed(1)
    before = generator.get_state()
    assert run.lit(plain, places, generator) is places
    assert torch.equal(generator.get_state(), before)


def test_who_sees_lamps_alone_shares_every_state_across_the_wall():
    config = replace(EXPERIMENT.presets["lamps"].config, **{**TINY, "states": 2})
    rooms = TwoRooms()
    generator = torch.Generator().manual_seed(0)
    pairs = run.lit(config, rooms.pairs(4000, generator), generator)
    found = run.scores(config, rooms, ways.counted(lambda seen: (seen[:, 2] > 0).long(), pairs, 2), pairs)
    assert found["shared"] == 1
    assert found["purity"] < 0.55
    assert found["distance"] == pytest.approx(0, abs=1e-12)


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
