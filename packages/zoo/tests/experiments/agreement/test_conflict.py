"""The experiments on conflict, at sizes that train nothing."""

import functools
from dataclasses import replace

import pytest
import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.agreement import conflict_codes, conflict_spirals
from mechlearn_zoo.experiments.agreement.conflict_codes.tables import Sites, table
from mechlearn_zoo.experiments.spirals import sensitivity
from mechlearn_zoo.learners.shortcuts.looks import Looks
from mechlearn_zoo.learners.shortcuts.methods import METHODS
from mechlearn_zoo.learners.shortcuts.training import Board, Training, make_data, rotation, shuffled, train
from mechlearn_zoo.tasks.boards.spirals import SpiralsData, Split
from mechlearn_zoo.tasks.tables.codes import CORNERS

SMALL = {"steps": 3, "examples": 32, "batch": 8, "hidden": 8, "environments": 3}

CONFIGS = {
    (conflict_spirals, "quick"): SMALL,
    (sensitivity, "needs"): SMALL,
    (conflict_codes, "null"): {"environments": (2, 3), "rows": (4, 64), "levels": (0.05, 0.2), "steps": 2, "sites": 2},
    (conflict_codes, "quick"): {"sites": (3, 8), "rows": (16, 128)},
}


@pytest.mark.parametrize(("module", "preset"), CONFIGS)
def test_a_tiny_run_can_be_judged_and_drawn(module, preset, monkeypatch):
    monkeypatch.setattr(conflict_codes.run, "Sites", functools.partial(Sites, steps=2))
    experiment = module.EXPERIMENT.at(preset)
    config = replace(experiment.presets[preset].config, **CONFIGS[module, preset])
    rows = [{**row, "seed": 100} for row in experiment.run(config)]
    for claim in experiment.claims:
        assert judge(claim, rows, claim.condition.presets[0]).measured is not None
    assert experiment.figures(Rows(rows))
    before = [{key: value for key, value in row.items() if not key.startswith("stopped_")} for row in rows]
    assert all(any(key.startswith("stopped_") for key in row) for row in rows if row.get("kind") != "noise")
    for claim in experiment.claims:  # a record before there were looks says nothing where these are asked
        judged = judge(claim, before, claim.condition.presets[0])
        assert (judged.measured is None) == isinstance(claim.measure, dict)


def test_looks_change_nothing_of_a_training_on_the_spirals(monkeypatch):
    tiny = {**SMALL, "steps": 4, "every": 3}
    presets = (conflict_spirals.run.PRESETS["quick"], sensitivity.needs.PRESETS["needs"])
    configs = [replace(preset.config, **tiny) for preset in presets]

    def ends():
        yield train(configs[0], Board(4), METHODS["qualitative-decay"], control=True)
        yield sensitivity.needs.train(configs[1], sensitivity.needs.VARIANTS["rotated"])

    seen = list(ends())
    assert all(row.pop("stopped_at") in {0.25, 0.5, 0.75, 1.0} for row in seen)
    assert all(0 < row.pop("stopped_accuracy") < 1 for row in seen)
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    assert list(ends()) == seen


def test_a_network_is_stopped_where_held_out_environments_say_and_solves_the_board_where_the_test_set_does():
    """A score of 1 or -1 for all of ten examples; labels of the held-out environments are not the test set's."""
    label = {"validation": 0.6, "test": 1.0}
    splits = {
        name: Split(torch.ones(10, 1), (torch.arange(10) < 10 * share).float(), torch.zeros(10))
        for name, share in label.items()
    }
    looks = Looks(2, 4, SpiralsData(splits["test"], splits["validation"], splits["test"], torch.ones(2)))
    model = torch.nn.Linear(1, 1, bias=False)
    for step, score in enumerate((1.0, -1.0, -1.0, 1.0), start=1):
        with torch.no_grad():
            model.weight.fill_(score)
        looks.after(step, model)
    assert (looks.accuracy, looks.solved_at) == (1.0, 4)  # at the first step, which is no second one, nobody looks at the test
    assert looks.stopping.row == {"stopped_at": 0.25, "stopped_accuracy": 1.0}


def test_a_rotation_keeps_lengths_and_labels():
    turn = rotation(6, torch.Generator().manual_seed(0))
    torch.testing.assert_close(turn @ turn.T, torch.eye(6))
    config = Training(examples=16, batch=4, environments=2)
    plain, turned = (make_data(config, Board(4, 0.2, rotated=one)) for one in (False, True))
    torch.testing.assert_close(plain.train.x.norm(dim=1), turned.train.x.norm(dim=1))
    assert torch.equal(plain.test.y, turned.test.y)


def test_a_random_control_masks_the_same_share():
    masks = {"w": torch.arange(12).view(3, 4) < 5}
    found = shuffled(masks, torch.Generator().manual_seed(0))["w"]
    assert found.sum() == 5
    assert found.shape == (3, 4)


def test_sites_have_codes_of_their_own():
    data = table(Sites(sites=3, rows=40, batch=8))
    signs = data.x[..., list(CORNERS)].sign()
    for site in range(3):
        label = int(data.y[site, 0])
        same = data.y[site] == label
        assert (signs[site, same] == signs[site, 0]).all()
    assert table(Sites(sites=3, rows=40, batch=8, code=0.0)).x[..., list(CORNERS)].abs().mean() < 0.6


FAILS = {
    "conflict-spirals.decay": ("shortcuts", "qualitative"),
    "conflict-spirals.which": ("shortcuts", "random-decay"),
    "conflict-needs.coordinates": (None, "rotated"),
}


@pytest.mark.parametrize("name", FAILS)
def test_a_method_that_fails_at_its_end_and_not_where_it_is_stopped_does_not_fail(name):
    (claim,) = [
        one for one in (*conflict_spirals.EXPERIMENT.claims, *sensitivity.EXPERIMENT.at("needs").claims) if one.id == name
    ]
    board, method = FAILS[name]
    row = {"seed": 0, "kind": "final", "board": board, "method": method, "accuracy": 0.5, "stopped_accuracy": 0.8}
    judged = judge(claim, [row], claim.condition.presets[0])
    assert (judged.measured, judged.verdict) == (0.8, "does not hold so far")
    assert [one.measured for one in judged.parts] == [0.5, 0.8]


def test_of_decays_that_do_not_go_through_adam_that_counts_which_is_best_stopped():
    (claim,) = [one for one in sensitivity.EXPERIMENT.at("needs").claims if one.id == "conflict-needs.through-adam"]
    decays = {"AdamW 1e-5": (0.5, 0.5), "AdamW 0.01": (0.6, 0.5), "AdamW 1": (0.5, 0.7)}
    rows = [
        {"seed": 0, "kind": "final", "method": method, "accuracy": end, "stopped_accuracy": stopped}
        for method, (end, stopped) in decays.items()
    ]
    judged = judge(claim, rows, "needs")
    assert (judged.measured, judged.verdict) == (0.7, "does not hold so far")
