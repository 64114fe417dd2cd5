"""Experiments that are kept inside a seed: killed anywhere, they give the rows that they give undisturbed."""

from dataclasses import replace

import pytest

from craik.lab import load
from craik.lab.running.checkpoints import loops

TINY = {
    "spirals": {
        "environments": 2,
        "examples": 16,
        "shortcut_dims": 2,
        "hidden": 8,
        "layers": 1,
        "batch": 5,
        "epochs": 3,
        "learning_rate": 0.1,
    },
    "memorisation": {"examples": 16, "batch": 8, "epochs": 3, "reports": 1, "thresholds": (0.2,)},
    "label-noise": {"examples": 80, "epochs": 2, "thresholds": (0.2,), "learning_rates": (1e-3,)},
    "coinrun": {"levels": 3, "states": 4, "validation": 4, "test": 4, "batch": 2, "epochs": 2, "trials": 2, "finalists": 1},
    "distill-mujoco": {
        "train": 48,
        "selection": 8,
        "test": 8,
        "rounds": 3,
        "every": 1,
        "inner_steps": 2,
        "student_steps": 2,
        "batch": 8,
        "teacher_channels": (4, 4, 4, 4),
        "teacher_hidden": 8,
        "student_widths": (8, 8),
        "grid_batch": (16,),
        "grid_weight": (1.0,),
        "methods": ("auxiliary", "ldt"),
    },
}


@pytest.mark.parametrize("name", list(TINY))
def test_a_killed_seed_goes_on_to_the_same_rows(name, tmp_path, monkeypatch):
    experiment = load(name)
    config = replace(experiment.presets["quick"].config, **TINY[name])
    whole = list(experiment.run(config))
    monkeypatch.setattr(loops, "_keepers", [])
    for until in (2, len(whole) // 2, len(whole) - 1):  # three kills of one seed
        _open(tmp_path)
        assert [row for _, row in zip(range(until), experiment.run(config), strict=False)] == whole[:until]
    _open(tmp_path)
    assert list(experiment.run(config)) == whole


def _open(folder):
    loops.use(loops.Keeper(folder / "seed-0-aaaaaa.checkpoint.safetensors", {"seed": 0}, 0.0, lambda text: None))
