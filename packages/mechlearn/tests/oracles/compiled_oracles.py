"""A compiled step against the definition: one backward pass for each environment, on an ordinary graph of the same batch."""

import torch

import oracles
from definition_oracles import stacks_of

NOISE = {torch.float64: 1e-12, torch.float32: 1e-5}
"""Below this share of a parameter's largest gradient a component's sign may be rounding."""


def assert_step(step, model, losses_of, batch, ids, threshold="0.6", served=True, decided=0.5):
    """Take a step of AndMask(threshold), compare ``.grad`` with the literal rule, and return the record.

    At least a share ``decided`` of the components must have signs that are more than rounding.
    """
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    losses = losses_of(*batch)
    stacks = stacks_of(losses, ids, list(parameters.values()))
    for p in parameters.values():
        p.grad = None
    record = step(*batch, environments=ids)
    if served:
        assert step.reason is None
    tolerance = NOISE[losses.dtype]
    ids = torch.as_tensor(ids)
    means = torch.stack([losses[ids == e].mean() for e in ids.unique()])
    torch.testing.assert_close(record.losses, means.detach(), rtol=100 * tolerance, atol=tolerance)
    decisive = components = 0
    largest = max(float(stack.abs().max()) for stack in stacks if stack.numel())
    for (name, p), stack in zip(parameters.items(), stacks, strict=True):
        if p.grad is None:
            assert not stack.any(), name
            continue
        assert record.paths[name] == "compiled" or not served
        expected = oracles.combine("and-mask", stack, threshold)[0]
        scale = float(stack.abs().max()) if stack.numel() else 0.0
        if scale <= tolerance * largest:
            continue  # 0 in exact arithmetic, as the gradient of an attention's key bias is
        clear = ((stack == 0) | (stack.abs() > tolerance * scale)).all(0)
        decisive, components = decisive + int(clear.sum()), components + clear.numel()
        torch.testing.assert_close(p.grad[clear], expected[clear], rtol=1e3 * tolerance, atol=10 * tolerance * scale, msg=name)
        rounding = (stack == 0).all(0) & (p.grad.abs() <= tolerance * scale)  # 0 in exact arithmetic: sums may cancel or not
        settled = clear & ~rounding
        assert torch.equal(p.grad[settled] == 0, expected[settled] == 0), name
    assert decisive > decided * components or not components
    return record
