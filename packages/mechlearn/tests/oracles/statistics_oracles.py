"""Statistics of gradients from their definition: every gradient formed by a backward pass of its own rows, and held."""

import torch


def gradients_of(model, losses_of, batch, rows):
    """(P,) by parameter name: the gradient of the mean loss of some rows, from a forward pass of these alone."""
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    some = tuple(t[rows].detach().requires_grad_(t.requires_grad) for t in batch)
    found = torch.autograd.grad(losses_of(*some).mean(), list(named.values()), allow_unused=True)
    return {
        name: (torch.zeros_like(p) if g is None else g.to_dense()).flatten()
        for (name, p), g in zip(named.items(), found, strict=True)
    }


def stacks_of(model, losses_of, batch, ids):
    """(E, P) by parameter name."""
    ids = torch.as_tensor(ids)
    each = [gradients_of(model, losses_of, batch, (ids == e).nonzero()[:, 0]) for e in ids.unique()]
    return {name: torch.stack([one[name] for one in each]) for name in each[0]}


def rows_of(model, losses_of, batch):
    """(B, P) by parameter name."""
    return stacks_of(model, losses_of, batch, range(len(batch[0])))


def signs_of(stack, noise):
    """How many components agree, conflict, and are so small in some environment that rounding may be their sign."""
    clear = (stack.abs() > noise).all(0)
    agreeing = (stack > 0).all(0) | (stack < 0).all(0)
    conflicting = (stack > 0).any(0) & (stack < 0).any(0)
    return int((agreeing & clear).sum()), int((conflicting & clear).sum()), int((~clear).sum())


def noise_of(stack):
    """tr(Sigma) and |G|^2 of independent draws, a row each: the unbiased sample covariance, and what it adds to the mean."""
    variance = stack.var(0, correction=1).sum()
    return stack.mean(0).square().sum() - variance / len(stack), variance


def assert_statistics(found, stacks, rows=None):
    """Compare every sum of a call to gradients that were held, in float64."""
    scale = max(float(torch.cat(list(stacks.values()), 1).norm(dim=1).max()), 1e-300)
    for name, stack in stacks.items():
        if name not in found.parameters:
            assert not stack.any(), name
            continue
        one = found.parameters[name]
        assert one.size == stack.shape[1]
        gram = stack @ stack.T
        close = {"rtol": 1e-8, "atol": 1e-14 * scale**2}
        torch.testing.assert_close(one.squares, gram.diagonal(), **close)
        torch.testing.assert_close(one.along, gram.sum(1), **close)
        if one.gram is not None:
            torch.testing.assert_close(one.gram, gram, **close)
        agreeing, conflicting, unclear = signs_of(stack, 1e-13 * scale)
        assert agreeing <= one.agreeing <= agreeing + unclear, name
        assert conflicting <= one.conflicting <= conflicting + unclear, name
        if rows is not None:
            torch.testing.assert_close(one.example_squares, rows[name].square().sum(1), rtol=1e-8, atol=1e-13 * scale**2)
