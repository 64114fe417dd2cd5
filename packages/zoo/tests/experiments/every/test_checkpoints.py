"""Experiments that are kept inside a seed: wherever they are killed, the same seed gives the same rows.

They draw from generators of their own.
"""

import os
from dataclasses import replace

import pytest
import torch

from claimlab.running.checkpoints import loops
from mechlearn.distill import Unrolling
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.board import run as board
from mechlearn_zoo.experiments.language.grammar import run as grammar
from mechlearn_zoo.experiments.own_data.codes import run as own_codes
from mechlearn_zoo.experiments.own_data.sitebench import run as sitebench
from mechlearn_zoo.experiments.skips.options import run as options
from mechlearn_zoo.experiments.spirals.sensitivity import run as sensitivity
from mechlearn_zoo.learners.spirals.training import Training
from mechlearn_zoo.tasks import caching
from mechlearn_zoo.tasks.text.code_tokens import code_tokens
from mujoco_made_up import TINY as BODIES
from mujoco_made_up import made_up_data
from tiny_settings import TINY, tiny

ALL = [*(name for name in TINY if name != "take-cover"), pytest.param("take-cover", marks=pytest.mark.extra("worlds", "cma"))]


class Killed(BaseException):
    """A process comes to its end."""


@pytest.fixture
def small(tmp_path_factory, monkeypatch):
    """Gives an experiment and its tiny config; data that cannot be set to be few are few."""
    folder = tmp_path_factory.mktemp("boards")
    candidates = own_codes.candidates
    monkeypatch.setattr(loops, "_keepers", [])
    monkeypatch.setattr(caching, "default_folder", lambda: folder)
    monkeypatch.setattr(own_codes, "candidates", lambda table: candidates(table, ("pooled linear", "AND-mask")))
    monkeypatch.setattr(sitebench, "ASKED", 3)
    monkeypatch.setattr(sitebench, "FURTHER", 3)
    monkeypatch.setattr(grammar, "texts", lambda everything: list(code_tokens(modules=20).tokens))
    monkeypatch.setattr(options, "PATIENCE", 3)
    # A batch of 32 does not come from sixteen boards a style.
    monkeypatch.setattr(board, "Unrolling", lambda inner, steps, size, validation_size: Unrolling(inner, steps, 8))
    training = Training(environments=2, examples=10, shortcut_dims=2, hidden=8, layers=1, batch=5, epochs=12)
    monkeypatch.setattr(sensitivity, "VARIANTS", dict.fromkeys(sensitivity.VARIANTS, training))
    monkeypatch.setattr(bodies, "mujoco", made_up_data)
    monkeypatch.setitem(bodies.TRAININGS, "quick", replace(bodies.TRAININGS["quick"], **BODIES | {"train": 80}))
    return tiny


@pytest.fixture
def rows_until(tmp_path, monkeypatch):
    """Gives the rows of a process that is killed after so many checkpoints, and whether it was."""
    left = [0]
    write = loops.write

    def counted(path, content):
        write(path, content)
        left[0] -= 1
        if not left[0]:
            raise Killed

    monkeypatch.setattr(loops, "write", counted)
    monkeypatch.setattr(os, "fsync", lambda file: None)  # no power is cut here

    def _rows_until(checkpoints, experiment, config):
        left[0] = checkpoints
        loops.use(loops.Keeper(tmp_path / "seed-0-aaaaaa.checkpoint.safetensors", {"seed": 0}, 0.0, lambda text: None))
        found = []
        try:
            found.extend(experiment.run(config))
        except Killed:
            return found, True
        return found, False

    return _rows_until


@pytest.mark.parametrize("name", ALL)
def test_a_killed_seed_goes_on_to_the_same_rows(name, small, rows_until):
    experiment, config = small(name)
    state = torch.get_rng_state()
    whole = list(experiment.run(config))
    killed, checkpoints, times = True, 2, 0
    while killed:
        found, killed = rows_until(checkpoints, experiment, config)
        assert found == whole[: len(found)]
        checkpoints, times = 5 * checkpoints, times + 1
    assert len(found) == len(whole)
    assert times > 1
    assert rows_until(1, experiment, config) == (whole, False)  # what is finished is not computed again
    assert torch.equal(torch.get_rng_state(), state) or "linear-units" in name  # whose networks are torch's own linear layers
