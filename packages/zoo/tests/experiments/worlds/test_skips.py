from dataclasses import replace

import numpy as np
import pytest
import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.worlds.skips import EXPERIMENT, boards, run
from mechlearn_zoo.experiments.worlds.skips.claims import over_the_best

pytest.importorskip("pymunk")

TINY = {
    "columns": 1, "episodes": 6, "tests": 3, "latent": 2, "widths": (2, 4), "vision_steps": 2, "hidden": 4, "mixtures": 2,
    "horizon": 4, "exploration_steps": 2, "evaluations": 60, "batch": 2, "duration": 12,
}  # fmt: skip


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setattr(boards.caching, "default_folder", lambda: tmp_path)
    return replace(EXPERIMENT.presets["quick"].config, **TINY)


def test_a_tiny_run_can_be_judged_and_drawn(config):
    found = [{**row, "seed": 100} for row in EXPERIMENT.run(config)]
    assert all(judge(claim, found, "quick").measured is not None for claim in EXPERIMENT.claims)
    assert set(EXPERIMENT.figures(Rows(found))) == {"dreams", "scores"}
    finals = Rows(found).where(kind="final")
    assert all({"stopped_at", "stopped_accuracy", "stopped_entropy"} <= row.keys() for row in finals)
    again = EXPERIMENT.run(config)
    assert all({**next(again), "seed": 100} == row for row in found[:5])
    spent = [row["evaluations"] for row in found if row["kind"] == "training"]
    assert max(spent) < 60 + 2 * 60


def test_looks_change_nothing_of_a_training(config, monkeypatch):
    seen = boards.see(config)
    looked = list(run.learnt(config, "skips", seen))
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    alone = list(run.learnt(config, "skips", seen))
    assert [{key: row[key] for key in other} for row, other in zip(looked, alone, strict=True)] == alone


def test_frames_are_square_and_come_back(config):
    height, width = config.board.shape
    moving = np.random.default_rng(0).integers(0, 255, (5, 2, height, width), dtype=np.uint8)
    frames = boards.squared(moving, config)
    assert frames.shape == (5, 2, max(height, width), max(height, width))
    assert np.array_equal((frames[:, :, :height, :width] * 255).round().numpy(), moving)


def test_the_balls_place_and_the_usual_jump():
    frame = np.zeros((2, 6, 8))
    frame[0, 2, 5] = 1
    assert boards.centre(frame) == (5, 2)
    assert boards.centre(0 * frame) == (0, 0)
    assert run.usual(torch.tensor([1, 1, 2, 4])) == pytest.approx(0.5 * np.log(0.5) + 0.5 * np.log(0.25))


def test_skips_are_compared_with_the_best_fixed_step():
    scores = {"skips": (0.7, 0.8), "fixed-1": (0.9, 0.1), "fixed-2": (0.6, 0.6), "fixed-3": (0.2, 0.3)}
    rows = Rows(
        {"kind": "final", "method": method, "accuracy": value, "seed": seed}
        for method, values in scores.items()
        for seed, value in enumerate(values)
    )
    assert over_the_best(rows).value == pytest.approx(0.15)
