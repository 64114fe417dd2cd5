"""Linear models trained side by side, against one model at a time and literal formulas; the experiment with few steps."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

import methods_oracles
from claimlab import EarlyStopping, Rows, judge
from mechlearn.agreement import Agreement, AndMask, GeometricMean, Homogeneous, Mean, Qualitative
from mechlearn_zoo.experiments.own_data import linear_units
from mechlearn_zoo.experiments.own_data.linear_units import directions, run, units
from mechlearn_zoo.experiments.own_data.linear_units.training import METHODS, Settings, penalised, train
from normalise_oracles import published_step

EXPERIMENT = linear_units.EXPERIMENT


@pytest.fixture(params=["regression", "margin"])
def board(request):
    config = run.Config(examples=30)
    data = run.draw(config, request.param, True, 4)[0]
    found = run.board_of(request.param, data)
    return found._replace(x=found.x.double(), y=found.y.double())


@pytest.fixture
def seen(board):
    """Three members, the last of which trains on three of four environments."""
    own = torch.ones(4, 3, 1, dtype=torch.bool)
    own[1, 2] = False
    weights = torch.randn(3, 11, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return directions.see(board, weights, own), weights


def alone(seen, weights, member):
    """Return one member as a module, its rows, targets and environments, and the loss."""
    model = nn.Linear(10, 1, dtype=torch.float64)
    with torch.no_grad():
        model.weight.copy_(weights[member : member + 1, :-1])
        model.bias.copy_(weights[member, -1:])
    own = seen.own[:, member, 0].nonzero()[:, 0]
    x, y = seen.board.x[own, :, :-1].flatten(0, 1), seen.board.y[own].flatten()
    function = mse_loss if seen.board.regression else binary_cross_entropy_with_logits
    loss = lambda outputs, targets: function(outputs[:, 0], targets, reduction="none")  # noqa: E731
    return model, x, y, torch.arange(len(own)).repeat_interleave(30), loss


RULES = {
    directions.average: Mean(), directions.and_mask: AndMask(1.0), directions.geometric: GeometricMean(1.0),
    directions.qualitative: Qualitative(0.2), directions.homogeneous: Homogeneous(0.05),
}  # fmt: skip


@pytest.mark.parametrize("way", RULES, ids=lambda way: way.__name__)
def test_a_way_is_the_rule_for_each_member(seen, way):
    found = way(seen[0])
    for member in range(3):
        model, x, y, ids, loss = alone(*seen, member)
        Agreement(model, RULES[way]).backward(loss(model(x), y), ids)
        expected = torch.cat([model.weight.grad[0], model.bias.grad])
        torch.testing.assert_close(found.gradient[member], expected, rtol=1e-9, atol=1e-12)
        if found.kept is not None:
            assert torch.equal(found.kept[member], expected != 0)


@pytest.mark.parametrize("name", ["irm", "iga", "vrex"])
def test_a_penalty_is_the_formula_for_each_member(seen, name):
    found = getattr(directions, name)(seen[0])
    for member in range(3):
        model, x, y, ids, loss = alone(*seen, member)
        expected = getattr(methods_oracles, name)(model, loss, x, y, ids)
        torch.testing.assert_close(found[member, 0], expected, rtol=1e-9, atol=1e-12)


def test_fishr_is_the_formula_for_each_member(seen):
    found = directions.fishr(seen[0])
    for member in range(3):
        model, x, y, ids, loss = alone(*seen, member)
        expected = methods_oracles.fishr(nn.Sequential(model), model, loss, x, y, ids)
        torch.testing.assert_close(found[member, 0], torch.as_tensor(expected), rtol=1e-9, atol=1e-12)


def test_members_follow_loss_and_penalty(seen):
    found, weights = seen
    strength = torch.tensor([[0.0], [2.0], [5.0]], dtype=torch.float64)
    gradient = penalised(found.board, weights, found.own, directions.irm, strength).gradient
    for member in range(3):
        model, x, y, ids, loss = alone(found, weights, member)
        total = methods_oracles.mean_losses(model, loss, x, y, ids)
        total = torch.stack(list(total)).mean() + strength[member, 0] * methods_oracles.irm(model, loss, x, y, ids)
        expected = torch.cat([one.flatten() for one in torch.autograd.grad(total, [model.weight, model.bias])])
        torch.testing.assert_close(gradient[member], expected, rtol=1e-9, atol=1e-12)


def test_the_published_step_is_theirs():
    data = run.draw(run.Config(examples=30), "regression", False, 3)[0]
    found = run.board_of("regression", data)
    found = found._replace(x=found.x.double(), y=found.y.double())
    start = torch.randn(1, 11, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    weight, bias = start[:, :-1], start[0, -1:]
    environments = [(x[:, :-1], y) for x, y in zip(found.x, found.y, strict=True)]
    for _ in range(20):
        weight, bias = published_step(weight, bias, environments, tau=0.9, wd=0.02, lr=0.05)
    settings = Settings(*(torch.full((1, 1), value, dtype=torch.float64) for value in (0.05, 0.02, 0.0)))
    own = torch.ones(3, 1, 1, dtype=torch.bool)
    ours = train(found, METHODS["AND-mask, published"], settings, own, start, 20)
    torch.testing.assert_close(ours, torch.cat([weight, bias[None]], 1), rtol=1e-9, atol=1e-12)
    assert run.difference(run.Config(examples=30, compared=20)) < 1e-12


def test_members_side_by_side_are_members_alone():
    data = run.draw(run.Config(examples=30), "cows", False, 3)[0]
    found = run.board_of("cows", data)
    found = found._replace(x=found.x.double(), y=found.y.double())
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(2, 11, generator=generator, dtype=torch.float64)
    settings = Settings(*(torch.rand(2, 1, generator=generator, dtype=torch.float64) / 20 for _ in range(3)))
    own = torch.tensor([[True, True], [True, False], [True, True]])[..., None]
    for method in METHODS.values():
        both = train(found, method, settings, own, start, 8)
        for member in range(2):
            one = slice(member, member + 1)
            by_itself = train(found, method, Settings(*(v[one] for v in settings)), own[:, one], start[one], 8)
            torch.testing.assert_close(both[one], by_itself, rtol=1e-9, atol=1e-12)


def test_every_environment_is_left_out_once():
    for environments in (3, 8):
        own = run.folds_of(environments)
        assert own[0].all()
        assert (~own[1:]).sum(0).tolist() == [1] * environments
        assert own[1:].any(1).all()


def test_a_diverged_member_is_the_worst():
    found = run.board_of("margin", run.draw(run.Config(examples=4), "margin", False, 3)[0])
    weights = torch.zeros(2, 11)
    weights[0] = torch.nan
    assert run.errors(found, weights)[0].isinf().all()
    assert run.errors(found, weights)[1].tolist() == [0.5] * 3


@pytest.fixture(scope="module")
def rows():
    config = replace(EXPERIMENT.presets["quick"].config, examples=20, steps=1, trials=1, compared=1)
    return [{**row, "seed": 100} for row in EXPERIMENT.run(config)]


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    finals = Rows(rows).where(kind="final")
    assert len(finals) == len(run.CELLS) * 2 * len(METHODS)
    assert all(row["least"] <= row["within"] for row in finals)
    assert all(row["stopped_within"] == row["within"] for row in finals)  # of one trial and step there is one look
    verdicts = {claim.id: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    assert verdicts["own-data-linear-units.same"] == "holds so far"
    assert EXPERIMENT.figures(Rows(rows))


def test_every_claim_can_fail_and_hold():
    found = {claim.id: set() for claim in EXPERIMENT.claims}
    for good in (
        set(),
        set(METHODS),
        {"AND-mask, published", "oracle"},
        {"Cochran", "oracle"},
        {"ERM"},
        {"Fishr", "IGA", "IRM"},
    ):
        for easy in (False, True):
            made = [
                {
                    "kind": "final", "seed": seed, "example": example, "scrambled": turned, "environments": count,
                    "method": method, "within": (error := 0.01 if method in good and (easy or not turned) else 0.45),
                    "across": error - 0.1 * easy, "stopped_within": error, "stopped_across": error - 0.1 * easy,
                }
                for seed in range(6) for example, turned in run.CELLS for count in (3, 8) for method in METHODS
            ] + [{"kind": "same", "seed": seed, "difference": float(easy)} for seed in range(6)]  # fmt: skip
            for claim in EXPERIMENT.claims:
                found[claim.id].add(judge(claim, made, "paper").verdict)
    for name, verdicts in found.items():
        assert {"holds", "does not hold"} <= verdicts, name


def test_looks_change_nothing_and_choose_a_time(monkeypatch):
    config = run.Config(examples=20, steps=4, trials=2)
    splits = run.draw(config, "margin", False, 3)
    looked = run.errors_of(config, "margin", splits, METHODS["Cochran"], 5)
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    alone = run.errors_of(config, "margin", splits, METHODS["Cochran"], 5)
    assert {"stopped_within", "stopped_across"} == looked.keys() - alone.keys()
    assert {key: looked[key] for key in alone} == alone


def test_a_claim_is_asked_of_stopped_trials_too():
    row = {"kind": "final", "example": "margin", "scrambled": False, "environments": 3, "method": "AND-mask, published"}
    rows = [{**row, "seed": seed, "within": 0.3, "stopped_within": 0.05} for seed in range(6)]
    claim = next(claim for claim in EXPERIMENT.claims if claim.id.endswith("three-few"))
    found = judge(claim, rows, "quick")
    assert (found.measured, found.verdict) == (pytest.approx(0.05), "does not hold")
    assert [one.measured for one in found.parts] == pytest.approx([0.3, 0.05])


def test_examples_come_in_halves():
    with pytest.raises(ValueError, match="examples should be even"):
        run.Config(examples=401)


def test_a_tiny_run_at_one_setting_can_be_judged_and_drawn():
    experiment = EXPERIMENT.at("units")
    config = replace(experiment.presets["units"].config, steps=2, examples=20)
    rows = [{**row, "seed": 100} for row in experiment.run(config)]
    for claim in experiment.claims:
        assert judge(claim, rows, "units").measured is not None
    assert experiment.figures(Rows(rows))
    assert all(any(key.startswith("stopped_") for key in row) for row in rows)


def test_looks_change_nothing_of_a_linear_model(monkeypatch):
    config = units.Config(steps=2, examples=20)
    drawn = units.boards(config, "regression", 3)
    seen = units.errors(config, "regression", drawn, "homogeneous-decay")
    assert seen.pop("stopped_at") in {0.5, 1.0}
    assert seen.pop("stopped_test_error") >= 0
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    assert units.errors(config, "regression", drawn, "homogeneous-decay") == seen
