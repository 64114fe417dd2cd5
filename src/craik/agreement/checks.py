"""What `Agreement` refuses, each with one sentence: the rule, what was found, the way out."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]  # the base class of all BatchNorms

from craik.environments import Environments

STATISTICS = (None, "pooled", "per-environment")
KERNELS = ("torch", "compiled")


def check_model(model: nn.Module) -> None:
    """Refuse a model that has nothing to train, or whose calls cannot be observed."""
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError(
            "`model` should have at least one parameter that requires a gradient. Found none. "
            "Unfreeze what is to be trained, for example with model.requires_grad_()."
        )
    for name, module in model.named_modules():
        # What torch.compile(model) and model.compile() leave behind: both run a graph that calls no hooks.
        if hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None:
            where = f"Found the submodule {name!r} compiled." if name else "Found it compiled."
            raise ValueError(
                f"`model` should not be compiled by torch.compile, which fuses the layers whose inputs are needed. {where} "
                "Pass the model as it was before; functions that hold no parameters, such as the loss, may be compiled."
            )


def check_statistics(statistics: str | None) -> None:
    """Refuse an unknown choice."""
    if statistics not in STATISTICS:
        raise ValueError(f'`statistics` should be None, "pooled" or "per-environment". Found {statistics!r}.')


def check_kernel(kernel: str) -> None:
    """Refuse an unknown choice."""
    if kernel not in KERNELS:
        raise ValueError(f'`kernel` should be "torch" or "compiled". Found {kernel!r}.')


def check_losses(losses: Tensor) -> None:
    """Refuse losses that are not one differentiable number for each example."""
    if losses.dim() == 0:
        raise ValueError(
            "`losses` should hold one unreduced loss for each example. Found a scalar, already reduced. "
            "Build the loss with reduction='none'."
        )
    if losses.dim() != 1 or len(losses) == 0:
        raise ValueError(
            f"`losses` should hold one loss for each example, shape (B,). Found shape {tuple(losses.shape)}. "
            "Sum or average the loss over everything but the examples, for example losses.flatten(1).mean(1)."
        )
    if losses.grad_fn is None:
        raise ValueError(
            "`losses` should be computed from the model's output with gradients enabled. Found losses without a graph. "
            "Leave torch.no_grad() and do not detach the output."
        )


def check_reached(parameters: Mapping[str, Tensor]) -> None:
    """Refuse losses that none of the model's parameters has a part in, such as another model's."""
    if not parameters:
        raise ValueError(
            "`losses` should depend on a parameter of the model that `Agreement` was made for. Found none in their graph. "
            "Make an Agreement for the model that computed them; a copy of a model is another model."
        )


def check_finite(means: Tensor, groups: Environments) -> None:
    """Refuse NaN and infinite losses, and say in which environment they are."""
    finite = torch.isfinite(means)
    if not bool(finite.all()):
        bad = groups.ids[(~finite).cpu()].tolist()
        value = float(means[~finite][0])
        raise ValueError(
            f"Every loss should be finite. Found a mean loss of {value} in environment {bad[0]}"
            + (f" and {len(bad) - 1} more" if len(bad) > 1 else "")
            + ". Look at its inputs and targets, or lower the learning rate; no gradient was changed."
        )


def check_finite_sums(name: str, gradient: Tensor) -> None:
    """Refuse a NaN or infinite sum of environment gradients: a mask would turn it into a 0 without a word."""
    # A sum is one pass over the memory, a test of every component two; only a suspicion pays for the second.
    if not math.isfinite(gradient.sum()) and not bool(torch.isfinite(gradient).all()):
        raise FloatingPointError(
            f"Every gradient should be finite. Found NaN or infinity in the gradient of {name!r}. Lower the learning rate, or "
            "pass refuse_nonfinite=False where a GradScaler is to find overflows; no gradient was changed."
        )


def batch_norms_in_train_mode(model: nn.Module) -> list[str]:
    """Return the names of the layers whose batch statistics couple the examples of a batch.

    Without running statistics a layer normalises with the batch's in eval mode too.
    """
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, _BatchNorm) and (module.training or module.running_mean is None)
    ]


def check_batch_norm(name: str, statistics: str | None, environments: int) -> None:
    """Refuse BatchNorm in train mode unless the choice of statistics fits the call."""
    if statistics is None:
        raise ValueError(
            "BatchNorm in train mode normalises with the statistics of the whole batch, which couples the environments. "
            f"Found {name!r} in train mode. Pass statistics='pooled' to differentiate through them (exact, one backward pass "
            "for each environment) or 'per-environment' (one accumulate call for each), put the layer in eval mode, or use "
            "GroupNorm."
        )
    if statistics == "per-environment" and environments > 1:
        raise ValueError(
            "With statistics='per-environment' each call should hold one environment, so that BatchNorm's statistics are its "
            f"own. Found {environments} environments in one batch. Run the model and `accumulate` for one environment at a "
            "time, and `backward` for the last."
        )


def check_uncoupled(layer: str | None, statistics: str | None) -> None:
    """Refuse losses that couple the examples of different environments unless that was asked for."""
    if layer is not None and statistics != "pooled":
        raise ValueError(
            "Each example's loss should depend on examples of its own environment only. Found losses in which examples of "
            f"different environments meet, after layer {layer!r}. Compute the loss for each example by itself, or pass "
            "statistics='pooled' to differentiate through the coupling (exact, one backward pass for each environment)."
        )
