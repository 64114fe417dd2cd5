from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from torch import nn

import mujoco_made_up
from claimlab import Rows, judge
from mechlearn.distill import HiddenSquaredError, Lesson, calls
from mechlearn.distill.forward.students import student_function
from mechlearn.params import parameters_of
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.mujoco import EXPERIMENT, model_based
from mechlearn_zoo.experiments.distill.mujoco import run as distill_mujoco
from mechlearn_zoo.tasks.bodies.quantiles import BINS, bin_errors, quantiles
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData

METHODS = ("no-teacher", "ldt", "ssm", "stacked", "pairs")
TINY = replace(EXPERIMENT.presets["model-based"].config, rounds=2, grid_batch=(6,), **mujoco_made_up.TINY)


def linear_body(environment, seed, sizes, alive_bonus="always", on_progress=None):
    """Two numbers that are turned, and moved by an action of one; the reward is what the first number gained."""
    g = torch.Generator().manual_seed(seed)
    turn = torch.tensor([[0.9, -0.3], [0.3, 0.9]])

    def draw(count):
        state, actions = torch.randn(count, 2, generator=g), torch.randn(count, 16, 1, generator=g)
        frames, now = [], state
        for t in range(16):
            following = now @ turn.T + 0.3 * actions[:, t]
            frames.append(torch.cat([following, following[:, :1] - now[:, :1]], 1))
            now = following
        return torch.cat([state, actions.flatten(1)], 1), torch.stack(frames, 1)

    parts = [draw(count) for count in (sizes.train, sizes.selection, sizes.test)]
    returns = np.sort(parts[0][1][..., -1].sum(1).double().numpy())

    def part(x, frames):
        psi = quantiles(frames[..., -1].sum(1).double().numpy(), returns)
        return Part(x, frames, torch.from_numpy(np.minimum((psi * BINS).astype(np.int64), BINS - 1)))

    return PrivilegedData(*(part(*drawn) for drawn in parts))


DATA = linear_body("Swimmer", 0, bodies.Sizes(60, 20, 20))


@pytest.fixture(scope="module")
def rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "mujoco", linear_body)
        return Rows({"seed": seed, **row} for seed in (0, 1) for row in distill_mujoco.run(replace(TINY, seed=seed)))


def test_the_truth_rolled_out_has_the_label():
    world = model_based.make_world(TINY, "pairs", DATA.train)
    world.roll_out = lambda x: DATA.test.privileged
    psi = quantiles(
        DATA.test.privileged[..., -1].sum(1).double().numpy(), np.sort(DATA.train.privileged[..., -1].sum(1).double().numpy())
    )
    centres = (DATA.test.y + 0.5) / BINS
    errors = bin_errors(world(DATA.test.x), DATA.test.y)
    wanted = (torch.from_numpy(psi).clamp(0.5 / BINS, 1 - 0.5 / BINS) - centres).square()
    torch.testing.assert_close(errors.double(), wanted, rtol=1e-3, atol=1e-7)
    assert float(errors.max()) <= (0.51 / BINS) ** 2


@pytest.mark.parametrize("psi", [0.0, 0.3, 0.5, 1.0])
def test_logits_of_a_quantile_have_its_expectation(psi):
    logits = model_based.as_logits(torch.tensor([psi, float("nan")]))
    centres = (torch.arange(BINS) + 0.5) / BINS
    expected = min(max(psi, 0.5 / BINS), 1 - 0.5 / BINS)
    assert float(logits[0].softmax(0) @ centres) == pytest.approx(expected, abs=1e-6)
    assert (logits[0] > -torch.inf).sum() <= 2
    assert logits[1].isnan().all()


def test_a_stacked_model_is_a_student_under_a_dummy_teacher():
    class Dummy(nn.Module):
        """Asks of each call for the next observation; nothing in it learns."""

        def __init__(self):
            super().__init__()
            self.idle = nn.Parameter(torch.zeros(()))

        def forward(self, privileged):
            return {name: privileged[:, t] for t, name in enumerate(storeys)}

    world, (x, following, _) = model_based.make_world(TINY, "stacked", DATA.train), DATA.train
    storeys = calls("transition", 16)
    lesson = Lesson(world, Dummy(), storeys, lambda p, y: p.sum(1), 1.0, HiddenSquaredError())
    with student_function(world, storeys) as function:
        _, hidden = function(parameters_of(world), x)
    from mechlearn.distill.teachers.signals import pack, unpack  # what the library does with a teacher's output

    taught = lesson.teaching_losses(hidden, unpack(*pack(lesson.teacher(following), storeys)), len(x))
    torch.testing.assert_close(world.losses(x, following), taught)


