"""Environments spread over the micro-batches of a step, literally: one backward pass an environment over all of them."""

import torch
from torch import Tensor


def whole_gradients(calls, parameters) -> list[Tensor]:
    """g_e for every environment, (E, *p) for each parameter, environments in the order in which they first come.

    Args:
        calls: (losses, ids) of each micro-batch; their graphs are kept.
        parameters: what to differentiate with respect to.
    """
    names: list[object] = []
    for _, ids in calls:
        found = ids.tolist() if isinstance(ids, Tensor) else list(ids)
        names += [e for e in sorted(set(found)) if e not in names]
    rows = []
    for e in names:
        own = [losses[k] for losses, ids in calls for k in range(len(losses)) if ids[k] == e]
        found = torch.autograd.grad(torch.stack(own).mean(), parameters, retain_graph=True, allow_unused=True)
        rows.append([torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)])
    return [torch.stack(column) for column in zip(*rows, strict=True)]
