"""The geometric mean beside the AND-mask, at a size that trains nothing."""

from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn.agreement import AndMask, GeometricMean, combine
from mechlearn_zoo.experiments.spirals.geometric import EXPERIMENT
from mechlearn_zoo.experiments.spirals.geometric import run as geometric
from mechlearn_zoo.experiments.spirals.geometric.steps import Steps, cosine, share_outside

TINY = {"environments": 3, "examples": 64, "hidden": 6, "layers": 1, "epochs": 2, "batch": 32, "shortcut_dims": 3}


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_steps_are_those_of_torch(optimizer):
    generator = torch.Generator().manual_seed(0)
    weights = [torch.nn.Parameter(torch.zeros(size, dtype=torch.float64)) for size in ((2, 3), (4,))]
    made = torch.optim.Adam(weights, lr=1.0) if optimizer == "adam" else torch.optim.SGD(weights, lr=1.0, momentum=0.9)
    steps = Steps(optimizer)
    for _ in range(5):
        before = torch.cat([w.detach().flatten() for w in weights])
        for weight in weights:
            weight.grad = torch.randn(weight.shape, dtype=torch.float64, generator=generator)
        found = steps.take({str(k): weight.grad for k, weight in enumerate(weights)})
        made.step()
        torch.testing.assert_close(found, before - torch.cat([w.detach().flatten() for w in weights]), rtol=1e-9, atol=1e-9)


def test_comparisons_are_the_literal_ones():
    a, b = torch.tensor([1.0, 2.0, 0.0]), torch.tensor([2.0, 1.0, 5.0])
    assert cosine(a, b) == pytest.approx(4 / (5**0.5 * 30**0.5))
    assert cosine(a, torch.zeros(3)) == 0
    assert share_outside(a - b, torch.tensor([True, True, False])) == pytest.approx(25 / 27)


def test_rows_figures_and_claims():
    config = replace(EXPERIMENT.presets["quick"].config, **TINY, threshold=0.3)
    rows = [{**row, "seed": seed} for seed in (100, 101) for row in geometric.run(replace(config, seed=seed))]
    assert [row for row in rows if row["kind"] == "final" and row["seed"] == 100][-1]["method"] == "mean"
    assert [row["of"] for row in rows if row["kind"] == "steps"][:2] == ["adam", "sgd"]
    assert all(row["compared"] == 4 and -1 <= row["cosine_geometric"] <= 1 for row in rows if row["kind"] == "steps")
    assert all(0 < row["stopped_at"] <= 1 for row in rows if row["kind"] == "final")
    for claim in EXPERIMENT.claims:
        assert judge(claim, rows, "quick").measured is not None
    assert list(EXPERIMENT.figures(Rows(rows))) == ["steps"]
    assert EXPERIMENT.progress(config, rows[-1])[0] == 1
    assert [{**row, "seed": 100} for row in geometric.run(replace(config, seed=100))] == rows[: len(rows) // 2]


def test_the_watched_path_is_the_and_masks_own():
    """Training with the comparisons beside it ends where training by the AND-mask alone does, bit for bit."""
    config = replace(EXPERIMENT.presets["quick"].config, **TINY, threshold=0.3)
    data = geometric.training.make_data(config)
    *_, found = geometric.train(config, "adam", "and-mask", data)
    model = geometric.training.make_model(config)
    rule = AndMask(config.threshold, config.rescale)
    *_, last = geometric.training.train(config, model, rule, data.train, every=1)
    assert found["accuracy"] == geometric.training.accuracy(model, data.test)
    assert found["train_loss"] == pytest.approx(last.train_loss, rel=1e-6)


@pytest.mark.parametrize("method", ["and-mask", "geometric", "mean"])
def test_a_look_changes_nothing(method, monkeypatch):
    config = replace(EXPERIMENT.presets["quick"].config, **TINY, threshold=0.3)
    data = geometric.training.make_data(config)
    looked = list(geometric.train(config, "adam", method, data))
    monkeypatch.setattr(geometric.EarlyStopping, "due", lambda self, share: False)
    plain = list(geometric.train(config, "adam", method, data))
    assert "stopped_accuracy" in looked[-1]
    assert [{key: row[key] for key in old} for row, old in zip(looked, plain, strict=True)] == plain


def test_a_training_that_diverges_is_looked_at_where_it_ends():
    config = replace(EXPERIMENT.presets["quick"].config, **TINY, sgd_rate=1e30)
    *_, last = geometric.train(config, "sgd", "mean", geometric.training.make_data(config))
    assert {"stopped_at", "stopped_accuracy"} <= set(last)


def made_up(adam, sgd, stopped=None):
    """Rows in which a rule's steps have these cosines, and accuracies follow them, or another one where it is stopped."""
    for seed in range(6):
        for of, value in (("adam", adam), ("sgd", sgd)):
            yield {"seed": seed, "kind": "steps", "optimizer": "adam", "method": "and-mask", "of": of, "zeroed": value,
                   "cosine_geometric": value, "cosine_sign": value, "length_geometric": value}  # fmt: skip
            for method, accuracy in (("and-mask", 0.98), ("geometric", value), ("mean", 0.5)):
                early = stopped if method == "geometric" and stopped is not None else accuracy
                yield {"seed": seed, "kind": "final", "optimizer": of, "method": method,
                       "accuracy": accuracy, "stopped_accuracy": early}  # fmt: skip


def test_claims_can_hold_and_fail():
    verdicts = {claim.id: judge(claim, list(made_up(0.99, 0.5)), "quick").verdict for claim in EXPERIMENT.claims}
    assert set(verdicts.values()) == {"holds"}
    alike = [judge(claim, list(made_up(0.5, 0.98)), "quick").verdict for claim in EXPERIMENT.claims]
    assert set(alike) == {"does not hold"}


@pytest.mark.parametrize(("stopped", "same"), [(0.98, "holds"), (0.6, "does not hold")])
def test_accuracies_are_compared_at_the_ends_and_where_both_are_stopped(stopped, same):
    judged = {claim.id.split(".")[1]: judge(claim, list(made_up(0.98, 0.5, stopped)), "quick") for claim in EXPERIMENT.claims}
    assert judged["same"].verdict == same
    assert [one.measured for one in judged["same"].parts] == pytest.approx([0, 0.98 - stopped])


def test_a_unanimous_component_has_the_and_masks_sign():
    gradients = torch.tensor([[1.0, 2.0, -1.0], [4.0, -2.0, -9.0]])
    mask, mean = (combine(rule, gradients) for rule in (AndMask(1.0), GeometricMean(1.0)))
    torch.testing.assert_close(mean.gradient, torch.tensor([2.0, 0.0, -3.0]))
    torch.testing.assert_close(mask.gradient, torch.tensor([2.5, 0.0, -5.0]))
