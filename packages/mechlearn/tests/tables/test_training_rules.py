"""Other ways to train, a whole stack at once: each member as it would be alone, by the functions for one network."""

import pytest
import torch
from scipy import stats
from torch.nn import functional as F  # noqa: N812

from mechlearn.agreement import Agreement, Homogeneous, Qualitative, StandardErrors
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.penalties import fishr_penalty, group_dro_loss, irm_penalty, vrex_penalty
from mechlearn.tables.fitting import Configuration, Sites, Training, fit
from mechlearn.tables.training_rules.conflicts import homogeneous, qualitative, sides
from mechlearn.tables.training_rules.penalties import fishr, group_dro, irm, penalised, vrex

SIZES = (12, 7, 15, 9)
OWN = torch.tensor([[True, True, True, True], [True, False, True, True], [True, True, True, False]])


def table(task="classification", weighted=True):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(43, 4, dtype=torch.float64, generator=generator)
    sign = torch.tensor([1.0, -1.0, 1.0, -1.0]).repeat_interleave(torch.tensor(SIZES))
    signal = torch.stack([x[:, 0], 2 * x[:, 1] * sign, torch.zeros(43)], 1) + torch.randn(43, 3, generator=generator)
    weights = torch.rand(43, dtype=torch.float64, generator=generator) + 0.5 if weighted else torch.ones(43).double()
    y = F.one_hot(signal.argmax(1), 3).double() if task == "classification" else signal.double()
    return Sites(x, y, SIZES, weights, task)


def row_losses(outputs, targets, task):
    if task == "classification":
        return F.cross_entropy(outputs, targets.argmax(1), reduction="none")
    return (outputs - targets).square().sum(1)


def alone(sites, own, hidden):
    """One network, its own sites' rows, their ids, and each row's weight over its site's mean weight."""
    widths = (4, hidden, 3) if hidden else (4, 3)
    member = relu_mlp(widths, torch.Generator().manual_seed(5)).double()
    if not hidden:
        with torch.no_grad():
            for parameter in member.parameters():
                parameter.zero_()
    kept = [(e, rows) for e, rows in enumerate(sites.slices()) if own[e]]
    index = torch.cat([torch.arange(43)[rows] for _, rows in kept])
    ids = torch.cat([torch.full((rows.stop - rows.start,), e) for e, rows in kept])
    scale = torch.cat([sites.weights[rows] / sites.weights[rows].mean() for _, rows in kept])
    return member, sites.x[index], sites.y[index], ids, scale


def adamw(member, configuration):
    return torch.optim.AdamW(member.parameters(), configuration.rate, weight_decay=configuration.decay)


def by_penalty(name, sites, configuration, own, training):
    member, x, y, ids, scale = alone(sites, own, training.hidden)
    optimizer = adamw(member, configuration)
    for _ in range(training.steps):
        features = member[:-1](x) if training.hidden else x
        outputs = member[-1](features)
        losses = row_losses(outputs, y, sites.task) * scale
        mean = torch.stack([losses[ids == e].mean() for e in ids.unique()]).mean()
        if name == "irm":
            penalty = irm_penalty(outputs, y, ids, lambda z, t: row_losses(z, t, sites.task) * scale)
        elif name == "vrex":
            penalty = vrex_penalty(losses, ids)
        else:
            penalty = fishr_penalty(losses, ids, features, outputs)
        optimizer.zero_grad()
        (mean + configuration.strength * penalty).backward()
        optimizer.step()
    return member


CONFIGURATIONS = [Configuration(0.03, 0.1, strength=2.0), Configuration(0.01, 0.3, strength=0.5), Configuration(0.03, 0.0)]


