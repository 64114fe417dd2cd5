import math
from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.distill.life import EXPERIMENT
from mechlearn_zoo.experiments.distill.life import networks as _life_networks
from mechlearn_zoo.experiments.distill.life import run as distill_life
from mechlearn_zoo.experiments.distill.life.convolutions import scaled_convolutions
from mechlearn_zoo.experiments.distill.life.networks import Setting
from mechlearn_zoo.tasks.pictures.life import life
from tiny_settings import tiny

pytest.importorskip("optuna")

_, TINY = tiny("distill-life")
OF_STARTS = ("loss-tells",)
SETTING = Setting(1e-2, 0.9, 0.0, 16, 1.5, 4, alpha=100.0, scale=0.5, inner_steps=2, meta_lr=1.0, validation=0.5)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in distill_life.run(replace(TINY, seed=seed)))


def test_every_method_has_as_many_trials(rows):
    runs = [(row["examples"], row["method"], row["trial"]) for row in rows if row["seed"] == 0]
    assert runs == [(n, m, t) for n in (32,) for m in ("none", "random", "meta", "oracle") for t in (0, 1)]


def test_settings_stay_in_the_ranges_and_unused_ones_stay_zero(rows):
    for row in rows:
        assert TINY.lr[0] <= row["lr"] <= TINY.lr[1]
        assert TINY.multiplier[0] <= row["multiplier"] <= TINY.multiplier[1]
        assert 0 <= row["beta1"] <= 0.9
        assert 2 <= row["filters"] <= 3
        assert (row["meta_lr"] > 0) == (row["inner_steps"] > 0) == (row["meta_momentum"] > 0) == (row["method"] == "meta")
        assert (row["scale"] > 0) == (row["method"] == "random")
        assert (row["alpha"] >= 100) == (row["method"] != "none")


@pytest.mark.parametrize("method", ["random", "oracle"])
def test_a_fixed_teacher_is_never_trained_and_trains_on_all_boards(method, monkeypatch):
    def refuse(self):
        raise AssertionError("a fixed teacher took a meta-step")

    monkeypatch.setattr(distill_life.Distillation, "meta_step", refuse)
    assert steps_of(method, replace(TINY, steps=None, epochs=1)) == [1, 2]  # an epoch of 32 / 16


def steps_of(method, config):
    data = life(0, 32, side=5, selection=1, test=1)
    student = _life_networks.Student(SETTING, torch.Generator().manual_seed(0))
    return [step for step, _ in distill_life.train(config, method, SETTING, student, data, every=1)]


@pytest.mark.parametrize("config", [TINY, replace(TINY, steps=None, epochs=3)])
def test_every_method_takes_as_many_ordinary_steps(config):
    # Half of the boards are kept from LDT's student; it takes no fewer steps for that.
    counts = {method: steps_of(method, config)[-1] for method in config.methods}
    assert set(counts.values()) == {config.steps or 3 * 32 // 16}


@pytest.mark.parametrize("supervised", ["all", "third"])
def test_the_oracle_supervises_the_last_layer_of_every_generation(supervised):
    data = life(0, 4, side=5, selection=1, test=1)

    def layers(method):
        return list(_life_networks.make_teacher(method, SETTING, data, torch.Generator(), supervised).filters)

    last = ["body.4", "body.10", "body.16"]
    assert layers("oracle") == last
    assert layers("meta") == layers("random")
    assert layers("meta") == (last if supervised == "third" else [f"body.{2 * layer}" for layer in range(9)])


def test_the_paper_preset_is_the_texts():
    paper = EXPERIMENT.presets["paper"].config
    assert (paper.layers, paper.moments, paper.steps, paper.epochs, paper.side) == ("all", "fresh", None, 200, 17)
    assert (paper.meta_momentum, paper.meta_lr, paper.batch) == ((1e-2, 1.0), (1e-6, 1e-3), (32, 128))


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
    judged = {claim.id.split(".")[1]: judge(claim, changed, "paper") for claim in EXPERIMENT.claims}
    others = ("three-layers", "sgd-outside", "adam-inside", *OF_STARTS)
    assert {judged.pop(name).verdict for name in others} == {"not measurable here"}
    assert {claim.verdict for claim in judged.values()} == {"holds so far"}
    assert judged["meta-above-random"].measured == pytest.approx(0.1)
    assert judged["no-teacher"].measured == pytest.approx(0.01 / 0.26)  # the oracle's student gains 0.26


def test_nothing_is_said_of_no_teacher_where_the_oracle_s_student_learns_nothing_either(rows):
    same = [{**row, "selected": 0.69, "majority": 0.69} for row in rows]
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id == "distill-life.no-teacher")
    assert judge(claim, same, "paper").verdict == "not measurable here"


