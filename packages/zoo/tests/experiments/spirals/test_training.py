from dataclasses import replace

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from mechlearn.agreement import AndMask, Mean
from mechlearn_zoo.learners.spirals import training
from mechlearn_zoo.learners.spirals.methods import METHODS, rule_of
from mechlearn_zoo.learners.spirals.training import Training

TINY = Training(environments=4, examples=64, shortcut_dims=4, hidden=16, layers=2, batch=16, epochs=3)


def test_averaging_is_plain_training():
    """The mean's run equals a loop with loss.backward() step by step."""
    data = training.make_data(TINY)
    model, twin = training.make_model(TINY), training.make_model(TINY)
    for _ in training.train(TINY, model, Mean(), data.train, every=100):
        pass
    optimizer = training.make_optimizer(TINY, twin)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * training.steps_of(TINY))], gamma=0.1)
    for x, y, _ in training.Batches(TINY, data.train):
        optimizer.zero_grad()
        cross_entropy(twin(x)[:, 0], y).backward()
        optimizer.step()
        scheduler.step()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_batches_hold_every_environment_and_visit_every_example_once_an_epoch():
    data = training.make_data(TINY)
    seen = []
    for batch in training.Batches(replace(TINY, epochs=1), data.train):
        assert torch.bincount(batch.environments).tolist() == [16] * 4
        seen += batch.x.tolist()
    assert sorted(seen) == sorted(data.train.x.tolist())


def test_l1_is_added_after_the_mask():
    config = replace(TINY, l1=0.5, l2=0.0, epochs=1, batch=64, optimizer="sgd", learning_rate=1.0)
    data, model = training.make_data(config), training.make_model(config)
    before = [p.detach().clone() for p in model.parameters()]
    for _ in training.train(config, model, AndMask(1.0), data.train, every=1):
        pass
    step = torch.cat([(b - p.detach()).flatten() for b, p in zip(before, model.parameters(), strict=True)])
    signs = torch.cat([b.sign().flatten() for b in before])
    masked = torch.isclose(step, 0.5 * signs, atol=1e-6)
    assert 0.2 < float(masked.float().mean()) < 1  # masked components move by the penalty alone


def test_methods_are_averaging_and_the_mask_of_the_training():
    config = replace(TINY, threshold=0.5, rescale=False)
    assert [rule_of(method, config) for method in METHODS] == [Mean(), AndMask(0.5, rescale=False)]


@pytest.mark.parametrize("changes", [{"environments": 1}, {"batch": 0}, {"batch": 2000}, {"epochs": 0}, {"threshold": 1.5}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="Found"):
        replace(TINY, **changes)