def compare_members(way, sites, training, reference, configurations=CONFIGURATIONS):
    trained = fit(sites, configurations, OWN, training, torch.Generator().manual_seed(5), way=way)
    for m, configuration in enumerate(configurations):
        member = reference(sites, configuration, OWN[m].tolist(), training)
        for name, wanted in member.named_parameters():
            torch.testing.assert_close(trained.params[name][m], wanted.detach(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("hidden", [0, 6])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize(("name", "penalty"), [("irm", irm), ("vrex", vrex), ("fishr", fishr)])
def test_penalties_train_as_one_by_one(name, penalty, task, hidden):
    training = Training(hidden=hidden, steps=12, every=12, patience=None)
    compare_members(penalised(penalty), table(task), training, lambda *given: by_penalty(name, *given))


def by_dro(sites, configuration, own, training):
    member, x, y, ids, scale = alone(sites, own, training.hidden)
    optimizer, weights = adamw(member, configuration), torch.full((sum(own),), 1 / sum(own)).double()
    for _ in range(training.steps):
        loss, weights = group_dro_loss(row_losses(member(x), y, sites.task) * scale, ids, weights, configuration.strength)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return member


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_group_dro_trains_as_one_by_one(task):
    compare_members(group_dro, table(task), Training(hidden=6, steps=12, every=12, patience=None), by_dro)


def by_test(rule, sites, configuration, own, training):
    member, x, y, ids, scale = alone(sites, own, training.hidden)
    rows = {e: size for e, size in enumerate(SIZES) if own[e]}
    errors = StandardErrors("examples", memory=0.75, every=3, rows=rows)
    agreement = Agreement(member, rule(configuration.strength, errors=errors))
    optimizer = adamw(member, configuration)
    for _ in range(training.steps):
        optimizer.zero_grad()
        agreement.backward(row_losses(member(x), y, sites.task) * scale, ids)
        optimizer.step()
    return member


@pytest.mark.parametrize("hidden", [0, 6])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize(("way", "rule"), [(qualitative, Qualitative), (homogeneous, Homogeneous)])
def test_tests_for_conflict_train_as_the_systems_rules_one_by_one(way, rule, task, hidden):
    configurations = [
        Configuration(0.03, 0.1, strength=0.2),
        Configuration(0.01, 0.3, strength=0.05),
        Configuration(0.03, 0.0, strength=0.5),
    ]
    training = Training(hidden=hidden, steps=12, every=12, patience=None)
    compare_members(way, table(task), training, lambda *given: by_test(rule, *given), configurations)


@pytest.mark.parametrize("freedom", [1.0, 2.0, 7.5])
def test_evidence_is_that_of_student_s_t(freedom):
    """Exactly for one and two degrees of freedom; from three on within 1.5 % of z."""
    t = torch.tensor([-3.0, -0.5, 0.2, 40.0], dtype=torch.float64)
    up, down = sides(t.clone(), torch.ones_like(t), freedom)
    z = torch.tensor(stats.norm.isf(stats.t.sf(t.abs().numpy(), freedom)))
    torch.testing.assert_close((up + down).sqrt(), z, rtol=1e-9 if freedom < 3 else 0.015, atol=0)
    assert up.bool().tolist() == [False, False, True, True]
    assert down.bool().tolist() == [True, True, False, False]


def test_the_sites_of_this_table_are_in_conflict():
    """Else the tests above would compare averaging with averaging."""
    configurations, training = [Configuration(0.03, 0.1, strength=0.2)] * 3, Training(hidden=6, steps=12, patience=None)
    mean, *others = (
        fit(table(), configurations, OWN, training, torch.Generator().manual_seed(5), **chosen).params["0.weight"]
        for chosen in ({}, {"way": qualitative}, {"way": homogeneous})
    )
    assert all((mean - other).abs().max() > 1e-3 for other in others)


def test_group_dro_follows_the_worst_environment():
    weights, ids = torch.full((2,), 0.5), [0, 0, 1]
    loss, found = group_dro_loss(torch.tensor([1.0, 3.0, 1.0], requires_grad=True), ids, weights, 1.0)
    q = torch.tensor([torch.e**2, torch.e]) / (torch.e**2 + torch.e)
    torch.testing.assert_close(found, q)
    torch.testing.assert_close(loss.detach(), q[0] * 2 + q[1])
    with pytest.raises(ValueError, match="one for each of the 2 environments"):
        group_dro_loss(torch.ones(3, requires_grad=True), ids, torch.ones(3))


@pytest.mark.parametrize("way", [qualitative, homogeneous])
def test_a_site_of_one_row_is_no_evidence(way):
    whole, rows = table(), 20
    sites = Sites(whole.x[:rows], whole.y[:rows], (12, 7, 1), whole.weights[:rows], whole.task)
    training = Training(hidden=0, steps=6, patience=None)
    own, generator = torch.ones(1, 3, dtype=torch.bool), torch.Generator().manual_seed(5)
    found = fit(sites, [Configuration(0.03, 0.0, strength=0.2)], own, training, generator, way=way).params
    assert any(bool((value != 0).any()) for value in found.values())  # masked by NaN, none would have moved
