from dataclasses import replace

import pytest
import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.worlds.two_rooms import EXPERIMENT, run, ways
from mechlearn_zoo.experiments.worlds.two_rooms.looks import BEST, Looks
from mechlearn_zoo.experiments.worlds.two_rooms.two_rooms import TwoRooms

TINY = {"pairs": 500, "states": 4, "steps": 3, "hidden": 8, "plans": 5}


def rows(preset="quick"):
    config = replace(EXPERIMENT.presets[preset].config, **TINY)
    return [{**row, "seed": 100} for row in EXPERIMENT.run(config)]


def test_looks_change_nothing_and_the_last_is_of_the_end(monkeypatch):
    finals = [row for row in rows("lamps") if row["kind"] == "final"]
    keys = {f"stopped_{name}{key}" for name in ("", "at_") for key in BEST}
    for row in finals:
        assert keys <= set(row)
        assert all(row[f"stopped_{key}"] == row[key] for key in BEST if row[f"stopped_at_{key}"] == 1)
    assert all(row[f"stopped_at_{key}"] == 1 for row in finals if row["method"] == "k-means" for key in BEST)
    monkeypatch.setattr(EarlyStopping, "due", lambda self, share: False)
    without = [row for row in rows("lamps") if row["kind"] == "final"]
    assert without == [{key: value for key, value in row.items() if key not in keys} for row in finals]


def test_each_score_stops_where_it_is_best_on_validation_and_goes_on_from_its_state():
    def worth(*numbers):
        return dict(zip(BEST, numbers, strict=True))

    test = {0.5: worth(0.6, 0.5, 0.4), 1.0: worth(0.5, 0.4, 0.3)}
    validation = {0.5: worth(0.8, 0.7, 0.6), 1.0: worth(0.7, 0.6, 0.7)}
    looks = Looks(validation.__getitem__, test.__getitem__)
    looks.look(0.5, lambda: 0.5)
    again = Looks(validation.__getitem__, test.__getitem__)
    again.load_state_dict(looks.state_dict())
    for one in (looks, again):
        one.look(1.0, lambda: 1.0)
        one.look(1.0, lambda: pytest.fail("nothing is due twice"))
        assert {key: one.row[f"stopped_{key}"] for key in BEST} == worth(0.6, 0.4, 0.3)
        assert {key: one.row[f"stopped_at_{key}"] for key in BEST} == worth(0.5, 1.0, 1.0)


def test_claims_ask_where_validation_stops_ways_too():
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id == "two-rooms.pairs-needed")
    made = [
        {"seed": 1, "kind": "final", "method": method, "shared": shared, "stopped_shared": stopped}
        for method, shared, stopped in (("causal", 0.3, 0.3), ("infogan", 0.5, 0.2))
    ]
    found = judge(claim, made, "quick")
    assert found.measured == pytest.approx(0.1)
    assert found.verdict == "does not hold so far"


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
