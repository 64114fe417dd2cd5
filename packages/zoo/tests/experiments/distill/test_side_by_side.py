from dataclasses import replace

import pytest
import torch

import mujoco_made_up
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.mujoco import EXPERIMENT
from mechlearn_zoo.experiments.distill.mujoco import run as distill_mujoco
from mechlearn_zoo.experiments.distill.mujoco.baselines import Setting
from mechlearn_zoo.experiments.distill.mujoco.side_by_side import batched, flushed_denormals
from mechlearn_zoo.tasks.bodies.mujoco import Sizes
from mechlearn_zoo.tasks.bodies.rollouts import ENVIRONMENTS
from mujoco_made_up import made_up_data

TINY = replace(
    EXPERIMENT.presets["quick"].config, methods=("no-teacher", "auxiliary"), grid_lr=(1e-3, 1e-2), grid_decay=(0.0, 1e-4),
    grid_batch=(6, 8), **mujoco_made_up.TINY,
)  # fmt: skip


@pytest.fixture(autouse=True)
def made_up_bodies(monkeypatch):
    monkeypatch.setattr(bodies, "mujoco", made_up_data)


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("rounds", "tolerance"), [(1, 1e-12), (25, 1e-9)])
def test_rows_are_those_of_students_one_by_one(rounds, tolerance):
    config = replace(TINY, rounds=rounds, student_steps=1 if rounds == 1 else 2)
    alone = list(distill_mujoco.run(config))
    together = list(distill_mujoco.run(replace(config, stacked=True)))
    for one, other in zip(alone, together, strict=True):
        assert list(one) == list(other)
        for column, value in one.items():
            assert other[column] == (pytest.approx(value, rel=0, abs=tolerance) if isinstance(value, float) else value)


def test_a_student_that_diverges_ends_there_and_spoils_no_other():
    data = made_up_data("Swimmer", 0, Sizes(60, 20, 20))
    settings = [Setting(1e-2, 0.0, 6, 0.0), Setting(1e30, 0.0, 6, 0.0), Setting(1e-3, 0.0, 6, 0.0)]
    lost, config = settings[1], replace(TINY, rounds=3)
    seen = batched(config, data, settings, "some")
    assert [len(one.looks) for one in seen] == [3, 0, 3]
    rows = list(bodies.rows_of(seen[1].again(), {**lost._asdict()}))
    assert "Found [nan, nan, nan] after 2 steps" in rows[-1]["diverged"]
    without = batched(config, data, [settings[0], settings[2]], "others")
    for one, other in zip((seen[0], seen[2]), without, strict=True):
        assert [look.measured.test for look in one.looks] == pytest.approx([look.measured.test for look in other.looks])


def test_presets_whose_records_were_made_one_by_one_are_not_stacked():
    stacked = {name for name, preset in EXPERIMENT.presets.items() if preset.config.stacked}
    assert stacked == {"faithful", *(f"faithful-{body.lower()}" for body in ENVIRONMENTS), "paper"}


def test_denormal_numbers_are_zero_while_they_train_and_no_longer():
    tiny = torch.tensor(1e-39)
    with flushed_denormals():
        assert float(tiny * 1) == 0
        with flushed_denormals(False):
            assert float(tiny * 1) == 0  # what was on before stays on
    assert float(tiny * 1) > 0
    with pytest.raises(KeyError), flushed_denormals():
        raise KeyError
    assert float(tiny * 1) > 0
