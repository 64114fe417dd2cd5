"""`cautious_decay`, against the paper's equation with each optimizer's own update."""

import pytest
import torch

from mechlearn.agreement import cautious_decay

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.02),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "maximised": lambda p: torch.optim.SGD(p, lr=0.1, maximize=True),
}


def started(seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.nn.Parameter(torch.randn(s, dtype=torch.float64, generator=generator)) for s in ((4, 3), (5,), ())]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_is_its_equation(name):
    params, plain = started(0), started(0)
    optimizer, own = OPTIMIZERS[name](params), OPTIMIZERS[name](plain)
    cautious_decay(optimizer, 0.3)
    generator = torch.Generator().manual_seed(1)
    for step in range(6):
        if step == 3:
            for group in [*optimizer.param_groups, *own.param_groups]:
                group["lr"] /= 2
        lr = own.param_groups[0]["lr"]
        for p, q in zip(params, plain, strict=True):
            with torch.no_grad():
                q.copy_(p)  # the update of the plain optimizer from the same weights, with the same moments
            p.grad = torch.randn(p.shape, dtype=torch.float64, generator=generator)
            q.grad = p.grad.clone()
        before = [p.detach().clone() for p in params]
        optimizer.step()
        own.step()
        for p, q, x in zip(params, plain, before, strict=True):
            u = ((x - q) / lr).flatten().tolist()
            wanted = [a - lr * (b + 0.3 * (a if b * a >= 0 else 0.0)) for a, b in zip(x.flatten().tolist(), u, strict=True)]
            torch.testing.assert_close(p.flatten().tolist(), wanted, rtol=1e-12, atol=1e-14)


def test_what_has_no_gradient_stays_and_ending_it_ends_it():
    params = [torch.nn.Parameter(torch.ones(2)) for _ in range(2)]
    optimizer = torch.optim.SGD(params, lr=0.5)
    end = cautious_decay(optimizer, 0.5)
    params[0].grad = torch.zeros(2)
    optimizer.step()
    assert params[0].tolist() == [0.75, 0.75]  # an update of 0 counts as aligned
    assert params[1].tolist() == [1.0, 1.0]
    end()
    optimizer.step()
    assert params[0].tolist() == [0.75, 0.75]


def test_signs_of_products_below_the_least_number():
    weights = torch.nn.Parameter(torch.tensor([1e-30, 1e-30]))
    optimizer = torch.optim.SGD([weights], lr=1.0)
    cautious_decay(optimizer, 0.5)
    weights.grad = torch.tensor([1e-31, -1e-31])
    optimizer.step()
    torch.testing.assert_close(weights.detach() / 1e-30, torch.tensor([0.4, 1.1]))


def test_a_step_that_a_scaler_skips_decays_nothing():
    weights = torch.nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.SGD([weights], lr=1.0), torch.amp.GradScaler("cpu")
    cautious_decay(optimizer, 0.5)
    scaler.scale((weights * torch.tensor([torch.inf, 1.0])).sum()).backward()
    scaler.step(optimizer)
    assert weights.tolist() == [1.0, 1.0]


@pytest.mark.usefixtures("as_installed")
def test_wrong_arguments_end_in_a_sentence():
    weights = [torch.nn.Parameter(torch.ones(2))]
    with pytest.raises(ValueError, match=r"`optimizer` should have weight decay 0\. Found 0\.1\. Make it with"):
        cautious_decay(torch.optim.AdamW(weights, weight_decay=0.1), 0.1)
    with pytest.raises(TypeError, match="`optimizer` should be an optimizer of torch's"):
        cautious_decay(weights, 0.1)
    with pytest.raises(ValueError, match="`weight_decay` should be finite and at least 0"):
        cautious_decay(torch.optim.SGD(weights, lr=0.1), -0.1)
