from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Generator, nn

from claimlab import Rows, judge
from mechlearn.distill import Distillation
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.equal import EXPERIMENT, problems
from mechlearn_zoo.experiments.distill.equal import run as equal
from mechlearn_zoo.experiments.distill.equal.counting import operations
from mechlearn_zoo.experiments.distill.equal.rivals import Learner, Setting
from mujoco_made_up import made_up_data

TINY = replace(EXPERIMENT.presets["quick"].config, tasks=("xor",), trials=1, budget=12, looks=2)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in equal.run(replace(TINY, seed=seed)))


def test_a_row_for_each_method_and_trial(rows):
    assert [row["method"] for row in rows if row["seed"] == 0] == list(equal.METHODS)
    assert not any(row["diverged"] for row in rows)


def test_the_same_seed_gives_the_same_rows_whatever_else_is_run(rows):
    before = torch.random.get_rng_state()
    few = replace(TINY, seed=1, methods=("generalised", "no-teacher"))
    again = [{"seed": 1, **row} for row in equal.run(few)]
    known = {row["method"]: row for row in rows if row["seed"] == 1}
    assert again == [known["generalised"], known["no-teacher"]]
    assert torch.equal(torch.random.get_rng_state(), before)


def test_operations_are_counted_by_hand():
    layers = nn.Linear(3, 5, bias=False), nn.Linear(5, 2, bias=False)
    x = torch.ones(4, 3)

    def forward():
        return layers[1](layers[0](x))

    assert operations(forward) == 2 * 4 * (3 * 5 + 5 * 2)
    # Backward: each weight's gradient, and the hidden layer's.
    assert operations(lambda: forward().sum().backward()) == 2 * 4 * (3 * 5 + 5 * 2) + 2 * 4 * (3 * 5 + 2 * 5 * 2)


def test_a_round_of_ldt_costs_more_than_its_gradients():
    problem = problems.make_problem("xor", 0)
    plain = Learner(problem, "no-teacher", Setting(1e-3), Generator().manual_seed(0))
    unit = operations(lambda: plain.loss(torch.arange(32)).backward())
    found = equal.measure(replace(TINY, methods=("ldt",)), problem, "ldt", Setting(1e-3, 0, 0, 0, 0, 100.0, 4, 1e-3, 0.5))
    # Two rounds of 4 inner and 4 ordinary steps: more than the 16 gradients alone, and each second derivative costs a few.
    assert 2 * (4 + 3 * 4) < found["spent"] < 2 * 100
    assert unit > 0


@pytest.mark.parametrize("method", equal.METHODS)
def test_budgets_are_kept(method):
    problem = problems.make_problem("noisy-labels", 0)
    setting = equal.suggest(problem, method, np.random.default_rng(0))
    found = equal.measure(replace(TINY, budget=400 if method == "ldt" else 60), problem, method, setting)
    assert found["spent"] == pytest.approx(400 if method == "ldt" else 60, rel=0.5 if method == "ldt" else 0.1)


@pytest.mark.parametrize("method", ["no-teacher", "auxiliary", "gated", "hindsight", "contrast"])
def test_what_predicts_sees_no_privileged_data(method):
    problem = problems.make_problem("xor", 0)
    learner = Learner(problem, method, Setting(1e-3, 1.0), Generator().manual_seed(0))
    learner.loss(torch.arange(32)).backward()
    assert all(
        p.grad is not None and p.grad.any() for name, p in learner.named_parameters() if not name.startswith("student.3")
    )
    assert learner(problem.data.test.x).shape == (2000, 2)
    same = Learner(problem, "no-teacher", Setting(1e-3), Generator().manual_seed(0)).student
    assert all(torch.equal(a, b) for a, b in zip(learner.student.parameters(), same.parameters(), strict=True))


def test_a_body_has_its_teacher(monkeypatch):
    monkeypatch.setattr(bodies, "mujoco", made_up_data)
    problem = problems.make_problem("body", 0)
    assert problem.frame == (16, 3)
    assert problem.make_teacher(Generator())(problem.data.train.privileged[:3])["8"].gate.shape == (3, 128)
    assert problem.mean_error(problem.make_student(Generator().manual_seed(0)), problem.data.test) < 1


def test_a_lost_student_is_said_to_be(monkeypatch):
    def lost(self, count):
        raise FloatingPointError("lost")

    monkeypatch.setattr(Distillation, "step", lost)
    setting = Setting(1e-3, 0, 0, 0, 0, 100.0, 4, 1e-3, 0.5)
    found = equal.measure(TINY, problems.make_problem("xor", 0), "ldt", setting)
    assert (found["diverged"], found["selected"], found["spent"]) == ("lost", 1e3, 0.0)


def judged(rows, errors):
    known = [{**row, "selected": errors[row["method"]], "selection": errors[row["method"]], "spent": 12.0} for row in rows]
    return {claim.id.split(".")[1]: judge(claim, known, "quick") for claim in EXPERIMENT.claims}


def test_claims_can_hold_and_fail(rows):
    errors = dict.fromkeys(equal.METHODS, 0.2)
    good = judged(rows, {**errors, "ldt": 0.1})
    told = {name: one.verdict.startswith("holds") for name, one in good.items() if name.startswith("xor") or name == "equal"}
    assert all(told.values())
    assert len(told) == 5
    assert good["xor-below-rivals"].measured == pytest.approx(0.5)
    bad = judged(rows, {**errors, "ldt": 0.15, "contrast": 0.1})
    assert not bad["xor-below-rivals"].verdict.startswith("holds")
    assert bad["xor-below-auxiliary"].verdict.startswith("holds")
    assert good["noisy-labels-below-rivals"].verdict == "not measurable here"


def test_figures_and_progress(rows):
    assert set(EXPERIMENT.figures(rows)) == {"errors"}
    shares = [EXPERIMENT.progress(TINY, row)[0] for row in rows if row["seed"] == 0]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
