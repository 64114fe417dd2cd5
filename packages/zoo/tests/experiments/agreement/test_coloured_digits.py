from dataclasses import replace

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.agreement.coloured_digits import EXPERIMENT, methods
from mechlearn_zoo.experiments.agreement.coloured_digits import run as experiment
from mechlearn_zoo.experiments.agreement.coloured_digits.claims import SELECTIONS, selected
from mechlearn_zoo.tasks.pictures.coloured_digits import coloured_digits

TINY = replace(EXPERIMENT.presets["quick"].config, trials=2, steps=3, hidden=8)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in experiment.run(replace(TINY, seed=seed, trials=1)))


def test_every_method_has_the_same_budget_and_the_same_draws(rows):
    assert [row["method"] for row in rows if row["seed"] == 0] == list(methods.METHODS)
    assert len({row["learning_rate"] for row in rows if row["seed"] == 0}) == 1
    assert methods.draw(0, 0) != methods.draw(0, 1)


def test_methods_differ_from_plain_training_and_from_each_other():
    """With two environments every method takes another step; with one, all but DANN's network take the same."""
    # A flat SAND-mask: a steep one weighs agreeing gradients by 1, as the AND-mask does.
    data, trial = coloured_digits(0), replace(methods.draw(0, 0), annealing=0.0)
    single = experiment.of(data.train, data.train.environments == 0)

    def weights(method, split):
        strength = 1e-6 if method == "sand-mask" else 100.0
        model = experiment.train(method, split, replace(trial, strength=strength), TINY)
        return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

    compared = [method for method in methods.METHODS if method != "dann"]
    both = {method: weights(method, data.train) for method in compared}
    assert all(not torch.equal(both[a], both[b]) for a in compared for b in compared if a < b)
    alone = [weights(method, single) for method in compared]
    assert all(torch.equal(found, alone[0]) for found in alone)


def test_rivals_are_other_methods_where_environments_conflict():
    """A mask of signal to noise at a ratio of 1 is the AND-mask where there are two environments."""
    data, trial = coloured_digits(0), methods.Trial(1e-2, 1e-3, strength=400.0, annealing=0.0, rescale=False)

    def weights(method, strength=400.0):
        model = experiment.train(method, data.train, replace(trial, strength=strength), TINY)
        return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

    found = {method: weights(method) for method in methods.RIVALS}
    assert all(not torch.equal(found[a], found[b]) for a in found for b in found if a < b)
    # But for gradients of exactly 0 in one environment, at which rounding decides.
    assert torch.isclose(weights("signal-to-noise", 100.0), found["and-mask"]).float().mean() > 0.9


def test_rivals_have_rows_and_claims():
    config = replace(TINY, trials=1, methods=methods.RIVALS)
    rows = Rows({"seed": 0, **row} for row in experiment.run(config))
    assert [row["method"] for row in rows] == list(methods.RIVALS)
    ids = ("signal-to-noise", "median-sign", "pcgrad")
    judged = [judge(claim, rows, "rivals") for claim in EXPERIMENT.claims if claim.id.partition(".")[2] in ids]
    assert [one.n for one in judged] == [1, 1, 1]
    with pytest.raises(ValueError, match=r"methods should be among erm.*Found 'sgd'"):
        replace(TINY, methods=("sgd",))


def literal_irm(split, trial, config):
    """IRM's published code: L2 is added to the loss, then the penalty, then all of it is divided by the penalty's weight."""
    model = methods.Network(config.hidden, torch.Generator().manual_seed(config.seed))
    optimizer = torch.optim.Adam(model.parameters(), lr=trial.learning_rate)
    for step in range(config.steps):
        logits, environment_losses, penalties = model(split.x)[:, 0], [], []
        for environment in (0, 1):
            mine, scale = split.environments == environment, torch.ones((), requires_grad=True)
            loss = binary_cross_entropy_with_logits(scale * logits[mine], split.y[mine])
            (slope,) = torch.autograd.grad(loss, scale, create_graph=True)
            environment_losses.append(loss)
            penalties.append(slope**2)
        loss = sum(environment_losses) / 2
        loss = loss + trial.weight_decay / 2 * sum(parameter.square().sum() for parameter in model.parameters())
        weight = 1.0 if step < trial.annealing * config.steps else trial.strength
        loss = loss + weight * sum(penalties) / 2
        optimizer.zero_grad()
        (loss / weight if weight > 1 else loss).backward()
        optimizer.step()
    return model


