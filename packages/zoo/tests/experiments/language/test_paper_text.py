"""The paper presets' own settings for a step or two: what only they switch on runs, with finite numbers."""

import math
from dataclasses import replace

import pytest
import torch

from mechlearn_zoo.experiments.language import eager, grammar, masked_lm, temperature_sweep, trellis, winograd
from mechlearn_zoo.tasks.streams import stream

FEW = {"vocabulary": 100, "sequences": 8, "epochs": 1, "rounds": 1, "judge_epochs": 1, "judge_steps": 1, "batch": 4}

CASES = {
    "eager": (eager, {"steps": 2, "batch": 2, "tests": 1, "tested": (1,), "pads": (0, 5), "trained": (1,)}),
    "masked-lm": (
        masked_lm, {"modules": 10, "steps": 1, "tuning": 10, "labelled": (4,), "window": 16, "arms": ("masked",)},
    ),
    "temperature-sweep": (temperature_sweep, {**FEW, "points": 4, "arms": ("mle",)}),
    "temperature-sweep seqgan-paper": (temperature_sweep, {**FEW, "points": 4, "samples": 1}),
    "trellis": (
        trellis,
        {"hidden": 8, "epochs": 1, "batch": 700, "levels": 6, "code_steps": 1, "modules": 2, "models": ("trellis",)},
    ),
    "winograd": (winograd, {"steps": 1, "batch": 4, "items": 6, "guessers": 1, "public_items": 6, "looks": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_few_steps_of_the_paper_preset(name):
    module, cut = CASES[name]
    preset = name.partition(" ")[2] or "paper"
    experiment = module.EXPERIMENT.at(preset)
    rows = list(experiment.run(replace(experiment.presets[preset].config, **cut)))
    numbers = [value for row in rows for value in row.values() if isinstance(value, float)]
    assert numbers
    assert all(map(math.isfinite, numbers))


def test_its_steps_move_the_parameters():
    config = replace(winograd.EXPERIMENT.presets["paper"].config, steps=1, batch=2, looks=1, and_mask=(2e-3, 0.03, 0.4))
    world = winograd.run.world_of(config)
    before = winograd.run.fresh(config, world, stream(config.seed, "weights"))
    after = next(winograd.run.train(config, "and-mask", world)).model
    pairs = zip(before.parameters(), after.parameters(), strict=True)
    assert sum(not torch.equal(a, b) for a, b in pairs) > 0.9 * len(list(before.parameters()))


def test_everything_reads_a_whole_folder_and_leaves_broken_files_out(tmp_path, monkeypatch):
    for name, text in {"a.py": "x = 1\n", "lib/b.py": "def f(): return x\n", "lib/test/bad.py": "def (:\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "c.py").write_text("y = 2\n")
    monkeypatch.setattr(grammar.run.sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    found = grammar.run.texts(grammar.EXPERIMENT.presets["paper"].config.everything)
    assert sorted(stream[0] for stream in found) == ["def", "x"]
