import pytest
import torch
from torch import nn

from mechlearn_zoo.methods.privileged import hindsight_losses


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def networks():
    made = [nn.Linear(4, 2), nn.Linear(6, 2), nn.Linear(6, 1), nn.Linear(6, 1)]
    for seed, p in enumerate(p for network in made for p in network.double().parameters()):
        p.data.copy_(draw(seed, *p.shape))
    return made


def losses(model, summary, head, head_of_hindsight, through):
    x, future, y = draw(20, 5, 4), draw(21, 5, 6), draw(22, 5, 1)
    modelled, features = model(x), torch.tanh(summary(future))
    read = modelled if through else modelled.detach()
    value = (head(torch.cat([x, read], 1)) - y).square().mean(1)
    hindsight = (head_of_hindsight(torch.cat([x, features], 1)) - y).square().mean(1)
    return hindsight_losses(value, hindsight, modelled, features), modelled, features, value, hindsight


@pytest.mark.parametrize("through", [False, True])
def test_each_loss_trains_what_it_should(through):
    made = networks()
    summary = made[1]
    found, modelled, features, value, hindsight = losses(*made, through)
    by_hand = [sum(float((modelled - features)[b, f].detach()) ** 2 for f in range(2)) / 2 for b in range(5)]
    assert found.model.tolist() == pytest.approx(by_hand)
    torch.testing.assert_close(found.total(0.5, 2.0), value + 0.5 * hindsight + 2 * found.model)

    def trained(loss):
        gradients = torch.autograd.grad(loss.sum(), [n.weight for n in made], retain_graph=True, allow_unused=True)
        return [g is not None and bool(g.any()) for g in gradients]

    assert trained(found.model) == [True, False, False, False]
    assert trained(found.hindsight) == [False, True, False, True]
    assert trained(found.value) == [through, False, True, False]
    # The features follow the hindsight loss alone.
    alone, whole = (
        torch.autograd.grad(loss.sum(), summary.weight, retain_graph=True)[0] for loss in (hindsight, found.total(1.0, 9.0))
    )
    torch.testing.assert_close(alone, whole)


GOOD = {"value": draw(0, 5), "hindsight": draw(1, 5).requires_grad_(), "modelled": draw(2, 5, 2)}


@pytest.mark.parametrize(
    ("changed", "kind", "sentence"),
    [
        ({"modelled": draw(0, 5, 3)}, ValueError, r"one shape \(B, F\)\. Found \(5, 3\) and \(5, 2\)"),
        ({"value": draw(0, 5).mean()}, ValueError, r"`value` should be one loss for each of 5 examples\. Found shape \(\)"),
        ({"hindsight": draw(0, 5)}, ValueError, "should train the features"),
        ({"features": draw(0, 5, 2)}, ValueError, r"Leave out detach\(\)"),
        ({"features": None}, TypeError, "`features` should be a tensor"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_what_does_not_fit(changed, kind, sentence):
    with pytest.raises(kind, match=sentence):
        hindsight_losses(**{**GOOD, "features": draw(3, 5, 2).requires_grad_(), **changed})


@pytest.mark.usefixtures("as_installed")
def test_weights_are_checked():
    found = hindsight_losses(**GOOD, features=draw(3, 5, 2).requires_grad_())
    with pytest.raises(ValueError, match="`model` should be finite and at least 0"):
        found.total(model=-1.0)