def test_a_penaltys_weight_divides_l2_too_as_in_irms_published_code():
    config = replace(TINY, steps=8)
    trial = methods.Trial(learning_rate=3e-3, weight_decay=0.05, strength=50.0, annealing=0.25, rescale=False)
    split = coloured_digits(0).train
    found, expected = experiment.train("irm", split, trial, config), literal_irm(split, trial, config)
    for ours, literal in zip(found.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(ours, literal, rtol=1e-3, atol=1e-4)


def test_what_a_method_weighs():
    trial = methods.Trial(learning_rate=1e-3, weight_decay=0.0, strength=500.0, annealing=0.5, rescale=False)
    assert [methods.weight_of(method, trial, early=False) for method in ("irm", "dann", "erm")] == [500.0, 5.0, 1.0]
    assert [methods.weight_of(method, trial, early=True) for method in ("irm", "dann", "erm")] == [1.0, 5.0, 1.0]


def test_danns_factor_is_drawn():
    data, trial = coloured_digits(0), methods.draw(0, 0)
    weak, strong = (
        experiment.train("dann", data.train, replace(trial, strength=strength), TINY).state_dict() for strength in (1.0, 1e4)
    )
    assert not torch.equal(weak["embedding.0.0.weight"], strong["embedding.0.0.weight"])


def test_leaving_one_out_is_done_once_for_methods_that_train_alike(rows):
    data, trial, config = coloured_digits(0), methods.draw(0, 0), replace(TINY, seed=0, trials=1)
    for row in rows[: len(methods.METHODS)]:
        assert row["leave-one-out"] == experiment.leave_one_out(row["method"], data, trial, config)


def test_selection_looks_at_its_own_column():
    rows = Rows(
        {"seed": 0, "method": "erm", "training-domain": a, "leave-one-out": b, "oracle": c, "test_accuracy": test}
        for a, b, c, test in ((0.9, 0.1, 0.2, 0.3), (0.1, 0.9, 0.1, 0.4), (0.2, 0.2, 0.9, 0.5))
    )
    assert [selected(rows, "erm", rule) for rule in SELECTIONS] == [[0.3], [0.4], [0.5]]
    assert selected(rows, "erm", "oracle", stopped=True) == []  # such as a record before trials were stopped


def test_a_lead_of_trials_at_their_ends_may_be_less_where_the_rule_stops_them():
    """Plain training's second trial is best where it is stopped, and at its end behind."""
    rows = Rows(
        {"seed": 0, "method": method, "oracle": end, "test_accuracy": end, "stopped_selection_oracle": stopped,
         "stopped_test_accuracy_oracle": stopped}
        for method, end, stopped in (("erm", 0.5, 0.5), ("erm", 0.25, 0.75), ("irm", 0.625, 0.625))
    )  # fmt: skip
    claim = next(claim for claim in EXPERIMENT.claims if claim.id == "coloured-digits.irm-oracle")
    judged = judge(claim, rows, "quick")
    assert (judged.measured, judged.verdict) == (-0.125, "does not hold so far")
    assert [(one.measured, one.verdict) for one in judged.earlier] == [(0.125, "holds so far"), (0.125, "holds so far")]
    before = Rows({key: value for key, value in row.items() if not key.startswith("stopped_")} for row in rows)
    assert judge(claim, before, "paper").measured == 0.125  # its record has no looks, as the condition says
    assert "of paper, without looks, that at the ends" in claim.condition.words


def test_looks_change_nothing_of_a_trial_and_each_rule_stops_it(rows, monkeypatch):
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    config = replace(TINY, seed=0, trials=1, methods=("irm", "dann"))
    for row in experiment.run(config):
        seen = next(one for one in rows if one["seed"] == 0 and one["method"] == row["method"])
        stopped = {key: value for key, value in seen.items() if key.startswith("stopped_")}
        assert {**row, **stopped, "seed": 0} == seen
        assert len(stopped) == 6
        assert all(stopped[f"stopped_selection_{rule}"] >= seen[rule] for rule in experiment.STOPPING)


def test_claims_figure_and_progress(rows):
    judged = [(claim.id, judge(claim, rows, "quick")) for claim in EXPERIMENT.claims]
    unread = [name for name, one in judged if one.verdict == "not measurable here"]
    assert unread == [f"coloured-digits.{name}" for name in ("signal-to-noise", "median-sign", "pcgrad")]
    assert list(EXPERIMENT.figures(rows)) == ["methods"]
    assert EXPERIMENT.progress(replace(TINY, trials=1), rows[-1])[0] == 1


def test_rows_repeat(rows):
    again = next(experiment.run(replace(TINY, seed=1, trials=1)))
    assert {"seed": 1, **again} == next(row for row in rows if row["seed"] == 1)


@pytest.mark.parametrize("changes", [{"agreement": (0.9,)}, {"trials": 0}, {"steps": 0}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="should"):
        replace(TINY, **changes)
