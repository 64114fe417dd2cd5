"""Roll-outs whose episodes end in both ways, from explicit generators."""

import torch

from mechlearn_zoo.methods.control import Rollout


def made_up(seed, steps=13, batch=5, ends=0.2, dtype=torch.float64):
    """A roll-out with episodes that end in both ways, values and final values."""
    generator = torch.Generator().manual_seed(seed)
    draw = torch.rand(steps, batch, generator=generator)
    terminated, truncated = draw < ends / 2, (draw >= ends / 2) & (draw < ends)
    rollout = Rollout(
        observations=torch.zeros(steps + 1, batch, 1),
        actions=torch.zeros(steps, batch, dtype=torch.long),
        rewards=torch.randn(steps, batch, generator=generator, dtype=dtype),
        terminated=terminated,
        truncated=truncated,
        log_mu=-torch.rand(steps, batch, generator=generator, dtype=dtype),
    )
    values = torch.randn(steps + 1, batch, generator=generator, dtype=dtype)
    return rollout, values, torch.randn(int(truncated.sum()), generator=generator, dtype=dtype)
