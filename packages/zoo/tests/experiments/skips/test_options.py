"""Options and actions on ice, at a size that trains next to nothing."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from claimlab import Rows, judge
from mechlearn.skips import Fixed, Greedy, OrEnd
from mechlearn_zoo.experiments.skips.options import EXPERIMENT
from mechlearn_zoo.experiments.skips.options import run as options
from mechlearn_zoo.experiments.skips.options.ice import codes, draw_building, draw_walks, slid
from mechlearn_zoo.experiments.skips.options.models import Pushed

TINY = replace(
    EXPERIMENT.presets["quick"].config, steps=1, evaluations=20, walks=5, test_walks=2, side=3, slides=2, horizon=3, hidden=8
)


@pytest.fixture(scope="module")
def rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(options, "PATIENCE", 3)
        return Rows([{**row, "seed": 100} for row in options.run(TINY)])


@pytest.fixture(scope="module")
def walks():
    return draw_walks(draw_building(4, 0.2, np.random.default_rng(0)), 8, 3, np.random.default_rng(1))


def test_every_method_spends_the_budget_and_is_scored(rows):
    assert [row["method"] for row in rows] == list(options.METHODS)
    assert all(20 <= row["spent"] < 20 + 4 * 80 for row in rows)
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1


def test_claims_are_measured_and_the_figure_is_drawn(rows):
    missing = [claim.id for claim in EXPERIMENT.claims if judge(claim, rows, "quick").measured is None]
    assert missing == []
    assert list(EXPERIMENT.figures(rows)) == ["ends"]


def test_the_same_seed_gives_the_same_rows(rows, monkeypatch):
    monkeypatch.setattr(options, "PATIENCE", 3)
    some = replace(TINY, methods=("separate", "actions"))
    again = [{**row, "seed": 100} for row in options.run(some)]
    assert again == [row for row in rows if row["method"] in some.methods]


def test_looks_change_nothing_of_a_training(rows, monkeypatch):
    monkeypatch.setattr(options, "PATIENCE", 3)
    monkeypatch.setattr(options.EarlyStopping, "due", lambda *_: False)
    ends = [{**row, "seed": 100} for row in options.run(replace(TINY, methods=("joint", "separate", "actions")))]
    kept = [{name: value for name, value in row.items() if not name.startswith("stopped_")} for row in rows]
    assert ends == [row for row in kept if row["method"] in ("joint", "separate", "actions")]


def test_models_are_looked_at_together_and_the_best_on_validation_stays(rows, walks, monkeypatch):
    assert all(0 < row["stopped_at"] <= 1 and 0 <= row["stopped_accuracy"] <= 1 for row in rows)
    _, _, kept = options.trained(replace(TINY, steps=3), "separate", walks)
    assert [len(copies) for copies in kept] == [options.LOOKS] * 4
    copies = [torch.nn.Identity() for _ in range(3)]
    right = {len(walks.plans): (0.1, 0.5, 0.3), 2: (0.6, 0.4, 0.9)}
    monkeypatch.setattr(
        options, "scores", lambda _c, _m, models, on: {"accuracy": right[len(on.plans)][copies.index(models[0])]}
    )
    found = options.stopped(TINY, "joint", [copies], walks, walks.some(torch.arange(2)))
    assert found == {"stopped_at": 0.2, "stopped_accuracy": 0.4}


def test_separate_models_see_every_slide_of_their_push_once(walks):
    lessons = options.lessons(TINY, "separate", walks)
    assert sum(len(lesson.frames) for lesson in lessons) == walks.plans.numel()
    for push, lesson in enumerate(lessons):
        assert len(lesson.frames) == int((walks.plans == push).sum())
        for ended in lesson.counted.values:  # each slide ends once, with its last transition
            assert float(ended.sum()) == float(ended[-1]) == 1


def test_what_is_counted_are_ends_of_options_or_frames(walks):
    (joint,) = options.lessons(TINY, "joint", walks)
    assert [float(own.sum()) for own in joint.counted.values] == [3.0] * 8
    (actions,) = options.lessons(TINY, "actions", walks)
    assert [float(own.sum()) for own in actions.counted.values] == (walks.frames.lengths - 1).tolist()
    assert actions.given.at(torch.tensor([0]), torch.tensor([0])).shape == (1, 3, 4)


def test_each_method_matches_as_it_says():
    greedy = Greedy(3, 0.5)
    kinds = {
        "joint": OrEnd(greedy), "separate": OrEnd(greedy), "within": greedy, "actions": greedy, "ends": Fixed(options.LONGEST),
        "every-frame": Fixed(1), "actions-fixed-4": Fixed(4),
    }  # fmt: skip
    for method, matching in kinds.items():
        assert options.matching_of(TINY, method, 0.2) == matching


class Perfect(torch.nn.Module):
    """Knows the building: jumps to where a push ends, and says so."""

    def __init__(self, building):
        super().__init__()
        self.building = building

    def forward(self, frames, ids):
        stands = options.cells(frames, len(self.building)).tolist()
        ends = [slid(self.building, tuple(cell), int(push)) for cell, push in zip(stands, ids, strict=True)]
        return 60 * (codes(np.array(ends, dtype=float), len(self.building)) - 0.5), torch.ones(len(ids))


def test_a_model_that_knows_the_building_is_always_right():
    building = draw_building(5, 0.2, np.random.default_rng(0))
    walks = draw_walks(building, 20, 4, np.random.default_rng(1))
    found = options.scores(replace(TINY, side=5), "joint", [Perfect(building)], walks)
    assert found == {"accuracy": 1.0, "rollout": 4.0}


def test_models_take_ids_windows_or_nothing():
    draw = torch.Generator().manual_seed(0)
    frames = torch.rand(3, 10, generator=draw)
    for pushes, given in ((0, None), (1, torch.tensor([0, 3, 1])), (2, torch.rand(3, 2, 4, generator=draw))):
        logits, number = Pushed(10, pushes, "ended", draw, 8, 6.0)(frames, given)
        assert (logits.shape, number.shape) == ((3, 10), (3,))
        assert float(number.detach().max()) <= 1
    assert float(Pushed(10, 0, "clock", draw, 8, 6.0)(frames)[1].detach().min()) >= 1


def test_claims_can_hold_and_fail():
    def judged(values, rollout, stopped=None):
        rows = [
            {"seed": seed, "method": method, "accuracy": value, "rollout": rollout.get(method, 8.0), "frequent": 0.2}
            | {"stopped_accuracy": (stopped or values)[method], "stopped_rollout": rollout.get(method, 8.0)}
            for seed in range(6)
            for method, value in values.items()
        ]
        judged = [judge(claim, rows, "quick") for claim in EXPERIMENT.claims]
        return {one.verdict for one in judged if stopped is None or one.parts}

    good = dict.fromkeys(options.METHODS, 0.4) | {"joint": 0.8, "actions": 0.8}
    assert judged(good, {"joint": 4.0}) == {"holds"}
    # Behind where validation stops all of them.
    assert judged(good, {"joint": 4.0}, good | {"joint": 0.3, "actions": 0.3}) == {"does not hold"}
    assert judged(dict.fromkeys(options.METHODS, 0.2), {}) == {"does not hold"}  # a constant


def test_separate_models_start_with_weights_of_their_own(walks):
    models, _, _ = options.trained(replace(TINY, learning_rate=1e-9), "separate", walks)
    assert len(models) == 4
    first, *others = (torch.cat([parameter.flatten() for parameter in model.parameters()]) for model in models)
    assert all((first - other).abs().max() > 1e-3 for other in others)
