"""What `coinrun` searches: Adam, and Adam with the temporal AND-mask, over the same ranges where both have a setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from mechlearn.agreement import AdamForm, TemporalAndMaskAdam

Method = Literal["adam", "and-mask"]
Correction = Literal["none", "moments"]

Range = tuple[float, float]
BETA1: Range = (0.0, 0.95)
WEIGHT_DECAY: Range = (1e-5, 1e-1)
BETA3: Range = (0.5, 0.95)
THRESHOLD: Range = (0.05, 0.6)
"""Ranges contain the texts' best (table B.3) and are the same for both methods where both have the setting."""


class Settings(NamedTuple):
    """One trial's optimiser. `decoupled`: weight decay as an update of its own, after the mask; else L2 in the gradient."""

    method: Method
    lr: float
    beta1: float
    weight_decay: float
    decoupled: bool
    beta3: float = 0.0
    threshold: float = 0.0
    bias_correction: Correction = "moments"


def make_optimizer(settings: Settings, parameters: Sequence[nn.Parameter]) -> Optimizer:
    """Return the trial's optimiser; L2 in the gradient is the caller's, see `train`.

    With corrected moments epsilon stands outside the root, too: at threshold 0 the AND-mask's steps are then Adam's. Without,
    all is as the algorithm prints it.
    """
    decay = settings.weight_decay if settings.decoupled else 0.0
    if settings.method == "adam":
        return torch.optim.AdamW(parameters, settings.lr, betas=(settings.beta1, 0.999), weight_decay=decay)
    betas = (settings.beta1, 0.999, settings.beta3)
    return TemporalAndMaskAdam(
        parameters,
        settings.lr,
        betas=betas,
        threshold=settings.threshold,
        weight_decay=decay,
        form=AdamForm(bias_correction=settings.bias_correction, eps_inside_root=settings.bias_correction == "none"),
    )


def half_square(network: nn.Module, strength: float) -> Tensor:
    """Half the squared norm of all weights times a strength: L2 where it goes into the gradient."""
    return strength / 2 * torch.stack([parameter.square().sum() for parameter in network.parameters()]).sum()


def middle(method: Method, learning_rates: Sequence[float]) -> dict[str, float | bool]:
    """Return the middle of every range, in logarithms where it is drawn so: a search's first trial, with decoupled decay."""
    shared = {"lr": math.sqrt(math.prod(learning_rates)), "beta1": sum(BETA1) / 2}
    shared |= {"weight_decay": math.sqrt(math.prod(WEIGHT_DECAY)), "decoupled": True}
    return shared if method == "adam" else {**shared, "beta3": sum(BETA3) / 2, "threshold": sum(THRESHOLD) / 2}


def suggest(method: Method, trial: Any, learning_rates: Sequence[float], correction: Correction) -> Settings:  # noqa: ANN401  # Optuna's trial
    """Draw a trial's settings."""
    shared = {
        "lr": trial.suggest_float("lr", *learning_rates, log=True),
        "beta1": trial.suggest_float("beta1", *BETA1),
        "weight_decay": trial.suggest_float("weight_decay", *WEIGHT_DECAY, log=True),
        "decoupled": trial.suggest_categorical("decoupled", [True, False]),
    }
    if method == "adam":
        return Settings(method, **shared)
    masked = {"beta3": trial.suggest_float("beta3", *BETA3), "threshold": trial.suggest_float("threshold", *THRESHOLD)}
    return Settings(method, **shared, **masked, bias_correction=correction)
