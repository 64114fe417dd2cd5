from dataclasses import replace

import pytest
import torch

from craik.experiments import _life_networks, distill_life
from craik.experiments._life_networks import Setting
from craik.harness.claims import judge
from craik.tasks.life import life

pytest.importorskip("optuna")

TINY = replace(
    distill_life.PRESETS["quick"],
    examples=(32,),
    side=5,
    trials=2,
    epochs=1,
    filters=(2, 3),
    inner_steps=(1, 2),
    student_steps=1,
    selection=20,
    test=20,
)
SETTING = Setting(1e-2, 0.9, 0.0, 16, 1.5, 4, alpha=100.0, scale=0.5, inner_steps=2, meta_lr=1.0, validation=0.5)


@pytest.fixture(scope="module")
def rows():
    return [{"seed": seed, **row} for seed in (0, 1) for row in distill_life.run(replace(TINY, seed=seed))]


def test_every_method_has_as_many_trials(rows):
    runs = [(row["examples"], row["method"], row["trial"]) for row in rows if row["seed"] == 0]
    assert runs == [(n, m, t) for n in (32,) for m in ("none", "random", "meta", "oracle") for t in (0, 1)]


def test_the_same_seed_gives_the_same_rows(rows):
    again = [{"seed": 1, **row} for row in distill_life.run(replace(TINY, seed=1))]
    assert again == [row for row in rows if row["seed"] == 1]


def test_settings_stay_in_the_ranges_and_unused_ones_stay_zero(rows):
    for row in rows:
        assert 2e-3 <= row["lr"] <= 6e-3
        assert 0.5 <= row["multiplier"] <= 1.5
        assert 0 <= row["beta1"] <= 0.9
        assert 2 <= row["filters"] <= 3
        assert (row["meta_lr"] > 0) == (row["inner_steps"] > 0) == (row["method"] == "meta")
        assert (row["scale"] > 0) == (row["method"] == "random")
        assert (row["alpha"] >= 100) == (row["method"] != "none")


@pytest.mark.parametrize("method", ["random", "oracle"])
def test_a_fixed_teacher_is_never_trained_and_trains_on_all_boards(method, monkeypatch):
    def refuse(self):
        raise AssertionError("a fixed teacher took a meta-step")

    monkeypatch.setattr(distill_life.Distillation, "meta_step", refuse)
    data = life(0, 32, side=5, selection=1, test=1)
    student = _life_networks.Student(SETTING, torch.Generator().manual_seed(0))
    steps = list(distill_life.train(TINY, method, SETTING, student, data))
    assert steps == [2]  # an epoch of 32 / 16


def test_the_oracle_supervises_the_last_layer_of_every_generation():
    data = life(0, 4, side=5, selection=1, test=1)
    oracle = _life_networks.make_teacher("oracle", SETTING, data, torch.Generator())
    assert list(oracle.filters) == ["body.4", "body.10", "body.16"]
    assert len(_life_networks.make_teacher("meta", SETTING, data, torch.Generator()).filters) == 9


def test_the_student_sees_far_enough_and_reads_the_middle():
    student = _life_networks.Student(SETTING, torch.Generator().manual_seed(1))
    x = torch.rand(1, 9, 9, requires_grad=True)
    student(x).sum().backward()
    assert x.grad is not None
    assert student(torch.rand(5, 9, 9)).shape == (5,)


def test_verdicts_are_computed(rows):
    better = {"meta": 0.9, "random": 0.8, "oracle": 0.95, "none": 0.7}
    changed = [
        {**row, "selected": better[row["method"]] - 0.3 * (row["trial"] == 0), "selection": row["trial"], "majority": 0.69}
        for row in rows
    ]
    judged = {claim.id.split(".")[1]: judge(claim, changed, "paper") for claim in distill_life.CLAIMS}
    assert {claim.verdict for claim in judged.values()} == {"holds"}
    assert judged["meta-above-random"].measured == pytest.approx(0.1)
    assert judged["no-teacher"].measured == pytest.approx(0.01)


def test_figures_and_progress(rows):
    assert set(distill_life.figures(rows)) == {"accuracy"}
    shares = [distill_life.progress(TINY, row)[0] for row in rows if row["seed"] == 0]
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize("changes", [{"trials": 0}, {"examples": ()}, {"filters": (4, 2)}, {"meta_lr": (0.0, 1.0)}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="Found"):
        replace(TINY, **changes)
