from dataclasses import replace

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from craik.agreement import AndMask, Mean
from craik.experiments.spirals.mechanism import run as spirals
from craik.lab import judge

TINY = replace(spirals.PRESETS["quick"], environments=4, examples=64, shortcut_dims=4, hidden=16, layers=2, batch=16, epochs=3)


@pytest.fixture(scope="module")
def rows():
    return [{"seed": seed, **row} for seed in (0, 1) for row in spirals.run(replace(TINY, seed=seed))]


def test_rows_tell_curves_outcome_and_boundary_of_each_method(rows):
    kinds = [(row["method"], row["kind"]) for row in rows if row["seed"] == 0]
    assert kinds == [(m, k) for m in ("mean", "and-mask") for k in ["curve"] * 3 + ["final", "boundary"]]
    final = next(row for row in rows if row["kind"] == "final")
    assert final["step"] == final["steps"] == 12
    assert len(next(row for row in rows if row["kind"] == "boundary")["grid"]) == spirals.BOUNDARY_SIZE**2


def test_the_same_seed_gives_the_same_rows(rows):
    again = [{"seed": 1, **row} for row in spirals.run(replace(TINY, seed=1))]
    assert again == [row for row in rows if row["seed"] == 1]


def test_the_test_set_is_measured_once_and_steers_nothing(monkeypatch):
    """Scrambling the test set's labels changes test accuracy and nothing else, unless the paper's rule is on."""
    make_data = spirals.make_data

    def scrambled(config):
        data = make_data(config)
        return data._replace(test=data.test._replace(y=1 - data.test.y))

    before = list(spirals.run(TINY))
    monkeypatch.setattr(spirals, "make_data", scrambled)
    after = list(spirals.run(TINY))
    for a, b in zip(before, after, strict=True):
        assert {k: v for k, v in a.items() if k != "test_accuracy"} == {k: v for k, v in b.items() if k != "test_accuracy"}
    assert [a for a in before if a["kind"] == "final"] != [b for b in after if b["kind"] == "final"]


def test_averaging_is_plain_training():
    """The mean's run equals a loop with loss.backward() step by step."""
    data = spirals.make_data(TINY)
    model, twin = spirals.make_model(TINY), spirals.make_model(TINY)
    for _ in spirals.train(TINY, model, Mean(), data.train, every=100):
        pass
    optimizer = spirals.make_optimizer(TINY, twin)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * spirals.steps_of(TINY))], gamma=0.1)
    for x, y, _ in spirals.batches(TINY, data.train):
        optimizer.zero_grad()
        cross_entropy(twin(x)[:, 0], y).backward()
        optimizer.step()
        scheduler.step()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_batches_hold_every_environment_and_visit_every_example_once_an_epoch():
    data = spirals.make_data(TINY)
    seen = []
    for batch in spirals.batches(replace(TINY, epochs=1), data.train):
        assert torch.bincount(batch.environments).tolist() == [16] * 4
        seen += batch.x.tolist()
    assert sorted(seen) == sorted(data.train.x.tolist())


def test_l1_is_added_after_the_mask():
    config = replace(TINY, l1=0.5, l2=0.0, epochs=1, batch=64, optimizer="sgd", learning_rate=1.0)
    data, model = spirals.make_data(config), spirals.make_model(config)
    before = [p.detach().clone() for p in model.parameters()]
    for _ in spirals.train(config, model, AndMask(1.0), data.train, every=1):
        pass
    step = torch.cat([(b - p.detach()).flatten() for b, p in zip(before, model.parameters(), strict=True)])
    signs = torch.cat([b.sign().flatten() for b in before])
    masked = torch.isclose(step, 0.5 * signs, atol=1e-6)
    assert 0.2 < float(masked.float().mean()) < 1  # masked components move by the penalty alone


def test_the_papers_rule_stops_and_says_so():
    config = replace(TINY, epochs=200, batch=64, methods=("mean",), shortcut_scale=3.0, stop_as_printed=True)
    final = next(row for row in spirals.run(config) if row["kind"] == "final")
    assert final["train_accuracy"] > 0.97
    assert final["test_accuracy"] < 0.6
    assert final["step"] < final["steps"]
    assert "paper's rule" in str(final["stopped"])


def test_a_run_that_has_not_converged_says_so(rows):
    final = next(row for row in rows if row["kind"] == "final" and row["method"] == "and-mask")
    assert final["converged"] is (float(final["train_loss"]) < spirals.CONVERGED)
    unfinished = {**final, "train_loss": 0.5, "converged": False}
    assert "not converged, training loss 0.50" in spirals.progress(TINY, unfinished)[1]


def test_progress_rises_to_one(rows):
    shares = [spirals.progress(TINY, row)[0] for row in rows if row["seed"] == 0]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_figures_and_claims_read_rows_only(rows):
    assert set(spirals.figures(rows)) == {"learning-curves", "decision-boundary", "outcomes"}
    judged = {claim.id: judge(claim, rows, "quick") for claim in spirals.CLAIMS}
    assert all(claim.n == 2 for claim in judged.values())


@pytest.mark.parametrize(("accuracy", "verdict"), [(0.99, "holds"), (0.9, "does not hold")])
def test_the_verdict_on_the_and_mask_is_computed(rows, accuracy, verdict):
    changed = [{**row, "test_accuracy": accuracy} if row["kind"] == "final" else row for row in rows]
    assert judge(spirals.CLAIMS[0], changed, "quick").verdict == verdict
    assert judge(spirals.CLAIMS[0], [], "quick").verdict == "not measured"


@pytest.mark.parametrize("changes", [{"environments": 1}, {"batch": 0}, {"batch": 2000}, {"epochs": 0}, {"threshold": 1.5}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="Found"):
        replace(TINY, **changes)