def test_other_choices_differ_from_ldt_or_the_oracle_in_one_thing():
    preset = EXPERIMENT.presets["choices"].config
    tiny = {name: getattr(TINY, name) for name in ("examples", "side", "steps", "filters", "inner_steps", "student_steps")}
    config = replace(preset, selection=20, test=20, **tiny)
    found = [{**row, "seed": 100} for row in distill_life.run(config)]
    by = {row["method"]: row for row in found}
    assert list(by) == ["meta", "meta-adam", "meta-inner-sgd", "oracle", "oracle-two"]
    assert [name for name, row in by.items() if "inner_lr" in row] == ["meta-inner-sgd"]
    assert config.adam_lr[0] <= by["meta-adam"]["meta_lr"] <= config.adam_lr[1]
    judged = {claim.id.split(".")[1]: judge(claim, Rows(found), "choices") for claim in EXPERIMENT.claims}
    assert all(judged[name].measured is not None for name in ("three-layers", "sgd-outside", "adam-inside"))
    teacher = torch.nn.Linear(1, 1)
    kinds = {name: type(distill_life.meta_optimizer(name, SETTING, teacher)).__name__ for name in ("meta", "meta-adam")}
    assert kinds == {"meta": "SGD", "meta-adam": "Adam"}


def test_two_layers_a_generation_are_six_and_the_oracle_has_the_last_of_each():
    student = _life_networks.Student(SETTING, torch.Generator().manual_seed(0), _life_networks.layers_of("oracle-two"))
    assert sum(isinstance(module, torch.nn.Conv2d) for module in student.body) == 6
    data = life(0, 4, side=5, selection=1, test=1)
    teacher = _life_networks.make_teacher("oracle-two", SETTING, data, torch.Generator(), "third")
    assert list(teacher.filters) == ["body.2", "body.6", "body.10"]


def test_figures_and_progress(rows):
    assert set(EXPERIMENT.figures(rows)) == {"accuracy"}
    shares = [EXPERIMENT.progress(TINY, row)[0] for row in rows if row["seed"] == 0]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_multiplier_scales_the_initial_weights_of_convolutions():
    one, two = (scaled_convolutions((1, 4, 4), factor, torch.Generator().manual_seed(0)) for factor in (1.0, 2.0))
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        torch.testing.assert_close(2 * a, b)
    assert float(one[2].weight.detach().abs().max()) <= 1 / math.sqrt(4 * 9)
    assert one(torch.ones(2, 1, 7, 7)).shape == (2, 4, 7, 7)


def test_scaled_convolutions_do_not_touch_the_global_generator():
    before = torch.random.get_rng_state()
    scaled_convolutions((1, 2), 1.0, torch.Generator().manual_seed(0))
    assert torch.equal(torch.random.get_rng_state(), before)


def start(seed, method, gained, loss=None, right=1.0, trial=0):
    told = (
        {}
        if loss is None
        else {"validation_loss": loss, "by_validation": 0.7 + gained} | {f"right_{k}": right for k in (1, 2, 3)}
    )
    row = {"seed": seed, "examples": 32, "method": method, "trial": trial, "majority": 0.7, "selected": 0.7 + gained}
    return {**row, "selection": 0.7 + gained, **told}


def judged_starts(*rows):
    found = {claim.id.split(".")[1]: judge(claim, Rows(rows), "starts") for claim in EXPERIMENT.claims}
    return found["loss-tells"]


def test_of_starts_that_of_least_validation_loss_counts():
    rows = []
    for seed in range(6):
        rows += [start(seed, "random", 0.02), start(seed, "random", 0.04, trial=1), start(seed, "oracle", 0.3)]
        rows += [start(seed, "meta", 0.27, loss=0.1), start(seed, "meta", 0.0, loss=0.6, right=0.5, trial=1)]
    found = judged_starts(*rows)
    assert found.verdict == "holds"
    assert found.measured == pytest.approx(0.135)


def test_own_starts_differ_and_tell_what_ldt_knows():
    tiny = {name: getattr(TINY, name) for name in ("examples", "side", "steps", "filters", "inner_steps", "student_steps")}
    config = replace(EXPERIMENT.presets["starts"].config, seed=3, trials=2, selection=20, test=20, batch=(8, 8), **tiny)
    found = list(distill_life.run(config))
    assert [(row["method"], row["trial"]) for row in found] == [(m, k) for m in ("random", "meta", "oracle") for k in (0, 1)]
    assert [("validation_loss" in row) for row in found] == [False, False, True, True, False, False]
    one, two = (row for row in found if row["method"] == "meta")
    assert one["validation_loss"] != two["validation_loss"]
    assert all(0 <= one[f"right_{step}"] <= 1 for step in (1, 2, 3))
    assert 1 / 3 <= one["sharpness"] <= 1
    assert {name: one[name] for name in ("lr", "alpha", "meta_lr")} == {name: two[name] for name in ("lr", "alpha", "meta_lr")}
