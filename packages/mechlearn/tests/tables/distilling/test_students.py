"""Networks taught by privileged columns, a whole stack at once: each member as one network would be, written out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.tables.distilling import students
from mechlearn.tables.distilling.meta import ldt
from mechlearn.tables.distilling.students import Lessons, alone, auxiliary, bottleneck, said, soft_targets
from mechlearn.tables.fitting import Configuration, Training

TRAINING = Training(hidden=5, steps=6, every=6, patience=None)


def lessons(task="classification", rows=31):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 4))
    known = x @ rng.normal(size=(4, 2)) + 0.1 * rng.normal(size=(rows, 2))
    y = np.eye(2)[(known[:, 0] > 0).astype(int)] if task == "classification" else known.sum(1, keepdims=True)
    return Lessons(x, y, known, task, TRAINING)


def literal(given, configuration, fold, outputs, loss):
    """One network on the rows of two folds, each fold's mean counting the same; torch's AdamW."""
    folds = given.folds
    x, y = (torch.tensor(part, dtype=torch.float32) for part in (given.x, given.y))
    network = relu_mlp((4, 5, outputs), torch.Generator().manual_seed(given.seed))
    optimizer = torch.optim.AdamW(network.parameters(), configuration.rate, weight_decay=configuration.decay)
    for _ in range(given.training.steps):
        losses = loss(network(x), y)
        total = sum(losses[torch.tensor(folds == f)].mean() for f in range(3) if f != fold) / 2
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    return network


def label_losses(z, y, task):
    return -(z.log_softmax(1) * y).sum(1) if task == "classification" else (z - y).square().sum(1)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_an_auxiliary_head(monkeypatch, task):
    configuration = Configuration(0.01, 0.1, strength=3.0)
    monkeypatch.setattr(students, "HEADED", (configuration,))
    given = lessons(task)
    found, count = auxiliary(given), given.y.shape[1]
    known = torch.tensor(given.known, dtype=torch.float32)

    def loss(z, y):
        return label_losses(z[:, :count], y, task) + 3.0 * (z[:, count:] - known).square().mean(1)

    for fold in range(3):
        network = literal(given, configuration, fold, count + 2, loss)
        np.testing.assert_allclose(found.layers["0.weight"][fold], network[0].weight.detach(), atol=1e-5)
        np.testing.assert_allclose(found.layers["2.weight"][fold], network[2].weight.detach()[:count], atol=1e-5)
    assert found.layers["2.bias"].shape == (3, count)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_soft_targets_of_a_teacher_on_the_same_folds(monkeypatch, task):
    configuration, teachers = Configuration(0.01, 0.1, strength=0.9), Configuration(0.03, 0.1)
    monkeypatch.setattr(students, "IMITATING", (configuration,))
    monkeypatch.setattr(students, "ALONE", (teachers,))
    given = lessons(task)
    found = soft_targets(given)
    teacher = alone(replace(given, x=given.known))
    for fold in range(3):
        answers = torch.tensor(said(teacher.layers, given.known, task)[fold], dtype=torch.float32)

        def loss(z, y, answers=answers):
            return 0.1 * label_losses(z, y, task) + 0.9 * label_losses(z, answers, task)

        network = literal(given, configuration, fold, given.y.shape[1], loss)
        np.testing.assert_allclose(found.layers["0.weight"][fold], network[0].weight.detach(), atol=5e-5)


def test_a_bottleneck_is_two_networks_one_after_the_other():
    given = lessons()
    found = bottleneck(given)
    concepts = alone(replace(given, y=given.known, task="regression"))
    answers = alone(replace(given, x=given.known))
    between = said(concepts.layers, given.x, "regression")
    for fold in range(3):
        wanted = said({name: part[[fold]] for name, part in answers.layers.items()}, between[fold], "classification")[0]
        np.testing.assert_allclose(said(found.layers, given.x, "classification")[fold], wanted, atol=1e-9)


@pytest.mark.parametrize("teach", [alone, auxiliary, soft_targets, bottleneck, ldt])
def test_a_row_has_no_part_in_what_is_said_of_it_from_outside(teach):
    """But for stopping: with one look at the end there is nothing to choose, and configurations are one."""
    given = lessons("regression")
    found = teach(given)
    assert found.outside.shape == (31, 1)
    assert found.says(given.x, "regression").shape == (31, 1)
    each = said(found.layers, given.x, "regression")
    np.testing.assert_array_equal(found.outside[:, 0], each[given.folds, np.arange(31), 0])


def test_what_is_known_is_asked_for():
    given = lessons()
    sites = given.sites(given.x, given.y, "classification")
    way = students._Headed(sites, [Configuration(strength=1.0)], torch.ones(1, 3, dtype=torch.bool))
    with pytest.raises(TypeError, match="known"):
        way({"0.weight": torch.ones(1, 2, 4), "0.bias": torch.ones(1, 2)}, sites)


def test_a_bottleneck_learns_what_no_network_learns_alone():
    """The label is the product of two signs, the privileged columns; each input is a blurred one of these."""
    rng = np.random.default_rng(1)
    known = rng.choice((-1.0, 1.0), size=(420, 2))
    x = np.repeat(known, 20, 1) + 3 * rng.normal(size=(420, 40))
    y = np.eye(2)[(known.prod(1) > 0).astype(int)]
    given = Lessons(x[:120], y[:120], known[:120], "classification", Training(32, 60, None))
    accuracy = {}
    for teach in (alone, bottleneck):
        predicted = teach(given).says(x[120:], "classification")
        accuracy[teach.__name__] = float((predicted.argmax(1) == y[120:].argmax(1)).mean())
    assert accuracy["bottleneck"] > accuracy["alone"] + 0.05


def test_rows_of_one_are_in_one_fold_and_folds_are_of_a_size():
    given = lessons(rows=60)
    whose = np.array(["a"] * 20 + ["b"] * 20 + [f"c{i % 5}" for i in range(20)])
    folds = replace(given, whose=whose).folds
    assert all(len(set(folds[whose == one])) == 1 for one in set(whose))
    assert np.bincount(folds).tolist() == [20, 20, 20]
    with pytest.raises(ValueError, match=r"3 folds by groups need as many\. Found 2"):
        replace(given, whose=np.arange(60) % 2)
