"""Looks at a training on the spirals: what they keep, and that they change nothing."""

import torch

from claimlab import EarlyStopping
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.learners.spirals import training
from mechlearn_zoo.learners.spirals.methods import rule_of
from mechlearn_zoo.learners.spirals.stopping import accuracies, looked_at

TINY = training.Training(environments=3, examples=32, shortcut_dims=2, hidden=8, layers=1, epochs=2, batch=8)


def test_a_look_changes_nothing_of_a_training():
    data, rule = training.make_data(TINY), rule_of("and-mask", TINY)
    left, looked = training.make_model(TINY), training.make_model(TINY)
    stopping, steps = EarlyStopping(looks=8), training.steps_of(TINY)
    plain = list(training.train(TINY, left, rule, data.train, every=1))
    reports = training.train(TINY, looked, rule, data.train, every=1)
    assert list(looked_at(reports, steps, stopping, looked, data)) == plain
    assert stopping.looked == 8
    assert all(torch.equal(a, b) for a, b in zip(left.parameters(), looked.parameters(), strict=True))
    state = torch.get_rng_state()
    ends = accuracies(looked, data)
    assert torch.equal(state, torch.get_rng_state())
    assert stopping.row["stopped_validation_accuracy"] >= ends["validation_accuracy"]
    assert set(stopping.row) == {"stopped_at", "stopped_validation_accuracy", "stopped_test_accuracy"}


def test_a_look_leaves_normalisation_dropout_and_mode_alone():
    model = mlp(4, 1, torch.Generator().manual_seed(0), 8, 1, batch_norm=True, dropout=0.5)
    before = {name: one.clone() for name, one in model.state_dict().items()}
    dropout = next(one for one in model if one.__class__.__name__ == "Dropout")
    drawn = dropout.generator.get_state()
    data = training.make_data(TINY)
    assert accuracies(model, data) == accuracies(model, data)
    assert model.training
    assert dropout.training
    assert torch.equal(drawn, dropout.generator.get_state())
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())
