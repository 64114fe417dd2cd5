"""What `coinrun` searches: Adam, and Adam with the temporal AND-mask, over the same ranges where both have a setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from craik.agreement import TemporalAndMaskAdam

Method = Literal["adam", "and-mask"]


class Settings(NamedTuple):
    """One trial's optimiser. `decoupled`: weight decay as an update of its own, after the mask; else L2 in the gradient."""

    method: Method
    lr: float
    beta1: float
    weight_decay: float
    decoupled: bool
    beta3: float = 0.0
    threshold: float = 0.0


def make_optimizer(settings: Settings, parameters: Sequence[nn.Parameter]) -> Optimizer:
    """Return the trial's optimiser; L2 in the gradient is the caller's, see `train`."""
    decay = settings.weight_decay if settings.decoupled else 0.0
    if settings.method == "adam":
        return torch.optim.AdamW(parameters, settings.lr, betas=(settings.beta1, 0.999), weight_decay=decay)
    betas = (settings.beta1, 0.999, settings.beta3)
    return TemporalAndMaskAdam(parameters, settings.lr, betas=betas, threshold=settings.threshold, weight_decay=decay)


def half_square(network: nn.Module, strength: float) -> Tensor:
    """Half the squared norm of all weights times a strength: L2 where it goes into the gradient."""
    return strength / 2 * torch.stack([parameter.square().sum() for parameter in network.parameters()]).sum()


def suggest(method: Method, trial: Any) -> Settings:  # noqa: ANN401  # Optuna's trial
    """Draw a trial's settings; ranges contain the texts' best (table B.3) and are the same for both where both have them."""
    shared = {
        "lr": trial.suggest_float("lr", 1e-4, 3e-2, log=True),
        "beta1": trial.suggest_float("beta1", 0.0, 0.95),
        "weight_decay": trial.suggest_float("weight_decay", 1e-5, 1e-1, log=True),
        "decoupled": trial.suggest_categorical("decoupled", [True, False]),
    }
    if method == "adam":
        return Settings(method, **shared)
    return Settings(
        method, **shared, beta3=trial.suggest_float("beta3", 0.5, 0.95), threshold=trial.suggest_float("threshold", 0.05, 0.6)
    )
