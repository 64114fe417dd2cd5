"""The cautious mask (Liang et al. 2024, arXiv:2411.16085) on AdamW: timm's where it can be imported, else our own.

It keeps a component of Adam's step only where its sign is that of the present gradient, and rescales what is left by the share
kept: an agreement between the past and the present step, with no threshold and no notion of environments.
"""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from mechlearn_zoo_benchmarks.entrants.optimisers.literal import DECAY, LR
from mechlearn_zoo_benchmarks.entrants.optimisers.methods import Method
from torch import Tensor, nn


def make(parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimiser."""
    found = timm_adamw()
    if found is None:
        return CautiousAdamW(parameters, lr=LR, weight_decay=DECAY)
    return found(parameters, lr=LR, weight_decay=DECAY, caution=True, foreach=True)


def timm_adamw() -> Callable[..., torch.optim.Optimizer] | None:
    """Return timm's AdamW, or None where there is no timm, or none with this optimiser.

    timm as a whole imports its vision models, hence torchvision, whose wheels load beside torch's CUDA build only. The
    optimisers import neither, so their folder is taken as a package of its own.
    """
    spec = importlib.util.find_spec("timm")  # finds it without running it
    if spec is None or not spec.submodule_search_locations:
        return None
    package = ModuleType("timm_optimisers")
    package.__path__ = [str(Path(folder) / "optim") for folder in spec.submodule_search_locations]
    sys.modules[package.__name__] = package
    try:
        # Not torch's AdamW under timm's name: timm's own has the mask, since 1.0.12.
        return importlib.import_module("timm_optimisers.adamw").AdamWLegacy
    except (ImportError, AttributeError):
        return None


class CautiousAdamW(torch.optim.Optimizer):
    """Our reading of the paper's algorithm, in foreach calls."""

    def __init__(
        self,
        params: Sequence[nn.Parameter],
        lr: float,
        weight_decay: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "betas": betas, "eps": eps, "step": 0})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Take one step."""
        del closure
        for group in self.param_groups:
            group["step"] += 1
            parameters = [p for p in group["params"] if p.grad is not None]
            for parameter in parameters:
                if not self.state[parameter]:
                    self.state[parameter] = {"m": torch.zeros_like(parameter), "v": torch.zeros_like(parameter)}
            self._advance(group, parameters)

    def _advance(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
        (beta1, beta2), count = group["betas"], group["step"]
        g = [p.grad for p in parameters if p.grad is not None]
        m, v = ([self.state[p][name] for p in parameters] for name in ("m", "v"))
        torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_lerp_(m, g, 1 - beta1)
        torch._foreach_mul_(v, beta2)
        torch._foreach_addcmul_(v, g, g, 1 - beta2)
        root = torch._foreach_sqrt(v)
        torch._foreach_div_(root, (1 - beta2**count) ** 0.5)
        torch._foreach_add_(root, group["eps"])
        kept = [(product > 0).to(product.dtype) for product in torch._foreach_mul(m, g)]
        torch._foreach_div_(kept, [mask.mean().clamp_(min=1e-3) for mask in kept])
        torch._foreach_mul_(kept, m)
        torch._foreach_addcdiv_(parameters, kept, root, -group["lr"] / (1 - beta1**count))


OWN = "our reading of Liang et al. 2024: timm is not installed"
METHOD = (
    Method("cautious AdamW", make, package="timm", note="timm's AdamW(caution=True)")
    if timm_adamw()
    else Method("cautious AdamW", make, note=OWN)
)
