import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from mechlearn.agreement import AndMask, combine
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.nn.stacks import Stack
from mechlearn.tables.fitting import (
    Configuration,
    Sites,
    Training,
    agreed,
    fit,
    held_out_losses,
    masked_mean,
    outputs,
    site_gradients,
    site_losses,
)

SIZES = (9, 4, 12)


def table(task="classification", seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(25, 4, dtype=torch.float64, generator=generator)
    y = torch.randn(25, 3, dtype=torch.float64, generator=generator)
    weights = torch.rand(25, dtype=torch.float64, generator=generator)
    return Sites(x, F.one_hot(y.argmax(1), 3).double() if task == "classification" else y, SIZES, weights, task)


def stack(hidden, members=3):
    widths = (4, hidden, 3) if hidden else (4, 3)
    return Stack([relu_mlp(widths, torch.Generator().manual_seed(m)).double() for m in range(members)])


def site_loss(member, sites, rows):
    z, y, w = member(sites.x[rows]), sites.y[rows], sites.weights[rows]
    losses = F.cross_entropy(z, y, reduction="none") if sites.task == "classification" else (z - y).square().sum(1)
    return (w * losses).sum() / w.sum()


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("hidden", [0, 6])
def test_each_sites_gradient_is_its_own(task, hidden):
    sites, members = table(task), stack(hidden)
    found = site_gradients(members.stacked(), sites)
    for m in range(3):
        alone = members.member(m)
        for e, rows in enumerate(sites.slices()):
            loss = site_loss(alone, sites, rows)
            wanted = torch.autograd.grad(loss, list(alone.parameters()))
            for (name, _), gradient in zip(alone.named_parameters(), wanted, strict=True):
                torch.testing.assert_close(found[name][e, m], gradient, rtol=0, atol=1e-12)
            torch.testing.assert_close(site_losses(members.stacked(), sites)[m, e], loss.detach(), rtol=0, atol=1e-12)


def test_members_outputs_are_those_of_the_networks():
    sites, members = table(), stack(6)
    torch.testing.assert_close(outputs(members.stacked(), sites.x), members(sites.x.expand(3, 25, 4)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 1 / 3, 0.8, 1.0])
def test_the_mask_is_the_systems_own_on_the_sites_of_each_member(threshold):
    generator = torch.Generator().manual_seed(0)
    gradients = torch.randn(6, 3, 40, 2, generator=generator, dtype=torch.float64)
    own = torch.ones(3, 6, dtype=torch.bool)
    own[1, :3] = False
    own[2, 4] = False
    found = agreed({"0.weight": gradients}, own, torch.full((3,), threshold, dtype=torch.float64))["0.weight"]
    for m in range(3):
        wanted = combine(AndMask(threshold), gradients[own[m], m]).gradient
        torch.testing.assert_close(found[m], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("threshold", [0.2, 0.4, 0.6, 0.8])
@pytest.mark.parametrize("sites", [5, 10, 20])
def test_the_mask_of_a_table_in_float32_counts_signs_as_exactly(threshold, sites):
    generator = torch.Generator().manual_seed(0)
    gradients = torch.randn(sites, 1, 40, 2, generator=generator)
    gradients[0, :, :9] = 0
    own = torch.ones(1, sites, dtype=torch.bool)
    part = Sites(torch.zeros(sites, 3), torch.zeros(sites, 1), (1,) * sites, torch.ones(sites), "regression")
    mean = masked_mean(part, [Configuration(threshold=threshold)], own, lambda params, batch: params)
    wanted = combine(AndMask(threshold), gradients[:, 0]).gradient
    torch.testing.assert_close(mean({"w": gradients}, part)["w"][0], wanted)


def test_held_out_sites_are_judged_and_where_there_are_none_the_own():
    sites, params = table(), stack(0).stacked()
    own = torch.tensor([[True, True, False], [False, True, True], [True, True, True]])
    by_site = site_losses(params, sites)
    found = held_out_losses(params, sites, own)
    torch.testing.assert_close(found, torch.stack([by_site[0, 2], by_site[1, 0], by_site[2].mean()]))


def plainly(sites, configuration, own, training):
    """One member alone with torch's own AdamW and autograd."""
    member = relu_mlp((4, training.hidden, 3), torch.Generator().manual_seed(5)).double()
    optimizer = torch.optim.AdamW(member.parameters(), configuration.rate, weight_decay=configuration.decay)
    rows = [part for part, mine in zip(sites.slices(), own, strict=True) if mine]
    for _ in range(training.steps):
        names, parameters = zip(*member.named_parameters(), strict=True)
        each = [torch.autograd.grad(site_loss(member, sites, part), parameters) for part in rows]
        for parameter, gradients in zip(parameters, zip(*each, strict=True), strict=True):
            parameter.grad = combine(AndMask(configuration.threshold), torch.stack(gradients)).gradient
        optimizer.step()
    return dict(zip(names, parameters, strict=True))


def test_a_stack_trains_as_one_by_one():
    sites = table()
    own = torch.tensor([[True, True, True], [True, True, True], [False, True, True]])
    configurations = [Configuration(0.03, 0.1, 0.0), Configuration(0.01, 0.3, 1.0), Configuration(0.1, 0.0, 1.0)]
    training = Training(hidden=6, steps=20, every=20, patience=None)
    trained = fit(sites, configurations, own, training, torch.Generator().manual_seed(5))
    for m, configuration in enumerate(configurations):
        for name, wanted in plainly(sites, configuration, own[m], training).items():
            torch.testing.assert_close(trained.params[name][m], wanted.detach(), rtol=0, atol=1e-9)


def test_early_stopping_gives_the_best_look():
    sites = table()
    own = torch.tensor([[True, True, False]])
    training = Training(hidden=6, steps=200, every=5, patience=3)
    trained = fit(sites, [Configuration(0.1, 0.0)], own, training, torch.Generator().manual_seed(0))
    history = trained.history[:, 0]
    assert trained.losses[0] == history.nan_to_num(9).min()
    assert len(history) < 40  # random labels: it stopped
    assert int(trained.steps[0]) == 5 * (int(history.nan_to_num(9).argmin()) + 1)
    torch.testing.assert_close(held_out_losses(trained.params, sites, own), trained.losses)


def test_batches_are_rows_of_each_site():
    sites = table()
    drawn = sites.drawn(5, [torch.Generator().manual_seed(seed) for seed in range(len(sites.sizes))])
    assert drawn.sizes == (5, 4, 5)
    for rows, part in zip(sites.slices(), drawn.slices(), strict=True):
        assert all(any(torch.equal(row, other) for other in sites.x[rows]) for row in drawn.x[part])
    assert sites.drawn(None, []) is sites


def test_refusals():
    sites = table()
    with pytest.raises(ValueError, match="add up"):
        Sites(sites.x, sites.y, (1, 2), sites.weights, "regression")
    with pytest.raises(ValueError, match="steps"):
        Training(steps=0)
    with pytest.raises(TypeError, match=r"hidden|whole|type"):
        Training(hidden=2.5)
