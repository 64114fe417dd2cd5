"""An agreement's step against the definition: one backward pass for each environment's mean loss, on the same graph."""

import torch
from torch import nn

import oracles


def stacks_of(losses, ids, parameters):
    """(E, *p) for each parameter; the graph is kept."""
    ids = torch.as_tensor(ids)
    rows = []
    for e in ids.unique():
        found = torch.autograd.grad(losses[ids == e].mean(), parameters, retain_graph=True, allow_unused=True)
        rows.append([torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)])
    return [torch.stack(column) for column in zip(*rows, strict=True)]


def assert_definition(agreement, losses, ids, threshold="0.6"):
    """Take a step with AndMask(threshold) in float64, compare all of it, and return its record."""
    model: nn.Module = agreement.model
    parameters = [p for p in model.parameters() if p.requires_grad]
    stacks = stacks_of(losses, ids, parameters)
    model.zero_grad()
    record = agreement.backward(losses, ids)
    for parameter, stack in zip(parameters, stacks, strict=True):
        if parameter.grad is None:
            assert not stack.any()
            continue
        gradient = oracles.combine("and-mask", stack.cpu(), threshold)[0].to(stack.device)
        scale = float(stack.abs().max()) if stack.numel() else 0.0
        clear = ((stack == 0) | (stack.abs() > 1e-12 * scale)).all(0)  # else its sign is rounding noise
        torch.testing.assert_close(parameter.grad[clear], gradient[clear], rtol=1e-9, atol=1e-12 * scale)
    return record
