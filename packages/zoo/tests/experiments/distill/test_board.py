"""The systems on one board, at a size that trains nothing."""

from dataclasses import replace

import pytest
import torch
from torch import Generator

from claimlab import EarlyStopping, Rows, judge
from mechlearn.distill import Unrolling
from mechlearn_zoo.experiments.distill.board import EXPERIMENT, boards
from mechlearn_zoo.experiments.distill.board import run as board


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    tiny = {"boards": 16, "steps": 2, "batch": 3, "hidden": 8, "rounds": 2, "alone": 1, "inner_steps": 2, "frames": 3}
    tiny |= {"cache": str(tmp_path_factory.mktemp("boards")), "horizon": 4}
    return replace(EXPERIMENT.presets["quick"].config, **tiny)


@pytest.fixture(scope="module")
def falls(config):
    return boards.draw(config.seed, config.boards, config.cache)


def test_rows_claims_and_figures(config, monkeypatch):
    # A batch of 32 does not come from sixteen boards a style.
    monkeypatch.setattr(board, "Unrolling", lambda inner, steps, size, validation_size: Unrolling(inner, steps, 8))
    rows = [{**row, "seed": 100} for row in board.run(config)]
    assert [row["method"] for row in rows] == list(board.METHODS)
    for claim in EXPERIMENT.claims:
        assert judge(claim, rows, "quick").measured is not None
    assert list(EXPERIMENT.figures(Rows(rows))) == ["accuracy"]
    assert [row["method"] for row in rows if "stopped_accuracy" in row] == ["asi", "asi-and-mask"]
    assert all(row["stopped_at"] in (0.5, 1.0) and "stopped_unseen" in row for row in rows if "stopped_accuracy" in row)
    assert EXPERIMENT.progress(config, rows[-1])[0] == 1
    some = list(board.run(replace(config, methods=("asi", "no-teacher"))))
    assert some == [{k: v for k, v in row.items() if k != "seed"} for row in rows if row["method"] in ("asi", "no-teacher")]


def test_parts_are_of_their_styles_and_no_board_comes_twice(falls):
    assert [len(part.labels) for part in falls[:4]] == [32, 16, 16, 8]
    layouts = torch.cat([part.layouts for part in falls[:4]])
    assert len(torch.unique(layouts, dim=0)) == len(layouts)
    assert falls.train.inputs().shape == (32, 76 + 56)
    restitutions = [style.physics.ball_restitution for style in boards.styles()]
    assert len(set(restitutions)) == 3
    assert restitutions[2] == max(restitutions)


def test_outcomes_are_read_off_last_frames(falls):
    for part in falls[:4]:
        assert torch.equal(falls.reads.platform(part.frames.last()), part.labels)
        assert bool(falls.reads.landed(part.frames.last()).all())


def test_frames_that_are_seen_are_the_named_ones(falls, config):
    at = falls.train.spaced(3)
    assert torch.equal(at[:, -1], falls.train.frames.lengths - 1)
    seen = falls.train.seen(at)
    for b in (0, 5, 31):
        for t in range(3):
            assert torch.equal(seen[b, t, :-1], falls.train.frames[b][int(at[b, t])])
            assert float(seen[b, t, -1]) == pytest.approx(int(at[b, t]) / 100)
    model = board.CodePerceptron(76, 56, Generator().manual_seed(config.seed), config.hidden, config.gain)
    found = board.matched_frames(config, model, falls)
    assert found.shape == (32, 3)
    assert bool((found.diff(dim=1) >= 0).all())
    assert bool((found < falls.train.frames.lengths[:, None]).all())


def made_up(**accuracies):
    found = {"frequent": 0.3, "no-teacher": 0.6, "ldt-placebo": 0.6} | accuracies
    return [
        {"seed": seed, "method": method, "accuracy": value, "unseen": value, "last": value}
        | ({"stopped_accuracy": value, "stopped_unseen": value} if method.startswith("asi") else {})
        for seed in range(6) for method, value in found.items()
    ]  # fmt: skip


def test_both_sides_are_read_at_their_ends_and_where_they_stop():
    rows = [
        {"seed": 0, "method": "ldt", "accuracy": 0.9, "last": 0.6},
        {"seed": 0, "method": "asi", "accuracy": 0.5, "stopped_accuracy": 0.7},
    ]
    claim = next(claim for claim in EXPERIMENT.claims if claim.id.endswith("ldt-above-asi"))
    found = judge(claim, rows, "quick")
    assert found.measured == pytest.approx(0.6 - 0.5)
    assert [part.measured for part in found.parts] == pytest.approx([0.6 - 0.5, 0.9 - 0.7, 0.9 - 0.5])
    assert judge(claim, [{k: v for k, v in row.items() if k != "stopped_accuracy"} for row in rows], "quick").measured is None


def test_looks_change_nothing_of_a_dynamics_model(config, falls, monkeypatch):
    looked, report = board.train_dynamics(config, falls, masked=False)
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    alone, other = board.train_dynamics(config, falls, masked=False)
    assert {key: report[key] for key in other} == other
    for one, two in zip(looked.parameters(), alone.parameters(), strict=True):
        assert torch.equal(one, two)


def test_claims_can_hold_and_fail():
    good = made_up(**{"ldt": 0.8, "ldt-asi": 0.9, "asi": 0.7, "asi-and-mask": 0.8})
    assert {judge(claim, good, "quick").verdict for claim in EXPERIMENT.claims} == {"holds"}
    bad = made_up(**{"ldt": 0.4, "ldt-asi": 0.3, "asi": 0.45, "asi-and-mask": 0.4})
    assert {judge(claim, bad, "quick").verdict for claim in EXPERIMENT.claims} == {"does not hold"}