def test_pairs_are_each_by_themselves():
    world, (x, following, _) = model_based.make_world(TINY, "pairs", DATA.train), DATA.train
    total = torch.zeros(len(x))
    for b in range(len(x)):
        for t in range(16):
            before = x[b, :2] if t == 0 else following[b, t - 1, :2]
            found = world.transition(torch.cat([before, x[b, 2 + t : 3 + t]]))
            total[b] += (found - following[b, t]).square().mean() / 16
    torch.testing.assert_close(world.losses(x, following), total)
    one = following.clone()
    one[:, 7] += 1  # changes its own pair and the next one's input, nothing before
    assert not torch.allclose(world.losses(x, one), world.losses(x, following))


def test_a_state_space_model_descends_a_likelihood():
    world, (x, following, _) = model_based.make_world(TINY, "ssm", DATA.train), DATA.train
    with torch.no_grad():
        world.log_deviation.copy_(torch.tensor([0.5, -0.5, 0.1]))
    density = torch.distributions.Normal(world.roll_out(x), world.log_deviation.exp())
    constant = 0.5 * np.log(2 * np.pi)
    torch.testing.assert_close(world.losses(x, following), -density.log_prob(following).mean((1, 2)) - constant)


def test_pairs_learn_a_linear_body():
    config = replace(TINY, rounds=30, student_steps=10, student_widths=(32,))
    world = model_based.make_world(config, "pairs", DATA.train)
    before = bodies.mean_error(world, DATA.test)
    list(model_based.train_world(config, world, DATA.train, model_based.Setting(1e-2, 0.0, 16, 0.0)))
    assert bodies.mean_error(world, DATA.test) < 0.5 * before


def test_rows_say_what_a_model_costs(rows):
    finals = rows.where(kind="final", seed=0)
    assert [row["method"] for row in finals] == list(METHODS)
    cost = {row["method"]: (row.get("evaluations"), row.get("per_prediction")) for row in finals}
    assert cost["pairs"] == cost["stacked"] == cost["ssm"] == (2 * 2 * 6 * 16, 16)
    assert cost["ldt"] == cost["no-teacher"] == (None, None)
    assert [row["depth"] for row in rows.where(kind="depth", seed=0, method="ssm")] == list(range(1, 17))


def test_the_other_methods_rows_are_what_they_were(rows, monkeypatch):
    monkeypatch.setattr(bodies, "mujoco", linear_body)
    again = [{"seed": 1, **row} for row in distill_mujoco.run(replace(TINY, seed=1, methods=("ldt", "pairs")))]
    assert again == [row for row in rows if row["seed"] == 1 and row["method"] in ("ldt", "pairs")]


def test_what_was_recorded_keeps_its_settings():
    quick = EXPERIMENT.presets["quick"].config
    assert quick.methods == ("no-teacher", "auxiliary", "ldt")
    assert asdict(EXPERIMENT.presets["model-based"].config) == {**asdict(quick), "methods": METHODS}


def test_claims_of_models_can_hold_and_fail(rows):
    def judged(errors, growth):
        known = []
        for row in rows:
            changed = dict(row)
            if row["kind"] == "final":
                changed |= dict.fromkeys(("selected", "selection"), errors[row["method"]])
                changed["training"] = errors[row["method"]] ** 2
            if row["kind"] == "depth":
                changed["relative_error"] = 0.3 * (growth if row["depth"] == 16 else 1)
            known.append(changed)
        names = ("swimmer-stacked", "swimmer-pairs", "swimmer-below-ssm")
        found = {claim.id.split(".")[1]: judge(claim, known, "model-based") for claim in EXPERIMENT.claims}
        return {name: one for name, one in found.items() if name.startswith(names)}

    good = judged({"no-teacher": 0.02, "ldt": 0.01, "ssm": 0.02, "stacked": 0.03, "pairs": 0.005}, 5.0)
    assert len(good) == 5
    assert all(one.verdict.startswith("holds") for one in good.values())
    assert good["swimmer-stacked-diverges"].measured == pytest.approx(1.5)
    assert good["swimmer-stacked-underfits"].measured == pytest.approx(1.5**2)  # of training errors
    grown = judged({"no-teacher": 0.02, "ldt": 0.01, "ssm": 0.02, "stacked": 0.03, "pairs": 0.005}, 3.0)
    assert grown["swimmer-stacked-diverges"].verdict.startswith("does not hold")  # 0.9 of ignorance's error
    bad = judged({"no-teacher": 0.02, "ldt": 0.01, "ssm": 0.009, "stacked": 0.015, "pairs": 0.014}, 0.5)
    assert not any(one.verdict.startswith("holds") for one in bad.values())


def test_figures_and_progress(rows):
    assert set(EXPERIMENT.figures(rows)) == {"test-errors", "generalisation-gaps", "depths"}
    shares = [distill_mujoco.progress(TINY, row)[0] for row in rows if row["seed"] == 0]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
